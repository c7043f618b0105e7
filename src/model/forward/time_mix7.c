/* SPDX-License-Identifier: Apache-2.0 */
/* time_mix7.c - the recurrent sublayer of RWKV-7 (arXiv 2503.14456): shifted inputs, projections of
 * queries, keys and values, low-rank decays, rates, shares of the first layer's values and gates,
 * the recurrence, norms by head. Formulas: docs/numerics.md, R13 and R15. */
#include "model/forward/time_mix7.h"
#include "model/config/config.h"
#include "model/forward/mix_stages.h"
#include "model/forward/token_shift.h"
#include <math.h>
#include <string.h>

static void project_all(const struct qr_recurrent *x, const struct quire_team *team)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_recurrent_config *r = x->config;
    float *const *in = b->mixed;
    const size_t stride = x->in_width;
    qr_mix_project(x, QR_W_REC_Q, QR_W_REC_Q, in[0], b->in, stride, team);
    qr_mix_project(x, QR_W_REC_K, QR_W_REC_K, in[2], b->in + x->keys, stride, team);
    qr_mix_project(x, QR_W_REC_V, QR_W_REC_V, in[3], b->in + 2 * x->keys, stride, team);
    qr_mix_project(x, QR_W_REC_DT_A, QR_W_REC_DT_A, in[1], b->low, 0, team);
    qr_mix_activate(x, b->low, r->dt_rank, false, team);
    qr_mix_project(x, QR_W_REC_DT, QR_W_REC_DT_BIAS, b->low, b->decay, 0, team);
    qr_mix_project(x, QR_W_REC_RATE_A, QR_W_REC_RATE_A, in[4], b->low_rate, 0, team);
    qr_mix_project(x, QR_W_REC_RATE, QR_W_REC_RATE_BIAS, b->low_rate, b->dt, 0, team);
    if (r->gate_rank) {
        qr_mix_project(x, QR_W_REC_Z_A, QR_W_REC_Z_A, in[5], b->low_z, 0, team);
        qr_mix_activate(x, b->low_z, r->gate_rank, true, team);
        qr_mix_project(x, QR_W_REC_Z, QR_W_REC_Z, b->low_z, b->z, 0, team);
    }
    if (!x->layer->mat[QR_W_REC_VALUE])
        return; /* the first layer */
    qr_mix_project(x, QR_W_REC_VALUE_A, QR_W_REC_VALUE_A, in[3], b->low_share, 0, team);
    qr_mix_project(x, QR_W_REC_VALUE, QR_W_REC_VALUE_BIAS, b->low_share, b->conv + 2 * x->keys,
                   stride, team);
}

/* Keys that are read: k * factors, of each head to length 1. */
static void normalize_read(const struct qr_recurrent *x, const float *key, float *read)
{
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    const float *factors = x->layer->vec[QR_W_REC_KEY_READ];
    const size_t n = x->config->key_dim;
    const float size = (float)n;
    for (size_t c = 0; c < x->keys; c++)
        read[c] = key[c] * factors[c];
    for (size_t c = 0; c < x->keys; c += n) {
        k->rms_norm(read + c, read + c, NULL, 0, 1e-24f / size, n);
        k->scale(read + c, 1 / sqrtf(size), n);
    }
}

/* Decays, rates, keys and values of a token, from what was projected. */
static void prepare_row(const struct qr_recurrent *x, size_t t)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    const float *key_rate = x->layer->vec[QR_W_REC_KEY_RATE];
    float *key = b->in + t * x->in_width + x->keys, *value = key + x->keys;
    float *decay = b->decay + t * x->keys, *rate = b->dt + t * x->keys;
    float *read = b->conv + t * x->in_width, *remove = read + x->keys, *share = remove + x->keys;
    float *first = b->first_values + t * x->values;
    k->sigmoid_mul(decay, NULL, 1, x->keys);
    k->exp_mul(decay, x->layer->recurrent.decay, x->keys);
    k->sigmoid_mul(rate, NULL, 1, x->keys);
    normalize_read(x, key, read);
    for (size_t c = 0; c < x->keys; c++) {
        key[c] *= 1 + (rate[c] - 1) * key_rate[c];
        remove[c] = -(read[c] * rate[c]);
    }
    if (x->layer->mat[QR_W_REC_VALUE]) {
        k->sigmoid_mul(share, NULL, 1, x->values);
        for (size_t c = 0; c < x->values; c++)
            value[c] += share[c] * (first[c] - value[c]);
    } else {
        memcpy(first, value, x->values * sizeof *first);
    }
}

/* out = norm of each head, if there is one, + the token's own value, weighted by its query and key;
 * z = gate z * out, if there is a gate */
static void finish_row(const struct qr_recurrent *x, size_t t)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    const struct qr_recurrent_config *r = x->config;
    const float *bonus = x->layer->vec[QR_W_REC_BONUS];
    const float *query = b->in + t * x->in_width, *key = query + x->keys, *value = key + x->keys;
    float *out = b->out + t * x->values;
    for (size_t h = 0; h < r->n_heads; h++) {
        const size_t at = h * r->value_dim;
        float weight = 0;
        if (!r->no_norm)
            k->layer_norm(out + at, out + at, x->layer->vec[QR_W_REC_NORM] + at,
                          x->layer->vec[QR_W_REC_NORM_BIAS] + at, 0, r->norm_eps, r->value_dim);
        for (size_t c = at; c < at + r->key_dim; c++)
            weight += query[c] * key[c] * bonus[c];
        for (size_t c = at; c < at + r->value_dim; c++)
            out[c] += weight * value[c];
    }
    for (size_t c = 0; r->gate_rank && c < x->values; c++)
        b->z[t * x->values + c] *= out[c];
}

void qr_time_mix7(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team)
{
    static const enum qr_weight_role mixes[] = {
        QR_W_REC_MIX_Q, QR_W_REC_MIX_DT,   QR_W_REC_MIX_K,
        QR_W_REC_MIX_V, QR_W_REC_MIX_RATE, QR_W_REC_MIX_Z
    };
    const struct qr_recurrent x = qr_recurrent_describe(s, i);
    qr_token_shift(s, i, QR_W_ATTN_NORM, QR_W_ATTN_NORM_BIAS, mixes,
                   (int)qr_recurrent_shifted_inputs(x.config), 0, team);
    project_all(&x, team);
    qr_mix_rows(&x, prepare_row, team);
    qr_recurrent_scan(&x, team);
    qr_mix_rows(&x, finish_row, team);
    qr_mix_project(&x, QR_W_REC_OUT, QR_W_REC_OUT,
                   x.config->gate_rank ? s->ctx->recurrent.z : s->ctx->recurrent.out, out, 0, team);
}
