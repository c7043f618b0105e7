/* SPDX-License-Identifier: Apache-2.0 */
/* mtp_input.c - the input of a head of multi-token prediction: the embedding of the next token and
 * what the model computed at the position; and the head's own state in the form of that. Keys and
 * values of a block drafter. */
#include "model/forward/mtp_input.h"
#include "base/checked.h"
#include "base/threads.h"
#include "model/forward/block_conv.h"
#include "model/forward/layer_attention.h"
#include "model/forward/markov_head.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <string.h>

void qr_mtp_reserve(const struct quire_model *model, struct quire_context *ctx,
                    struct qr_bump *buffers)
{
    const struct qr_model_config *c = model->config;
    const size_t half = c->mtp.kind == QR_MTP_SHARED_KV ? c->mtp.base_size : c->hidden_size,
                 input = c->mtp.norm_input || c->mtp.norm_features ? qr_mtp_input_size(c) : 0;
    size_t count;
    qr_markov_reserve(model, ctx, buffers);
    qr_block_conv_reserve(model, ctx, buffers);
    if (!c->mtp.kind || c->mtp.kind == QR_MTP_BLOCK)
        return;
    if (qr_mul_size(ctx->max_rows, input > 2 * half ? input : 2 * half, &count))
        ctx->block_in = qr_bump_alloc(buffers, count, sizeof(float));
    else
        buffers->overflow = true;
}

/* One half of a row of block_in: the norm of src. */
static void put(const struct qr_step *s, enum qr_weight_role norm, const float *src, float *half)
{
    const struct quire_model *m = s->ctx->model;
    memcpy(half, src, m->config->hidden_size * sizeof *half);
    qr_norm_vector(s, m->layers[s->stack.first].vec[norm], half, m->config->hidden_size);
}

/* ctx->sub becomes the product of PROJ with the rows of src. Starts after a barrier and ends with
 * one. */
static void project(const struct qr_step *s, const float *src, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_packed *w = ctx->model->layers[s->stack.first].mat[QR_W_MTP_PROJ];
    const struct qr_projection out = { w, NULL, ctx->sub, QR_NO_ADAPTER_SITE };
    struct qr_act act;
    qr_convert_input(s, &act, &w, 1, src, s->n_tokens, team);
    qr_project(s, &act, &out, 1, team);
    quire_team_barrier(team);
}

/* The same for x. */
static void project_x(const struct qr_step *s, const float *src, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_thread_state t = qr_thread_state(s, team);
    const size_t width = ctx->model->config->hidden_size;
    project(s, src, team);
    memcpy(t.x + t.begin * width, ctx->sub + t.begin * width,
           (t.end - t.begin) * width * sizeof *t.x);
}

/* A layer behind the model: x, the embedding, becomes proj([norm(x); norm(h)]). */
static void layer_input(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const size_t width = c->hidden_size;
    const struct qr_thread_state t = qr_thread_state(s, team);
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *in = ctx->block_in + r * 2 * width;
        put(s, QR_W_MTP_EMBD_NORM, t.x + r * width, in + (c->mtp.hidden_first ? width : 0));
        put(s, QR_W_MTP_HIDDEN_NORM, s->args->previous_hidden + r * width,
            in + (c->mtp.hidden_first ? 0 : width));
    }
    quire_team_barrier(team);
    project_x(s, ctx->block_in, team);
}

/* x = proj([e; h]), with the embedding of the model. */
static void shared_kv_input(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *base = ctx->model->base;
    const size_t width = base->config->hidden_size;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *in = ctx->block_in + r * 2 * width;
        qr_packed_unpack_row(base->global.mat[QR_W_TOKEN_EMBD], (size_t)s->args->token_ids[r], in);
        base->kernels->scale(in, base->config->embedding_scale, width);
        memcpy(in + width, s->args->previous_hidden + r * width, width * sizeof *in);
    }
    quire_team_barrier(team);
    project_x(s, ctx->block_in, team);
}

/* What g is the projection of: the features, or their norms in block_in, of all side by side or of
 * each. Ends with a barrier. */
static const float *features_of(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_config *c = m->config;
    const size_t width = qr_mtp_input_size(c), n = c->mtp.norm_features ? c->mtp.n_features : 1;
    const float *norm = c->mtp.norm_features ? m->global.vec[QR_W_MTP_FEATURE_NORMS]
                                             : m->layers[0].vec[QR_W_MTP_INPUT_NORM];
    size_t begin, end;
    if (!norm)
        return s->args->previous_hidden;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    memcpy(ctx->block_in + begin * width, s->args->previous_hidden + begin * width,
           (end - begin) * width * sizeof *ctx->block_in);
    for (size_t r = begin * n; r < end * n; r++)
        qr_norm_vector(s, norm + r % n * (width / n), ctx->block_in + r * (width / n), width / n);
    quire_team_barrier(team);
    return ctx->block_in;
}

/* x = g; block_in = [norm(e); norm(g)], which attention reads. Ends with a barrier. */
static void features_input(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const size_t width = m->config->hidden_size;
    const struct qr_thread_state t = qr_thread_state(s, team);
    const float *own = s->args->own_hidden;
    size_t begin, end;
    if (own)
        memcpy(t.x + t.begin * width, own + t.begin * width,
               (t.end - t.begin) * width * sizeof *own);
    else
        project_x(s, features_of(s, team), team);
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *in = ctx->block_in + r * 2 * width;
        /* `in` holds the embedding only until its norm is in the same place */
        qr_packed_unpack_row(m->global.mat[QR_W_TOKEN_EMBD], (size_t)s->args->token_ids[r], in);
        m->kernels->scale(in, m->config->embedding_scale, width);
        qr_norm_vector(s, m->layers[0].vec[QR_W_MTP_EMBD_NORM], in, width);
        put(s, QR_W_MTP_HIDDEN_NORM, t.x + r * width, in + width);
    }
    quire_team_barrier(team);
    for (size_t r = t.begin; m->config->mtp.norm_residual && r < t.end; r++)
        memcpy(t.x + r * width, ctx->block_in + (2 * r + 1) * width, width * sizeof *t.x);
}

/* x = the embedding, scaled as the model scales its embeddings that the table is of. */
static void block_input(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model, *base = m->base;
    const struct qr_packed *table = m->global.mat[QR_W_TOKEN_EMBD];
    const float scale =
        (table == base->global.mat[QR_W_TOKEN_EMBD] ? base : m)->config->embedding_scale;
    const size_t width = m->config->hidden_size;
    const struct qr_thread_state t = qr_thread_state(s, team);
    for (size_t r = t.begin; r < t.end; r++) {
        qr_packed_unpack_row(table, (size_t)s->args->token_ids[r], t.x + r * width);
        if (scale != 1)
            m->kernels->scale(t.x + r * width, scale, width);
    }
}

void qr_mtp_store_context(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    size_t begin, end;
    project(s, s->args->previous_hidden, team);
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        qr_norm_vector(s, ctx->model->layers[0].vec[QR_W_MTP_HIDDEN_NORM],
                       ctx->sub + r * c->hidden_size, c->hidden_size);
    quire_team_barrier(team);
    for (uint32_t i = 0; i < c->n_layers; i++)
        qr_attention_store(s, i, ctx->sub, team);
}

void qr_mtp_input(const struct qr_step *s, const struct quire_team *team)
{
    switch (s->ctx->model->config->mtp.kind) {
    case QR_MTP_SHARED_KV:
        shared_kv_input(s, team);
        break;
    case QR_MTP_FEATURES:
        features_input(s, team);
        break;
    case QR_MTP_BLOCK:
        block_input(s, team);
        break;
    default:
        layer_input(s, team);
    }
}

void qr_mtp_output(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_packed *w = ctx->model->global.mat[QR_W_MTP_POST];
    const struct qr_projection out = { w, NULL, s->args->last_hidden, QR_NO_ADAPTER_SITE };
    const float *x = qr_thread_state(s, team).x;
    const size_t width = ctx->model->config->hidden_size;
    struct qr_act act;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    if (ctx->model->config->mtp.norm_state) {
        qr_final_norm_rows(s, s->args->last_hidden, x, begin, end);
        return;
    }
    if (!w) {
        memcpy(s->args->last_hidden + begin * width, x + begin * width,
               (end - begin) * width * sizeof *x);
        return;
    }
    qr_final_norm_rows(s, ctx->sub, x, begin, end);
    quire_team_barrier(team);
    qr_convert_input(s, &act, &w, 1, ctx->sub, s->n_tokens, team);
    qr_project(s, &act, &out, 1, team);
    quire_team_barrier(team);
}
