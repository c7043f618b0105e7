/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - the KV cache object and its groups. */
#ifndef QR_KV_TYPES_H
#define QR_KV_TYPES_H
#include "base/handle.h"
#include "kernels/kernels.h"
#include "kv/layout.h"
#include <quire/kv_cache.h>

/* A KV group: layers with the same window, dtypes and head dimensions, which share block ids. */
struct qr_kv_group {
    struct qr_kv_layout layout;
    uint32_t n_layers, n_kv_heads, n_blocks;
    uint32_t window; /* tokens; 0 = full attention */
    /* elements of a block of the Walsh-Hadamard transform of keys and values; 0 = none */
    uint32_t k_rotation, v_rotation;
    size_t offset; /* bytes from the pool's start */
    /* pool + offset; order [extent][layer][kv_head][block of the extent] */
    unsigned char *base;
    uint32_t extent_blocks;   /* consecutive blocks of an extent; the last one is what is left */
    float *k_scale, *v_scale; /* [n_layers][n_kv_heads]; 1 for dtypes other than fp8 */
    uint32_t *ref_counts;     /* [n_blocks]; 0 = free */
    uint64_t *free_bits;      /* free list: bit b % 64 of word b / 64 is set if block b is free */
    uint32_t n_free;
    uint32_t n_used; /* ids in extents up to the last one from which a block has been taken */
    /* Duplicate detection in lists of slots, or of blocks by their first slots: a slot was seen in
     * the current check if visited[slot] == visit_epoch. No entry is cleared between checks. */
    uint32_t visit_epoch;
    uint32_t *visited; /* [n_blocks * block_size] */
    struct {
        size_t free_bits, ref_counts, visited, k_scale, v_scale; /* bytes from the cache object */
    } table_offset;
};

struct quire_kv_cache {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    const struct quire_logger *logger;
    const struct qr_kernels *kernels;
    unsigned char *pool;
    size_t pool_bytes, tables_bytes;
    uint64_t clipped; /* atomic: values beyond the range of their dtype */
    bool locked;      /* by mlock */
    bool interleaved; /* by qr_numa_interleave */
    bool updating;    /* atomic: a call that changes the cache is running */
    uint32_t block_size, n_groups;
    struct qr_kv_group groups[]; /* the tables of all groups follow in the same allocation */
};

/* The blocks of one layer and head. */
struct qr_kv_head {
    unsigned char *full, *last; /* the first of the first extent, and of the last one */
    uint32_t last_id;           /* first id of the last extent */
    uint32_t in_extent;         /* mask of the bits of an id that count within an extent */
    size_t block_bytes, all_heads_bytes;
};

static inline struct qr_kv_head qr_kv_head(const struct qr_kv_group *g, uint32_t layer,
                                           uint32_t head)
{
    const size_t bytes = g->layout.block_bytes, n_heads = (size_t)g->n_layers * g->n_kv_heads,
                 h = (size_t)layer * g->n_kv_heads + head;
    const uint32_t last = (g->n_blocks - 1) & ~(g->extent_blocks - 1);
    return (struct qr_kv_head){ .full = g->base + h * g->extent_blocks * bytes,
                                .last =
                                    g->base + (last * n_heads + h * (g->n_blocks - last)) * bytes,
                                .last_id = last,
                                .in_extent = g->extent_blocks - 1,
                                .block_bytes = bytes,
                                .all_heads_bytes = n_heads * bytes };
}

/* First byte of a block. */
static inline unsigned char *qr_kv_head_block(const struct qr_kv_head *h, int32_t block)
{
    const uint32_t id = (uint32_t)block;
    if (id >= h->last_id)
        return h->last + (size_t)(id - h->last_id) * h->block_bytes;
    return h->full + (id & ~h->in_extent) * h->all_heads_bytes +
           (id & h->in_extent) * h->block_bytes;
}

static inline unsigned char *qr_kv_block(const struct quire_kv_cache *kv, uint32_t group,
                                         uint32_t layer, uint32_t head, int32_t block)
{
    const struct qr_kv_head h = qr_kv_head(&kv->groups[group], layer, head);
    return qr_kv_head_block(&h, block);
}

/* Pool scales of one layer and head. */
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

#endif
