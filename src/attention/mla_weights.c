/* SPDX-License-Identifier: Apache-2.0 */
/* mla_weights.c - packs W_UK and W_UV of a layer and computes the products of absorbed
 * attention. */
#include "attention/mla.h"
#include "attention/tensor.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include "kernels/dispatch.h"
#include "linear/batched.h"
#include <string.h>

/* Per head: W_UK transposed to [kv_lora_rank][qk_nope_head_dim], and W_UV as
 * [v_head_dim][kv_lora_rank]. */
struct quire_mla_weights {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    const struct qr_kernels *kernels;
    struct quire_mla_dims dims;
    struct qr_packed **k, **v; /* [n_heads] */
};

/* ---- packing */

static enum qr_weight_type weight_type(enum quire_kv_dtype dtype)
{
    return dtype == QUIRE_KV_F32   ? QR_WEIGHT_F32
           : dtype == QUIRE_KV_F16 ? QR_WEIGHT_F16
                                   : QR_WEIGHT_BF16;
}

/* Packs one head's W_UK transposed, panel by panel through the buffer `panel`. */
static quire_status pack_transposed(struct qr_packed *w, const unsigned char *rows,
                                    unsigned char *panel, struct quire_error *err)
{
    const size_t elem = w->row_bytes / w->k;
    for (size_t first = 0; first < w->n; first += w->panel_rows) {
        const size_t n = w->n - first < w->panel_rows ? w->n - first : w->panel_rows;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < w->k; j++)
                memcpy(panel + (i * w->k + j) * elem, rows + (j * w->n + first + i) * elem, elem);
        QR_TRY(qr_packed_pack_rows(w, first, n, panel, err));
    }
    return QUIRE_OK;
}

static quire_status pack_head(struct quire_mla_weights *w, uint32_t h, enum qr_weight_type type,
                              const unsigned char *uk, size_t row_bytes, unsigned char *panel,
                              struct quire_error *err)
{
    const struct quire_mla_dims *d = &w->dims;
    const size_t nope = d->qk_nope_head_dim;
    QR_TRY(qr_packed_create(type, d->kv_lora_rank, nope, w->allocator, &w->k[h], err));
    QR_TRY(qr_packed_create(type, d->v_head_dim, d->kv_lora_rank, w->allocator, &w->v[h], err));
    QR_TRY(pack_transposed(w->k[h], uk, panel, err));
    return qr_packed_pack_rows(w->v[h], 0, d->v_head_dim, uk + nope * row_bytes, err);
}

static quire_status pack_heads(struct quire_mla_weights *w, const void *kv_b,
                               enum qr_weight_type type, struct quire_error *err)
{
    const struct quire_mla_dims *d = &w->dims;
    const size_t elem = qr_weight_type_info(type)->block_bytes, row_bytes = d->kv_lora_rank * elem;
    const size_t head_bytes = (size_t)(d->qk_nope_head_dim + d->v_head_dim) * row_bytes;
    const size_t panel_bytes = QR_FLOAT_PANEL_ROWS * d->qk_nope_head_dim * elem;
    unsigned char *panel = qr_alloc(w->allocator, panel_bytes, 1);
    if (!panel)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to transpose a panel of weights");
    quire_status s = QUIRE_OK;
    for (uint32_t h = 0; h < d->n_heads && s == QUIRE_OK; h++)
        s = pack_head(w, h, type, (const unsigned char *)kv_b + h * head_bytes, row_bytes, panel,
                      err);
    qr_free(w->allocator, panel, panel_bytes, 1);
    return s;
}

/* Reads the parameters into *p and their dims into *dims. */
static quire_status read_params(struct quire_mla_weights_params *p, struct quire_mla_dims *dims,
                                const struct quire_mla_weights_params *params,
                                struct quire_error *err)
{
    QR_READ_STRUCT(p, params, allocator, "params", err);
    QR_TRY(qr_mla_read_dims(dims, p->dims, err));
    if (!p->kv_b)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.kv_b is NULL");
    if (p->dtype != QUIRE_KV_F32 && p->dtype != QUIRE_KV_BF16 && p->dtype != QUIRE_KV_F16)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.dtype %d is not f32, bf16 or f16",
                       (int)p->dtype);
    return QUIRE_OK;
}

quire_status quire_mla_weights_create(const struct quire_mla_weights_params *params,
                                      struct quire_mla_weights **out, struct quire_error *err)
{
    QR_FP_SCOPE;
    const struct qr_kernels *kernels;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    struct quire_mla_weights_params p;
    struct quire_mla_dims dims;
    QR_TRY(read_params(&p, &dims, params, err));
    QR_TRY(qr_kernels_get(p.isa, &kernels, err));
    const uint32_t n = dims.n_heads;
    struct quire_mla_weights *w = qr_calloc(p.allocator, 1, sizeof *w);
    if (!w)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the weights of %u heads", n);
    w->handle.kind = QR_KIND_MLA_WEIGHTS;
    w->allocator = p.allocator;
    w->kernels = kernels;
    w->dims = dims;
    w->k = qr_calloc(w->allocator, n, sizeof(struct qr_packed *));
    w->v = qr_calloc(w->allocator, n, sizeof(struct qr_packed *));
    quire_status s = QUIRE_E_NOMEM;
    if (w->k && w->v)
        s = pack_heads(w, p.kv_b, weight_type(p.dtype), err);
    else
        qr_fail(err, s, "no memory for the weights of %u heads", n);
    if (s == QUIRE_OK)
        *out = w;
    else
        quire_mla_weights_destroy(w);
    return s;
}

static void destroy_heads(const struct quire_mla_weights *w, struct qr_packed **heads)
{
    for (uint32_t h = 0; heads && h < w->dims.n_heads; h++)
        qr_packed_destroy(heads[h]);
    if (heads)
        qr_free(w->allocator, heads, w->dims.n_heads, sizeof *heads);
}

void quire_mla_weights_destroy(struct quire_mla_weights *weights)
{
    if (!qr_handle_end(weights, QR_KIND_MLA_WEIGHTS))
        return;
    destroy_heads(weights, weights->k);
    destroy_heads(weights, weights->v);
    qr_free(weights->allocator, weights, 1, sizeof *weights);
}

/* ---- products */

/* Row widths of input and output; `copied` trailing elements are copied after the product. */
struct shape {
    size_t in, out, copied;
};

static struct shape shape_of(const struct quire_mla_weights *w, bool absorb)
{
    const struct quire_mla_dims *d = &w->dims;
    if (!absorb)
        return (struct shape){ d->kv_lora_rank, d->v_head_dim, 0 };
    return (struct shape){ d->qk_nope_head_dim + d->qk_rope_head_dim,
                           d->kv_lora_rank + d->qk_rope_head_dim, d->qk_rope_head_dim };
}

/* Returns the arguments with default strides filled in. */
static struct quire_mla_args resolve(const struct quire_mla_weights *w,
                                     const struct quire_mla_args *args, struct shape s)
{
    struct quire_mla_args a;
    qr_struct_copy(&a, sizeof a, args);
    a.in_head_stride = a.in_head_stride ? a.in_head_stride : s.in;
    a.in_token_stride = a.in_token_stride ? a.in_token_stride : w->dims.n_heads * a.in_head_stride;
    a.out_head_stride = a.out_head_stride ? a.out_head_stride : s.out;
    a.out_token_stride =
        a.out_token_stride ? a.out_token_stride : w->dims.n_heads * a.out_head_stride;
    return a;
}

static quire_status check_args(const struct quire_mla_weights *w, const struct quire_mla_args *args,
                               bool absorb, struct quire_error *err)
{
    struct qr_extent in, out;
    struct quire_mla_args given;
    QR_TRY(qr_handle_check(w, QR_KIND_MLA_WEIGHTS, "weights", err));
    QR_READ_STRUCT(&given, args, n_tokens, "args", err);
    const struct shape s = shape_of(w, absorb);
    const struct quire_mla_args a = resolve(w, &given, s);
    const size_t heads = w->dims.n_heads;
    const struct qr_tensor from = {
        "args.in", a.in, a.n_tokens, heads, s.in, a.in_token_stride, a.in_head_stride, sizeof *a.in
    };
    const struct qr_tensor to = {
        "args.out",        a.out,        a.n_tokens, heads, s.out, a.out_token_stride,
        a.out_head_stride, sizeof *a.out
    };
    QR_TRY(qr_tensor_check(&from, &in, err));
    QR_TRY(qr_tensor_check(&to, &out, err));
    if ((uintptr_t)a.in % sizeof *a.in || (uintptr_t)a.out % sizeof *a.out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s is not aligned to 4 bytes",
                       (uintptr_t)a.in % sizeof *a.in ? "in" : "out");
    if (qr_extent_overlap(in, out))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.in and out overlap");
    return QUIRE_OK;
}

static void run_part(const struct quire_mla_weights *w, const struct quire_mla_args *args,
                     bool absorb, const struct quire_team *team)
{
    const struct shape s = shape_of(w, absorb);
    const struct quire_mla_args a = resolve(w, args, s);
    const struct qr_batched_args product = { .w = absorb ? w->k : w->v,
                                             .n_heads = w->dims.n_heads,
                                             .n_rows = a.n_tokens,
                                             .in = a.in,
                                             .in_stride = a.in_token_stride,
                                             .in_head_stride = a.in_head_stride,
                                             .out = a.out,
                                             .out_stride = a.out_token_stride,
                                             .out_head_stride = a.out_head_stride,
                                             .compute = QUIRE_COMPUTE_F32 };
    size_t begin, end;
    if (!a.n_tokens)
        return;
    qr_batched_part(&product, w->kernels, team);
    qr_team_range(team, s.copied ? a.n_tokens : 0, 1, &begin, &end);
    for (size_t t = begin; t < end; t++)
        for (size_t h = 0; h < w->dims.n_heads; h++)
            memcpy(a.out + t * a.out_token_stride + h * a.out_head_stride + s.out - s.copied,
                   a.in + t * a.in_token_stride + h * a.in_head_stride + s.in - s.copied,
                   s.copied * sizeof *a.out);
}

void quire_mla_absorb_part(const struct quire_mla_weights *weights,
                           const struct quire_mla_args *args, const struct quire_team *team)
{
    QR_FP_SCOPE;
    run_part(weights, args, true, team);
}

void quire_mla_v_up_proj_part(const struct quire_mla_weights *weights,
                              const struct quire_mla_args *args, const struct quire_team *team)
{
    QR_FP_SCOPE;
    run_part(weights, args, false, team);
}

quire_status quire_mla_absorb_check(const struct quire_mla_weights *weights,
                                    const struct quire_mla_args *args, struct quire_error *err)
{
    QR_FP_SCOPE;
    return check_args(weights, args, true, err);
}

quire_status quire_mla_v_up_proj_check(const struct quire_mla_weights *weights,
                                       const struct quire_mla_args *args, struct quire_error *err)
{
    QR_FP_SCOPE;
    return check_args(weights, args, false, err);
}

struct job {
    const struct quire_mla_weights *weights;
    const struct quire_mla_args *args;
    bool absorb;
};

static void run_job(void *arg, const struct quire_team *team)
{
    const struct job *job = arg;
    run_part(job->weights, job->args, job->absorb, team);
}

static quire_status run(const struct quire_mla_weights *weights, const struct quire_mla_args *args,
                        bool absorb, struct quire_threads *threads, struct quire_error *err)
{
    QR_TRY(check_args(weights, args, absorb, err));
    struct job job = { weights, args, absorb };
    return qr_part_run(threads, run_job, &job, err);
}

quire_status quire_mla_absorb(const struct quire_mla_weights *weights,
                              const struct quire_mla_args *args, struct quire_threads *threads,
                              struct quire_error *err)
{
    QR_FP_SCOPE;
    return run(weights, args, true, threads, err);
}

quire_status quire_mla_v_up_proj(const struct quire_mla_weights *weights,
                                 const struct quire_mla_args *args, struct quire_threads *threads,
                                 struct quire_error *err)
{
    QR_FP_SCOPE;
    return run(weights, args, false, threads, err);
}

QR_DEFINE_ZERO_INIT(quire_mla_weights_params)
