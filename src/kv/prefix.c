/* SPDX-License-Identifier: Apache-2.0 */
/* prefix.c - length of a prefix-cache hit: the longest prefix whose blocks all groups still
 * hold. */
#include "base/error.h"
#include "base/struct_size.h"
#include <quire/kv_cache.h>
#include <stdbool.h>

static bool holds(const struct quire_kv_prefix_group *g, uint32_t block)
{
    if (block < g->first_block || block - g->first_block >= g->n_blocks)
        return false;
    return !g->blocks || g->blocks[block - g->first_block] >= 0;
}

/* Longest prefix of at most n tokens that one group holds. The blocks that the query at position n
 * attends to must exist. A missing one ends the prefix before that block; the window of the shorter
 * prefix begins earlier, so the search repeats. */
static uint32_t group_hit(const struct quire_kv_prefix_args *p,
                          const struct quire_kv_prefix_group *g, uint32_t n)
{
    if (g->window == 1)
        return n; /* queries attend to themselves only */
    for (;;) {
        const uint32_t first = quire_kv_first_block(p->block_size, g->window, n);
        uint32_t end = n / p->block_size + (n % p->block_size != 0);
        while (end > first && holds(g, end - 1))
            end--;
        if (end <= first)
            return n;
        n = (end - 1) * p->block_size;
        n -= p->multiple_of ? n % p->multiple_of : 0;
    }
}

static quire_status check_prefix(const struct quire_kv_prefix_args *p, const uint32_t *n_tokens,
                                 struct quire_error *err)
{
    if (!n_tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_tokens is NULL");
    if (!p->block_size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.block_size is 0");
    if (p->n_groups && !p->groups)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.groups is NULL");
    return QUIRE_OK;
}

quire_status quire_kv_prefix_hit(const struct quire_kv_prefix_args *args, uint32_t *n_tokens,
                                 struct quire_error *err)
{
    struct quire_kv_prefix_args copy;
    const struct quire_kv_prefix_args *prefix = &copy;
    QR_READ_STRUCT(&copy, args, n_groups, "args", err);
    QR_TRY(check_prefix(prefix, n_tokens, err));
    uint32_t n = prefix->n_tokens, before;
    n -= prefix->multiple_of ? n % prefix->multiple_of : 0;
    do { /* a prefix shortened for one group has an earlier window in another */
        before = n;
        for (uint32_t i = 0; i < prefix->n_groups; i++)
            n = group_hit(prefix, &prefix->groups[i], n);
    } while (n < before);
    *n_tokens = n;
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_kv_prefix_args)
