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

static void sift_down(const struct quire_tokenizer *t, uint32_t *ids, uint32_t n, uint32_t at)
{
    const uint32_t moved = ids[at];
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_less(t, ids[child], ids[child + 1]))
            child++;
        if (!is_less(t, moved, ids[child]))
            break;
        ids[at] = ids[child];
    }
    ids[at] = moved;
}

/* Heap sort: qsort() allocates outside the host's hooks. */
static void sort_ids(const struct quire_tokenizer *t, uint32_t *ids, uint32_t n)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift_down(t, ids, n, i);
    for (uint32_t end = n; end-- > 1;) {
        const uint32_t last = ids[0];
        ids[0] = ids[end];
        ids[end] = last;
        sift_down(t, ids, end, 0);
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
    if (!s->ids)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    for (uint32_t i = 0; i < t->n_tokens; i++)
        /* GCOVR_EXCL_BR_LINE: qr_vocab_add_tokens() refuses tokens without text */
        if (qr_token_is_normal(t, (int32_t)i) && qr_sorted_tokens_size(t, i))
            s->ids[s->n++] = i;
    sort_ids(t, s->ids, s->n);
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
