/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c - one forward pass: embedding, blocks, head. Everything a family can vary is read from the description. */
#include "base/threads.h"
#include "linear/packed.h"
#include "model/context.h"
#include <math.h>
#include <string.h>

void qr_norm_rows(const struct qr_step *s, const struct qr_model_layer *layer, enum qr_weight_role w,
                  enum qr_weight_role b, float *dst, const float *src, size_t width, size_t begin, size_t end)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const struct quire_kernels *k = s->ctx->model->kernels;
    const float *weight = layer->vec[w], *bias = layer->vec[b];
    for (size_t r = begin; r < end; r++) {
        float *out = dst + r * width;
        const float *in = src + r * width;
        switch (c->norm) {
        case QR_NORM_RMS:
            k->rms_norm(out, in, weight, 0, c->norm_eps, width);
            break;
        case QR_NORM_RMS_PLUS1:
            k->rms_norm(out, in, weight, 1, c->norm_eps, width);
            break;
        case QR_NORM_LAYER:
            k->layer_norm(out, in, weight, bias, 0, c->norm_eps, width);
            break;
        case QR_NORM_LAYER_PLUS1:
            k->layer_norm(out, in, weight, bias, 1, c->norm_eps, width);
            break;
        case QR_NORM_LAYER_PLAIN:
            k->layer_norm(out, in, NULL, NULL, 0, c->norm_eps, width);
            break;
        }
    }
}

void qr_prepare(const struct qr_step *s, struct qr_act *act, const struct qr_packed *const *w, int n, const float *src,
                size_t m, const struct quire_team *team)
{
    const struct quire_model *model = s->ctx->model;
    unsigned views = 0;
    for (int i = 0; i < n; i++)
        views |= qr_linear_view(w[i]->type, model->compute);
    qr_act_init(act, views, src, w[0]->k, m, w[0]->k, s->ctx->act_memory);
    qr_act_part(act, model->kernels, team);
    quire_team_barrier(team);
}

void qr_project(const struct qr_step *s, const struct qr_act *act, const struct qr_packed *w, const float *bias,
                float *out, const struct quire_team *team)
{
    const struct quire_model *model = s->ctx->model;
    const struct qr_linear_args args = {
        .w = w, .x = act, .out = out, .out_stride = w->n, .bias = bias, .compute = model->compute,
    };
    qr_linear_part(&args, model->kernels, team);
}

/* Rows are split in the same way everywhere, so a member finds its own rows still in its cache. */
static void rows_of(const struct qr_step *s, const struct quire_team *team, size_t *begin, size_t *end)
{
    qr_team_range(team, s->n_tokens, 1, begin, end);
}

static void embed_part(const struct qr_step *s, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_config *c = m->config;
    size_t begin, end;
    rows_of(s, team, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *x = ctx->x + r * c->hidden_size;
        if (s->args->token_ids)
            qr_linear_row(m->global.mat[QR_W_TOKEN_EMBD], (size_t)s->args->token_ids[r], x);
        else
            memcpy(x, s->args->embeddings + r * c->hidden_size, c->hidden_size * sizeof *x);
        if (c->embedding_scale != 1)
            m->kernels->scale(x, c->embedding_scale, c->hidden_size);
        if (m->global.mat[QR_W_POS_EMBD]) {
            float *row = ctx->h + r * c->hidden_size;
            qr_linear_row(m->global.mat[QR_W_POS_EMBD], ctx->positions[r] + c->position_offset, row);
            m->kernels->add(x, row, c->hidden_size);
        }
        for (uint32_t i = 0; i < c->n_rope; i++)
            if (c->rope[i].kind != QR_ROPE_NONE)
                qr_rope_table_row(&ctx->rope[i], r, ctx->positions[r], ctx->lengths[r]);
    }
    if (c->embedding_norm)
        qr_norm_rows(s, &m->global, QR_W_EMBD_NORM, QR_W_EMBD_NORM_BIAS, ctx->x, ctx->x, c->hidden_size, begin, end);
}

/* x += residual_scale * sub over the member's rows, through the sublayer's output norm if it has one. */
static void add_residual(const struct qr_step *s, const struct qr_model_layer *layer, float *sub,
                         enum qr_weight_role post, enum qr_weight_role post_bias, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct quire_kernels *k = ctx->model->kernels;
    const size_t width = c->hidden_size;
    const bool after = c->block == QR_BLOCK_SANDWICH || c->block == QR_BLOCK_OUTPUT;
    size_t begin, end;
    rows_of(s, team, &begin, &end);
    if (after)
        qr_norm_rows(s, layer, post, post_bias, sub, sub, width, begin, end);
    for (size_t r = begin; r < end; r++) {
        float *x = ctx->x + r * width;
        if (c->residual_scale == 1)
            k->add(x, sub + r * width, width);
        else
            k->axpy(x, c->residual_scale, sub + r * width, width);
    }
    if (c->block == QR_BLOCK_POST)
        qr_norm_rows(s, layer, post, post_bias, ctx->x, ctx->x, width, begin, end);
}

static void block_part(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const bool normed = c->block != QR_BLOCK_OUTPUT && c->block != QR_BLOCK_POST;
    const bool parallel = c->block == QR_BLOCK_PARALLEL1 || c->block == QR_BLOCK_PARALLEL2;
    qr_attention_sublayer(s, i, normed, ctx->sub, team);
    if (!parallel)
        add_residual(s, layer, ctx->sub, QR_W_ATTN_POST_NORM, QR_W_ATTN_POST_NORM_BIAS, team);
    /* PARALLEL1: one norm serves both, and the feed-forward finds its weight under the attention's role */
    qr_ffn_sublayer(s, i, normed, parallel ? ctx->sub2 : ctx->sub, team);
    if (parallel)
        add_residual(s, layer, ctx->sub, QR_W_ATTN_POST_NORM, QR_W_ATTN_POST_NORM_BIAS, team);
    add_residual(s, layer, parallel ? ctx->sub2 : ctx->sub, QR_W_FFN_POST_NORM, QR_W_FFN_POST_NORM_BIAS, team);
}

static void copy_hidden(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const size_t width = s->ctx->model->config->hidden_size;
    size_t begin, end;
    rows_of(s, team, &begin, &end);
    memcpy(s->args->hidden + ((size_t)i * s->n_tokens + begin) * width, s->ctx->x + begin * width,
           (end - begin) * width * sizeof(float));
}

/* Final norm of the wanted rows, head, logit scale and cap. */
static void head_part(const struct qr_step *s, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_config *c = m->config;
    const size_t width = c->hidden_size;
    size_t begin, end;
    qr_team_range(team, s->n_logits, 1, &begin, &end);
    for (size_t i = begin; i < end; i++)
        memcpy(ctx->head_in + i * width, ctx->x + s->logits_rows[i] * width, width * sizeof(float));
    qr_norm_rows(s, &m->global, QR_W_OUTPUT_NORM, QR_W_OUTPUT_NORM_BIAS, ctx->head_in, ctx->head_in, width, begin, end);
    quire_team_barrier(team);
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

void qr_step_part(void *arg, const struct quire_team *team)
{
    const struct qr_step *s = arg;
    const struct qr_model_config *c = s->ctx->model->config;
    embed_part(s, team);
    for (uint32_t i = 0; i < c->n_layers; i++) {
        if (s->args->hidden)
            copy_hidden(s, i, team);
        block_part(s, i, team);
    }
    if (s->args->hidden) {
        size_t begin, end;
        rows_of(s, team, &begin, &end);
        float *last = s->args->hidden + (size_t)c->n_layers * s->n_tokens * c->hidden_size;
        qr_norm_rows(s, &s->ctx->model->global, QR_W_OUTPUT_NORM, QR_W_OUTPUT_NORM_BIAS, last, s->ctx->x, c->hidden_size,
                     begin, end);
    }
    if (s->args->logits && s->n_logits) {
        quire_team_barrier(team); /* head rows may belong to other members */
        head_part(s, team);
    }
}
