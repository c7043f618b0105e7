/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - checks of groups, layers and blocks that arguments name, and of concurrent updates. */
#include "kv/check.h"
#include "base/error.h"
#include "base/handle.h"
#include <string.h>

/* A flag instead of a lock: concurrent updates are an error of the host, which is reported. */
quire_status qr_kv_begin_update(struct quire_kv_cache *kv, struct quire_error *err)
{
    if (__atomic_exchange_n(&kv->updating, true, __ATOMIC_ACQUIRE))
        return qr_fail(err, QUIRE_E_BUSY, "another call is changing this cache");
    return QUIRE_OK;
}

void qr_kv_end_update(struct quire_kv_cache *kv)
{
    __atomic_store_n(&kv->updating, false, __ATOMIC_RELEASE);
}

quire_status qr_kv_check_group(const struct quire_kv_cache *kv, uint32_t group,
                               struct quire_error *err)
{
    QR_TRY(qr_handle_check(kv, QR_KIND_KV_CACHE, "kv", err));
    if (group >= kv->n_groups)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "group %u does not exist: the cache has %u", group,
                       kv->n_groups);
    return QUIRE_OK;
}

quire_status qr_kv_check_layer(const struct quire_kv_cache *kv, uint32_t group, uint32_t layer,
                               struct quire_error *err)
{
    QR_TRY(qr_kv_check_group(kv, group, err));
    if (layer >= kv->groups[group].n_layers)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "layer %u does not exist: group %u has %u", layer,
                       group, kv->groups[group].n_layers);
    return QUIRE_OK;
}

quire_status qr_kv_check_block(const struct qr_kv_group *g, const char *what, size_t i, int32_t id,
                               uint32_t min_refs, uint32_t max_refs, struct quire_error *err)
{
    if (id < 0 || (uint32_t)id >= g->n_blocks)
        return qr_fail(err, QUIRE_E_RANGE, "%s[%zu] %d is outside the pool of %u blocks", what, i,
                       id, g->n_blocks);
    const uint32_t refs = g->ref_counts[id];
    if (refs >= min_refs && refs <= max_refs)
        return QUIRE_OK;
    if (refs == 0)
        return qr_fail(err, QUIRE_E_MISUSE, "%s[%zu]: block %d is free", what, i, id);
    return qr_fail(err, QUIRE_E_MISUSE, "%s[%zu]: block %d has %u references, copy it first", what,
                   i, id, refs);
}

uint32_t qr_kv_next_visit_epoch(struct qr_kv_group *g)
{
    if (++g->visit_epoch == 0) { /* wrapped: entries of 2^32 checks ago would look visited */
        memset(g->visited, 0,
               (size_t)g->n_blocks * (size_t)g->layout.block_size * sizeof *g->visited);
        g->visit_epoch = 1;
    }
    return g->visit_epoch;
}
