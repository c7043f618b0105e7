/* SPDX-License-Identifier: Apache-2.0 */
/* prefix.c - how much of a sequence's beginning can be taken from blocks that a cache still holds. */
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

/* The longest prefix of at most n tokens that one group can serve. A missing block that a query at
 * n would see ends the prefix before itself; the window of that shorter prefix begins earlier, so
 * it has to be looked at anew. */
static uint32_t longest_of(const struct quire_kv_prefix_args *p,
                           const struct quire_kv_prefix_group *g, uint32_t n)
{
    if (g->window == 1)
        return n; /* queries see only themselves */
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
    if (!p || !n_tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", p ? "n_tokens" : "prefix");
    if (p->struct_size != sizeof *p)
        return qr_fail(err, QUIRE_E_MISUSE, "prefix.struct_size is %u, this library expects %zu",
                       p->struct_size, sizeof *p);
    if (!p->block_size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "prefix.block_size is 0");
    if (p->n_groups && !p->groups)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "prefix.groups is NULL");
    return QUIRE_OK;
}

quire_status quire_kv_prefix_hit(const struct quire_kv_prefix_args *prefix, uint32_t *n_tokens,
                                 struct quire_error *err)
{
    QR_TRY(check_prefix(prefix, n_tokens, err));
    uint32_t n = prefix->n_tokens, before;
    n -= prefix->multiple_of ? n % prefix->multiple_of : 0;
    do { /* what shortens the prefix for one group may move the window of another */
        before = n;
        for (uint32_t i = 0; i < prefix->n_groups; i++)
            n = longest_of(prefix, &prefix->groups[i], n);
    } while (n < before);
    *n_tokens = n;
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_kv_prefix_args)
