/* SPDX-License-Identifier: Apache-2.0 */
/* layer_attention.c - the attention sublayer: projections, q/k norm, rotation, cache write, attention, output. */
#include "base/threads.h"
#include "model/context.h"
#include <math.h>
#include <quire/attention.h>

static void clip(float *x, float limit, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fminf(fmaxf(x[i], -limit), limit);
}

/* Heads of one row: norm per head or over the full width, then the rotation of the layer. */
static void finish_heads(const struct qr_step *s, uint32_t layer_index, float *row, size_t r, size_t n_heads,
                         enum qr_weight_role norm_role)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[layer_index];
    const struct quire_kernels *k = ctx->model->kernels;
    const size_t d = c->head_dim;
    const uint8_t set = c->layers[layer_index].rope;
    const struct qr_rope_table *rope = set == QR_LAYER_NO_ROPE ? NULL : &ctx->rope[set];
    const bool rotate = rope && rope->rope->kind != QR_ROPE_NONE;
    if (c->clip_qkv > 0)
        clip(row, c->clip_qkv, n_heads * d);
    if (c->qk_norm == QR_QK_NORM_FULL && !c->qk_norm_after_rope)
        qr_norm_rows(s, layer, norm_role, norm_role, row, row, n_heads * d, 0, 1);
    for (size_t h = 0; h < n_heads; h++) {
        float *x = row + h * d;
        if (c->qk_norm == QR_QK_NORM_HEAD && !c->qk_norm_after_rope)
            qr_norm_rows(s, layer, norm_role, norm_role, x, x, d, 0, 1);
        if (rotate) {
            const size_t half = rope->rope->dim / 2;
            k->rope(x, rope->cos + r * half, rope->sin + r * half, rope->rope->dim, rope->rope->kind == QR_ROPE_HALF);
        }
        if (c->qk_norm == QR_QK_NORM_HEAD && c->qk_norm_after_rope)
            qr_norm_rows(s, layer, norm_role, norm_role, x, x, d, 0, 1);
        if (c->qk_norm == QR_QK_NORM_L2 && rotate)
            k->rms_norm(x, x, NULL, 0, c->norm_eps, d);
    }
}

/* Queries of a layer without rope, which sees very long contexts, are sharpened with the position. */
static float temperature(const struct qr_model_config *c, uint32_t position)
{
    return log1pf(floorf((float)(position + 1) / c->temperature_floor)) * c->temperature_scale + 1;
}

static void finish_rows(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const size_t n_heads = c->layers[i].n_heads, n_kv = c->layers[i].n_kv_heads;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        finish_heads(s, i, ctx->q + r * n_heads * c->head_dim, r, n_heads, QR_W_ATTN_Q_NORM);
        finish_heads(s, i, ctx->k + r * n_kv * c->head_dim, r, n_kv, QR_W_ATTN_K_NORM);
        if (c->temperature_floor > 0 && c->layers[i].rope == QR_LAYER_NO_ROPE)
            ctx->model->kernels->scale(ctx->q + r * n_heads * c->head_dim, temperature(c, ctx->positions[r]),
                                       n_heads * c->head_dim);
        if (c->clip_qkv > 0)
            clip(ctx->v + r * n_kv * c->v_head_dim, c->clip_qkv, n_kv * c->v_head_dim);
    }
}

/* q, k and v share one activation object: their weights come in one type, or in types of one kind. */
static void project_qkv(const struct qr_step *s, uint32_t i, const float *src, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    static const enum qr_weight_role biases[] = { QR_W_ATTN_Q_BIAS, QR_W_ATTN_K_BIAS, QR_W_ATTN_V_BIAS };
    float *const out[] = { ctx->q, ctx->k, ctx->v };
    const struct qr_packed *const w[] = { layer->mat[QR_W_ATTN_Q], layer->mat[QR_W_ATTN_K], layer->mat[QR_W_ATTN_V] };
    struct qr_act act;
    qr_prepare(s, &act, w, 3, src, s->n_tokens, team);
    for (int j = 0; j < 3; j++)
        qr_project(s, &act, w[j], layer->vec[biases[j]], out[j], team);
    quire_team_barrier(team);
}

static void write_cache(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const struct quire_kv_write_args write = {
        .struct_size = sizeof write,
        .group = layer->kv_group,
        .layer = layer->kv_layer,
        .dtype = QUIRE_KV_F32,
        .k = ctx->k,
        .v = ctx->v,
        .slot_mapping = s->args->batch->groups[layer->kv_group].slot_mapping,
        .n_tokens = s->n_tokens,
    };
    quire_kv_write_part(s->kv, &write, team);
    quire_team_barrier(team);
}

/* From src to ctx->att. */
static void plain_attention(const struct qr_step *s, uint32_t i, const float *src, const struct quire_team *team)
{
    project_qkv(s, i, src, team);
    finish_rows(s, i, team);
    quire_team_barrier(team);
    write_cache(s, i, team);
    qr_attend(s, i, team);
    quire_team_barrier(team);
}

void qr_attention_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    size_t begin, end;
    normed = normed && !c->layers[i].bare_input;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    if (normed)
        qr_norm_rows(s, layer, QR_W_ATTN_NORM, QR_W_ATTN_NORM_BIAS, ctx->h, ctx->x, c->hidden_size, begin, end);
    quire_team_barrier(team);
    if (c->mla.kv_lora_rank)
        qr_latent_attention(s, i, normed ? ctx->h : ctx->x, team);
    else
        plain_attention(s, i, normed ? ctx->h : ctx->x, team);
    const struct qr_packed *o = layer->mat[QR_W_ATTN_O];
    struct qr_act act;
    qr_prepare(s, &act, &o, 1, ctx->att, s->n_tokens, team);
    qr_project(s, &act, o, layer->vec[QR_W_ATTN_O_BIAS], out, team);
    quire_team_barrier(team);
}
