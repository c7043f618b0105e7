/* SPDX-License-Identifier: Apache-2.0 */
/* tok_special.c - finding the texts of special and user-defined tokens in the input. */
#include "tokenizer/impl.h"

/* First index in [lo, hi) whose byte at `depth` is >= b. All texts there agree in their first
 * `depth` bytes and are sorted, so that those that end here come first. */
static size_t lower_bound(const struct quire_tokenizer *t, size_t lo, size_t hi, uint32_t depth,
                          unsigned b)
{
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        const struct qr_special_text *s = &t->specials[mid];
        if (s->size <= depth || (uint8_t)s->text[depth] < b)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct qr_special_text *qr_special_at(const struct quire_tokenizer *t, const char *s,
                                            size_t n, size_t own)
{
    if (!n || !t->starts_special[(uint8_t)*s])
        return NULL;
    const struct qr_special_text *best = NULL;
    size_t lo = 0, hi = t->n_specials;
    for (uint32_t depth = 0; depth < n && lo < hi; depth++) {
        const unsigned b = (uint8_t)s[depth];
        lo = lower_bound(t, lo, hi, depth, b);
        hi = lower_bound(t, lo, hi, depth, b + 1);
        /* texts are unique: the one that ends behind this byte is the first of the range */
        if (lo < hi && t->specials[lo].size == depth + 1) {
            const struct qr_special_text *found = &t->specials[lo++];
            if (depth < own || !t->tokens[found->id].special)
                best = found;
        }
    }
    return best;
}
