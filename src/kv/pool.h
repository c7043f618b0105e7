/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - the cache object as the library sees it. */
#ifndef QR_KV_POOL_H
#define QR_KV_POOL_H
#include "kernels/kernels.h"
#include "kv/layout.h"
#include <quire/kv_cache.h>

struct qr_kv_group {
    struct qr_kv_layout layout;
    uint32_t n_layers, n_kv_heads, n_blocks;
    uint32_t window;          /* 0 = full */
    size_t offset;            /* bytes from the pool's start */
    unsigned char *base;      /* pool + offset; order [layer][kv_head][block] */
    size_t head_bytes;        /* n_blocks blocks of one head */
    size_t layer_bytes;       /* n_kv_heads heads */
    float *k_scale, *v_scale; /* [n_layers][n_kv_heads]; 1 for dtypes other than fp8 */
    uint32_t *owners;         /* [n_blocks]; 0 = free */
    uint64_t *free_bits;      /* bit b % 64 of word b / 64 is set: block b is free */
    uint32_t n_free;
    /* A check that may name a slot (or block) once writes its generation to the slot's mark: equal
     * means named already. Nothing has to be cleared between checks. */
    uint32_t generation;
    uint32_t *marks; /* [n_blocks * block_size] */
    struct {
        size_t free_bits, owners, marks, k_scale, v_scale; /* byte offsets from the cache object */
    } at;
};

struct quire_kv_cache {
    const struct quire_allocator *allocator;
    const struct quire_logger *logger;
    const struct qr_kernels *kernels;
    unsigned char *pool;
    size_t pool_bytes, tables_bytes;
    uint64_t clipped; /* atomic */
    bool locked;      /* by mlock */
    bool busy;        /* atomic: a call that changes the cache is running */
    uint32_t block_size, n_groups;
    struct qr_kv_group groups[]; /* the tables of all groups follow in the same allocation */
};

/* First byte of a block of one layer and head. */
static inline unsigned char *qr_kv_block(const struct quire_kv_cache *kv, uint32_t group,
                                         uint32_t layer, uint32_t head, int32_t block)
{
    const struct qr_kv_group *g = &kv->groups[group];
    return g->base + layer * g->layer_bytes + head * g->head_bytes +
           (size_t)block * g->layout.block_bytes;
}

/* Effective scales of one layer and head. */
static inline float qr_kv_k_scale(const struct quire_kv_cache *kv, uint32_t group, uint32_t layer,
                                  uint32_t head)
{
    const struct qr_kv_group *g = &kv->groups[group];
    return g->k_scale[(size_t)layer * g->n_kv_heads + head];
}

static inline float qr_kv_v_scale(const struct quire_kv_cache *kv, uint32_t group, uint32_t layer,
                                  uint32_t head)
{
    const struct qr_kv_group *g = &kv->groups[group];
    return g->v_scale[(size_t)layer * g->n_kv_heads + head];
}

struct qr_kv_sizes {
    size_t pool, tables; /* bytes */
};

/* Checks a configuration; *out is its copy with the cache's own defaults filled in. */
quire_status qr_kv_config_check(const struct quire_kv_params *config, struct quire_kv_params *out,
                                struct quire_error *err);
/* Fills group i of a checked configuration, all but its pointers, and adds it to the sizes of
 * those before it. */
quire_status qr_kv_group_size(const struct quire_kv_params *config, uint32_t i,
                              struct qr_kv_sizes *sizes, struct qr_kv_group *out,
                              struct quire_error *err);

/* Marks a cache as in use by a call that changes it; QUIRE_E_BUSY when another one runs. */
quire_status qr_kv_enter(struct quire_kv_cache *kv, struct quire_error *err);
void qr_kv_leave(struct quire_kv_cache *kv);

/* kv is not NULL, and the group, or the group and layer, exist. */
quire_status qr_kv_check_group(const struct quire_kv_cache *kv, uint32_t group,
                               struct quire_error *err);
quire_status qr_kv_check_layer(const struct quire_kv_cache *kv, uint32_t group, uint32_t layer,
                               struct quire_error *err);
/* `id`, entry i of the argument `what`, is a block with at least min and at most max owners. */
quire_status qr_kv_check_block(const struct qr_kv_group *g, const char *what, size_t i, int32_t id,
                               uint32_t min, uint32_t max, struct quire_error *err);

/* Starts a check in which slots or blocks are named at most once; marks are fresh when equal to
 * the result. */
uint32_t qr_kv_new_generation(struct qr_kv_group *g);

/* quire_kv_check_slots for a call that has entered the cache. */
quire_status qr_kv_check_slots(struct qr_kv_group *g, const int64_t *slots, size_t n,
                               struct quire_error *err);

#endif
