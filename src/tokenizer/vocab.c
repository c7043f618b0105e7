/* SPDX-License-Identifier: Apache-2.0 */
/* vocab.c - validates and stores token texts and bytes, indexes the texts. */
#include "tokenizer/vocab.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/known_tokens.h"
#include "tokenizer/longest_match.h"
#include "tokenizer/sorted_tokens.h"
#include "tokenizer/unigram.h"
#include <math.h>
#include <string.h>

enum { SHOWN = 60 /* bytes of a text in a message */ };

/* Arguments of "%.*s" for a token in a message. */
#define TEXT_OF(tok) (int)((tok)->size < SHOWN ? (tok)->size : SHOWN), (tok)->text

static quire_status no_memory(struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
}

int32_t qr_vocab_find(const struct quire_tokenizer *t, const void *text, size_t size)
{
    if (size > t->max_text)
        return QUIRE_TOKEN_NONE;
    for (size_t i = qr_hash_bytes(t->hash_key, text, size);; i++) {
        const uint32_t slot = t->text_slots[i & (t->n_text_slots - 1)];
        if (!slot)
            return QUIRE_TOKEN_NONE;
        const struct qr_token *tok = &t->tokens[slot - 1];
        if (tok->text_size == size && memcmp(t->pool + tok->text_offset, text, size) == 0)
            return (int32_t)(slot - 1);
    }
}

size_t qr_vocab_table_slots(size_t n)
{
    size_t size = 8;
    while (size / 3 * 2 < n + 1)
        size *= 2;
    return size;
}

static quire_status check_token(const struct qr_vocab_spec *spec, size_t id,
                                struct quire_error *err)
{
    const struct qr_spec_token *tok = &spec->tokens[id];
    if (!tok->text)
        return qr_fail(err, QUIRE_E_FORMAT, "vocabulary has no token %zu of %zu", id,
                       spec->n_tokens);
    if (tok->size == 0)
        return qr_fail(err, QUIRE_E_FORMAT, "token %zu is empty", id);
    if (tok->size > QR_MAX_TOKEN_BYTES)
        return qr_fail(err, QUIRE_E_LIMIT, "token %zu has %zu bytes, at most %d", id, tok->size,
                       QR_MAX_TOKEN_BYTES);
    if (tok->type > QUIRE_TOKEN_BYTE)
        return qr_fail(err, QUIRE_E_FORMAT, "token %zu has unknown type %u", id, tok->type);
    if (!isfinite(tok->score))
        return qr_fail(err, QUIRE_E_FORMAT, "score of token %zu is not a finite number", id);
    if (tok->type == QUIRE_TOKEN_BYTE && qr_byte_token_value(tok->text, tok->size) < 0)
        return qr_fail(err, QUIRE_E_FORMAT, "byte token %zu is \"%.*s\", not of the form <0xXX>",
                       id, TEXT_OF(tok));
    return QUIRE_OK;
}

/* Decodes a text in the byte-level alphabet; returns 0 if it has characters outside it. */
static size_t decode_byte_alphabet(const uint8_t *s, size_t size, uint8_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < size;) {
        uint32_t cp = 0;
        const int len = qr_utf8_next_final(s + i, size - i, &cp);
        const int byte = len > 0 ? qr_unicode_to_byte(cp) : -1;
        if (byte < 0)
            return 0;
        out[n++] = (uint8_t)byte;
        i += (size_t)len;
    }
    return n;
}

static size_t decode_metaspaces(const uint8_t *s, size_t size, uint8_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < size;) {
        const bool metaspace =
            size - i >= QR_METASPACE_SIZE && memcmp(s + i, QR_METASPACE, QR_METASPACE_SIZE) == 0;
        out[n++] = metaspace ? ' ' : s[i];
        i += metaspace ? QR_METASPACE_SIZE : 1;
    }
    return n;
}

static bool has_metaspaces(enum qr_vocab_kind kind)
{
    return kind == QR_VOCAB_SENTENCEPIECE_BPE || kind == QR_VOCAB_UNIGRAM ||
           kind == QR_VOCAB_WORDPIECE;
}

/* Writes the decoded bytes of a token, never more than its text has, and their number to *n_out. */
static quire_status decode_token(enum qr_vocab_kind kind, const struct qr_spec_token *tok,
                                 size_t id, uint8_t *out, size_t *n_out, struct quire_error *err)
{
    const uint8_t *s = (const uint8_t *)tok->text;
    const bool plain = tok->type == QUIRE_TOKEN_NORMAL || tok->type == QUIRE_TOKEN_UNDEFINED ||
                       tok->type == QUIRE_TOKEN_UNUSED;
    size_t n = 0;
    if (tok->type == QUIRE_TOKEN_BYTE) {
        *out = (uint8_t)qr_byte_token_value(tok->text, tok->size);
        n = 1;
    } else if (kind == QR_VOCAB_LONGEST_MATCH) {
        if (plain)
            QR_TRY(qr_unescape_token(tok->text, tok->size, id, out, &n, err));
    } else if (kind == QR_VOCAB_BYTE_LEVEL_BPE) {
        if (plain)
            n = decode_byte_alphabet(s, tok->size, out);
    } else if (has_metaspaces(kind) && (plain || tok->type == QUIRE_TOKEN_USER_DEFINED)) {
        n = decode_metaspaces(s, tok->size, out);
    }
    if (!n) { /* special, or not in the alphabet: the text itself */
        memcpy(out, s, tok->size);
        n = tok->size;
    }
    *n_out = n;
    return QUIRE_OK;
}

quire_status qr_vocab_add_tokens(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                 struct quire_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < spec->n_tokens; i++) {
        QR_TRY(check_token(spec, i, err));
        total += 2 * spec->tokens[i].size;
    }
    if (total > UINT32_MAX) /* GCOVR_EXCL_BR_LINE: a file of 2 GiB */
        return qr_fail(err, QUIRE_E_LIMIT, "vocabulary texts take %zu bytes", total);
    t->n_tokens = (uint32_t)spec->n_tokens;
    t->tokens = qr_calloc(t->a, t->n_tokens, sizeof *t->tokens);
    t->pool = qr_alloc(t->a, total, 1);
    t->pool_size = total;
    if (!t->tokens || !t->pool)
        return no_memory(err);
    uint32_t used = 0;
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        const struct qr_spec_token *from = &spec->tokens[i];
        struct qr_token *tok = &t->tokens[i];
        size_t n_bytes;
        tok->type = from->type == QUIRE_TOKEN_UNDEFINED ? QUIRE_TOKEN_NORMAL : from->type;
        tok->match = from->match;
        tok->text_offset = tok->bytes_offset = used;
        tok->text_size = (uint32_t)from->size;
        memcpy(t->pool + used, from->text, from->size);
        used += tok->text_size;
        QR_TRY(decode_token(t->kind, from, i, (uint8_t *)t->pool + used, &n_bytes, err));
        tok->bytes_size = (uint32_t)n_bytes;
        if (tok->bytes_size != tok->text_size) { /* decoding shortens a text or leaves it */
            tok->bytes_offset = used;
            used += tok->bytes_size;
        }
        if (tok->text_size > t->max_text)
            t->max_text = tok->text_size;
        if (tok->bytes_size > t->max_bytes)
            t->max_bytes = tok->bytes_size;
    }
    return QUIRE_OK;
}

quire_status qr_vocab_index_texts(struct quire_tokenizer *t, struct quire_error *err)
{
    t->n_text_slots = qr_vocab_table_slots(t->n_tokens);
    t->text_slots = qr_calloc(t->a, t->n_text_slots, sizeof *t->text_slots);
    if (!t->text_slots)
        return no_memory(err);
    for (uint32_t id = 0; id < t->n_tokens; id++) {
        const struct qr_token *tok = &t->tokens[id];
        const char *text = t->pool + tok->text_offset;
        size_t i = qr_hash_bytes(t->hash_key, text, tok->text_size);
        for (; t->text_slots[i & (t->n_text_slots - 1)]; i++) {
            const uint32_t other = t->text_slots[i & (t->n_text_slots - 1)] - 1;
            if (t->tokens[other].text_size != tok->text_size ||
                memcmp(t->pool + t->tokens[other].text_offset, text, tok->text_size) != 0)
                continue;
            /* published files repeat unused and added tokens; a normal one must be unique */
            if (qr_token_is_normal(t, (int32_t)id) && qr_token_is_normal(t, (int32_t)other))
                return qr_fail(err, QUIRE_E_FORMAT, "tokens %u and %u have the same text \"%.*s\"",
                               other, id, (int)(tok->text_size < SHOWN ? tok->text_size : SHOWN),
                               text);
            break;
        }
        uint32_t *slot = &t->text_slots[i & (t->n_text_slots - 1)];
        if (!*slot || qr_token_is_normal(t, (int32_t)id))
            *slot = id + 1;
    }
    return QUIRE_OK;
}

quire_status qr_vocab_find_byte_tokens(struct quire_tokenizer *t, struct quire_error *err)
{
    int n = 0;
    for (int b = 0; b < 256; b++)
        t->byte_token[b] = QUIRE_TOKEN_NONE;
    if (t->kind == QR_VOCAB_BYTE_LEVEL_BPE) {
        for (int b = 0; b < 256; b++) {
            uint8_t text[QR_UTF8_MAX];
            const int32_t id =
                qr_vocab_find(t, text, qr_utf8_put(text, qr_byte_to_unicode((uint8_t)b)));
            if (id != QUIRE_TOKEN_NONE && qr_token_is_normal(t, id))
                t->byte_token[b] = id;
        }
        return QUIRE_OK;
    }
    for (uint32_t i = 0; i < t->n_tokens; i++)
        if (t->tokens[i].type == QUIRE_TOKEN_BYTE) {
            t->byte_token[(uint8_t)t->pool[t->tokens[i].bytes_offset]] = (int32_t)i;
            n++;
        }
    if (t->special[QUIRE_SPECIAL_UNK] == QUIRE_TOKEN_NONE && n < 256)
        return qr_fail(err, QUIRE_E_FORMAT, "vocabulary has %d byte tokens and no unknown token",
                       n);
    return QUIRE_OK;
}

uint64_t qr_vocab_bytes(const struct quire_tokenizer *t)
{
    return (uint64_t)t->n_tokens *
               (sizeof *t->tokens + (t->score_rank ? sizeof *t->score_rank : 0)) +
           t->pool_size + t->n_text_slots * sizeof *t->text_slots +
           t->n_merge_slots * sizeof *t->merges + qr_sorted_tokens_bytes(t) + qr_unigram_bytes(t) +
           t->charsmap_size + t->cap_added * sizeof *t->added;
}
