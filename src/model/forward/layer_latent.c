/* SPDX-License-Identifier: Apache-2.0 */
/* layer_latent.c - latent attention (MLA): down and up projections, norms, RoPE, cache write of
 * latent rows, and absorbed attention over them (quire/mla.h). */
#include "model/forward/layer_latent.h"
#include "attention/forward.h"
#include "base/threads.h"
#include "linear/batched.h"
#include "model/forward/latent_expand.h"
#include "model/forward/layer_attention.h"
#include "model/forward/layer_index.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <quire/attention.h>
#include <string.h>

/* Epsilon of the norms between the projections, independent of the model's epsilon. */
#define LATENT_NORM_EPS 1e-6f

static void rotate(const struct quire_context *ctx, float *x, size_t row)
{
    if (!ctx->model->config->n_rope)
        return;
    const struct qr_rope_table *t = &ctx->rope[0];
    const size_t half = t->rope->dim / 2;
    ctx->model->kernels->rope(x, t->cos + row * half, t->sin + row * half, t->rope->dim,
                              t->rope->kind == QR_ROPE_NEOX);
}

static uint32_t layer_index(const struct qr_step *s, const struct qr_model_layer *layer)
{
    return (uint32_t)(layer - s->ctx->model->layers);
}

/* Down projections: latent rows into ctx->k; queries into ctx->q or, with q_lora_rank, their latent
 * form; gates of the output. */
static void project_down(const struct qr_step *s, const struct qr_model_layer *layer,
                         const float *src, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const bool q_lora = ctx->latent.q_a != NULL;
    const struct qr_packed *const w[] = { layer->mat[QR_W_LATENT_KV_A],
                                          layer->mat[q_lora ? QR_W_LATENT_Q_A : QR_W_ATTN_Q],
                                          layer->mat[QR_W_ATTN_GATE] };
    const size_t n = w[2] ? 3 : 2;
    const uint32_t i = layer_index(s, layer);
    const struct qr_projection p[] = {
        { w[0], NULL, ctx->k, { QR_W_LATENT_KV_A, i, 0 } },
        { w[1],
          NULL,
          q_lora ? ctx->latent.q_a : ctx->q,
          { q_lora ? QR_W_LATENT_Q_A : QR_W_ATTN_Q, i, 1 } },
        { w[2], NULL, ctx->att_gate, { QR_W_ATTN_GATE, i, 2 } },
    };
    struct qr_act act;
    qr_convert_input(s, &act, w, (int)n, src, s->n_tokens, team);
    qr_project(s, &act, p, n, team);
    quire_team_barrier(team);
}

/* Norms of the thread's latent rows, and RoPE of the key part. Ends with a barrier. */
static void finish_latent_rows(const struct qr_step *s, const struct qr_model_layer *layer,
                               const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_mla_config *m = &ctx->model->config->mla;
    const struct qr_kernels *k = ctx->model->kernels;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *row = ctx->k + r * (m->kv_lora_rank + m->qk_rope_dim);
        k->rms_norm(row, row, layer->vec[QR_W_LATENT_KV_NORM], 0, LATENT_NORM_EPS, m->kv_lora_rank);
        if (m->latent_scale != 1)
            k->scale(row, m->latent_scale, m->kv_lora_rank);
        rotate(ctx, row + m->kv_lora_rank, r);
    }
    for (size_t r = begin; ctx->latent.q_a && r < end; r++) {
        float *q = ctx->latent.q_a + r * m->q_lora_rank;
        k->rms_norm(q, q, layer->vec[QR_W_LATENT_Q_NORM], 0, LATENT_NORM_EPS, m->q_lora_rank);
    }
    quire_team_barrier(team);
}

static void project_queries(const struct qr_step *s, const struct qr_model_layer *layer,
                            const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_packed *w = layer->mat[QR_W_ATTN_Q];
    const struct qr_projection p = { w, NULL, ctx->q, { QR_W_ATTN_Q, layer_index(s, layer), 0 } };
    struct qr_act act;
    qr_convert_input(s, &act, &w, 1, ctx->latent.q_a, s->n_tokens, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
}

static void write_rows(const struct qr_step *s, const struct qr_model_layer *layer,
                       const struct quire_team *team)
{
    const struct quire_kv_write_args write = {
        .struct_size = sizeof write,
        .group = layer->kv_group,
        .layer = layer->kv_layer,
        .dtype = QUIRE_KV_F32,
        .k = s->ctx->k,
        .slot_mapping = s->args->batch->groups[layer->kv_group].slot_mapping,
        .n_tokens = s->n_tokens,
    };
    quire_kv_write_part(s->kv, &write, team);
}

static void rotate_queries(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const size_t heads = c->layers[i].n_heads;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *q = ctx->q + r * heads * c->head_dim;
        for (size_t h = 0; h < heads; h++)
            rotate(ctx, q + h * c->head_dim + c->mla.qk_nope_dim, r);
        if (c->temperature_floor > 0)
            ctx->model->kernels->scale(q, qr_attention_temperature(c, ctx->positions[r]),
                                       heads * c->head_dim);
    }
}

/* Batched matmul with one matrix per head: n rows of `in`, with in_row floats per head, into
 * rows of `out`. Ends with a barrier. */
static void project_heads(const struct qr_step *s, uint32_t i, enum qr_weight_role role, size_t n,
                          const float *in, size_t in_row, float *out, size_t out_row,
                          const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const size_t heads = m->config->layers[i].n_heads;
    const struct qr_batched_args args = { .w = m->layers[i].experts[role],
                                          .n_heads = heads,
                                          .n_rows = n,
                                          .in = in,
                                          .in_stride = heads * in_row,
                                          .in_head_stride = in_row,
                                          .memory = s->ctx->latent.act_memory,
                                          .out = out,
                                          .out_stride = heads * out_row,
                                          .out_head_stride = out_row,
                                          .compute = m->compute,
                                          .unpacked = qr_thread_unpacked(s, team) };
    qr_batched_convert_part(&args, m->kernels, team);
    quire_team_barrier(team);
    qr_batched_part(&args, m->kernels, team);
    quire_team_barrier(team);
}

/* Computes the queries of a run against latent rows; rotary parts are copied. Ends with a
 * barrier. */
static void absorb(const struct qr_step *s, uint32_t i, const struct qr_row_run *run,
                   const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const size_t heads = c->layers[i].n_heads, rank = c->mla.kv_lora_rank,
                 rope = c->mla.qk_rope_dim;
    const float *q = ctx->q + run->row * heads * c->head_dim;
    float *out = ctx->latent.q + run->absorbed * heads * (rank + rope);
    size_t begin, end;
    qr_team_range(team, run->n * heads, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        memcpy(out + r * (rank + rope) + rank, q + r * c->head_dim + c->mla.qk_nope_dim,
               rope * sizeof *out);
    project_heads(s, i, QR_W_LATENT_UK, run->n, q, c->head_dim, out, rank + rope, team);
}

/* Projects the latent outputs of a run to the values of each head. Ends with a barrier. */
static void unabsorb(const struct qr_step *s, uint32_t i, const struct qr_row_run *run,
                     const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const size_t heads = c->layers[i].n_heads, rank = c->mla.kv_lora_rank;
    project_heads(s, i, QR_W_LATENT_UV, run->n, ctx->latent.att + run->absorbed * heads * rank,
                  rank, ctx->att + run->row * heads * c->v_head_dim, c->v_head_dim, team);
}

static void attend(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct qr_model_layer *layer = &s->ctx->model->layers[i];
    struct qr_key_selection selection;
    const struct quire_attention_args args = {
        .struct_size = sizeof args,
        .group = layer->plan_group,
        .layer = layer->kv_layer,
        .config = &layer->attention,
        .q = s->ctx->latent.q,
        .out = s->ctx->latent.att,
    };
    qr_attention_part_with(s->plan, &args, qr_index_selection(s, i, &selection) ? &selection : NULL,
                           NULL, team);
}

void qr_latent_attention(const struct qr_step *s, uint32_t i, const float *src,
                         const struct quire_team *team)
{
    const struct qr_latent_buffers *l = &s->ctx->latent;
    const struct qr_model_layer *layer = &s->ctx->model->layers[i];
    project_down(s, layer, src, team);
    finish_latent_rows(s, layer, team);
    if (l->q_a)
        project_queries(s, layer, team);
    if (s->ctx->model->config->layers[i].index == QR_INDEX_OWN)
        qr_index_select(s, i, src, l->q_a, team);
    write_rows(s, layer, team);
    rotate_queries(s, i, team);
    quire_team_barrier(team);
    for (uint32_t r = 0; r < l->n_runs; r++)
        absorb(s, i, &l->runs[r], team);
    attend(s, i, team);
    quire_team_barrier(team);
    for (uint32_t r = 0; r < l->n_runs; r++)
        unabsorb(s, i, &l->runs[r], team);
    qr_latent_expand(s, i, team);
}
