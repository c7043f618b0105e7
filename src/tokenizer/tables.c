/* SPDX-License-Identifier: Apache-2.0 */
/* tok_tables.c - token texts and bytes, the index of texts, merges, scores; checks all it takes. */
#include "base/utf8.h"
#include "tokenizer/impl.h"
#include "tokenizer/names.h"
#include "tokenizer/parts.h"
#include <math.h>

enum { SHOWN = 60 /* bytes of a text in a message */, MAX_SPLITS = 8 };

/* printf arguments for "%.*s": a token in a message */
#define TEXT_OF(tok) (int)((tok)->size < SHOWN ? (tok)->size : SHOWN), (tok)->text

static quire_status no_memory(struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_NOMEM, "out of memory for the tokenizer");
}

int32_t qr_tok_find(const struct quire_tokenizer *t, const void *text, size_t size)
{
    if (size > t->max_text)
        return QUIRE_TOKEN_NONE;
    for (size_t i = qr_hash_bytes(t->hash_key, text, size);; i++) {
        const uint32_t slot = t->slots[i & (t->n_slots - 1)];
        if (!slot)
            return QUIRE_TOKEN_NONE;
        const struct qr_token *tok = &t->tokens[slot - 1];
        if (tok->text_size == size && memcmp(t->pool + tok->text_at, text, size) == 0)
            return (int32_t)(slot - 1);
    }
}

/* Power of two that keeps an open table at most two thirds full. */
static size_t table_size(size_t n)
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

/* The bytes that letters of GPT-2's alphabet stand for; 0: there are other characters, too. */
static size_t letters_to_bytes(const uint8_t *s, size_t size, uint8_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < size;) {
        uint32_t cp = 0;
        const int len = qr_utf8_next_final(s + i, size - i, &cp);
        const int byte = len > 0 ? qr_letter_byte(cp) : -1;
        if (byte < 0)
            return 0;
        out[n++] = (uint8_t)byte;
        i += (size_t)len;
    }
    return n;
}

static size_t marks_to_spaces(const uint8_t *s, size_t size, uint8_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < size;) {
        const bool mark =
            size - i >= QR_SPACE_MARK_SIZE && memcmp(s + i, QR_SPACE_MARK, QR_SPACE_MARK_SIZE) == 0;
        out[n++] = mark ? ' ' : s[i];
        i += mark ? QR_SPACE_MARK_SIZE : 1;
    }
    return n;
}

/* What a token stands for, into out (never longer than its text); returns the size. */
static size_t token_bytes(enum qr_vocab_kind kind, const struct qr_spec_token *tok, uint8_t *out)
{
    const uint8_t *s = (const uint8_t *)tok->text;
    const bool plain = tok->type == QUIRE_TOKEN_NORMAL || tok->type == QUIRE_TOKEN_UNDEFINED ||
                       tok->type == QUIRE_TOKEN_UNUSED;
    size_t n = 0;
    if (tok->type == QUIRE_TOKEN_BYTE) {
        *out = (uint8_t)qr_byte_token_value(tok->text, tok->size);
        return 1;
    }
    if (kind == QR_VOCAB_BYTE_BPE && plain)
        n = letters_to_bytes(s, tok->size, out);
    else if (kind != QR_VOCAB_BYTE_BPE && (plain || tok->type == QUIRE_TOKEN_USER_DEFINED))
        n = marks_to_spaces(s, tok->size, out);
    if (n)
        return n;
    memcpy(out, s, tok->size); /* the text stands for itself */
    return tok->size;
}

quire_status qr_tok_add_tokens(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                               struct quire_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < spec->n_tokens; i++) {
        QR_TRY(check_token(spec, i, err));
        total += 2 * spec->tokens[i].size;
    }
    if (total > UINT32_MAX)
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
        tok->type = from->type == QUIRE_TOKEN_UNDEFINED ? QUIRE_TOKEN_NORMAL : from->type;
        tok->match = from->match;
        tok->text_at = tok->bytes_at = used;
        tok->text_size = (uint32_t)from->size;
        memcpy(t->pool + used, from->text, from->size);
        used += tok->text_size;
        tok->bytes_size = (uint32_t)token_bytes(t->kind, from, (uint8_t *)t->pool + used);
        if (tok->bytes_size != tok->text_size ||
            memcmp(t->pool + used, from->text, from->size) != 0) {
            tok->bytes_at = used;
            used += tok->bytes_size;
        }
        if (tok->text_size > t->max_text)
            t->max_text = tok->text_size;
        if (tok->bytes_size > t->max_bytes)
            t->max_bytes = tok->bytes_size;
    }
    return QUIRE_OK;
}

quire_status qr_tok_index_texts(struct quire_tokenizer *t, struct quire_error *err)
{
    t->n_slots = table_size(t->n_tokens);
    t->slots = qr_calloc(t->a, t->n_slots, sizeof *t->slots);
    if (!t->slots)
        return no_memory(err);
    for (uint32_t id = 0; id < t->n_tokens; id++) {
        const struct qr_token *tok = &t->tokens[id];
        const char *text = t->pool + tok->text_at;
        size_t i = qr_hash_bytes(t->hash_key, text, tok->text_size);
        for (; t->slots[i & (t->n_slots - 1)]; i++) {
            const uint32_t other = t->slots[i & (t->n_slots - 1)] - 1;
            if (t->tokens[other].text_size != tok->text_size ||
                memcmp(t->pool + t->tokens[other].text_at, text, tok->text_size) != 0)
                continue;
            /* published files repeat unused and added tokens; of ordinary ones none is meant */
            if (qr_tok_is_piece(t, (int32_t)id) && qr_tok_is_piece(t, (int32_t)other))
                return qr_fail(err, QUIRE_E_FORMAT, "tokens %u and %u have the same text \"%.*s\"",
                               other, id, (int)(tok->text_size < SHOWN ? tok->text_size : SHOWN),
                               text);
            break;
        }
        uint32_t *slot = &t->slots[i & (t->n_slots - 1)];
        if (!*slot || qr_tok_is_piece(t, (int32_t)id))
            *slot = id + 1;
    }
    return QUIRE_OK;
}

/* Ids of both parts and of the whole of one merge. */
static bool resolve_merge(const struct quire_tokenizer *t, const struct qr_spec_merge *m,
                          char *joined, int32_t *left, int32_t *right, int32_t *whole)
{
    if (m->right) {
        const size_t size = m->left_size + m->right_size;
        if (size > t->max_text)
            return false;
        memcpy(joined, m->left, m->left_size);
        memcpy(joined + m->left_size, m->right, m->right_size);
        *left = qr_tok_find(t, m->left, m->left_size);
        *right = qr_tok_find(t, m->right, m->right_size);
        *whole = qr_tok_find(t, joined, size);
        return *left >= 0 && *right >= 0 && *whole >= 0;
    }
    /* "LEFT RIGHT"; where the parts hold spaces themselves, the split that gives known tokens is
     * meant. Trying many would cost a square of the length */
    int spaces = 0;
    for (size_t i = 1; i + 1 < m->left_size && spaces < MAX_SPLITS; i++) {
        const struct qr_spec_merge split = { m->left, m->left + i + 1, i, m->left_size - i - 1 };
        if (m->left[i] != ' ')
            continue;
        spaces++;
        if (resolve_merge(t, &split, joined, left, right, whole))
            return true;
    }
    return false;
}

/* Whether the text has a space mark behind another character. */
static bool has_inner_space(const char *s, size_t n)
{
    for (size_t i = 1; i + QR_SPACE_MARK_SIZE <= n; i++)
        if (memcmp(s + i, QR_SPACE_MARK, QR_SPACE_MARK_SIZE) == 0 &&
            (i < QR_SPACE_MARK_SIZE ||
             memcmp(s + i - QR_SPACE_MARK_SIZE, QR_SPACE_MARK, QR_SPACE_MARK_SIZE) != 0))
            return true;
    return false;
}

static quire_status add_merge(struct quire_tokenizer *t, const struct qr_spec_merge *m, size_t rank,
                              char *joined, struct quire_error *err)
{
    int32_t left, right, whole;
    if (!resolve_merge(t, m, joined, &left, &right, &whole))
        return qr_fail(err, QUIRE_E_FORMAT,
                       "merge %zu \"%.*s%s%.*s\" is not made of two tokens that give a third", rank,
                       (int)(m->left_size < SHOWN ? m->left_size : SHOWN), m->left,
                       m->right ? " " : "", (int)(m->right_size < SHOWN ? m->right_size : SHOWN),
                       m->right ? m->right : "");
    if (t->tokens[whole].type == QUIRE_TOKEN_CONTROL ||
        t->tokens[whole].type == QUIRE_TOKEN_UNKNOWN)
        return QUIRE_OK; /* text must never grow into a special token */
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t i = qr_hash_u64(t->hash_key, key);
    for (; t->pairs[i & (t->n_pairs - 1)].id != QUIRE_TOKEN_NONE; i++)
        if (t->pairs[i & (t->n_pairs - 1)].key == key)
            return qr_fail(err, QUIRE_E_FORMAT, "merges %u and %zu are the same",
                           t->pairs[i & (t->n_pairs - 1)].rank, rank);
    t->pairs[i & (t->n_pairs - 1)] = (struct qr_pair){ key, (uint32_t)rank, whole };
    t->crosses_space =
        t->crosses_space || has_inner_space(qr_token_text(t, whole), t->tokens[whole].text_size);
    return QUIRE_OK;
}

quire_status qr_tok_add_merges(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                               struct quire_error *err)
{
    if (spec->n_merges > 4 * (size_t)QR_MAX_TOKENS)
        return qr_fail(err, QUIRE_E_LIMIT, "%zu merges", spec->n_merges);
    t->n_pairs = table_size(spec->n_merges);
    t->pairs = qr_alloc(t->a, t->n_pairs, sizeof *t->pairs);
    char *joined = qr_alloc(t->a, t->max_text, 1);
    if (!t->pairs || !joined) {
        qr_free(t->a, joined, t->max_text, 1);
        return no_memory(err);
    }
    for (size_t i = 0; i < t->n_pairs; i++)
        t->pairs[i] = (struct qr_pair){ .id = QUIRE_TOKEN_NONE };
    quire_status st = QUIRE_OK;
    for (size_t i = 0; i < spec->n_merges && st == QUIRE_OK; i++)
        st = add_merge(t, &spec->merges[i], i, joined, err);
    qr_free(t->a, joined, t->max_text, 1);
    return st;
}

/* Scores as integers that sort the other way round, so that one comparison serves both kinds of
 * merges. */
quire_status qr_tok_order_scores(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                 struct quire_error *err)
{
    t->order = qr_alloc(t->a, t->n_tokens, sizeof *t->order);
    if (!t->order)
        return no_memory(err);
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        const float score = spec->tokens[i].score + 0.0f; /* -0 and 0 are the same score */
        uint32_t bits;
        memcpy(&bits, &score, sizeof bits);
        const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
        t->order[i] = ~ascending;
        if (qr_tok_is_piece(t, (int32_t)i) &&
            has_inner_space(qr_token_text(t, (int32_t)i), t->tokens[i].text_size))
            t->crosses_space = true;
    }
    return QUIRE_OK;
}

quire_status qr_tok_find_bytes(struct quire_tokenizer *t, struct quire_error *err)
{
    int n = 0;
    for (int b = 0; b < 256; b++)
        t->byte_id[b] = QUIRE_TOKEN_NONE;
    if (t->kind == QR_VOCAB_BYTE_BPE) {
        for (int b = 0; b < 256; b++) {
            uint8_t letter[QR_UTF8_MAX];
            const int32_t id =
                qr_tok_find(t, letter, qr_utf8_put(letter, qr_byte_letter((uint8_t)b)));
            if (id != QUIRE_TOKEN_NONE && qr_tok_is_piece(t, id))
                t->byte_id[b] = id;
        }
        return QUIRE_OK;
    }
    for (uint32_t i = 0; i < t->n_tokens; i++)
        if (t->tokens[i].type == QUIRE_TOKEN_BYTE) {
            t->byte_id[(uint8_t)t->pool[t->tokens[i].bytes_at]] = (int32_t)i;
            n++;
        }
    if (t->special[QUIRE_SPECIAL_UNK] == QUIRE_TOKEN_NONE && n < 256)
        return qr_fail(err, QUIRE_E_FORMAT, "vocabulary has %d byte tokens and no unknown token",
                       n);
    return QUIRE_OK;
}
