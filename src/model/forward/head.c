/* SPDX-License-Identifier: Apache-2.0 */
/* head.c - from the last states to logits: final norm, the dense layer of masked language models, output matrix. */
#include "base/threads.h"
#include "model/forward/stage.h"
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

/* The rows wanted, after the final norm, from `begin` to `end` of dst. */
static void gather(const struct qr_step *s, const float *x, float *dst, size_t begin, size_t end)
{
    const size_t width = s->ctx->model->config->hidden_size;
    for (size_t i = begin; i < end; i++)
        memcpy(dst + i * width, x + s->logits_rows[i] * width, width * sizeof *dst);
    qr_final_rows(s, dst, dst, begin, end);
}

/* The output matrix's input: few rows each member makes for itself. Ends with a barrier otherwise. */
static void input(const struct qr_step *s, struct qr_act *act, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_packed *head = qr_model_head(m);
    const struct qr_member me = qr_member_of(s, team);
    const bool dense = m->global.mat[QR_W_HEAD_DENSE] != NULL;
    if (!s->few)
        quire_team_barrier(team); /* head rows may belong to other members */
    if (s->n_logits <= QR_FEW_ROWS && !dense) {
        gather(s, me.x, me.few_h, 0, s->n_logits);
        qr_act_init(act, qr_linear_views(head, m->compute), me.few_h, head->k, s->n_logits, head->k,
                    me.few_views);
        qr_act_fill_rows(act, m->kernels, 0, s->n_logits);
        return;
    }
    size_t begin, end;
    qr_team_range(team, s->n_logits, 1, &begin, &end);
    gather(s, me.x, ctx->head_in, begin, end);
    quire_team_barrier(team);
    if (dense)
        transform(s, begin, end, team);
    qr_prepare(s, act, &head, 1, ctx->head_in, s->n_logits, team);
}

/* A block of logits: the product, scale and soft cap. */
static void run_block(const struct qr_step *s, const struct qr_act *act,
                      const struct qr_linear_block *b)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_model_config *c = m->config;
    const struct qr_packed *head = qr_model_head(m);
    float *out = s->args->logits + b->i0 * head->n + b->j0;
    const struct qr_linear_args args = { .w = head,
                                         .x = act,
                                         .out = out,
                                         .out_stride = head->n,
                                         .bias = m->global.vec[QR_W_OUTPUT_BIAS],
                                         .compute = m->compute };
    qr_linear_run_block(&args, b, m->kernels);
    for (size_t i = b->i0; i < b->i1; i++, out += head->n) {
        if (c->logit_scale != 1)
            m->kernels->scale(out, c->logit_scale, b->j1 - b->j0);
        if (c->final_softcap > 0)
            m->kernels->soft_cap(out, c->final_softcap, b->j1 - b->j0);
    }
}

void qr_head(const struct qr_step *s, const struct quire_team *team)
{
    const struct qr_packed *head = qr_model_head(s->ctx->model);
    struct qr_act act;
    input(s, &act, team);
    struct qr_blocks blocks =
        qr_blocks_begin(s, head->n, head->k, qr_linear_unit(head, act.m), act.m, team);
    struct qr_linear_block b;
    while (qr_blocks_next(&blocks, &b))
        run_block(s, &act, &b);
}
