/* SPDX-License-Identifier: Apache-2.0 */
/* time_mix6.c - the recurrent sublayer of RWKV-6 (arXiv 2404.05892): shifted inputs whose mixes
 * depend on the token, projections of queries, keys, values and gates, low-rank decays, the
 * recurrence, norms by head. Gated linear attention is a variant (QRWKV6, arXiv 2505.03005).
 * Formulas: docs/numerics.md, R14 and R15. */
#include "model/forward/time_mix6.h"
#include "base/threads.h"
#include "model/config/config.h"
#include "model/forward/mix_stages.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include "model/forward/token_shift.h"
#include <math.h>
#include <string.h>

/* Parts of the layer that have a shifted input each, in the order of the stack MIX_B. */
enum { PARTS = 5 };
static const enum qr_weight_role part_mixes[PARTS] = { QR_W_REC_MIX_DT, QR_W_REC_MIX_K,
                                                       QR_W_REC_MIX_V, QR_W_REC_MIX_Q,
                                                       QR_W_REC_MIX_Z };

/* Buffers recurrent.mixed: first the input of the corrections and the difference between the token
 * before and this one, then the inputs of the parts, that of decays in the place of the first. */
enum { INPUT, DIFFERENCE, IN_K, IN_V, IN_Q, IN_Z, IN_DT = INPUT };
static const uint8_t part_inputs[PARTS] = { IN_DT, IN_K, IN_V, IN_Q, IN_Z };

/* tanh of the low-rank input of the corrections, the rows of a part together: mix_parts[p][row]. */
static void split_row(const struct qr_recurrent *x, size_t t)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const size_t rank = x->config->mix_rank, rows = x->s->n_tokens;
    for (size_t p = 0; p < PARTS; p++) {
        float *part = b->mix_parts + (p * rows + t) * rank;
        memcpy(part, b->mix_low + (t * PARTS + p) * rank, rank * sizeof *part);
        x->s->ctx->model->kernels->soft_cap(part, 1, rank); /* tanh */
    }
}

/* The inputs of all parts: x + (mix + correction) * difference. */
static void mix_inputs(const struct qr_recurrent *x, const struct quire_team *team)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const size_t rank = x->config->mix_rank, rows = x->s->n_tokens;
    const size_t width = x->s->ctx->model->config->hidden_size;
    const float *h = qr_thread_state(x->s, team).h;
    size_t begin, end;
    qr_mix_project(x, QR_W_REC_MIX_A, QR_W_REC_MIX_A, b->mixed[INPUT], b->mix_low, 0, team);
    qr_mix_rows(x, split_row, team);
    for (size_t p = 0; p < PARTS; p++) {
        const struct qr_projection correction = { x->layer->experts[QR_W_REC_MIX_B][p],
                                                  x->layer->vec[part_mixes[p]],
                                                  b->mixed[part_inputs[p]], QR_NO_ADAPTER_SITE };
        qr_project_f32(x->s, b->mix_parts + p * rows * rank, &correction, 1, team);
        quire_team_barrier(team);
    }
    qr_team_range(team, rows, 1, &begin, &end);
    for (size_t p = 0; p < PARTS; p++)
        for (size_t c = begin * width; c < end * width; c++) {
            float *in = b->mixed[part_inputs[p]] + c;
            *in = h[c] + *in * b->mixed[DIFFERENCE][c];
        }
    quire_team_barrier(team);
}

static void project_all(const struct qr_recurrent *x, const struct quire_team *team)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    float *const *in = b->mixed;
    const size_t stride = x->in_width;
    qr_mix_project(x, QR_W_REC_Q, QR_W_REC_Q_BIAS, in[IN_Q], b->in, stride, team);
    qr_mix_project(x, QR_W_REC_K, QR_W_REC_K_BIAS, in[IN_K], b->in + x->keys, stride, team);
    qr_mix_project(x, QR_W_REC_V, QR_W_REC_V_BIAS, in[IN_V], b->in + 2 * x->keys, stride, team);
    qr_mix_project(x, QR_W_REC_Z, QR_W_REC_Z, in[IN_Z], b->z, 0, team);
    qr_mix_project(x, QR_W_REC_DT_A, QR_W_REC_DT_A, in[IN_DT], b->low, 0, team);
    qr_mix_activate(x, b->low, x->config->dt_rank, false, team);
    qr_mix_project(x, QR_W_REC_DT, QR_W_REC_DT_BIAS, b->low, b->decay, 0, team);
}

/* Copies the first n_kv of n heads to the places of all, of which n / n_kv have the same. */
static void repeat_heads(float *row, size_t n, size_t n_kv, size_t dim)
{
    for (size_t h = n; h-- > 1;) /* the source of a head is not behind it */
        memmove(row + h * dim, row + h / (n / n_kv) * dim, dim * sizeof *row);
}

/* Gated linear attention: keys lose their decays. The output reads the state that has the token:
 * the products of its query and key are kept, and the query is multiplied by the decays. */
static void gate_keys(const struct qr_recurrent *x, size_t t)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_recurrent_config *r = x->config;
    const float *decay = b->decay + t * x->keys;
    float *query = b->in + t * x->in_width, *key = query + x->keys;
    if (r->n_kv_heads) {
        repeat_heads(key, r->n_heads, r->n_kv_heads, r->key_dim);
        repeat_heads(key + x->keys, r->n_heads, r->n_kv_heads, r->value_dim);
    }
    for (size_t h = 0; h < r->n_heads; h++) {
        float weight = 0;
        for (size_t c = h * r->key_dim; c < (h + 1) * r->key_dim; c++) {
            key[c] -= key[c] * decay[c];
            weight += query[c] * key[c];
            query[c] *= decay[c];
        }
        b->beta[t * r->n_heads + h] = weight;
    }
}

/* Decays of a token, exp(-exp(w)), from what was projected. */
static void prepare_row(const struct qr_recurrent *x, size_t t)
{
    enum { N = 64 };
    static const float ones[N] = { [0 ... N - 1] = 1 }, minus[N] = { [0 ... N - 1] = -1 };
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    float *decay = x->s->ctx->recurrent.decay + t * x->keys;
    for (size_t c = 0; c < x->keys; c += N) {
        const size_t n = x->keys - c < N ? x->keys - c : N;
        k->exp_mul(decay + c, ones, n);
        k->exp_mul(decay + c, minus, n);
    }
    if (x->config->gated_linear)
        gate_keys(x, t);
}

/* The weight of a token's own value in head h: the product of its query and key, times the bonus,
 * or that of gated linear attention. */
static float own_weight(const struct qr_recurrent *x, size_t t, size_t h)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const float *bonus = x->layer->vec[QR_W_REC_BONUS];
    const float *query = b->in + t * x->in_width, *key = query + x->keys;
    const size_t n = x->config->key_dim;
    float weight = 0;
    if (!bonus)
        return b->beta[t * x->config->n_heads + h];
    for (size_t c = h * n; c < (h + 1) * n; c++)
        weight += query[c] * bonus[c] * key[c];
    return weight;
}

/* z = gate(z) * norm of each head of (out + the token's own value, weighted by its query and key),
 * times what the file divides the output matrix by; gated linear attention has no norm. */
static void finish_row(const struct qr_recurrent *x, size_t t)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    const struct qr_recurrent_config *r = x->config;
    const float *value = b->in + t * x->in_width + 2 * x->keys;
    float *out = b->out + t * x->values, *z = b->z + t * x->values;
    const float scale = qr_recurrent_rescale(r, (uint32_t)(x->layer - x->s->ctx->model->layers));
    for (size_t h = 0; h < r->n_heads; h++) {
        const size_t at = h * r->value_dim;
        const float weight = own_weight(x, t, h);
        for (size_t c = at; c < at + r->value_dim; c++)
            out[c] += weight * value[c];
        if (r->no_norm)
            continue;
        k->layer_norm(out + at, out + at, x->layer->vec[QR_W_REC_NORM] + at,
                      x->layer->vec[QR_W_REC_NORM_BIAS] + at, 0, r->norm_eps, r->value_dim);
    }
    if (r->gated_linear) {
        k->sigmoid_mul(z, out, 1 / sqrtf((float)r->key_dim), x->values);
        return;
    }
    k->silu_mul(z, out, x->values);
    if (scale != 1)
        k->scale(z, scale, x->values);
}

void qr_time_mix6(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team)
{
    static const enum qr_weight_role mixes[] = { QR_W_REC_MIX_X, QR_SHIFT_DIFFERENCE };
    const struct qr_recurrent x = qr_recurrent_describe(s, i);
    qr_token_shift(s, i, QR_W_ATTN_NORM, QR_W_ATTN_NORM_BIAS, mixes, 2, 0, team);
    mix_inputs(&x, team);
    project_all(&x, team);
    qr_mix_rows(&x, prepare_row, team);
    qr_recurrent_scan(&x, team);
    qr_mix_rows(&x, finish_row, team);
    qr_mix_project(&x, QR_W_REC_OUT, QR_W_REC_OUT, s->ctx->recurrent.z, out, 0, team);
}
