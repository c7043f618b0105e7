/* SPDX-License-Identifier: Apache-2.0 */
/* head.c - from the last states to logits: final norm, the dense layer of masked language models, output matrix. */
#include "base/threads.h"
#include "model/context.h"
#include <string.h>

/* The dense layer, activation and norm that masked language models have before the output matrix: head_in to itself. */
static void transform(const struct qr_step *s, size_t begin, size_t end,
                      const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const size_t width = m->config->hidden_size;
    const struct qr_packed *dense = m->global.mat[QR_W_HEAD_DENSE];
    struct qr_act act;
    qr_prepare(s, &act, &dense, 1, ctx->head_in, s->n_logits, team);
    qr_project(s, &act, dense, m->global.vec[QR_W_HEAD_DENSE_BIAS], ctx->head_mid, team);
    quire_team_barrier(team);
    for (size_t i = begin; i < end; i++)
        qr_activate(m->config, m->kernels, ctx->head_mid + i * width, NULL, width);
    qr_norm_rows(s, &m->global, QR_W_HEAD_NORM, QR_W_HEAD_NORM_BIAS, ctx->head_in, ctx->head_mid,
                 width, begin, end);
    quire_team_barrier(team);
}

void qr_head(const struct qr_step *s, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_config *c = m->config;
    const size_t width = c->hidden_size;
    size_t begin, end;
    qr_team_range(team, s->n_logits, 1, &begin, &end);
    for (size_t i = begin; i < end; i++)
        memcpy(ctx->head_in + i * width, ctx->x + s->logits_rows[i] * width, width * sizeof(float));
    qr_final_rows(s, ctx->head_in, ctx->head_in, begin, end);
    quire_team_barrier(team);
    if (m->global.mat[QR_W_HEAD_DENSE])
        transform(s, begin, end, team);
    const struct qr_packed *head = qr_model_head(m);
    struct qr_act act;
    qr_prepare(s, &act, &head, 1, ctx->head_in, s->n_logits, team);
    qr_project(s, &act, head, m->global.vec[QR_W_OUTPUT_BIAS], s->args->logits, team);
    if (c->logit_scale == 1 && c->final_softcap == 0)
        return;
    quire_team_barrier(team);
    for (size_t i = begin; i < end; i++) {
        float *row = s->args->logits + i * c->vocab_size;
        if (c->logit_scale != 1)
            m->kernels->scale(row, c->logit_scale, c->vocab_size);
        if (c->final_softcap > 0)
            m->kernels->soft_cap(row, c->final_softcap, c->vocab_size);
    }
}
