/* SPDX-License-Identifier: Apache-2.0 */
/* sorted_tokens.c - sorts the normal tokens and narrows ranges of them byte by byte. */
#include "tokenizer/sorted_tokens.h"
#include "base/error.h"
#include "tokenizer/vocab.h"
#include <string.h>

static const char *string_of(const struct quire_tokenizer *t, uint32_t id)
{
    const struct qr_token *tok = &t->tokens[id];
    return t->pool + (t->sorted.by_bytes ? tok->bytes_offset : tok->text_offset);
}

int qr_sorted_tokens_compare(const struct quire_tokenizer *t, uint32_t a, uint32_t b)
{
    const uint32_t x = qr_sorted_tokens_size(t, a), y = qr_sorted_tokens_size(t, b);
    const int order = memcmp(string_of(t, a), string_of(t, b), x < y ? x : y);
    return order ? order : (x > y) - (x < y);
}

static bool is_less(const struct quire_tokenizer *t, uint32_t a, uint32_t b)
{
    const int order = qr_sorted_tokens_compare(t, a, b);
    return order ? order < 0 : a < b;
}

/* Merges the sorted runs [0, left) and [left, n) of ids. */
static void merge(const struct quire_tokenizer *t, uint32_t *restrict out, const uint32_t *ids,
                  size_t left, size_t n)
{
    size_t a = 0, b = left;
    for (size_t i = 0; i < n; i++) {
        const bool from_left = b == n || (a < left && is_less(t, ids[a], ids[b]));
        out[i] = from_left ? ids[a++] : ids[b++];
    }
}

/* Merge sort, of which scratch holds n ids: qsort() allocates outside the host's hooks. */
static void sort_ids(const struct quire_tokenizer *t, uint32_t *ids, uint32_t *scratch, size_t n)
{
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t i = 0; i < n; i += 2 * run) {
            const size_t rest = n - i;
            merge(t, scratch + i, ids + i, rest < run ? rest : run,
                  rest < 2 * run ? rest : 2 * run);
        }
        memcpy(ids, scratch, n * sizeof *ids);
    }
}

static uint8_t byte_at(const struct quire_tokenizer *t, uint32_t id, uint32_t i)
{
    return (uint8_t)string_of(t, id)[i];
}

quire_status qr_sorted_tokens_build(struct quire_tokenizer *t, bool by_bytes,
                                    struct quire_error *err)
{
    struct qr_sorted_tokens *s = &t->sorted;
    s->by_bytes = by_bytes;
    s->ids = qr_alloc(t->a, t->n_tokens, sizeof *s->ids);
    uint32_t *scratch = qr_alloc(t->a, t->n_tokens, sizeof *scratch);
    if (!s->ids || !scratch) {
        qr_free(t->a, scratch, t->n_tokens, sizeof *scratch);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    }
    for (uint32_t i = 0; i < t->n_tokens; i++)
        /* GCOVR_EXCL_BR_LINE: qr_vocab_add_tokens() refuses tokens without text */
        if (qr_token_is_normal(t, (int32_t)i) && qr_sorted_tokens_size(t, i))
            s->ids[s->n++] = i;
    sort_ids(t, s->ids, scratch, s->n);
    qr_free(t->a, scratch, t->n_tokens, sizeof *scratch);
    for (uint32_t i = 0, byte = 0; byte <= 256; byte++) {
        while (i < s->n && byte_at(t, s->ids[i], 0) < byte)
            i++;
        s->by_first_byte[byte] = i;
    }
    return QUIRE_OK;
}

void qr_sorted_tokens_free(struct quire_tokenizer *t)
{
    qr_free(t->a, t->sorted.ids, t->n_tokens, sizeof *t->sorted.ids);
}

uint64_t qr_sorted_tokens_bytes(const struct quire_tokenizer *t)
{
    return t->sorted.ids ? (uint64_t)t->n_tokens * sizeof *t->sorted.ids : 0;
}

uint32_t qr_sorted_tokens_lower_bound(const struct quire_tokenizer *t, uint32_t low, uint32_t high,
                                      uint32_t depth, uint32_t byte)
{
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2, id = t->sorted.ids[mid];
        /* GCOVR_EXCL_BR_LINE: the caller has removed the token that ends there */
        if (qr_sorted_tokens_size(t, id) <= depth || byte_at(t, id, depth) < byte)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}
