/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c - one forward pass: embedding and blocks. Everything a family can vary is read from the description. */
#include "base/threads.h"
#include "linear/packed.h"
#include "model/forward/stage.h"
#include <math.h>
#include <string.h>

void qr_norm_rows(const struct qr_step *s, const struct qr_model_layer *layer,
                  enum qr_weight_role w, enum qr_weight_role b, float *dst, const float *src,
                  size_t width, size_t begin, size_t end)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const struct qr_kernels *k = s->ctx->model->kernels;
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

void qr_prepare(const struct qr_step *s, struct qr_act *act, const struct qr_packed *const *w,
                int n, const float *src, size_t m, const struct quire_team *team)
{
    const struct quire_model *model = s->ctx->model;
    unsigned views = 0;
    for (int i = 0; i < n; i++)
        views |= qr_linear_views(w[i], model->compute);
    qr_act_init(act, views, src, w[0]->k, m, w[0]->k, s->ctx->act_memory);
    qr_act_part(act, model->kernels, team);
    quire_team_barrier(team);
}

void qr_project(const struct qr_step *s, const struct qr_act *act, const struct qr_packed *w,
                const float *bias, float *out, const struct quire_team *team)
{
    const struct quire_model *model = s->ctx->model;
    const struct qr_linear_args args = {
        .w = w,
        .x = act,
        .out = out,
        .out_stride = w->n,
        .bias = bias,
        .compute = model->compute,
    };
    qr_linear_part(&args, model->kernels, team);
}

/* x += row `index` of a table, by way of the row's own scratch. */
static void add_table_row(const struct qr_step *s, const struct qr_packed *table, size_t index,
                          size_t r, float *x)
{
    struct quire_context *ctx = s->ctx;
    const size_t width = ctx->model->config->hidden_size;
    float *row = ctx->h + r * width;
    qr_linear_row(table, index, row);
    ctx->model->kernels->add(x, row, width);
}

static void embed_part(const struct qr_step *s, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_config *c = m->config;
    const struct qr_packed *positions = m->global.mat[s->stack.positions],
                           *types = m->global.mat[QR_W_TYPE_EMBD];
    const int32_t *type_ids = s->encode ? s->encode->token_type_ids : NULL;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *x = ctx->x + r * c->hidden_size;
        if (s->args->token_ids)
            qr_linear_row(m->global.mat[QR_W_TOKEN_EMBD], (size_t)s->args->token_ids[r], x);
        else
            memcpy(x, s->args->embeddings + r * c->hidden_size, c->hidden_size * sizeof *x);
        if (c->embedding_scale != 1)
            m->kernels->scale(x, c->embedding_scale, c->hidden_size);
        if (types)
            add_table_row(s, types, type_ids ? (size_t)type_ids[r] : 0, r, x);
        if (positions)
            add_table_row(s, positions, (size_t)ctx->positions[r] + c->position_offset, r, x);
        for (uint32_t i = 0; i < c->n_rope; i++)
            if (c->rope[i].kind != QR_ROPE_NONE)
                qr_rope_table_row(&ctx->rope[i], r, ctx->positions[r], ctx->lengths[r]);
    }
    if (c->embedding_norm)
        qr_norm_rows(s, &m->global, s->stack.embd_norm, s->stack.embd_norm_bias, ctx->x, ctx->x,
                     c->hidden_size, begin, end);
    if (!s->few)
        return; /* the member keeps the rows it has made; rotations are needed after the next barrier */
    quire_team_barrier(team);
    memcpy(qr_member_of(s, team).x, ctx->x, s->n_tokens * (size_t)c->hidden_size * sizeof(float));
}

/* x += residual_scale * sub over the member's rows, through the sublayer's output norm if it has one. */
static void add_residual(const struct qr_step *s, const struct qr_model_layer *layer,
                         const float *sub, enum qr_weight_role post, enum qr_weight_role post_bias,
                         const struct quire_team *team)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const struct qr_kernels *k = s->ctx->model->kernels;
    const struct qr_member me = qr_member_of(s, team);
    const size_t width = c->hidden_size;
    if (c->block == QR_BLOCK_SANDWICH_NORM || c->block == QR_BLOCK_OUTPUT_NORM) {
        qr_norm_rows(s, layer, post, post_bias, me.h, sub, width, me.begin, me.end);
        sub = me.h; /* free between two sublayers */
    }
    for (size_t r = me.begin; r < me.end; r++) {
        float *x = me.x + r * width;
        if (c->residual_scale == 1)
            k->add(x, sub + r * width, width);
        else
            k->axpy(x, c->residual_scale, sub + r * width, width);
    }
    if (c->block == QR_BLOCK_POST_NORM)
        qr_norm_rows(s, layer, post, post_bias, me.x, me.x, width, me.begin, me.end);
}

static void block_part(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const bool normed = c->block != QR_BLOCK_OUTPUT_NORM && c->block != QR_BLOCK_POST_NORM;
    const bool parallel = c->block == QR_BLOCK_PARALLEL || c->block == QR_BLOCK_PARALLEL_2NORM;
    qr_attention_sublayer(s, i, normed, ctx->sub, team);
    if (!parallel)
        add_residual(s, layer, ctx->sub, QR_W_ATTN_POST_NORM, QR_W_ATTN_POST_NORM_BIAS, team);
    if (layer->mat[QR_W_CROSS_Q]) {
        qr_cross_sublayer(s, i, normed, ctx->sub, team);
        add_residual(s, layer, ctx->sub, QR_W_CROSS_POST_NORM, QR_W_CROSS_POST_NORM_BIAS, team);
    }
    /* PARALLEL1: one norm serves both, and the feed-forward finds its weight under the attention's role */
    qr_ffn_sublayer(s, i, normed, parallel ? ctx->sub2 : ctx->sub, team);
    if (parallel)
        add_residual(s, layer, ctx->sub, QR_W_ATTN_POST_NORM, QR_W_ATTN_POST_NORM_BIAS, team);
    add_residual(s, layer, parallel ? ctx->sub2 : ctx->sub, QR_W_FFN_POST_NORM,
                 QR_W_FFN_POST_NORM_BIAS, team);
}

void qr_final_rows(const struct qr_step *s, float *dst, const float *src, size_t begin, size_t end)
{
    const struct quire_model *m = s->ctx->model;
    const size_t width = m->config->hidden_size;
    if (qr_model_has_final_norm(m->config))
        qr_norm_rows(s, &m->global, s->stack.output_norm, s->stack.output_norm_bias, dst, src,
                     width, begin, end);
    else if (dst != src)
        memcpy(dst + begin * width, src + begin * width, (end - begin) * width * sizeof *dst);
}

/* The states before layer i, or the last ones after the final norm, for the caller. */
static void give_hidden(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const size_t width = s->ctx->model->config->hidden_size;
    const float *x = qr_member_of(s, team).x;
    float *out = s->args->hidden + (size_t)(i - s->stack.first) * s->n_tokens * width;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    if (i == s->stack.end)
        qr_final_rows(s, out, x, begin, end);
    else
        memcpy(out + begin * width, x + begin * width, (end - begin) * width * sizeof *out);
}

void qr_step_part(void *arg, const struct quire_team *team)
{
    const struct qr_step *s = arg;
    embed_part(s, team);
    for (uint32_t i = s->stack.first; i < s->stack.end; i++) {
        if (s->args->hidden)
            give_hidden(s, i, team);
        block_part(s, i, team);
    }
    if (s->args->hidden)
        give_hidden(s, s->stack.end, team);
    if (s->encode) {
        qr_member_publish(s, team);
        qr_encoder_outputs(s, team);
    }
    if (s->args->logits && s->n_logits)
        qr_head(s, team);
}
