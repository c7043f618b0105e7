/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - import and export of blocks in the plain tensor layouts of other runtimes. */
#include "base/checked.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include "kv/check.h"
#include "kv/rows.h"
#include <string.h>

/* Elements of one token and of one block; false on overflow. */
static bool plain_sizes(size_t block_size, size_t n_kv_heads, size_t head_size, size_t *token,
                        size_t *block)
{
    return qr_mul_size(n_kv_heads, head_size, token) && qr_mul_size(block_size, *token, block);
}

/* Strides beyond the size of any tensor, which import and export reject. */
static struct quire_kv_plain_layout overflowed(enum quire_kv_dtype dtype)
{
    return (struct quire_kv_plain_layout){ dtype, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX };
}

struct quire_kv_plain_layout quire_kv_plain_block_major(enum quire_kv_dtype dtype,
                                                        size_t block_size, size_t n_kv_heads,
                                                        size_t head_size)
{
    size_t token, half, block;
    if (!plain_sizes(block_size, n_kv_heads, head_size, &token, &half) ||
        !qr_mul_size(2, half, &block))
        return overflowed(dtype);
    return (struct quire_kv_plain_layout){ dtype, block, token, head_size, half };
}

struct quire_kv_plain_layout quire_kv_plain_split(enum quire_kv_dtype dtype, size_t n_blocks,
                                                  size_t block_size, size_t n_kv_heads,
                                                  size_t head_size)
{
    size_t token, block, half;
    if (!plain_sizes(block_size, n_kv_heads, head_size, &token, &block) ||
        !qr_mul_size(n_blocks, block, &half))
        return overflowed(dtype);
    return (struct quire_kv_plain_layout){ dtype, block, token, head_size, half };
}

struct quire_kv_plain_layout quire_kv_plain_latent(enum quire_kv_dtype dtype, size_t block_size,
                                                   size_t head_size)
{
    size_t token, block;
    if (!plain_sizes(block_size, 1, head_size, &token, &block))
        return overflowed(dtype);
    return (struct quire_kv_plain_layout){ dtype, block, token, head_size, 0 };
}

struct plain_run {
    struct quire_kv_cache *kv; /* written by import only */
    const struct quire_kv_plain_args *args;
    unsigned char *plain; /* written by export only */
    bool import;
};

static quire_status check_dtype(const struct plain_run *r, const char *what,
                                enum quire_kv_dtype pool, struct quire_error *err)
{
    const enum quire_kv_dtype plain = r->args->layout.dtype;
    if (!qr_kv_dtype(plain))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.layout.dtype %d is unknown", (int)plain);
    if (plain == QUIRE_KV_INT4)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "args.layout.dtype int4 is no type of tensors");
    if (plain != pool && qr_kv_dtype(plain)->scaling == QR_KV_POOL_SCALE)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "the tensor is %s but the pool's %s are %s",
                       qr_kv_dtype(plain)->name, what, qr_kv_dtype(pool)->name);
    return QUIRE_OK;
}

/* Elements up to the end of tensor block `last`; false on overflow. */
static bool extent(const struct quire_kv_plain_layout *p, const struct qr_kv_group *g, size_t last,
                   size_t *out)
{
    const size_t k = (size_t)g->layout.k_size, v = g->layout.latent ? 0 : (size_t)g->layout.v_size;
    size_t block, token, head, v_end, end;
    if (!qr_mul_size(last, p->stride_block, &block) ||
        !qr_mul_size((size_t)g->layout.block_size - 1, p->stride_token, &token) ||
        !qr_mul_size(g->n_kv_heads - 1, p->stride_head, &head) ||
        !qr_add_size(p->v_offset, v, &v_end))
        return false;
    return qr_add_size(block, token, &end) && qr_add_size(end, head, &end) &&
           qr_add_size(end, v_end > k ? v_end : k, out);
}

static bool scaled_rows(const struct quire_kv_plain_layout *p)
{
    return qr_kv_dtype(p->dtype)->scaling == QR_KV_ROW_SCALE;
}

struct range {
    uintptr_t begin, end;
};

static bool overlap(struct range a, struct range b) { return a.begin < b.end && b.begin < a.end; }

/* Checks that the row scales of an int8 tensor of tensor_bytes reach tensor block `last` and
 * overlap neither each other nor the tensor. */
static quire_status check_scales(const struct plain_run *r, const struct qr_kv_group *g,
                                 size_t last, size_t tensor_bytes, struct quire_error *err)
{
    const struct quire_kv_plain_args *a = r->args;
    const bool latent = g->layout.latent;
    size_t blocks, rows, n, bytes;
    if (!a->k_scales || (!a->v_scales && !latent))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s is NULL, the tensor is %s",
                       a->k_scales ? "v_scales" : "k_scales", qr_kv_dtype(a->layout.dtype)->name);
    if (!qr_add_size(last, 1, &blocks) ||
        !qr_mul_size(blocks, (size_t)g->layout.block_size, &rows) ||
        !qr_mul_size(rows, g->n_kv_heads, &n) || !qr_mul_size(n, sizeof(float), &bytes) ||
        n > a->n_scales)
        return qr_fail(err, QUIRE_E_RANGE, "args: rows of block %zu end beyond the %zu scales",
                       last, a->n_scales);
    const uintptr_t plain = (uintptr_t)r->plain, k = (uintptr_t)a->k_scales,
                    v = (uintptr_t)a->v_scales;
    const struct range tensor = { plain, plain + tensor_bytes }, k_scales = { k, k + bytes },
                       v_scales = { v, v + bytes };
    if (overlap(tensor, k_scales) || (!latent && overlap(tensor, v_scales)))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args: scales and the tensor overlap");
    if (!latent && overlap(k_scales, v_scales))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args: k_scales and v_scales overlap");
    return QUIRE_OK;
}

static quire_status check_bounds(const struct plain_run *r, const struct qr_kv_group *g,
                                 struct quire_error *err)
{
    const struct quire_kv_plain_args *a = r->args;
    const size_t elem = qr_kv_dtype(a->layout.dtype)->bytes, k = (size_t)g->layout.k_size;
    struct qr_kv_strides strides;
    size_t last = a->n_blocks - 1, n, bytes;
    QR_TRY(qr_kv_check_strides("args.layout K", a->layout.stride_token, a->layout.stride_head,
                               (size_t)g->layout.block_size, g->n_kv_heads, k, elem, &strides,
                               err));
    QR_TRY(qr_kv_check_strides("args.layout V", a->layout.stride_token, a->layout.stride_head,
                               (size_t)g->layout.block_size, g->n_kv_heads,
                               (size_t)g->layout.v_size, elem, &strides, err));
    if (g->layout.latent && a->layout.v_offset)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "args.layout.v_offset is not 0: group %u is latent", a->group);
    if (!a->layout.stride_token || !a->layout.stride_head ||
        (!g->layout.latent && a->layout.v_offset < k))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.layout.%s is too small",
                       !a->layout.stride_token  ? "stride_token"
                       : !a->layout.stride_head ? "stride_head"
                                                : "v_offset");
    for (size_t i = 0; a->plain_blocks && i < a->n_blocks; i++) {
        if (a->plain_blocks[i] < 0)
            return qr_fail(err, QUIRE_E_RANGE, "args.plain_blocks[%zu] %d is negative", i,
                           a->plain_blocks[i]);
        last = i == 0 || (size_t)a->plain_blocks[i] > last ? (size_t)a->plain_blocks[i] : last;
    }
    if (!extent(&a->layout, g, last, &n) || !qr_mul_size(n, elem, &bytes) || bytes > a->size)
        return qr_fail(err, QUIRE_E_RANGE,
                       "args: block %zu of the tensor ends beyond its %zu bytes", last, a->size);
    return scaled_rows(&a->layout) ? check_scales(r, g, last, bytes, err) : QUIRE_OK;
}

/* Import must list a block at most once. Export does not write g->visited: it may run concurrently
 * with other readers. */
static quire_status check_blocks(const struct plain_run *r, struct qr_kv_group *g,
                                 struct quire_error *err)
{
    const struct quire_kv_plain_args *a = r->args;
    const size_t bs = (size_t)g->layout.block_size;
    const uint32_t max_refs = r->import ? 1 : UINT32_MAX,
                   epoch = r->import ? qr_kv_next_visit_epoch(g) : 0;
    for (size_t i = 0; i < a->n_blocks; i++) {
        QR_TRY(qr_kv_check_block(g, "args.blocks", i, a->blocks[i], 1, max_refs, err));
        uint32_t *m = &g->visited[(size_t)a->blocks[i] * bs];
        if (r->import && *m == epoch)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "args.blocks[%zu] %d appears twice", i,
                           a->blocks[i]);
        if (r->import)
            *m = epoch;
    }
    return QUIRE_OK;
}

static quire_status check_args(const struct plain_run *r, struct quire_error *err)
{
    const struct quire_kv_plain_args *a = r->args;
    QR_TRY(qr_kv_check_layer(r->kv, a->group, a->layer, err));
    const struct qr_kv_group *g = &r->kv->groups[a->group];
    QR_TRY(check_dtype(r, "keys", g->layout.k_dtype, err));
    QR_TRY(check_dtype(r, "values", g->layout.v_dtype, err));
    if (a->n_blocks == 0)
        return QUIRE_OK;
    if (!a->blocks || !r->plain)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", r->plain ? "args.blocks" : "plain");
    return check_bounds(r, g, err);
}

/* A row of the tensor, with its scale if the tensor is int8, else NULL. */
struct plain_row {
    unsigned char *bytes;
    float *scale;
};

/* Converts one row from the tensor's dtype to the pool's; *scale as for qr_kv_dtype.quantize,
 * rotation: of the group. */
static size_t row_to_codes(const struct plain_run *r, const struct qr_kv_dtype *pool,
                           struct plain_row row, void *codes, float *scale, uint32_t rotation,
                           size_t n)
{
    const struct qr_kv_dtype *plain = qr_kv_dtype(r->args->layout.dtype);
    struct qr_kv_row aligned;
    float values[QR_KV_MAX_HEAD_SIZE];
    if (plain == pool) {
        memcpy(codes, row.bytes, n * pool->bytes);
        if (row.scale)
            *scale = *row.scale;
        return 0;
    }
    memcpy(aligned.bytes, row.bytes, n * plain->bytes); /* the tensor may be misaligned */
    plain->dequantize(r->kv->kernels, values, aligned.bytes, row.scale ? *row.scale : 1, n);
    if (rotation)
        r->kv->kernels->hadamard(values, rotation, n);
    return pool->quantize(r->kv->kernels, codes, values, scale, n);
}

static void codes_to_row(const struct plain_run *r, const struct qr_kv_dtype *pool,
                         const void *codes, struct plain_row row, float scale, uint32_t rotation,
                         size_t n)
{
    const struct qr_kv_dtype *plain = qr_kv_dtype(r->args->layout.dtype);
    struct qr_kv_row aligned;
    float values[QR_KV_MAX_HEAD_SIZE];
    if (plain == pool) {
        memcpy(row.bytes, codes, n * pool->bytes);
    } else {
        pool->dequantize(r->kv->kernels, values, codes, scale, n);
        if (rotation)
            r->kv->kernels->hadamard(values, rotation, n);
        scale = 1;
        (void)plain->quantize(r->kv->kernels, aligned.bytes, values, &scale, n);
        memcpy(row.bytes, aligned.bytes, n * plain->bytes);
    }
    if (row.scale)
        *row.scale = scale;
}

/* Copies one row of K and, unless the group is latent, of V. Returns the number of clipped
 * values. */
static size_t copy_row(const struct plain_run *r, uint32_t head, unsigned char *block, int token,
                       struct plain_row k, struct plain_row v)
{
    const struct quire_kv_plain_args *a = r->args;
    const struct qr_kv_group *g = &r->kv->groups[a->group];
    const struct qr_kv_layout *l = &g->layout;
    float k_scale = qr_kv_k_scale(r->kv, a->group, a->layer, head);
    float v_scale = qr_kv_v_scale(r->kv, a->group, a->layer, head);
    const size_t nk = (size_t)l->k_size, nv = (size_t)l->v_size;
    struct qr_kv_row codes;
    if (!r->import) {
        qr_kv_get_k(l, block, token, codes.bytes, &k_scale);
        codes_to_row(r, l->k_type, codes.bytes, k, k_scale, g->k_rotation, nk);
        if (l->latent)
            return 0;
        qr_kv_get_v(l, block, token, codes.bytes, &v_scale);
        codes_to_row(r, l->v_type, codes.bytes, v, v_scale, g->v_rotation, nv);
        return 0;
    }
    size_t clipped = row_to_codes(r, l->k_type, k, codes.bytes, &k_scale, g->k_rotation, nk);
    qr_kv_put_k(l, block, token, codes.bytes, k_scale);
    if (l->latent)
        return clipped;
    qr_kv_zero_padding(l, codes.bytes);
    clipped += row_to_codes(r, l->v_type, v, codes.bytes, &v_scale, g->v_rotation, nv);
    qr_kv_put_v(l, block, token, codes.bytes, v_scale);
    return clipped;
}

/* Copies one head of block i of the list. Returns the number of clipped values. */
static size_t copy_head(const struct plain_run *r, size_t i, uint32_t head)
{
    const struct quire_kv_plain_args *a = r->args;
    const struct quire_kv_plain_layout *p = &a->layout;
    const struct qr_kv_group *g = &r->kv->groups[a->group];
    const size_t elem = qr_kv_dtype(p->dtype)->bytes, bs = (size_t)g->layout.block_size;
    const size_t at = a->plain_blocks ? (size_t)a->plain_blocks[i] : i;
    unsigned char *from = r->plain + (at * p->stride_block + head * p->stride_head) * elem;
    unsigned char *block = qr_kv_block(r->kv, a->group, a->layer, head, a->blocks[i]);
    size_t clipped = 0;
    for (size_t t = 0; t < bs; t++) {
        const size_t scale = (at * bs + t) * g->n_kv_heads + head;
        struct plain_row k = { .bytes = from + t * p->stride_token * elem }, v;
        v = (struct plain_row){ .bytes = k.bytes + p->v_offset * elem };
        if (scaled_rows(p)) {
            k.scale = a->k_scales + scale;
            v.scale = g->layout.latent ? NULL : a->v_scales + scale;
        }
        clipped += copy_row(r, head, block, (int)t, k, v);
    }
    return clipped;
}

static void copy_part(void *arg, const struct quire_team *team)
{
    (void)team;
    struct plain_run *r = arg;
    size_t clipped = 0;
    for (size_t i = 0; i < r->args->n_blocks; i++)
        for (uint32_t head = 0; head < r->kv->groups[r->args->group].n_kv_heads; head++)
            clipped += copy_head(r, i, head);
    if (clipped)
        __atomic_fetch_add(&r->kv->clipped, clipped, __ATOMIC_RELAXED);
}

quire_status quire_kv_import(struct quire_kv_cache *kv, const struct quire_kv_plain_args *args,
                             const void *plain, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_kv_plain_args a;
    QR_READ_STRUCT(&a, args, n_scales, "args", err);
    struct plain_run run = { kv, &a, (unsigned char *)plain, true };
    QR_TRY(check_args(&run, err));
    QR_TRY(qr_kv_begin_update(kv, err));
    const quire_status s = check_blocks(&run, &kv->groups[a.group], err);
    if (s == QUIRE_OK)
        qr_part_call(copy_part, &run, &(struct quire_team){ .rank = 0, .size = 1 });
    qr_kv_end_update(kv);
    return s;
}

quire_status quire_kv_export(const struct quire_kv_cache *kv,
                             const struct quire_kv_plain_args *args, void *plain,
                             struct quire_error *err)
{
    QR_FP_SCOPE;
    /* the cast is safe: export does not write to the cache */
    struct quire_kv_plain_args a;
    QR_READ_STRUCT(&a, args, n_scales, "args", err);
    struct plain_run run = { (struct quire_kv_cache *)kv, &a, plain, false };
    QR_TRY(check_args(&run, err));
    QR_TRY(check_blocks(&run, &run.kv->groups[a.group], err));
    qr_part_call(copy_part, &run, &(struct quire_team){ .rank = 0, .size = 1 });
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_kv_plain_args)
