/* SPDX-License-Identifier: Apache-2.0 */
/* sentencepiece_model.c - reads tokenizer.model, a SentencePiece model in Protocol Buffers. */
#include "tokenizer/sentencepiece_model.h"
#include "base/error.h"
#include "base/reader.h"
#include "tokenizer/charsmap.h"
#include <string.h>

#define FILE_NAME "tokenizer.model"

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
/* field numbers of sentencepiece_model.proto */
enum { MODEL_PIECES = 1, MODEL_TRAINER = 2, MODEL_NORMALIZER = 3 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum {
    TRAINER_MODEL_TYPE = 3,
    TRAINER_WHITESPACE_AS_SUFFIX = 24,
    TRAINER_UNK = 40,
    TRAINER_BOS,
    TRAINER_EOS,
    TRAINER_PAD
};
enum {
    NORMALIZER_PRECOMPILED_CHARSMAP = 2,
    NORMALIZER_ADD_DUMMY_PREFIX = 3,
    NORMALIZER_REMOVE_EXTRA_WHITESPACES = 4,
    NORMALIZER_ESCAPE_WHITESPACES = 5
};
enum { MODEL_TYPE_UNIGRAM = 1, MODEL_TYPE_BPE = 2 };

struct field {
    uint32_t number;
    enum wire_type wire;
    uint64_t value;        /* WIRE_VARINT, WIRE_32 */
    struct qr_reader data; /* WIRE_BYTES */
};

static bool read_varint(struct qr_reader *r, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t b;
        if (!qr_read_u8(r, &b))
            return false;
        value |= (uint64_t)(b & 0x7F) << shift;
        if (b < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* Reads the next field. Offsets in error messages count from the start of the enclosing message. */
static quire_status next_field(struct qr_reader *r, struct field *f, struct quire_error *err)
{
    const size_t at = r->pos;
    uint64_t key = 0, size = 0;
    uint32_t word = 0;
    const uint8_t *p = NULL;
    *f = (struct field){ 0 };
    bool ok = read_varint(r, &key) && key >> 3 != 0 && key >> 3 <= UINT32_MAX;
    if (ok) {
        f->number = (uint32_t)(key >> 3);
        f->wire = (enum wire_type)(key & 7);
        switch (f->wire) {
        case WIRE_VARINT:
            ok = read_varint(r, &f->value);
            break;
        case WIRE_32:
            ok = qr_read_u32(r, &word);
            f->value = ok ? word : 0;
            break;
        case WIRE_64:
            ok = qr_read_bytes(r, 8, &p);
            break;
        case WIRE_BYTES:
            ok = read_varint(r, &size) && size <= qr_reader_left(r);
            ok = ok && qr_read_bytes(r, (size_t)size, &p); /* GCOVR_EXCL_BR_LINE: cannot fail */
            if (ok)
                f->data = (struct qr_reader){ .data = p, .size = (size_t)size };
            break;
        default:
            ok = false;
        }
    }
    return ok ? QUIRE_OK
              : qr_fail_at(err, QUIRE_E_FORMAT, at, FILE_NAME ": malformed field at byte %zu", at);
}

static quire_status wrong_type(const char *what, struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_FORMAT, FILE_NAME ": %s has the wrong type", what);
}

static quire_status read_piece(struct qr_reader r, struct qr_spec_token *tok,
                               struct quire_error *err)
{
    struct field f;
    *tok = (struct qr_spec_token){ .text = "", .type = QUIRE_TOKEN_NORMAL };
    while (qr_reader_left(&r)) {
        QR_TRY(next_field(&r, &f, err));
        if (f.number == PIECE_TEXT) {
            if (f.wire != WIRE_BYTES)
                return wrong_type("piece", err);
            tok->text = (const char *)f.data.data;
            tok->size = f.data.size;
        } else if (f.number == PIECE_SCORE) {
            if (f.wire != WIRE_32)
                return wrong_type("score", err);
            const uint32_t bits = (uint32_t)f.value;
            memcpy(&tok->score, &bits, sizeof bits);
        } else if (f.number == PIECE_TYPE) {
            if (f.wire != WIRE_VARINT || f.value < QUIRE_TOKEN_NORMAL || f.value > QUIRE_TOKEN_BYTE)
                return wrong_type("type of a piece", err);
            tok->type = (uint8_t)f.value;
        }
    }
    return QUIRE_OK;
}

static quire_status read_trainer(struct qr_vocab_spec *spec, struct qr_reader r, uint64_t *type,
                                 struct quire_error *err)
{
    struct field f;
    while (qr_reader_left(&r)) {
        QR_TRY(next_field(&r, &f, err));
        if (f.wire != WIRE_VARINT)
            continue;
        /* -1 (no such token) is stored as a 64-bit number */
        const int64_t id = (int32_t)f.value < 0 ? QUIRE_TOKEN_NONE : (int64_t)f.value;
        if (f.number == TRAINER_MODEL_TYPE)
            *type = f.value;
        else if (f.number == TRAINER_UNK)
            spec->special[QUIRE_SPECIAL_UNK] = id;
        else if (f.number == TRAINER_BOS)
            spec->special[QUIRE_SPECIAL_BOS] = id;
        else if (f.number == TRAINER_EOS)
            spec->special[QUIRE_SPECIAL_EOS] = id;
        else if (f.number == TRAINER_PAD)
            spec->special[QUIRE_SPECIAL_PAD] = id;
        else if (f.number == TRAINER_WHITESPACE_AS_SUFFIX && f.value)
            return qr_fail(err, QUIRE_E_UNSUPPORTED,
                           FILE_NAME ": treat_whitespace_as_suffix is not supported");
    }
    return QUIRE_OK;
}

static quire_status read_normalizer(struct qr_vocab_spec *spec, struct qr_reader r, bool *prepend,
                                    struct quire_error *err)
{
    struct field f;
    while (qr_reader_left(&r)) {
        QR_TRY(next_field(&r, &f, err));
        if (f.number == NORMALIZER_PRECOMPILED_CHARSMAP && f.wire == WIRE_BYTES && f.data.size)
            QR_TRY(qr_charsmap_read(spec, f.data.data, f.data.size,
                                    FILE_NAME ": precompiled_charsmap", err));
        if (f.wire != WIRE_VARINT)
            continue;
        if (f.number == NORMALIZER_ADD_DUMMY_PREFIX)
            *prepend = f.value != 0;
        else if (f.number == NORMALIZER_REMOVE_EXTRA_WHITESPACES)
            spec->remove_extra_whitespaces = f.value != 0;
        else if (f.number == NORMALIZER_ESCAPE_WHITESPACES && !f.value)
            return qr_fail(err, QUIRE_E_UNSUPPORTED,
                           FILE_NAME ": plain spaces in tokens are not supported");
    }
    return QUIRE_OK;
}

static quire_status count_pieces(struct qr_reader r, size_t *n, struct quire_error *err)
{
    struct field f;
    *n = 0;
    while (qr_reader_left(&r)) {
        QR_TRY(next_field(&r, &f, err));
        *n += f.number == MODEL_PIECES;
    }
    if (*n > QR_MAX_TOKENS)
        return qr_fail(err, QUIRE_E_LIMIT, FILE_NAME ": %zu pieces, at most %d", *n, QR_MAX_TOKENS);
    return QUIRE_OK;
}

quire_status qr_sentencepiece_model_read(struct qr_vocab_spec *spec, const uint8_t *data,
                                         size_t size, struct quire_error *err)
{
    struct qr_reader r = { .data = data, .size = size };
    struct field f;
    uint64_t type = MODEL_TYPE_UNIGRAM;
    bool prepend = true;
    size_t n = 0;
    /* defaults of the format */
    spec->kind = QR_VOCAB_SENTENCEPIECE_BPE;
    spec->merge_by_score = spec->fuse_unk = spec->remove_extra_whitespaces = true;
    spec->special[QUIRE_SPECIAL_UNK] = 0;
    spec->special[QUIRE_SPECIAL_BOS] = 1;
    spec->special[QUIRE_SPECIAL_EOS] = 2;
    QR_TRY(count_pieces(r, &spec->n_tokens, err));
    spec->tokens = qr_arena_alloc(&spec->arena, spec->n_tokens, sizeof *spec->tokens);
    if (!spec->tokens)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the vocabulary");
    while (qr_reader_left(&r)) {
        QR_TRY(next_field(&r, &f, err)); /* GCOVR_EXCL_BR_LINE: count_pieces() has read it, too */
        if (f.number > MODEL_NORMALIZER)
            continue;
        if (f.wire != WIRE_BYTES)
            return wrong_type("a part of the model", err);
        if (f.number == MODEL_PIECES)
            QR_TRY(read_piece(f.data, &spec->tokens[n++], err));
        else if (f.number == MODEL_TRAINER)
            QR_TRY(read_trainer(spec, f.data, &type, err));
        else
            QR_TRY(read_normalizer(spec, f.data, &prepend, err));
    }
    if (type == MODEL_TYPE_UNIGRAM)
        spec->kind = QR_VOCAB_UNIGRAM;
    else if (type != MODEL_TYPE_BPE)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, FILE_NAME ": model type %llu is not supported",
                       (unsigned long long)type);
    else if (spec->charsmap)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       FILE_NAME ": normalization by precompiled_charsmap of a BPE model is not "
                                 "supported");
    spec->prepend_scheme = prepend ? QR_PREPEND_ALWAYS : QR_PREPEND_NEVER;
    spec->strip_prepended_space = prepend;
    if (spec->special[QUIRE_SPECIAL_BOS] != QUIRE_TOKEN_NONE)
        spec->prefix_ids[spec->n_prefix_ids++] = spec->special[QUIRE_SPECIAL_BOS];
    return QUIRE_OK;
}
