/* SPDX-License-Identifier: Apache-2.0 */
/* mtp_input.c - the input of a head of multi-token prediction: the embedding of the next token and
 * the hidden state of the model, through one projection; its hidden state in the form of those. */
#include "model/forward/mtp_input.h"
#include "base/checked.h"
#include "base/threads.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <string.h>

void qr_mtp_reserve(const struct quire_model *model, struct quire_context *ctx,
                    struct qr_bump *buffers)
{
    size_t count;
    if (!model->config->mtp.in_use)
        return;
    if (qr_mul_size(ctx->max_rows, 2 * (size_t)qr_mtp_base_size(model->config), &count))
        ctx->block_in = qr_bump_alloc(buffers, count, sizeof(float));
    else
        buffers->overflow = true;
}

/* One half of a row of block_in. */
static void put(const struct qr_step *s, enum qr_weight_role norm, const float *src, float *half)
{
    const struct quire_model *m = s->ctx->model;
    memcpy(half, src, m->config->hidden_size * sizeof *half);
    qr_norm_vector(s, m->layers[0].vec[norm], half, m->config->hidden_size);
}

/* Row r of block_in of a head in files of its own: the embedding of the model, without norms. */
static void put_base(const struct qr_step *s, size_t r, float *in)
{
    const struct quire_model *base = s->ctx->model->base;
    const size_t width = base->config->hidden_size;
    qr_packed_unpack_row(base->global.mat[QR_W_TOKEN_EMBD], (size_t)s->args->token_ids[r], in);
    base->kernels->scale(in, base->config->embedding_scale, width);
    memcpy(in + width, s->args->previous_hidden + r * width, width * sizeof *in);
}

void qr_mtp_input(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const size_t width = c->hidden_size;
    const struct qr_thread_state t = qr_thread_state(s, team);
    const struct qr_packed *w = ctx->model->layers[0].mat[QR_W_MTP_PROJ];
    const struct qr_projection out = { w, NULL, ctx->sub, QR_NO_ADAPTER_SITE };
    struct qr_act act;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *in = ctx->block_in + r * w->k;
        if (c->mtp.base_size) {
            put_base(s, r, in);
            continue;
        }
        put(s, QR_W_MTP_EMBD_NORM, t.x + r * width, in + (c->mtp.hidden_first ? width : 0));
        put(s, QR_W_MTP_HIDDEN_NORM, s->args->previous_hidden + r * width,
            in + (c->mtp.hidden_first ? 0 : width));
    }
    quire_team_barrier(team);
    qr_convert_input(s, &act, &w, 1, ctx->block_in, s->n_tokens, team);
    qr_project(s, &act, &out, 1, team);
    quire_team_barrier(team);
    memcpy(t.x + t.begin * width, ctx->sub + t.begin * width,
           (t.end - t.begin) * width * sizeof *t.x);
}

void qr_mtp_output(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_packed *w = ctx->model->global.mat[QR_W_MTP_POST];
    const struct qr_projection out = { w, NULL, s->args->last_hidden, QR_NO_ADAPTER_SITE };
    struct qr_act act;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    qr_final_norm_rows(s, ctx->sub, qr_thread_state(s, team).x, begin, end);
    quire_team_barrier(team);
    qr_convert_input(s, &act, &w, 1, ctx->sub, s->n_tokens, team);
    qr_project(s, &act, &out, 1, team);
    quire_team_barrier(team);
}
