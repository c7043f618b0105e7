/* SPDX-License-Identifier: Apache-2.0 */
/* layer_recurrent.c - the recurrent sublayer: norm, projections, convolution, recurrence, gate,
 * output projection. Formulas: docs/numerics.md, "Recurrent layers". */
#include "model/forward/layer_recurrent.h"
#include "base/threads.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/recurrent_scan.h"
#include "model/forward/thread_state.h"
#include "model/forward/time_mix6.h"
#include "model/forward/time_mix7.h"
#include "model/forward/token_shift.h"
#include <math.h>
#include <string.h>

/* The site of the layer's matrix of that role, as number `slot` of the matrices with its input. */
static struct qr_adapter_site site_of(const struct qr_recurrent *x, enum qr_weight_role role,
                                      uint32_t slot)
{
    const uint32_t layer = (uint32_t)(x->layer - x->s->ctx->model->layers);
    return (struct qr_adapter_site){ role, layer, slot };
}

/* Projections of the layer's input, and of its low-rank parts, into the buffers. */
static void project_input(const struct qr_recurrent *x, const float *src,
                          const struct quire_team *team)
{
    const struct qr_recurrent_config *r = x->config;
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct {
        enum qr_weight_role role;
        const float *bias;
        float *out;
    } all[] = {
        { QR_W_REC_Q, NULL, b->in },
        { QR_W_REC_K, NULL, b->in + x->keys },
        { QR_W_REC_V, x->layer->vec[QR_W_REC_V_BIAS], b->in + 2 * x->keys },
        { QR_W_REC_BETA, NULL, b->beta },
        { r->gate_rank ? QR_W_REC_Z_A : QR_W_REC_Z, x->layer->vec[QR_W_REC_Z_BIAS],
          r->gate_rank ? b->low_z : b->z },
        { r->dt_rank ? QR_W_REC_DT_A : QR_W_REC_DT, NULL, r->dt_rank ? b->low : b->dt },
    };
    enum { N = sizeof all / sizeof all[0], QKV = 3 };
    _Static_assert((int)N <= (int)QR_ADAPTER_RECURRENT_SLOTS, "each has a slot of u");
    struct qr_projection used[N];
    const struct qr_packed *w[N];
    size_t strides[N];
    int n = 0;
    for (uint32_t i = 0; i < N; i++) {
        const struct qr_packed *mat = x->layer->mat[all[i].role];
        if (!mat)
            continue;
        strides[n] = i < QKV ? x->in_width : 0;
        w[n] = mat;
        used[n++] =
            (struct qr_projection){ mat, all[i].bias, all[i].out, site_of(x, all[i].role, i) };
    }
    struct qr_act act;
    qr_convert_input(x->s, &act, w, n, src, x->s->n_tokens, team);
    qr_project_strided(x->s, &act, used, strides, (size_t)n, team);
    quire_team_barrier(team);
}

/* out = src W^T + bias for one matrix, with barriers. */
static void project_biased(const struct qr_recurrent *x, enum qr_weight_role role,
                           const float *bias, const float *src, float *out,
                           const struct quire_team *team)
{
    const struct qr_packed *w = x->layer->mat[role];
    const struct qr_projection p = { w, bias, out, site_of(x, role, 0) };
    struct qr_act act;
    qr_convert_input(x->s, &act, &w, 1, src, x->s->n_tokens, team);
    qr_project(x->s, &act, &p, 1, team);
    quire_team_barrier(team);
}

static void project_one(const struct qr_recurrent *x, enum qr_weight_role role, const float *src,
                        float *out, const struct quire_team *team)
{
    project_biased(x, role, NULL, src, out, team);
}

/* Second products of low-rank projections. */
static void project_low_rank(const struct qr_recurrent *x, const struct quire_team *team)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    if (x->config->dt_rank)
        project_one(x, QR_W_REC_DT, b->low, b->dt, team);
    if (x->config->gate_rank)
        project_one(x, QR_W_REC_Z, b->low_z, b->z, team);
}

/* Mamba-1, MAMBA_MIX: dt, B and C from the convolved channels; dt through its low-rank product. */
static void project_channels(const struct qr_recurrent *x, const struct quire_team *team)
{
    const struct qr_recurrent_config *r = x->config;
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    float *const *vec = x->layer->vec;
    const size_t rank = r->dt_rank, keys = r->key_dim, width = rank + 2 * keys;
    const size_t steps = r->kind == QR_RECURRENT_MAMBA1 ? 0 : 2 * keys;
    size_t begin, end;
    project_one(x, QR_W_REC_X, b->conv, b->low, team);
    qr_team_range(team, x->s->n_tokens, 1, &begin, &end);
    for (size_t t = begin; t < end; t++) {
        float *dt = b->low + t * width + steps, *key = b->low + t * width + (steps ? 0 : rank);
        float *query = key + keys;
        if (r->dt_norms) {
            k->rms_norm(dt, dt, vec[QR_W_REC_DT_NORM], 0, r->dt_norm_eps, rank);
            k->rms_norm(key, key, vec[QR_W_REC_B_NORM], 0, r->dt_norm_eps, keys);
            k->rms_norm(query, query, vec[QR_W_REC_C_NORM], 0, r->dt_norm_eps, keys);
        }
        memcpy(b->low_z + t * rank, dt, rank * sizeof *dt);
    }
    quire_team_barrier(team);
    project_one(x, QR_W_REC_DT, b->low_z, b->dt, team);
}

/* ---- Step sizes, decays, and the norm of queries and keys, by row */

/* q and k of a head to length 1, q also / sqrt(key_dim): x / sqrt(sum of x^2 + 1e-6). */
static void normalize_keys(const struct qr_recurrent *x, float *row)
{
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    const size_t n = x->config->key_dim;
    const float size = (float)n, unit = 1 / sqrtf(size);
    for (size_t h = 0; h < 2 * (size_t)x->config->n_key_heads; h++, row += n) {
        k->rms_norm(row, row, NULL, 0, 1e-6f / size, n);
        k->scale(row, h < x->config->n_key_heads ? 1 / size : unit, n);
    }
}

/* decay[dt_width] = sigmoid(rate of the head * (decay + bias)) */
static void bound_decays(const struct qr_recurrent *x, float *decay)
{
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    const size_t n = x->config->key_dim;
    k->add(decay, x->layer->vec[QR_W_REC_DT_BIAS], x->dt_width);
    for (size_t h = 0; h < x->config->n_heads; h++)
        k->scale(decay + h * n, x->layer->recurrent.rates[h], n);
    k->sigmoid_mul(decay, NULL, 1, x->dt_width);
}

static void prepare_row(const struct qr_recurrent *x, size_t t)
{
    const struct qr_recurrent_config *r = x->config;
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    const size_t n = x->dt_width;
    float *dt = b->dt + t * n;
    if (r->kind == QR_RECURRENT_LIGHTNING) {
        k->silu_mul(b->in + t * x->in_width, NULL, x->in_width);
        return;
    }
    if (r->part_scales[4] != 1)
        k->scale(dt, r->part_scales[4], n);
    if (r->decay_bound != 0)
        bound_decays(x, dt);
    else
        k->softplus(dt, x->layer->vec[QR_W_REC_DT_BIAS], n);
    if (r->kind == QR_RECURRENT_MAMBA1)
        return; /* its decays are computed with the states */
    float *decay = b->decay + t * n;
    memcpy(decay, dt, n * sizeof *dt);
    k->exp_mul(decay, x->layer->recurrent.decay, n);
    if (r->kind == QR_RECURRENT_DELTA) {
        k->sigmoid_mul(b->beta + t * r->n_heads, NULL, r->beta_scale, r->n_heads);
        normalize_keys(x, x->values_in + t * x->in_width);
    }
}

static void prepare_rows(const struct qr_recurrent *x, const struct quire_team *team)
{
    size_t begin, end;
    qr_team_range(team, x->s->n_tokens, 1, &begin, &end);
    for (size_t t = begin; t < end; t++)
        prepare_row(x, t);
    quire_team_barrier(team);
}

/* ---- Output norm and gate, by row. The gated output replaces z. */

static void norm_output(const struct qr_recurrent *x, float *row)
{
    const struct qr_recurrent_config *r = x->config;
    const float *w = x->layer->vec[QR_W_REC_NORM];
    for (size_t i = 0; i < x->values; i += r->norm_dim)
        x->s->ctx->model->kernels->rms_norm(row + i, row + i, r->norm_per_head ? w : w + i, 0,
                                            r->norm_eps, r->norm_dim);
}

static const float *gate_rows(const struct qr_recurrent *x, const struct quire_team *team)
{
    const struct qr_recurrent_config *r = x->config;
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    size_t begin, end;
    if (r->output == QR_RECURRENT_OUT_PLAIN)
        return b->out;
    qr_team_range(team, x->s->n_tokens, 1, &begin, &end);
    for (size_t t = begin; t < end; t++) {
        float *z = b->z + t * x->values, *out = b->out + t * x->values;
        if (r->part_scales[0] != 1)
            k->scale(z, r->part_scales[0], x->values);
        if (r->output == QR_RECURRENT_OUT_NORM_GATE)
            norm_output(x, out);
        if (r->gelu_gate)
            k->gelu_tanh_mul(z, out, x->values);
        else if (r->sigmoid_gate)
            k->sigmoid_mul(z, out, 1, x->values);
        else
            k->silu_mul(z, out, x->values);
        if (r->output == QR_RECURRENT_OUT_GATE_NORM)
            norm_output(x, z);
    }
    quire_team_barrier(team);
    return b->z;
}

void qr_recurrent_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out,
                           const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_thread_state t = qr_thread_state(s, team);
    if (m->config->recurrent.kind == QR_RECURRENT_WKV) {
        qr_time_mix(s, i, out, team);
        return;
    }
    if (m->config->recurrent.kind == QR_RECURRENT_WKV6) {
        qr_time_mix6(s, i, out, team);
        return;
    }
    if (m->config->recurrent.kind == QR_RECURRENT_WKV7) {
        qr_time_mix7(s, i, out, team);
        return;
    }
    if (normed)
        qr_norm_rows(s, &m->layers[i], QR_W_ATTN_NORM, QR_W_ATTN_NORM_BIAS, t.h, t.x,
                     m->config->hidden_size, t.begin, t.end);
    qr_recurrent_of(s, i, normed ? t.h : t.x, out, team);
}

void qr_recurrent_of(const struct qr_step *s, uint32_t i, const float *src, float *out,
                     const struct quire_team *team)
{
    const struct qr_recurrent x = qr_recurrent_describe(s, i);
    project_input(&x, src, team);
    if (x.config->kind == QR_RECURRENT_SHORT_CONV) {
        qr_recurrent_short_conv(&x, team);
    } else {
        if (x.config->conv_taps)
            qr_recurrent_convolve(&x, team);
        if (x.config->kind == QR_RECURRENT_RG_LRU) {
            qr_recurrent_gates(&x, team);
        } else {
            if (qr_recurrent_reads_channels(x.config))
                project_channels(&x, team);
            else
                project_low_rank(&x, team);
            prepare_rows(&x, team);
        }
        qr_recurrent_scan(&x, team);
    }
    project_biased(&x, QR_W_REC_OUT, x.layer->vec[QR_W_REC_OUT_BIAS], gate_rows(&x, team), out,
                   team);
}
