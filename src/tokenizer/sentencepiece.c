/* SPDX-License-Identifier: Apache-2.0 */
/* sentencepiece.c - encoder of vocabularies that write spaces as U+2581: normalization, pieces. */
#include "tokenizer/sentencepiece.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/bpe.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/encoder.h"
#include "tokenizer/nfc.h"
#include "tokenizer/segment.h"
#include "tokenizer/unigram.h"
#include "tokenizer/vocab.h"
#include "tokenizer/white_space.h"
#include <string.h>

static bool is_metaspace(const uint8_t *s, size_t n)
{
    return n >= QR_METASPACE_SIZE && memcmp(s, QR_METASPACE, QR_METASPACE_SIZE) == 0;
}

/* End of the piece that starts at `begin` and is encoded on its own. If no token has a space after
 * another character, none crosses the start of a run of spaces: splitting there leaves the result
 * unchanged and keeps the search short. */
static size_t piece_end(const struct quire_tokenizer *t, const uint8_t *s, size_t begin, size_t n)
{
    const size_t limit = n - begin > QR_MAX_PIECE_BYTES ? begin + QR_MAX_PIECE_BYTES : n;
    size_t i = begin + 1, space = 0;
    for (; i < limit; i++) {
        if (t->split_at_spaces && (s[i] == ' ' || is_metaspace(s + i, n - i)))
            return i;
        if (s[i] == ' ' && s[i - 1] != ' ') {
            if (!t->tokens_cross_spaces)
                return i;
            space = i;
        }
    }
    if (limit == n)
        return n;
    if (space)
        return space;
    while (qr_utf8_is_continuation(s[i]))
        i--;
    return i;
}

/* ---- BPE */

/* Writes the piece with U+2581 for spaces to e->piece, and one symbol per character to
 * e->symbols. */
static quire_status load_symbols(struct qr_encoder *e, const uint8_t *s, size_t n, bool prepend)
{
    const struct quire_tokenizer *t = e->t;
    struct qr_bytes *b = &e->piece;
    b->size = 0;
    e->n_symbols = 0;
    if (!qr_bytes_reserve(t->a, b, (n + prepend) * QR_METASPACE_SIZE) ||
        !qr_bpe_reserve(e, n + prepend))
        return qr_encoder_nomem(e);
    for (size_t i = 0; i < n || prepend;) {
        const bool space = prepend || s[i] == ' ';
        const size_t step = space ? QR_METASPACE_SIZE : qr_utf8_len(s[i]);
        memcpy(b->data + b->size, space ? (const uint8_t *)QR_METASPACE : s + i, step);
        const int32_t id = qr_vocab_find(t, b->data + b->size, step), k = (int32_t)e->n_symbols++;
        e->symbols[k] = (struct qr_symbol){
            .id = id != QUIRE_TOKEN_NONE && qr_token_is_normal(t, id) ? id : QUIRE_TOKEN_NONE,
            .offset = (uint32_t)b->size,
            .size = (uint32_t)step,
            .prev = k - 1,
            .next = k + 1
        };
        b->size += step;
        if (!prepend)
            i += space ? 1 : step;
        prepend = false;
    }
    e->symbols[e->n_symbols - 1].next = -1;
    return QUIRE_OK;
}

void qr_emit_unknown(struct qr_encoder *e, const uint8_t *s, size_t n)
{
    const struct quire_tokenizer *t = e->t;
    bool bytes = true;
    for (size_t i = 0; i < n; i++)
        bytes = bytes && t->byte_token[s[i]] != QUIRE_TOKEN_NONE;
    for (size_t i = 0; bytes && i < n; i++)
        qr_emit(e, t->byte_token[s[i]]);
    /* GCOVR_EXCL_BR_LINE: vocabularies without all bytes have an unknown token */
    if (!bytes && !(e->after_unk && t->fuse_unk) &&
        t->special[QUIRE_SPECIAL_UNK] != QUIRE_TOKEN_NONE)
        qr_emit(e, t->special[QUIRE_SPECIAL_UNK]);
    e->after_unk = !bytes;
}

static quire_status encode_bpe(struct qr_encoder *e, const uint8_t *s, size_t n, bool prepend)
{
    QR_TRY(load_symbols(e, s, n, prepend));
    QR_TRY(qr_bpe_merge(e, e->piece.data));
    for (int32_t i = 0; i >= 0; i = e->symbols[i].next) {
        const struct qr_symbol *sym = &e->symbols[i];
        if (sym->id == QUIRE_TOKEN_NONE) {
            qr_emit_unknown(e, e->piece.data + sym->offset, sym->size);
        } else {
            qr_emit(e, sym->id);
            e->after_unk = false;
        }
    }
    return QUIRE_OK;
}

/* ---- Unigram */

/* Writes the piece with U+2581 for spaces to e->piece and encodes that. */
static quire_status encode_unigram(struct qr_encoder *e, const uint8_t *s, size_t n, bool prepend)
{
    struct qr_bytes *b = &e->piece;
    b->size = 0;
    if (!qr_bytes_reserve(e->t->a, b, (n + prepend) * QR_METASPACE_SIZE))
        return qr_encoder_nomem(e);
    for (size_t i = 0; i < n || prepend; i += !prepend, prepend = false) {
        if (!prepend && s[i] != ' ') {
            b->data[b->size++] = s[i];
            continue;
        }
        memcpy(b->data + b->size, QR_METASPACE, QR_METASPACE_SIZE);
        b->size += QR_METASPACE_SIZE;
    }
    return qr_unigram_encode_piece(e);
}

/* ---- Fragments */

/* Removes repeated spaces, and leading and trailing ones unless one of them is kept. */
static quire_status remove_extra_whitespaces(struct qr_encoder *e, const uint8_t **text, size_t *n)
{
    const struct quire_tokenizer *t = e->t;
    struct qr_bytes *b = &e->prefixed;
    size_t end = 0; /* behind the last character that is not removed at the end */
    b->size = 0;
    if (!qr_bytes_reserve(t->a, b, *n))
        return qr_encoder_nomem(e);
    for (size_t i = 0, size; i < *n; i += size) {
        uint32_t cp = 0;
        (void)qr_utf8_next_final(*text + i, *n - i, &cp); /* well-formed */
        size = qr_utf8_len((*text)[i]);
        const bool white = qr_is_white_space(cp);
        if (cp == ' ' || (white && t->split_at_white_space)) {
            if (b->size ? b->data[b->size - 1] != ' ' : t->keep_leading_space)
                b->data[b->size++] = ' ';
        } else if (!white || !t->strip_white_space || b->size || t->keep_leading_space) {
            memcpy(b->data + b->size, *text + i, size);
            b->size += size;
            if (!white || !t->strip_white_space)
                end = b->size;
        }
    }
    if (!t->keep_trailing_space)
        b->size = end;
    *text = b->data;
    *n = b->size;
    return QUIRE_OK;
}

/* Leaves out white space at both ends. */
static void trim(const uint8_t **text, size_t *n)
{
    const uint8_t *s = *text;
    size_t begin = *n, end = 0; /* of what stays */
    for (size_t i = 0, size; i < *n; i += size) {
        uint32_t cp = 0;
        (void)qr_utf8_next_final(s + i, *n - i, &cp); /* well-formed */
        size = qr_utf8_len(s[i]);
        if (qr_is_white_space(cp))
            continue;
        begin = begin < i ? begin : i;
        end = i + size;
    }
    *text = s + (end ? begin : 0);
    *n = end ? end - begin : 0;
}

quire_status qr_encode_bpe_piece(struct qr_encoder *e, const uint8_t *s, size_t n)
{
    return encode_bpe(e, s, n, false);
}

quire_status qr_encode_sentencepiece(struct qr_encoder *e, const uint8_t *text, size_t n,
                                     bool at_start)
{
    const struct quire_tokenizer *t = e->t;
    if (t->trim_white_space)
        trim(&text, &n);
    if (t->nfc)
        QR_TRY(qr_normalize_nfc(e, &text, &n));
    if (t->charsmap)
        QR_TRY(qr_charsmap_normalize(e, &text, &n));
    if (t->remove_extra_whitespaces)
        QR_TRY(remove_extra_whitespaces(e, &text, &n));
    if (!n)
        return QUIRE_OK;
    const bool spaced = text[0] == ' ' || is_metaspace(text, n);
    bool prepend = t->prepend_scheme == QR_PREPEND_ALWAYS ||
                   (t->prepend_scheme == QR_PREPEND_UNLESS_SPACE && !spaced) ||
                   (t->prepend_scheme == QR_PREPEND_FIRST && at_start && !spaced);
    e->after_unk = false;
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = qr_segment_end(text, begin, n);
        for (size_t piece = begin, next; piece < end; piece = next) {
            next = piece_end(t, text, piece, end);
            QR_TRY(t->kind == QR_VOCAB_UNIGRAM
                       ? encode_unigram(e, text + piece, next - piece, prepend)
                       : encode_bpe(e, text + piece, next - piece, prepend));
            prepend = false;
        }
    }
    return QUIRE_OK;
}
