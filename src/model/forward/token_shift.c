/* SPDX-License-Identifier: Apache-2.0 */
/* token_shift.c - shifted inputs; the sublayers of RWKV-4, the feed-forward sublayers of RWKV-6 and
 * RWKV-7. */
#include "model/forward/token_shift.h"
#include "base/checked.h"
#include "base/threads.h"
#include "model/config/config.h"
#include "model/forward/layer_ffn.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include "recurrent/wkv.h"
#include <string.h>

enum { MAX_MIXES = 6 };

static float *take_floats(struct qr_bump *c, size_t n, size_t width)
{
    size_t count;
    if (qr_mul_size(n, width, &count))
        return qr_bump_alloc(c, count, sizeof(float));
    c->overflow = true;
    return NULL;
}

void qr_token_shift_reserve(const struct quire_model *model, struct quire_context *ctx,
                            struct qr_bump *buffers)
{
    const size_t rows = ctx->max_rows, hidden = model->config->hidden_size;
    const struct qr_recurrent_config *r = &model->config->recurrent;
    struct qr_recurrent_buffers *b = &ctx->recurrent;
    if (!qr_recurrent_shifts(r))
        return;
    for (int i = 0; i < (r->kind == QR_RECURRENT_WKV ? 3 : 6); i++)
        b->mixed[i] = take_floats(buffers, rows, hidden);
    if (r->kind != QR_RECURRENT_WKV7 && !r->plain_ffn)
        ctx->sub2 = take_floats(buffers, rows, hidden);
    if (r->kind == QR_RECURRENT_WKV)
        return;
    b->mix_low = take_floats(buffers, rows, 5 * (size_t)r->mix_rank);
    b->mix_parts = take_floats(buffers, rows, 5 * (size_t)r->mix_rank);
    b->low_rate = take_floats(buffers, rows, r->rate_rank);
    b->low_share = take_floats(buffers, rows, r->value_rank);
    b->first_values = take_floats(
        buffers, rows, r->kind == QR_RECURRENT_WKV7 ? (size_t)qr_recurrent_value_width(r) : 0);
}

/* ---- Shifted inputs */

/* mixed[j] = before + mix[j] (x - before) for rows [begin, end), x being the normed rows h; WKV6
 * and WKV7: x + mix[j] (before - x), or before - x without a mix. */
static void mix_rows(const struct qr_step *s, const struct qr_state_run *run, const float *saved,
                     const float *h, const float *const *mixes, int n, size_t begin, size_t end)
{
    const size_t width = s->ctx->model->config->hidden_size;
    const bool wkv = s->ctx->model->config->recurrent.kind == QR_RECURRENT_WKV;
    for (size_t r = begin; r < end; r++) {
        const float *x = h + r * width, *before = r > run->row ? x - width : saved;
        const bool first = run->fresh && r == run->row;
        for (int j = 0; j < n; j++) {
            float *out = s->ctx->recurrent.mixed[j] + r * width;
            for (size_t c = 0; c < width; c++) {
                const float old = first ? 0 : before[c], a = wkv ? old : x[c], b = wkv ? x[c] : old;
                out[c] = mixes[j] ? a + mixes[j][c] * (b - a) : b - a;
            }
        }
    }
}

void qr_token_shift(const struct qr_step *s, uint32_t i, enum qr_weight_role norm,
                    enum qr_weight_role norm_bias, const enum qr_weight_role *mix_roles, int n,
                    size_t offset, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const size_t width = ctx->model->config->hidden_size;
    const struct qr_thread_state t = qr_thread_state(s, team);
    const float *mixes[MAX_MIXES];
    size_t begin, end;
    qr_norm_rows(s, layer, norm, norm_bias, t.h, t.x, width, t.begin, t.end);
    quire_team_barrier(team); /* rows of other threads are read */
    for (int j = 0; j < n; j++)
        mixes[j] = mix_roles[j] == QR_SHIFT_DIFFERENCE ? NULL : layer->vec[mix_roles[j]];
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (uint32_t k = 0; k < ctx->recurrent.n_runs; k++) {
        const struct qr_state_run *run = &ctx->recurrent.runs[k];
        const size_t run_end = (size_t)run->row + run->n;
        mix_rows(s, run, run->state + layer->recurrent.tail + offset, t.h, mixes, n,
                 begin > run->row ? begin : run->row, end < run_end ? end : run_end);
    }
    quire_team_barrier(team); /* the states are read */
    for (uint32_t k = 0; k < ctx->recurrent.n_runs; k++) {
        const struct qr_state_run *run = &ctx->recurrent.runs[k];
        const size_t last = (size_t)run->row + run->n - 1;
        if (last >= begin && last < end)
            memcpy(run->state + layer->recurrent.tail + offset, t.h + last * width,
                   width * sizeof(float));
    }
}

/* out = src W^T for a matrix of layer i, with barriers. */
static void project(const struct qr_step *s, uint32_t i, enum qr_weight_role role, const float *src,
                    float *out, const struct quire_team *team)
{
    const struct qr_packed *w = s->ctx->model->layers[i].mat[role];
    const struct qr_projection p = { w, NULL, out, { role, i, 0 } };
    struct qr_act act;
    qr_convert_input(s, &act, &w, 1, src, s->n_tokens, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
}

/* rows of gate = sigmoid(gate) * scale * x. Ends with a barrier. */
static void gate_rows(const struct qr_step *s, float *gate, const float *x, float scale,
                      size_t width, const struct quire_team *team)
{
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    s->ctx->model->kernels->sigmoid_mul(gate + begin * width, x + begin * width, scale,
                                        (end - begin) * width);
    quire_team_barrier(team);
}

/* ---- Time mix */

/* The recurrence from k and v to out, [n_tokens][values] each. Ends with a barrier. */
static void scan(const struct qr_step *s, uint32_t i, const float *k, const float *v, float *out,
                 const struct quire_team *team)
{
    const struct qr_recurrent_buffers *b = &s->ctx->recurrent;
    const struct qr_model_layer *layer = &s->ctx->model->layers[i];
    const size_t width = (size_t)qr_recurrent_value_width(&s->ctx->model->config->recurrent);
    const size_t blocks = (width + QR_WKV_CHANNELS - 1) / QR_WKV_CHANNELS;
    struct qr_work_steal loop =
        qr_work_steal_begin(s->ctx->per_thread.counters, team, b->n_runs * blocks);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        const struct qr_state_run *run = &b->runs[unit / blocks];
        const size_t c = unit % blocks * QR_WKV_CHANNELS, left = width - c;
        float *state = run->state + layer->recurrent.state + c;
        const struct qr_wkv wkv = {
            .k = k + run->row * width + c,
            .v = v + run->row * width + c,
            .out = out + run->row * width + c,
            .stride = width,
            .n_rows = run->n,
            .decay = layer->recurrent.decay + c,
            .first = layer->vec[QR_W_REC_D] + c,
            .sum = state,
            .weight = state + width,
            .top = state + 2 * width,
            .fresh = run->fresh,
        };
        qr_wkv_run(&wkv, left < QR_WKV_CHANNELS ? left : QR_WKV_CHANNELS, s->ctx->model->kernels);
    }
    quire_team_barrier(team);
}

void qr_time_mix(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team)
{
    static const enum qr_weight_role mixes[] = { QR_W_REC_MIX_K, QR_W_REC_MIX_V, QR_W_REC_MIX_Z };
    const struct quire_context *ctx = s->ctx;
    const struct qr_recurrent_buffers *b = &ctx->recurrent;
    const size_t width = (size_t)qr_recurrent_value_width(&ctx->model->config->recurrent);
    float *k = b->in, *v = b->in + ctx->max_rows * width;
    qr_token_shift(s, i, QR_W_ATTN_NORM, QR_W_ATTN_NORM_BIAS, mixes, 3, 0, team);
    project(s, i, QR_W_REC_K, b->mixed[0], k, team);
    project(s, i, QR_W_REC_V, b->mixed[1], v, team);
    project(s, i, QR_W_REC_Z, b->mixed[2], b->z, team);
    scan(s, i, k, v, b->out, team);
    gate_rows(s, b->z, b->out, 1, width, team);
    project(s, i, QR_W_REC_OUT, b->z, out, team);
}

/* ---- Channel mix */

void qr_channel_mix(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team)
{
    static const enum qr_weight_role mixes[] = { QR_W_FFN_MIX_UP, QR_W_FFN_MIX_Z };
    const struct quire_context *ctx = s->ctx;
    const size_t width = ctx->model->config->hidden_size;
    const bool gated = ctx->model->layers[i].mat[QR_W_FFN_Z] != NULL;
    const float scale = qr_recurrent_rescale(&ctx->model->config->recurrent, i);
    size_t begin, end;
    qr_token_shift(s, i, QR_W_FFN_NORM, QR_W_FFN_NORM_BIAS, mixes, gated ? 2 : 1, width, team);
    if (!gated) {
        qr_ffn_dense_of(s, i, ctx->recurrent.mixed[0], out, team);
        return;
    }
    project(s, i, QR_W_FFN_Z, ctx->recurrent.mixed[1], ctx->sub2, team);
    qr_ffn_dense_of(s, i, ctx->recurrent.mixed[0], out, team);
    gate_rows(s, ctx->sub2, out, scale, width, team);
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    memcpy(out + begin * width, ctx->sub2 + begin * width, (end - begin) * width * sizeof *out);
    quire_team_barrier(team);
}
