/* SPDX-License-Identifier: Apache-2.0 */
/* layer_attention.c - the self-attention sublayer: norm, QKV projections, q/k norm, RoPE, cache
 * write, attention, output projection. */
#include "model/forward/layer_attention.h"
#include "attention/forward.h"
#include "base/threads.h"
#include "kv/write.h"
#include "model/forward/block_conv.h"
#include "model/forward/conv_attention.h"
#include "model/forward/disentangled.h"
#include "model/forward/head_order.h"
#include "model/forward/layer_index.h"
#include "model/forward/layer_latent.h"
#include "model/forward/layer_shared_kv.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include "model/forward/widened_rows.h"
#include <math.h>
#include <quire/attention.h>
#include <string.h>

static void clip(float *x, float limit, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fminf(fmaxf(x[i], -limit), limit);
}

/* Weights of the q/k norm of a head of `size` elements; NULL if the norm is not per head. */
static const float *head_norm(const struct qr_model_config *c, const struct qr_model_layer *layer,
                              size_t head, size_t size, bool query)
{
    if (c->qk_norm == QR_QK_NORM_HEAD)
        return layer->vec[query ? QR_W_ATTN_Q_NORM : QR_W_ATTN_K_NORM];
    if (c->qk_norm == QR_QK_NORM_HEADS)
        return layer->vec[query ? QR_W_ATTN_Q_NORMS : QR_W_ATTN_K_NORMS] + head * size;
    return NULL;
}

/* x / rms(x) * factor */
static void norm_unit(const struct qr_kernels *k, float *x, float factor, size_t n)
{
    static const float least = 1e-30f; /* a vector of zeros stays one */
    k->rms_norm(x, x, NULL, 0, least, n);
    k->scale(x, factor, n);
}

/* q/k norm per head and RoPE, for one head of row r. */
static void finish_head(const struct qr_step *s, uint32_t layer_index, float *x, size_t r,
                        const float *norm)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_kernels *k = ctx->model->kernels;
    const size_t d = c->layers[layer_index].head_dim;
    const uint8_t set = c->layers[layer_index].rope;
    const struct qr_rope_table *rope = set == QR_LAYER_NO_ROPE ? NULL : &ctx->rope[set];
    const bool rotate = rope && rope->rope->kind != QR_ROPE_NONE;
    if (c->qk_norm == QR_QK_NORM_PLAIN)
        k->rms_norm(x, x, NULL, 0, c->norm_eps, d);
    if (norm && !c->qk_norm_after_rope)
        qr_norm_vector(s, norm, x, d);
    if (rotate) {
        const size_t half = rope->rope->dim / 2;
        k->rope(x, rope->cos + r * half, rope->sin + r * half, rope->rope->dim,
                rope->rope->kind == QR_ROPE_NEOX);
    }
    if (norm && c->qk_norm_after_rope)
        qr_norm_vector(s, norm, x, d);
    if (c->qk_norm == QR_QK_NORM_L2 && rotate)
        k->rms_norm(x, x, NULL, 0, c->norm_eps, d);
}

float qr_attention_temperature(const struct qr_model_config *c, uint32_t position)
{
    const float count = (float)(position + !c->temperature_everywhere);
    return log1pf(floorf(count / c->temperature_floor)) * c->temperature_scale + 1;
}

/* Clipping, norm, RoPE and temperature of heads [first, first + n) of row r of q or k. A norm over
 * the full width requires all heads. */
static void finish_heads(const struct qr_step *s, uint32_t i, float *heads, size_t first, size_t n,
                         size_t r, bool query)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const size_t d = c->layers[i].head_dim;
    if (c->clip_qkv > 0)
        clip(heads, c->clip_qkv, n * d);
    if (c->qk_norm == QR_QK_NORM_FULL)
        qr_norm_vector_biased(s, layer->vec[query ? QR_W_ATTN_Q_NORM : QR_W_ATTN_K_NORM],
                              layer->vec[query ? QR_W_ATTN_Q_NORM_BIAS : QR_W_ATTN_K_NORM_BIAS],
                              heads, n * d);
    for (size_t h = 0; h < n; h++) {
        if (c->qk_norm == QR_QK_NORM_UNIT)
            norm_unit(ctx->model->kernels, heads + h * d,
                      query ? 1 : layer->vec[QR_W_ATTN_K_SCALE][first + h], d);
        finish_head(s, i, heads + h * d, r, head_norm(c, layer, first + h, d, query));
        if (query && c->gains)
            ctx->model->kernels->scale(heads + h * d, layer->vec[QR_W_QUERY_GAIN][first + h], d);
    }
    if (query && c->temperature_floor > 0 &&
        (c->temperature_everywhere || c->layers[i].rope == QR_LAYER_NO_ROPE))
        ctx->model->kernels->scale(heads, qr_attention_temperature(c, ctx->positions[r]), n * d);
}

/* Clipping and norm of n heads of a row of v. */
static void finish_values(const struct qr_step *s, uint32_t i, float *heads, size_t n)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_model_config *c = m->config;
    const size_t d = c->differential ? c->layers[i].head_dim : c->layers[i].v_head_dim;
    if (c->clip_qkv > 0)
        clip(heads, c->clip_qkv, n * d);
    for (size_t h = 0; c->v_norm && h < n; h++)
        m->kernels->rms_norm(heads + h * d, heads + h * d, NULL, 0, c->norm_eps, d);
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

/* ---- queries, keys and values: all heads per stage, or one work unit per head */

/* One layer: index 0 is q, 1 is k, 2 is v. */
struct qkv {
    const struct qr_step *s;
    uint32_t layer;
    int first; /* product: 1 without queries, else 0 */
    int n; /* end of products: 1 without keys of its own, 2 where values are the projected keys */
    const struct qr_packed *w[3];
    const float *bias[3];
    float *out[3];
    size_t head_size[3], n_heads[3];
    struct qr_act act;
    struct qr_unpacked *unpacked; /* of the thread */
};

static struct qr_adapter_site qkv_site(const struct qkv *p, int j)
{
    static const enum qr_weight_role roles[] = { QR_W_ATTN_Q, QR_W_ATTN_K, QR_W_ATTN_V };
    return (struct qr_adapter_site){ roles[j], p->layer, (uint32_t)j };
}

static void finish_rows(const struct qkv *p, const struct quire_team *team)
{
    size_t begin, end;
    qr_team_range(team, p->s->n_tokens, 1, &begin, &end);
    const bool convolved = p->s->ctx->conv_attention.in != NULL;
    for (size_t r = begin; r < end; r++) {
        if (convolved)
            qr_conv_attention_add_means(p->s, p->layer, r);
        float *k = p->out[1] + r * p->head_size[1] * p->n_heads[1];
        float *v = p->out[2] + r * p->head_size[2] * p->n_heads[2];
        if (p->first == 0)
            finish_heads(p->s, p->layer, p->out[0] + r * p->w[0]->n, 0, p->n_heads[0], r, true);
        if (p->n == 2)
            memcpy(v, k, p->w[1]->n * sizeof *v);
        if (p->n > 1) {
            finish_heads(p->s, p->layer, k, 0, p->n_heads[1], r, false);
            finish_values(p->s, p->layer, v, p->n_heads[2]);
        }
        qr_widen_row(p->s, p->layer, r);
    }
}

static void run_all_heads(const struct qkv *p, const struct quire_team *team)
{
    const struct quire_kv_write_args write = write_args(p->s, p->layer);
    if (p->s->ctx->conv_attention.in) {
        qr_conv_attention_project(p->s, p->layer, &p->act, team);
    } else {
        struct qr_projection projections[3];
        for (int j = p->first; j < p->n; j++)
            projections[j] =
                (struct qr_projection){ p->w[j], p->bias[j], p->out[j], qkv_site(p, j) };
        qr_project(p->s, &p->act, projections + p->first, (size_t)(p->n - p->first), team);
        quire_team_barrier(team);
    }
    if (p->s->ctx->key_dt)
        qr_key_dt(p->s, p->layer, team);
    finish_rows(p, team);
    quire_team_barrier(team);
    if (p->n == 1)
        return;
    quire_kv_write_part(p->s->kv, &write, team);
    quire_team_barrier(team);
}

/* Values that are keys: one head of every row, before the norm of keys and RoPE. */
static void run_key_as_value(const struct qkv *p, size_t head,
                             const struct quire_kv_write_args *write)
{
    const size_t d = p->head_size[1], stride = d * p->n_heads[1];
    const float *k = p->out[1] + head * d;
    float *v = p->out[2] + head * d;
    for (size_t r = 0; r < p->s->n_tokens; r++, k += stride, v += stride) {
        memcpy(v, k, d * sizeof *v);
        finish_values(p->s, p->layer, v, 1);
    }
    qr_kv_write_head_v(p->s->kv, write, (uint32_t)head);
}

/* One head of q, k or v: projection, norm, RoPE, cache write. */
static void run_head(const struct qkv *p, const struct qr_adapter_down *down, int j, size_t head,
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
        .unpacked = p->unpacked,
    };
    const struct qr_adapter_site site = qkv_site(p, j);
    qr_adapter_prefetch(p->s, &site, &b);
    qr_linear_run_block(&args, &b, m->kernels);
    qr_adapter_up(p->s, down, &site, &b, out, stride);
    if (j == 1 && p->n == 2)
        run_key_as_value(p, head, write);
    for (size_t r = 0; r < rows; r++, out += stride)
        if (j < 2)
            finish_heads(p->s, p->layer, out, head, 1, r, j == 0);
        else
            finish_values(p->s, p->layer, out, 1);
    if (j == 1)
        qr_kv_write_head_k(p->s->kv, write, (uint32_t)head);
    if (j == 2)
        qr_kv_write_head_v(p->s->kv, write, (uint32_t)head);
}

static void run_by_head(const struct qkv *p, const struct quire_team *team)
{
    const struct quire_kv_write_args write = write_args(p->s, p->layer);
    const size_t n_q = p->first ? 0 : p->n_heads[0], n_k = p->n > 1 ? p->n_heads[1] : 0;
    const size_t n_v = p->n > 2 ? p->n_heads[2] : 0;
    const struct qr_adapter_site sites[] = { qkv_site(p, 0), qkv_site(p, 1), qkv_site(p, 2) };
    const struct qr_adapter_down down =
        qr_adapter_down(p->s, sites, (size_t)p->n, p->act.f32, p->act.f32_stride, team);
    struct qr_work_steal loop =
        qr_work_steal_begin(p->s->ctx->per_thread.counters, team, n_q + n_k + n_v);
    for (size_t i; qr_work_steal_next(&loop, &i);) {
        if (i < n_q)
            run_head(p, &down, 0, i, &write);
        else if (i < n_q + n_k)
            run_head(p, &down, 1, i - n_q, &write);
        else
            run_head(p, &down, 2, i - n_q - n_k, &write);
    }
    quire_team_barrier(team);
}

/* Whether each head can be a work unit: heads are whole panels and need no norm over the full
 * width, and their number leaves the busiest thread at most 25 % above the average. */
static bool can_run_by_head(const struct qkv *p, const struct quire_team *team)
{
    size_t n = 0;
    for (int j = p->first; j < p->n; j++) {
        if (p->head_size[j] % p->w[j]->panel_rows || p->head_size[j] * p->n_heads[j] != p->w[j]->n)
            return false;
        n += p->n_heads[j];
    }
    const size_t busiest = (n + team->size - 1) / team->size; /* heads of the busiest thread */
    const struct qr_model_config *c = p->s->ctx->model->config;
    return c->qk_norm != QR_QK_NORM_FULL && !c->differential && !c->key_bias &&
           !c->conv_attention.channel_taps && busiest * team->size * 4 <= n * 5;
}

static void attend(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const struct quire_attention_args args = {
        .struct_size = sizeof args,
        .group = layer->plan_group,
        .layer = layer->kv_layer,
        .config = &layer->attention,
        .q = ctx->q,
        .out = ctx->att,
    };
    const struct qr_score_bias bias = { ctx->score_bias, ctx->score_stride };
    struct qr_key_selection selection;
    qr_attention_part_with(s->plan, &args, qr_index_selection(s, i, &selection) ? &selection : NULL,
                           ctx->score_bias ? &bias : NULL, team);
}

/* att_gate = sigmoid(att_gate) * att. Ends with a barrier. */
static void gate_output(const struct qr_step *s, size_t width, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    ctx->model->kernels->sigmoid_mul(ctx->att_gate + begin * width, ctx->att + begin * width, 1,
                                     (end - begin) * width);
    quire_team_barrier(team);
}

/* att *= softplus(att_gate) or sigmoid(att_gate), for gates of elements or of heads. Ends with a
 * barrier. */
static void gate_in_place(const struct qr_step *s, size_t width, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const size_t shared = c->gate_per_head ? c->v_head_dim : 1, gates = width / shared;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t i = begin * gates; i < end * gates; i++) {
        const float x = ctx->att_gate[i];
        const float gate = !c->gate_softplus ? 1 / (1 + expf(-x)) : x > 20 ? x : log1pf(expf(x));
        for (size_t d = i * shared; d < (i + 1) * shared; d++)
            ctx->att[d] *= gate;
    }
    quire_team_barrier(team);
}

/* Norms of the rows of att. Ends with a barrier. */
static void norm_output(const struct qr_step *s, const float *weight, float *att, size_t width,
                        const struct quire_team *team)
{
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        qr_norm_vector(s, weight, att + r * width, width);
    quire_team_barrier(team);
}

static struct qkv products_of(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const struct qr_layer_config *l = &c->layers[i];
    return (struct qkv){
        .s = s,
        .layer = i,
        .n = l->kv_source != i ? 1
             : l->v_is_k       ? 2
                               : 3,
        .w = { layer->mat[QR_W_ATTN_Q], layer->mat[QR_W_ATTN_K], layer->mat[QR_W_ATTN_V] },
        .bias = { layer->vec[QR_W_ATTN_Q_BIAS], layer->vec[QR_W_ATTN_K_BIAS],
                  layer->vec[QR_W_ATTN_V_BIAS] },
        /* rows that are widened afterwards are projected elsewhere, values where outputs will be */
        .out = { c->key_bias ? ctx->narrow_q : ctx->q, c->key_bias ? ctx->narrow_k : ctx->k,
                 c->differential ? ctx->att : ctx->v },
        .head_size = { l->head_dim, l->head_dim, c->differential ? l->head_dim : l->v_head_dim },
        .n_heads = { l->n_heads, l->n_kv_heads, l->n_kv_heads },
        .unpacked = qr_thread_unpacked(s, team),
    };
}

/* Attention with plain keys and values, from src into ctx->att. Ends with a barrier. */
static void plain_attention(const struct qr_step *s, uint32_t i, const float *src,
                            const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    struct qkv p = products_of(s, i, team);
    const struct qr_packed *gate = layer->mat[QR_W_ATTN_GATE];
    const struct qr_packed *const inputs[] = { p.w[0], p.w[1], p.w[2], gate,
                                               layer->mat[QR_W_ATTN_V_DELAYED] };
    qr_convert_input(s, &p.act, inputs, 5, src, s->n_tokens, team);
    if (gate) {
        const struct qr_projection to_gate = {
            gate, NULL, ctx->att_gate, { QR_W_ATTN_GATE, i, 0 }
        };
        qr_project(s, &p.act, &to_gate, 1, team);
        quire_team_barrier(team);
    }
    if (can_run_by_head(&p, team))
        run_by_head(&p, team);
    else
        run_all_heads(&p, team);
    if (c->layers[i].index == QR_INDEX_OWN)
        qr_index_select(s, i, src, NULL, team);
    if (ctx->score_bias)
        qr_disentangled_scores(s, i, team);
    if (c->tiled_heads)
        qr_group_query_heads(s, i, team);
    attend(s, i, team);
    quire_team_barrier(team);
    if (c->tiled_heads)
        qr_tile_output_heads(s, i, team);
}

void qr_attention_store(const struct qr_step *s, uint32_t i, const float *src,
                        const struct quire_team *team)
{
    struct qkv p = products_of(s, i, team);
    p.first = 1;
    qr_convert_input(s, &p.act, p.w + 1, 2, src, s->n_tokens, team);
    if (can_run_by_head(&p, team))
        run_by_head(&p, team);
    else
        run_all_heads(&p, team);
}

void qr_attention_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out,
                           const struct quire_team *team)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const struct qr_thread_state t = qr_thread_state(s, team);
    normed = normed && !c->layers[i].skip_attn_norm;
    if (normed)
        qr_norm_rows(s, &s->ctx->model->layers[i], QR_W_ATTN_NORM, QR_W_ATTN_NORM_BIAS, t.h, t.x,
                     c->hidden_size, t.begin, t.end);
    const float *src = normed ? t.h : t.x;
    if (c->mtp.kind == QR_MTP_FEATURES && i == 0)
        src = s->ctx->block_in;
    if (c->mtp.conv_taps)
        src = qr_block_conv_before(s, i, QR_W_MTP_ATTN_CONV, team);
    qr_attention_of(s, i, src, out, team);
    if (c->mtp.conv_taps)
        qr_block_conv_behind(s, i, QR_W_MTP_ATTN_CONV, out, team);
}

void qr_attention_of(const struct qr_step *s, uint32_t i, const float *src, float *out,
                     const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    if (c->shared_kv.o_groups)
        qr_shared_kv_attention(s, i, src, team);
    else if (c->mla.kv_lora_rank)
        qr_latent_attention(s, i, src, team);
    else
        plain_attention(s, i, src, team);
    const struct qr_packed *o = layer->mat[QR_W_ATTN_O];
    const struct qr_projection to_out = {
        o, layer->vec[QR_W_ATTN_O_BIAS], out, { QR_W_ATTN_O, i, 0 }
    };
    float *att = c->shared_kv.o_groups ? ctx->compress.low : ctx->att;
    struct qr_act act;
    if (c->differential) {
        qr_difference(s, i, team);
        att = ctx->att_gate;
    }
    if (c->attention_gate && (c->gate_softplus || c->gate_per_head)) {
        gate_in_place(s, o->k, team);
    } else if (c->attention_gate) {
        gate_output(s, o->k, team);
        att = ctx->att_gate;
    }
    if (c->sub_norms)
        norm_output(s, layer->vec[QR_W_ATTN_SUB_NORM], att, o->k, team);
    qr_convert_input(s, &act, &o, 1, att, s->n_tokens, team);
    qr_project(s, &act, &to_out, 1, team);
    quire_team_barrier(team);
}
