/* SPDX-License-Identifier: Apache-2.0 */
/* merges.c - builds the BPE merge table and the merge order of scored vocabularies. */
#include "tokenizer/merges.h"
#include "base/error.h"
#include "tokenizer/vocab.h"
#include <string.h>

enum { SHOWN = 60 /* bytes of a text in a message */, MAX_LINE_SPLITS = 8 };

static quire_status no_memory(struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
}

/* Finds the ids of both parts and of the merged token. joined: scratch of max_text bytes. */
static bool resolve_merge(const struct quire_tokenizer *t, const struct qr_spec_merge *m,
                          char *joined, int32_t *left, int32_t *right, int32_t *merged)
{
    if (m->right) {
        const size_t size = m->left_size + m->right_size;
        if (size > t->max_text)
            return false;
        memcpy(joined, m->left, m->left_size);
        memcpy(joined + m->left_size, m->right, m->right_size);
        *left = qr_vocab_find(t, m->left, m->left_size);
        *right = qr_vocab_find(t, m->right, m->right_size);
        *merged = qr_vocab_find(t, joined, size);
        return *left >= 0 && *right >= 0 && *merged >= 0;
    }
    /* "LEFT RIGHT". If the parts contain spaces themselves, the first split into known tokens is
     * taken. Trying every split would take time quadratic in the length. */
    int spaces = 0;
    for (size_t i = 1; i + 1 < m->left_size && spaces < MAX_LINE_SPLITS; i++) {
        const struct qr_spec_merge split = { m->left, m->left + i + 1, i, m->left_size - i - 1 };
        if (m->left[i] != ' ')
            continue;
        spaces++;
        if (resolve_merge(t, &split, joined, left, right, merged))
            return true;
    }
    return false;
}

/* Whether the text has a U+2581 after another character. */
static bool has_inner_space(const char *s, size_t n)
{
    for (size_t i = 1; i + QR_METASPACE_SIZE <= n; i++)
        if (memcmp(s + i, QR_METASPACE, QR_METASPACE_SIZE) == 0 &&
            (i < QR_METASPACE_SIZE ||
             memcmp(s + i - QR_METASPACE_SIZE, QR_METASPACE, QR_METASPACE_SIZE) != 0))
            return true;
    return false;
}

static quire_status add_merge(struct quire_tokenizer *t, const struct qr_spec_merge *m, size_t rank,
                              char *joined, struct quire_error *err)
{
    int32_t left, right, merged;
    if (!resolve_merge(t, m, joined, &left, &right, &merged))
        return qr_fail(
            err, QUIRE_E_FORMAT, "merge %zu \"%.*s%s%.*s\" does not join two tokens into a third",
            rank, (int)(m->left_size < SHOWN ? m->left_size : SHOWN), m->left, m->right ? " " : "",
            (int)(m->right_size < SHOWN ? m->right_size : SHOWN), m->right ? m->right : "");
    if (t->tokens[merged].type == QUIRE_TOKEN_CONTROL ||
        t->tokens[merged].type == QUIRE_TOKEN_UNKNOWN)
        return QUIRE_OK; /* plain text must never merge into a special token */
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t i = qr_hash_u64(t->hash_key, key);
    for (; t->merges[i & (t->n_merge_slots - 1)].id != QUIRE_TOKEN_NONE; i++)
        if (t->merges[i & (t->n_merge_slots - 1)].key == key)
            return qr_fail(err, QUIRE_E_FORMAT, "merges %u and %zu are the same",
                           t->merges[i & (t->n_merge_slots - 1)].rank, rank);
    t->merges[i & (t->n_merge_slots - 1)] = (struct qr_merge){ key, (uint32_t)rank, merged };
    t->tokens_cross_spaces = t->tokens_cross_spaces ||
                             has_inner_space(qr_token_text(t, merged), t->tokens[merged].text_size);
    return QUIRE_OK;
}

quire_status qr_merges_add(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                           struct quire_error *err)
{
    if (spec->n_merges > 4 * (size_t)QR_MAX_TOKENS)
        return qr_fail(err, QUIRE_E_LIMIT, "%zu merges", spec->n_merges);
    t->n_merge_slots = qr_vocab_table_slots(spec->n_merges);
    t->merges = qr_alloc(t->a, t->n_merge_slots, sizeof *t->merges);
    char *joined = qr_alloc(t->a, t->max_text, 1);
    if (!t->merges || !joined) {
        qr_free(t->a, joined, t->max_text, 1);
        return no_memory(err);
    }
    for (size_t i = 0; i < t->n_merge_slots; i++)
        t->merges[i] = (struct qr_merge){ .id = QUIRE_TOKEN_NONE };
    quire_status st = QUIRE_OK;
    for (size_t i = 0; i < spec->n_merges && st == QUIRE_OK; i++)
        st = add_merge(t, &spec->merges[i], i, joined, err);
    qr_free(t->a, joined, t->max_text, 1);
    return st;
}

/* Maps scores to integers in descending order, so that ranks and scores share one comparison. */
quire_status qr_merges_order_by_score(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                      struct quire_error *err)
{
    t->score_rank = qr_alloc(t->a, t->n_tokens, sizeof *t->score_rank);
    if (!t->score_rank)
        return no_memory(err);
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        const float score = spec->tokens[i].score + 0.0f; /* -0 and 0 are equal */
        uint32_t bits;
        memcpy(&bits, &score, sizeof bits);
        const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
        t->score_rank[i] = ~ascending;
    }
    qr_merges_find_inner_spaces(t);
    return QUIRE_OK;
}

void qr_merges_find_inner_spaces(struct quire_tokenizer *t)
{
    for (uint32_t i = 0; i < t->n_tokens && !t->tokens_cross_spaces; i++)
        t->tokens_cross_spaces =
            qr_token_is_normal(t, (int32_t)i) &&
            has_inner_space(qr_token_text(t, (int32_t)i), t->tokens[i].text_size);
}
