/* SPDX-License-Identifier: Apache-2.0 */
/* widened_rows.c - queries, keys and values that are wider in attention than their projections. */
#include "model/forward/widened_rows.h"
#include "base/threads.h"
#include "model/forward/projection.h"
#include <math.h>
#include <string.h>

static float *take(struct qr_bump *b, size_t rows, size_t heads, size_t width)
{
    size_t n;
    if (qr_mul_size(rows, heads, &n) && qr_mul_size(n, width, &n))
        return qr_bump_alloc(b, n, sizeof(float));
    b->overflow = true;
    return NULL;
}

void qr_widened_reserve(const struct qr_model_config *c, struct quire_context *ctx,
                        struct qr_bump *buffers)
{
    if (!c->key_bias)
        return;
    ctx->narrow_q = take(buffers, ctx->max_rows, c->max_heads, c->head_dim);
    ctx->narrow_k = take(buffers, ctx->max_rows, c->max_kv_heads, c->head_dim);
    ctx->key_dt = take(buffers, ctx->max_rows, c->max_kv_heads, 1);
}

/* ---- bias of keys */

void qr_key_dt(const struct qr_step *s, uint32_t layer, const struct quire_team *team)
{
    const struct qr_model_layer *l = &s->ctx->model->layers[layer];
    const struct qr_projection p = { l->mat[QR_W_ATTN_KEY_DT],
                                     l->vec[QR_W_ATTN_KEY_DT_BIAS],
                                     s->ctx->key_dt,
                                     { QR_W_ATTN_KEY_DT, layer, 0 } };
    qr_project_f32(s, s->ctx->v, &p, 1, team);
    quire_team_barrier(team);
}

/* Copies n heads of a row and appends `last[h]`, or 1 where that is NULL, and zeros. */
static void append(const float *narrow, size_t n, size_t head_dim, const float *last, float *wide)
{
    for (size_t h = 0; h < n; h++, wide += head_dim + QR_KEY_BIAS_WIDTH) {
        memcpy(wide, narrow + h * head_dim, head_dim * sizeof *wide);
        memset(wide + head_dim, 0, QR_KEY_BIAS_WIDTH * sizeof *wide);
        wide[head_dim] = last ? last[h] : 1;
    }
}

/* The scale of scores applies to the product of the last elements, too: it divides the bias. */
static void widen_keys(const struct qr_step *s, uint32_t layer, size_t r)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const float *a = ctx->model->layers[layer].vec[QR_W_ATTN_KEY_A];
    const size_t heads = c->layers[layer].n_heads, kv_heads = c->layers[layer].n_kv_heads,
                 d = c->head_dim, wide = d + QR_KEY_BIAS_WIDTH;
    float *dt = ctx->key_dt + r * kv_heads;
    for (size_t h = 0; h < kv_heads; h++) {
        const float softplus = dt[h] > 20 ? dt[h] : log1pf(expf(dt[h]));
        dt[h] = expf(a[h] * softplus) / c->attention_scale;
    }
    append(ctx->narrow_k + r * kv_heads * d, kv_heads, d, dt, ctx->k + r * kv_heads * wide);
    append(ctx->narrow_q + r * heads * d, heads, d, NULL, ctx->q + r * heads * wide);
}

/* ---- differential attention */

/* Values lie where the outputs will be until they are in the cache. */
static void widen_values(const struct qr_step *s, uint32_t layer, size_t r)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const size_t heads = c->layers[layer].n_kv_heads, half = heads / 2, d = c->head_dim;
    const float *narrow = ctx->att + r * heads * d;
    float *wide = ctx->v + r * heads * 2 * d;
    for (size_t h = 0; h < heads; h++, wide += 2 * d) {
        memcpy(wide, narrow + h % half * d, d * sizeof *wide);
        memcpy(wide + d, narrow + (half + h % half) * d, d * sizeof *wide);
    }
}

void qr_widen_row(const struct qr_step *s, uint32_t layer, size_t r)
{
    const struct qr_model_config *c = s->ctx->model->config;
    if (c->key_bias)
        widen_keys(s, layer, r);
    if (c->differential)
        widen_values(s, layer, r);
}

static float exp_dot(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return expf(sum);
}

void qr_difference(const struct qr_step *s, uint32_t layer, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_kernels *k = ctx->model->kernels;
    float *const *vec = ctx->model->layers[layer].vec;
    const size_t heads = c->layers[layer].n_heads, half = heads / 2, d = c->head_dim, wide = 2 * d;
    const float initial = (float)(0.8 - 0.6 * exp(-0.3 * layer));
    const float lambda = exp_dot(vec[QR_W_ATTN_LAMBDA_Q1], vec[QR_W_ATTN_LAMBDA_K1], d) -
                         exp_dot(vec[QR_W_ATTN_LAMBDA_Q2], vec[QR_W_ATTN_LAMBDA_K2], d) + initial;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        for (size_t h = 0; h < half; h++) {
            const float *first = ctx->att + (r * heads + h) * wide;
            float *out = ctx->att_gate + (r * half + h) * wide;
            memcpy(out, first, wide * sizeof *out);
            k->axpy(out, -lambda, first + half * wide, wide);
            k->rms_norm(out, out, NULL, 0, c->norm_eps, wide);
            k->scale(out, 1 - initial, wide);
        }
    quire_team_barrier(team);
}
