/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - creates, destroys and describes a KV cache. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/memory.h"
#include "base/numa.h"
#include "kernels/dispatch.h"
#include "kv/check.h"
#include "kv/config.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

enum { TABLE_ALIGN = 64, CACHE_LINE = 64, HUGE_PAGE = 2 << 20, SMALL_POOL = 32 << 20 };

static size_t pool_align(size_t bytes) { return bytes >= HUGE_PAGE ? HUGE_PAGE : CACHE_LINE; }

/* Whether to ask for huge pages. The blocks of one layer and head are contiguous, so the first
 * token touches a page in each of these ranges: huge pages make a small pool resident at once,
 * 28 MiB for the 7 layers and 2 heads of the bundled model. The small pages that one sequence reads
 * of a small pool are few enough for the TLB. */
static bool wants_huge_pages(size_t bytes, uint32_t flags)
{
    return bytes >= (flags & (QUIRE_KV_TOUCH | QUIRE_KV_LOCK) ? HUGE_PAGE : SMALL_POOL);
}

/* Expands n scales (one, per layer, or per layer and head) to [n_layers][n_kv_heads]. Dtypes
 * without pool scales get 1. */
static void fill_scales(float *out, const struct qr_kv_group *g, const struct qr_kv_dtype *type,
                        const float *scales, uint32_t n)
{
    const size_t total = (size_t)g->n_layers * g->n_kv_heads;
    for (size_t i = 0; i < total; i++) {
        float s = 1;
        if (n && type->scaling == QR_KV_POOL_SCALE)
            s = scales[n == 1 ? 0 : n == total ? i : i / g->n_kv_heads];
        out[i] = s;
    }
}

/* Sets the table pointers from their offsets and puts all blocks on the free list. */
static void init_group(struct quire_kv_cache *kv, struct qr_kv_group *g,
                       const struct quire_kv_group_config *c)
{
    char *const tables = (char *)kv;
    g->free_bits = (void *)(tables + g->table_offset.free_bits);
    g->ref_counts = (void *)(tables + g->table_offset.ref_counts);
    g->visited = (void *)(tables + g->table_offset.visited);
    g->k_scale = (void *)(tables + g->table_offset.k_scale);
    g->v_scale = (void *)(tables + g->table_offset.v_scale);
    for (uint32_t b = 0; b < g->n_blocks; b++)
        g->free_bits[b / 64] |= (uint64_t)1 << b % 64;
    fill_scales(g->k_scale, g, g->layout.k_type, c->k_scale, c->n_k_scales);
    if (g->layout.latent) /* values are the first elements of keys */
        fill_scales(g->v_scale, g, g->layout.k_type, c->k_scale, c->n_k_scales);
    else
        fill_scales(g->v_scale, g, g->layout.v_type, c->v_scale, c->n_v_scales);
}

/* Allocates the object with its tables, without the pool. */
static quire_status make_tables(const struct quire_kv_params *c, struct quire_kv_cache **out,
                                struct quire_error *err)
{
    struct qr_kv_sizes sizes = { 0 };
    struct qr_kv_group group;
    for (uint32_t i = 0; i < c->n_groups; i++)
        QR_TRY(qr_kv_group_size(c, i, &sizes, &group, err));
    struct quire_kv_cache *kv = qr_alloc_aligned(c->allocator, sizes.tables, TABLE_ALIGN);
    if (!kv)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for cache tables of %zu bytes", sizes.tables);
    memset(kv, 0, sizes.tables);
    kv->handle.kind = QR_KIND_KV_CACHE;
    kv->allocator = c->allocator;
    kv->logger = c->logger;
    kv->pool_bytes = sizes.pool;
    kv->tables_bytes = sizes.tables;
    kv->block_size = c->block_size;
    kv->n_groups = c->n_groups;
    sizes = (struct qr_kv_sizes){ 0 };
    for (uint32_t i = 0; i < c->n_groups; i++) {
        (void)qr_kv_group_size(c, i, &sizes, &kv->groups[i], NULL); /* succeeded above */
        init_group(kv, &kv->groups[i], &c->groups[i]);
    }
    *out = kv;
    return QUIRE_OK;
}

/* Refuses a pool that the kernel cannot back: touching its pages would end some process. A host
 * with an allocator of its own knows how much memory that has. */
static quire_status check_memory(const struct quire_kv_cache *kv, struct quire_error *err)
{
    const uint64_t available = kv->allocator ? 0 : qr_memory_available();
    if (available && kv->pool_bytes > available)
        return qr_fail(err, QUIRE_E_NOMEM,
                       "a cache of %zu bytes (%zu MiB) exceeds the %" PRIu64 " MiB of free memory",
                       kv->pool_bytes, kv->pool_bytes >> 20, available >> 20);
    return QUIRE_OK;
}

/* Allocates the pool. Unless a flag asks for it, no page is touched: the kernel backs pages on
 * first use. */
static quire_status make_pool(struct quire_kv_cache *kv, uint32_t flags, struct quire_error *err)
{
    if (flags & (QUIRE_KV_TOUCH | QUIRE_KV_LOCK))
        QR_TRY(check_memory(kv, err));
    kv->pool = qr_alloc_aligned(kv->allocator, kv->pool_bytes, pool_align(kv->pool_bytes));
    if (!kv->pool)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a cache of %zu bytes (%zu MiB)",
                       kv->pool_bytes, kv->pool_bytes >> 20);
#ifdef MADV_HUGEPAGE
    /* a host's allocator decides on huge pages itself; a failed madvise costs only speed */
    if (!kv->allocator && wants_huge_pages(kv->pool_bytes, flags))
        (void)madvise(kv->pool, kv->pool_bytes & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
#endif
    /* the calling thread touches all pages now, and threads on all nodes will read them */
    if (!kv->allocator && kv->pool_bytes >= HUGE_PAGE && flags & (QUIRE_KV_TOUCH | QUIRE_KV_LOCK))
        kv->interleaved = qr_numa_interleave(kv->pool, kv->pool_bytes);
    for (uint32_t i = 0; i < kv->n_groups; i++)
        kv->groups[i].base = kv->pool + kv->groups[i].offset;
    if (flags & QUIRE_KV_TOUCH)
        memset(kv->pool, 0, kv->pool_bytes);
    if (flags & QUIRE_KV_LOCK) {
        if (mlock(kv->pool, kv->pool_bytes) != 0)
            return qr_fail_errno(err, QUIRE_E_LIMIT, errno,
                                 "cannot lock a cache of %zu bytes in memory", kv->pool_bytes);
        kv->locked = true;
    }
    return QUIRE_OK;
}

quire_status quire_kv_create(const struct quire_kv_params *params, struct quire_kv_cache **out,
                             struct quire_error *err)
{
    QR_FP_SCOPE;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    struct quire_kv_params c;
    const struct qr_kernels *kernels;
    struct quire_kv_cache *kv = NULL;
    QR_TRY(qr_kv_config_check(params, &c, err));
    QR_TRY(qr_kernels_get(c.isa, &kernels, err));
    QR_TRY(make_tables(&c, &kv, err));
    kv->kernels = kernels;
    const quire_status s = make_pool(kv, c.flags, err);
    if (s != QUIRE_OK) {
        quire_kv_destroy(kv);
        return s;
    }
    qr_log(kv->logger, QUIRE_LOG_INFO, "kv cache: %u groups, block size %u, %zu MiB", kv->n_groups,
           kv->block_size, kv->pool_bytes >> 20);
    *out = kv;
    return QUIRE_OK;
}

void quire_kv_destroy(struct quire_kv_cache *kv)
{
    if (!qr_handle_end(kv, QR_KIND_KV_CACHE))
        return;
    if (kv->locked)
        (void)munlock(kv->pool, kv->pool_bytes);
    if (kv->interleaved)
        qr_numa_reset(kv->pool, kv->pool_bytes);
    qr_free(kv->allocator, kv->pool, kv->pool_bytes, 1);
    qr_free(kv->allocator, kv, kv->tables_bytes, 1);
}

uint32_t quire_kv_group_count(const struct quire_kv_cache *kv)
{
    return qr_handle_is(kv, QR_KIND_KV_CACHE) ? kv->n_groups : 0;
}

uint32_t quire_kv_block_size(const struct quire_kv_cache *kv)
{
    return qr_handle_is(kv, QR_KIND_KV_CACHE) ? kv->block_size : 0;
}

uint64_t quire_kv_clipped(const struct quire_kv_cache *kv)
{
    return qr_handle_is(kv, QR_KIND_KV_CACHE) ? __atomic_load_n(&kv->clipped, __ATOMIC_RELAXED) : 0;
}

quire_status quire_kv_get_group(const struct quire_kv_cache *kv, uint32_t group,
                                struct quire_kv_group_config *out, struct quire_error *err)
{
    QR_TRY(qr_kv_check_group(kv, group, err));
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    const struct qr_kv_group *g = &kv->groups[group];
    const uint32_t n_scales = g->n_layers * g->n_kv_heads;
    const uint32_t flags = (g->layout.latent ? QUIRE_KV_LATENT : 0) |
                           (g->k_rotation ? QUIRE_KV_ROTATE_K : 0) |
                           (g->v_rotation ? QUIRE_KV_ROTATE_V : 0);
    *out = (struct quire_kv_group_config){ .n_layers = g->n_layers,
                                           .n_kv_heads = g->n_kv_heads,
                                           .head_size = (uint32_t)g->layout.k_size,
                                           .v_head_size = (uint32_t)g->layout.v_size,
                                           .k_dtype = g->layout.k_dtype,
                                           .v_dtype = g->layout.v_dtype,
                                           .sliding_window = g->window,
                                           .n_blocks = g->n_blocks,
                                           .k_scale = g->k_scale,
                                           .v_scale = g->v_scale,
                                           .n_k_scales = n_scales,
                                           .n_v_scales = g->layout.latent ? 0 : n_scales,
                                           .flags = flags };
    return QUIRE_OK;
}
