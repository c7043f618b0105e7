/* SPDX-License-Identifier: Apache-2.0 */
/* layer_attention.c - the attention sublayer: projections, q/k norm, rotation, cache write, attention, output. */
#include "base/threads.h"
#include "kv/write.h"
#include "model/forward/stage.h"
#include <math.h>
#include <quire/attention.h>

static void clip(float *x, float limit, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fminf(fmaxf(x[i], -limit), limit);
}

/* One head of a row: norm per head and the rotation of the layer. */
static void finish_head(const struct qr_step *s, uint32_t layer_index, float *x, size_t r,
                        enum qr_weight_role norm_role)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[layer_index];
    const struct qr_kernels *k = ctx->model->kernels;
    const size_t d = c->head_dim;
    const uint8_t set = c->layers[layer_index].rope;
    const struct qr_rope_table *rope = set == QR_LAYER_NO_ROPE ? NULL : &ctx->rope[set];
    const bool rotate = rope && rope->rope->kind != QR_ROPE_NONE;
    if (c->qk_norm == QR_QK_NORM_HEAD && !c->qk_norm_after_rope)
        qr_norm_rows(s, layer, norm_role, norm_role, x, x, d, 0, 1);
    if (rotate) {
        const size_t half = rope->rope->dim / 2;
        k->rope(x, rope->cos + r * half, rope->sin + r * half, rope->rope->dim,
                rope->rope->kind == QR_ROPE_NEOX);
    }
    if (c->qk_norm == QR_QK_NORM_HEAD && c->qk_norm_after_rope)
        qr_norm_rows(s, layer, norm_role, norm_role, x, x, d, 0, 1);
    if (c->qk_norm == QR_QK_NORM_L2 && rotate)
        k->rms_norm(x, x, NULL, 0, c->norm_eps, d);
}

/* Queries of a layer without rope, which sees very long contexts, are sharpened with the position. */
static float temperature(const struct qr_model_config *c, uint32_t position)
{
    return log1pf(floorf((float)(position + 1) / c->temperature_floor)) * c->temperature_scale + 1;
}

/* n heads of a row of q or k. A norm over the full width wants all heads. */
static void finish_heads(const struct qr_step *s, uint32_t i, float *heads, size_t n, size_t r,
                         bool query)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const enum qr_weight_role norm = query ? QR_W_ATTN_Q_NORM : QR_W_ATTN_K_NORM;
    const size_t d = c->head_dim;
    if (c->clip_qkv > 0)
        clip(heads, c->clip_qkv, n * d);
    if (c->qk_norm == QR_QK_NORM_FULL && !c->qk_norm_after_rope)
        qr_norm_rows(s, &ctx->model->layers[i], norm, norm, heads, heads, n * d, 0, 1);
    for (size_t h = 0; h < n; h++)
        finish_head(s, i, heads + h * d, r, norm);
    if (query && c->temperature_floor > 0 && c->layers[i].rope == QR_LAYER_NO_ROPE)
        ctx->model->kernels->scale(heads, temperature(c, ctx->positions[r]), n * d);
}

static struct quire_kv_write_args write_args(const struct qr_step *s, uint32_t i)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    return (struct quire_kv_write_args){
        .struct_size = sizeof(struct quire_kv_write_args),
        .group = layer->kv_group,
        .layer = layer->kv_layer,
        .dtype = QUIRE_KV_F32,
        .k = ctx->k,
        .v = ctx->v,
        .slot_mapping = s->args->batch->groups[layer->kv_group].slot_mapping,
        .n_tokens = s->n_tokens,
    };
}

/* ---- queries, keys and values, by rows of whole layers or head by head */

struct qkv {
    const struct qr_step *s;
    uint32_t layer;
    const struct qr_packed *w[3];
    const float *bias[3];
    float *out[3];
    size_t head_size[3], n_heads[3];
    struct qr_act act;
};

static void finish_rows(const struct qkv *p, const struct quire_team *team)
{
    const struct qr_model_config *c = p->s->ctx->model->config;
    size_t begin, end;
    qr_team_range(team, p->s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        for (int j = 0; j < 2; j++)
            finish_heads(p->s, p->layer, p->out[j] + r * p->w[j]->n, p->n_heads[j], r, j == 0);
        if (c->clip_qkv > 0)
            clip(p->out[2] + r * p->w[2]->n, c->clip_qkv, p->w[2]->n);
    }
}

static void by_rows(const struct qkv *p, const struct quire_team *team)
{
    const struct quire_kv_write_args write = write_args(p->s, p->layer);
    for (int j = 0; j < 3; j++)
        qr_project(p->s, &p->act, p->w[j], p->bias[j], p->out[j], team);
    quire_team_barrier(team);
    finish_rows(p, team);
    quire_team_barrier(team);
    quire_kv_write_part(p->s->kv, &write, team);
    quire_team_barrier(team);
}

/* One head of queries (j = 0), keys or values: product, norm and rotation, and into the cache. */
static void run_head(const struct qkv *p, int j, size_t head,
                     const struct quire_kv_write_args *write)
{
    const struct quire_model *m = p->s->ctx->model;
    const size_t d = p->head_size[j], stride = p->w[j]->n, rows = p->s->n_tokens;
    const struct qr_linear_block b = { head * d, (head + 1) * d, 0, rows };
    float *out = p->out[j] + head * d;
    const struct qr_linear_args args = {
        .w = p->w[j],
        .x = &p->act,
        .out = out,
        .out_stride = stride,
        .bias = p->bias[j],
        .compute = m->compute,
    };
    qr_linear_run_block(&args, &b, m->kernels);
    for (size_t r = 0; r < rows; r++, out += stride)
        if (j < 2)
            finish_heads(p->s, p->layer, out, 1, r, j == 0);
        else if (m->config->clip_qkv > 0)
            clip(out, m->config->clip_qkv, d);
    if (j == 1)
        qr_kv_write_head_k(p->s->kv, write, (uint32_t)head);
    if (j == 2)
        qr_kv_write_head_v(p->s->kv, write, (uint32_t)head);
}

static void by_heads(const struct qkv *p, const struct quire_team *team)
{
    const struct quire_kv_write_args write = write_args(p->s, p->layer);
    const size_t n_q = p->n_heads[0], n_k = p->n_heads[1];
    struct qr_share share = qr_share_begin(p->s->ctx->own.lines, team, n_q + n_k + p->n_heads[2]);
    for (size_t i; qr_share_next(&share, &i);) {
        if (i < n_q)
            run_head(p, 0, i, &write);
        else if (i < n_q + n_k)
            run_head(p, 1, i - n_q, &write);
        else
            run_head(p, 2, i - n_q - n_k, &write);
    }
    quire_team_barrier(team);
}

/* Can heads be computed one by one, and are there enough of them to go round? */
static bool heads_apart(const struct qkv *p, const struct quire_team *team)
{
    size_t n = 0;
    for (int j = 0; j < 3; j++) {
        if (p->head_size[j] % p->w[j]->panel_rows || p->head_size[j] * p->n_heads[j] != p->w[j]->n)
            return false;
        n += p->n_heads[j];
    }
    const size_t most = (n + team->size - 1) / team->size; /* heads of the busiest member */
    return p->s->ctx->model->config->qk_norm != QR_QK_NORM_FULL && most * team->size * 4 <= n * 5;
}

/* From src to ctx->att. */
static void plain_attention(const struct qr_step *s, uint32_t i, const float *src,
                            const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const size_t n_kv = c->layers[i].n_kv_heads;
    struct qkv p = {
        .s = s,
        .layer = i,
        .w = { layer->mat[QR_W_ATTN_Q], layer->mat[QR_W_ATTN_K], layer->mat[QR_W_ATTN_V] },
        .bias = { layer->vec[QR_W_ATTN_Q_BIAS], layer->vec[QR_W_ATTN_K_BIAS],
                  layer->vec[QR_W_ATTN_V_BIAS] },
        .out = { ctx->q, ctx->k, ctx->v },
        .head_size = { c->head_dim, c->head_dim, c->v_head_dim },
        .n_heads = { c->layers[i].n_heads, n_kv, n_kv },
    };
    qr_member_input(s, &p.act, p.w, 3, src, team);
    if (heads_apart(&p, team))
        by_heads(&p, team);
    else
        by_rows(&p, team);
    qr_attend(s, i, team);
    quire_team_barrier(team);
}

void qr_attention_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out,
                           const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const struct qr_member me = qr_member_of(s, team);
    normed = normed && !c->layers[i].skip_attn_norm;
    if (normed)
        qr_norm_rows(s, layer, QR_W_ATTN_NORM, QR_W_ATTN_NORM_BIAS, me.h, me.x, c->hidden_size,
                     me.begin, me.end);
    if (c->mla.kv_lora_rank) {
        if (!s->few)
            quire_team_barrier(team); /* its members read rows of others */
        qr_latent_attention(s, i, normed ? me.h : me.x, team);
    } else {
        plain_attention(s, i, normed ? me.h : me.x, team);
    }
    const struct qr_packed *o = layer->mat[QR_W_ATTN_O];
    struct qr_act act;
    qr_member_input(s, &act, &o, 1, ctx->att, team);
    qr_project_blocks(s, &act, o, layer->vec[QR_W_ATTN_O_BIAS], out, team);
    quire_team_barrier(team);
}
