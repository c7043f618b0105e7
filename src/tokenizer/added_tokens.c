/* SPDX-License-Identifier: Apache-2.0 */
/* added_tokens.c - collects the added tokens and matches them in the input. */
#include "tokenizer/added_tokens.h"
#include "base/error.h"
#include <string.h>

enum { MAX_ADDED_TOKEN_BYTES = 1024 };

static int compare_texts(const struct qr_added_token *a, const struct qr_added_token *b)
{
    const int c = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    if (c || a->size != b->size)
        return c ? c : a->size < b->size ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Heap sort: needs no memory and has no quadratic case. */
static void sort_texts(struct qr_added_token *s, size_t n)
{
    for (size_t built = n / 2, end = n; end > 1;) {
        struct qr_added_token moving;
        if (built) {
            moving = s[--built];
        } else {
            moving = s[--end];
            s[end] = s[0];
        }
        size_t i = built;
        for (size_t child; (child = 2 * i + 1) < end; i = child) {
            if (child + 1 < end && compare_texts(&s[child], &s[child + 1]) < 0)
                child++;
            if (compare_texts(&moving, &s[child]) >= 0)
                break;
            s[i] = s[child];
        }
        s[i] = moving;
    }
}

static bool same_text(const struct qr_added_token *a, const struct qr_added_token *b)
{
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

static bool add_text(struct quire_tokenizer *t, uint32_t offset, uint32_t size, int32_t id)
{
    if (!qr_grow(t->a, (void **)&t->added, &t->cap_added, t->n_added + 1, sizeof *t->added))
        return false;
    t->added[t->n_added++] = (struct qr_added_token){ t->pool + offset, size, id };
    return true;
}

quire_status qr_added_tokens_build(struct quire_tokenizer *t, struct quire_error *err)
{
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        struct qr_token *tok = &t->tokens[i];
        tok->special = tok->type == QUIRE_TOKEN_CONTROL || tok->type == QUIRE_TOKEN_UNKNOWN;
        if (!tok->special && tok->type != QUIRE_TOKEN_USER_DEFINED)
            continue;
        if (tok->text_size > MAX_ADDED_TOKEN_BYTES)
            return qr_fail(err, QUIRE_E_LIMIT, "added token %u has %u bytes, at most %d", i,
                           tok->text_size, MAX_ADDED_TOKEN_BYTES);
        /* U+2581 of a user-defined token matches a plain space of the input */
        const bool metaspaces =
            t->kind == QR_VOCAB_SENTENCEPIECE_BPE || t->kind == QR_VOCAB_UNIGRAM;
        const bool spaced = metaspaces && !tok->special && tok->bytes_offset != tok->text_offset &&
                            !(tok->match & QR_TOKEN_NOT_NORMALIZED);
        if (!add_text(t, tok->text_offset, tok->text_size, (int32_t)i) ||
            (spaced && !add_text(t, tok->bytes_offset, tok->bytes_size, (int32_t)i)))
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    }
    sort_texts(t->added, t->n_added);
    size_t kept = 0;
    for (size_t i = 0; i < t->n_added; i++) { /* the lowest id of equal texts wins */
        const struct qr_added_token *s = &t->added[i];
        if (kept && same_text(&t->added[kept - 1], s))
            continue;
        t->starts_added_token[(uint8_t)*s->text] = true;
        t->added[kept++] = *s;
    }
    t->n_added = kept;
    return QUIRE_OK;
}

/* First index in [lo, hi) of a text whose byte at `depth` is >= b. All texts in the range share
 * their first `depth` bytes and are sorted, so a text that ends there comes first. */
static size_t lower_bound(const struct quire_tokenizer *t, size_t lo, size_t hi, uint32_t depth,
                          unsigned b)
{
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        const struct qr_added_token *s = &t->added[mid];
        /* GCOVR_EXCL_BR_LINE: the caller has removed the text that ends there */
        if (s->size <= depth || (uint8_t)s->text[depth] < b)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct qr_added_token *qr_added_token_match(const struct quire_tokenizer *t, const char *s,
                                                  size_t n, size_t n_trusted)
{
    const struct qr_added_token *best = NULL;
    size_t lo = 0, hi = t->n_added;
    for (uint32_t depth = 0; depth < n && lo < hi; depth++) {
        const unsigned b = (uint8_t)s[depth];
        lo = lower_bound(t, lo, hi, depth, b);
        hi = lower_bound(t, lo, hi, depth, b + 1);
        /* texts are unique: one that ends after this byte is the first of the range */
        if (lo < hi && t->added[lo].size == depth + 1) {
            const struct qr_added_token *found = &t->added[lo++];
            if (depth < n_trusted || !t->tokens[found->id].special)
                best = found;
        }
    }
    return best;
}
