/* SPDX-License-Identifier: Apache-2.0 */
/* lm_head.c - logits of the requested rows: final norm, the prediction head of masked language
 * models, the output matrix. */
#include "model/forward/lm_head.h"
#include "base/threads.h"
#include "model/forward/ffn_activate.h"
#include "model/forward/norm.h"
#include "model/forward/partial_head.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <string.h>

/* The prediction head of masked language models before the output matrix: dense layer, activation
 * and norm, from head_in to head_in. [begin, end) are the thread's rows. Starts after a barrier and
 * ends with one. */
static void transform(const struct qr_step *s, size_t begin, size_t end,
                      const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const size_t width = m->config->hidden_size;
    const struct qr_packed *dense = m->global.mat[QR_W_HEAD_DENSE];
    const struct qr_projection p = { dense, m->global.vec[QR_W_HEAD_DENSE_BIAS], ctx->head_mid,
                                     QR_NO_ADAPTER_SITE };
    struct qr_act act;
    qr_convert_input(s, &act, &dense, 1, ctx->head_in, s->n_logits, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
    for (size_t i = begin; i < end; i++)
        qr_ffn_activate(m, &m->global.act, ctx->head_mid + i * width, NULL, width);
    qr_norm_rows(s, &m->global, QR_W_HEAD_NORM, QR_W_HEAD_NORM_BIAS, ctx->head_in, ctx->head_mid,
                 width, begin, end);
    quire_team_barrier(team);
}

/* Copies requested rows [begin, end) to dst, through the final norm. */
static void gather(const struct qr_step *s, const float *x, float *dst, size_t begin, size_t end)
{
    const size_t width = s->ctx->model->config->hidden_size;
    for (size_t i = begin; i < end; i++)
        memcpy(dst + i * width, x + s->logits_rows[i] * width, width * sizeof *dst);
    qr_final_norm_rows(s, dst, dst, begin, end);
}

static const struct qr_adapter_site head_site = { QR_W_OUTPUT, 0, 0 };

/* Computes the rows that enter the output matrix. */
static const float *prepare_input(const struct qr_step *s, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_thread_state t = qr_thread_state(s, team);
    const bool dense = m->global.mat[QR_W_HEAD_DENSE] != NULL;
    float *src = ctx->head_in;
    size_t begin = 0, end = s->n_logits;
    if (!s->replicated)
        quire_team_barrier(team); /* requested rows may be computed by other threads */
    if (s->n_logits <= QR_REPLICATED_ROWS_MAX && !dense)
        src = t.own_rows;
    else
        qr_team_range(team, s->n_logits, 1, &begin, &end);
    gather(s, t.x, src, begin, end);
    if (dense) {
        quire_team_barrier(team);
        transform(s, begin, end, team);
    }
    return src;
}

/* The output matrix; of one of several heads of multi-token prediction its own, if it has one. */
static const struct qr_packed *output_matrix(const struct qr_step *s)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_packed *own =
        m->config->mtp.heads ? m->layers[s->stack.first].mat[QR_W_MTP_OUTPUT] : NULL;
    return own ? own : qr_model_head(m);
}

/* One block of logits: product, scale and soft cap. */
static void run_block(const struct qr_step *s, const struct qr_act *act,
                      const struct qr_adapter_down *down, struct qr_unpacked *unpacked,
                      const struct qr_linear_block *b)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_model_config *c = m->config;
    const struct qr_packed *head = output_matrix(s);
    const float *gain = m->global.vec[QR_W_OUTPUT_GAIN];
    const float scale = c->logit_scale * (gain ? *gain : 1);
    float *out = s->args->logits + b->i0 * head->n + b->j0;
    const struct qr_linear_args args = { .w = head,
                                         .x = act,
                                         .out = out,
                                         .out_stride = head->n,
                                         .bias = m->global.vec[QR_W_OUTPUT_BIAS],
                                         .compute = m->compute,
                                         .unpacked = unpacked };
    qr_linear_run_block(&args, b, m->kernels);
    qr_adapter_up(s, down, &head_site, b, out, head->n);
    for (size_t i = b->i0; i < b->i1; i++, out += head->n) {
        if (scale != 1)
            m->kernels->scale(out, scale, b->j1 - b->j0);
        if (c->final_softcap > 0)
            m->kernels->soft_cap(out, c->final_softcap, b->j1 - b->j0);
    }
}

void qr_lm_head(const struct qr_step *s, const struct quire_team *team)
{
    const struct qr_packed *head = output_matrix(s);
    const float *src = prepare_input(s, team);
    struct qr_act act;
    if (s->ctx->model->token_order) {
        qr_partial_head(s, src, team);
        return;
    }
    qr_convert_input(s, &act, &head, 1, src, s->n_logits, team);
    const struct qr_adapter_down down =
        qr_adapter_down(s, &head_site, 1, act.f32, act.f32_stride, team);
    const struct qr_linear_units units =
        qr_linear_divide(head->n, head->k, act.m,
                         qr_linear_granule(head, act.m, s->ctx->model->compute), team->size);
    struct qr_work_steal loop = qr_work_steal_begin(s->ctx->per_thread.counters, team, units.count);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        const struct qr_linear_block b = qr_linear_unit_block(&units, unit);
        run_block(s, &act, &down, qr_thread_unpacked(s, team), &b);
    }
}
