/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - validates a cache configuration and computes the exact memory it needs. */
#include "kv/config.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/struct_size.h"
#include <math.h>

enum {
    DEFAULT_BLOCK_SIZE = 64,
    MAX_BLOCK_SIZE = 65536,
    MAX_GROUPS = 256,
    MAX_LAYERS = 65535, /* MAX_LAYERS * MAX_HEADS fits in 32 bits, the number of scales */
    MAX_HEADS = 65535,
    GROUP_ALIGN = 4096, /* bytes; each group of the pool begins on a page */
    /* Of one head in an extent. Kernels prefetch up to 8 KB ahead, past the end of an extent in
     * vain: with 128 KB, decode with heads of 64 at a context of 16384 is 3 to 8 % slower (AMD Zen
     * 5), with 512 KB as fast as without extents. The first use of an extent clears its huge pages:
     * 16 MB and about 16 ms with 32 KV heads in all layers, and 64 MB without extents. */
    EXTENT_BYTES = 512 * 1024,
    TABLE_ALIGN = 64, /* bytes; each table begins on a cache line */
};

static quire_status check_range(const char *field, uint32_t i, uint32_t value, uint32_t max,
                                struct quire_error *err)
{
    if (value >= 1 && value <= max)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_INVALID_ARG, "groups[%u].%s %u is not in 1 .. %u", i, field, value,
                   max);
}

static quire_status check_scales(const char *field, uint32_t i, const float *scales, uint32_t n,
                                 uint32_t n_layers, uint32_t n_heads, struct quire_error *err)
{
    if (n != 0 && n != 1 && n != n_layers && n != (uint64_t)n_layers * n_heads)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "groups[%u].n_%ss %u is not 0, 1, n_layers or n_layers * n_kv_heads", i,
                       field, n);
    if (n && !scales)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "groups[%u].%s is NULL but n_%ss is %u", i, field,
                       field, n);
    for (uint32_t j = 0; j < n; j++)
        if (!isfinite(scales[j]) || scales[j] <= 0)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "groups[%u].%s[%u] %g is not finite and above 0", i, field, j,
                           (double)scales[j]);
    return QUIRE_OK;
}

static quire_status check_latent(const struct quire_kv_group_config *g, uint32_t i,
                                 struct quire_error *err)
{
    if (g->v_head_size > g->head_size)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "groups[%u].v_head_size %u is above the head_size %u of a latent group", i,
                       g->v_head_size, g->head_size);
    if (g->v_dtype != g->k_dtype)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "groups[%u].v_dtype is not the k_dtype of a latent group", i);
    if (g->n_v_scales)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "groups[%u].n_v_scales is not 0: values of a latent group are part of keys",
                       i);
    return QUIRE_OK;
}

static quire_status check_int4(const struct quire_kv_group_config *g, uint32_t i,
                               struct quire_error *err)
{
    const uint32_t v_size = g->v_head_size ? g->v_head_size : g->head_size;
    const bool k = g->k_dtype == QUIRE_KV_INT4, v = g->v_dtype == QUIRE_KV_INT4;
    if (k && g->flags & QUIRE_KV_LATENT)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "groups[%u].k_dtype int4: the group is latent", i);
    if ((k && g->head_size % QR_INT4_GROUP) || (v && v_size % QR_INT4_GROUP))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "groups[%u].%s_dtype int4: the head size %u is not a multiple of %d", i,
                       k && g->head_size % QR_INT4_GROUP ? "k" : "v",
                       k && g->head_size % QR_INT4_GROUP ? g->head_size : v_size, QR_INT4_GROUP);
    if ((g->flags & QUIRE_KV_ROTATE_K && !k) || (g->flags & QUIRE_KV_ROTATE_V && !v))
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "groups[%u].flags 0x%x rotates keys or values that are not int4", i,
                       g->flags);
    return QUIRE_OK;
}

static quire_status check_group(const struct quire_kv_group_config *g, uint32_t i,
                                struct quire_error *err)
{
    QR_TRY(check_range("n_layers", i, g->n_layers, MAX_LAYERS, err));
    QR_TRY(check_range("n_kv_heads", i, g->n_kv_heads, MAX_HEADS, err));
    QR_TRY(check_range("head_size", i, g->head_size, QR_KV_MAX_HEAD_SIZE, err));
    if (g->v_head_size)
        QR_TRY(check_range("v_head_size", i, g->v_head_size, QR_KV_MAX_HEAD_SIZE, err));
    QR_TRY(check_range("n_blocks", i, g->n_blocks, INT32_MAX, err));
    if (!qr_kv_dtype(g->k_dtype))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "groups[%u].k_dtype %d is unknown", i,
                       (int)g->k_dtype);
    if (!qr_kv_dtype(g->v_dtype))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "groups[%u].v_dtype %d is unknown", i,
                       (int)g->v_dtype);
    if (g->flags & ~(uint32_t)(QUIRE_KV_LATENT | QUIRE_KV_ROTATE_K | QUIRE_KV_ROTATE_V))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "groups[%u].flags 0x%x has unknown bits", i,
                       g->flags);
    if (g->flags & QUIRE_KV_LATENT)
        QR_TRY(check_latent(g, i, err));
    QR_TRY(check_int4(g, i, err));
    /* a host compiled for a later version may set a field that is reserved here */
    for (size_t j = 0; j < sizeof g->reserved / sizeof g->reserved[0]; j++)
        if (g->reserved[j])
            return qr_fail(err, QUIRE_E_INVALID_ARG, "groups[%u].reserved[%zu] is not 0", i, j);
    QR_TRY(check_scales("k_scale", i, g->k_scale, g->n_k_scales, g->n_layers, g->n_kv_heads, err));
    return check_scales("v_scale", i, g->v_scale, g->n_v_scales, g->n_layers, g->n_kv_heads, err);
}

quire_status qr_kv_config_check(const struct quire_kv_params *params, struct quire_kv_params *out,
                                struct quire_error *err)
{
    struct quire_kv_params copy;
    const struct quire_kv_params *config = &copy;
    QR_READ_STRUCT(&copy, params, isa, "params", err);
    if (config->block_size % 16 || config->block_size > MAX_BLOCK_SIZE)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "params.block_size %u is not a multiple of 16 up to %d", config->block_size,
                       MAX_BLOCK_SIZE);
    if (!config->groups)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.groups is NULL");
    if (config->n_groups < 1 || config->n_groups > MAX_GROUPS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.n_groups %u is not in 1 .. %d",
                       config->n_groups, MAX_GROUPS);
    if (config->flags & ~(uint32_t)(QUIRE_KV_TOUCH | QUIRE_KV_LOCK))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.flags 0x%x has unknown bits",
                       config->flags);
    for (uint32_t i = 0; i < config->n_groups; i++)
        QR_TRY(check_group(&config->groups[i], i, err));
    *out = *config;
    if (!out->block_size)
        out->block_size = DEFAULT_BLOCK_SIZE;
    return QUIRE_OK;
}

/* Bump allocation of the tables, which share one allocation with the cache object. Adds n elements
 * to *total; *offset is where they begin. */
static bool add_table(size_t *total, size_t n, size_t elem, size_t *offset)
{
    size_t bytes, begin;
    if (!qr_align_size(*total, TABLE_ALIGN, &begin) || !qr_mul_size(n, elem, &bytes))
        return false;
    *offset = begin;
    return qr_add_size(begin, bytes, total);
}

/* The least power of two of blocks with EXTENT_BYTES of one head. */
static uint32_t extent_blocks(const struct qr_kv_layout *layout)
{
    uint32_t n = 1;
    while (n * layout->block_bytes < EXTENT_BYTES)
        n *= 2;
    return n;
}

/* False on overflow, and beyond PTRDIFF_MAX bytes, the maximum size of an object. */
static bool group_pool(struct qr_kv_group *g, size_t *pool_bytes)
{
    size_t bytes;
    g->extent_blocks = extent_blocks(&g->layout);
    return qr_mul3_size(g->n_blocks, (size_t)g->n_layers * g->n_kv_heads, g->layout.block_bytes,
                        &bytes) &&
           qr_align_size(*pool_bytes, GROUP_ALIGN, &g->offset) &&
           qr_add_size(g->offset, bytes, pool_bytes) && *pool_bytes <= PTRDIFF_MAX;
}

static bool group_tables(struct qr_kv_group *g, size_t block_size, size_t *total)
{
    const size_t n_scales = (size_t)g->n_layers * g->n_kv_heads;
    size_t n_slots;
    return qr_mul_size(g->n_blocks, block_size, &n_slots) &&
           add_table(total, ((size_t)g->n_blocks + 63) / 64, sizeof *g->free_bits,
                     &g->table_offset.free_bits) &&
           add_table(total, g->n_blocks, sizeof *g->ref_counts, &g->table_offset.ref_counts) &&
           add_table(total, n_slots, sizeof *g->visited, &g->table_offset.visited) &&
           add_table(total, n_scales, sizeof *g->k_scale, &g->table_offset.k_scale) &&
           add_table(total, n_scales, sizeof *g->v_scale, &g->table_offset.v_scale) &&
           *total <= PTRDIFF_MAX;
}

/* Block of the transform of rows of `size` elements: the largest power of two that divides it. */
static uint32_t rotation(const struct quire_kv_group_config *c, uint32_t flag, uint32_t size)
{
    return c->flags & flag ? size & -size : 0;
}

quire_status qr_kv_group_size(const struct quire_kv_params *config, uint32_t i,
                              struct qr_kv_sizes *sizes, struct qr_kv_group *out,
                              struct quire_error *err)
{
    const struct quire_kv_group_config *c = &config->groups[i];
    const uint32_t v_head_size = c->v_head_size ? c->v_head_size : c->head_size;
    struct qr_kv_group g = { .n_layers = c->n_layers,
                             .n_kv_heads = c->n_kv_heads,
                             .n_blocks = c->n_blocks,
                             .window = c->sliding_window,
                             .k_rotation = rotation(c, QUIRE_KV_ROTATE_K, c->head_size),
                             .v_rotation = rotation(c, QUIRE_KV_ROTATE_V, v_head_size),
                             .n_free = c->n_blocks };
    if (i == 0)
        sizes->tables =
            sizeof(struct quire_kv_cache) + config->n_groups * sizeof(struct qr_kv_group);
    const int block_size = (int)config->block_size, k = (int)c->head_size, v = (int)v_head_size;
    const bool fits = c->flags & QUIRE_KV_LATENT
                          ? qr_kv_layout_init_latent(&g.layout, c->k_dtype, block_size, k, v)
                          : qr_kv_layout_init(&g.layout, c->k_dtype, c->v_dtype, block_size, k, v);
    if (!fits || !group_pool(&g, &sizes->pool) ||
        !group_tables(&g, config->block_size, &sizes->tables))
        return qr_fail(err, QUIRE_E_LIMIT,
                       "groups[%u]: %u layers, %u heads and %u blocks exceed the address space", i,
                       c->n_layers, c->n_kv_heads, c->n_blocks);
    *out = g;
    return QUIRE_OK;
}

quire_status quire_kv_bytes(const struct quire_kv_params *params, struct quire_kv_memory *out,
                            struct quire_error *err)
{
    QR_FP_SCOPE;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    QR_TRY(qr_struct_check_out(out, QR_SIZE_TO(struct quire_kv_memory, total), "out", err));
    struct quire_kv_params c;
    struct qr_kv_sizes sizes = { 0 };
    struct qr_kv_group group;
    QR_TRY(qr_kv_config_check(params, &c, err));
    for (uint32_t i = 0; i < c.n_groups; i++)
        QR_TRY(qr_kv_group_size(&c, i, &sizes, &group, err));
    const struct quire_kv_memory memory = { .pool = sizes.pool,
                                            .tables = sizes.tables,
                                            .total = (uint64_t)sizes.pool + sizes.tables };
    qr_struct_write(out, &memory, sizeof memory);
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_kv_params)
QR_DEFINE_ZERO_INIT(quire_kv_memory)
