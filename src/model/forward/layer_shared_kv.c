/* SPDX-License-Identifier: Apache-2.0 */
/* layer_shared_kv.c - attention whose keys are its values (struct qr_shared_kv_config):
 * projections, norms and RoPE, cache write, attention to the window and to compressed keys. */
#include "model/forward/layer_shared_kv.h"
#include "attention/forward.h"
#include "base/threads.h"
#include "linear/batched.h"
#include "model/forward/compress.h"
#include "model/forward/layer_index.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <quire/attention.h>
#include <quire/attention_merge.h>

enum { MAX_HALF = 512 };

/* Rotates the last elements of a head of row r, or rotates them back. */
static void rotate(const struct qr_step *s, uint32_t i, float *head, size_t r, bool back)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_layer_config *l = &ctx->model->config->layers[i];
    const struct qr_rope_table *t = &ctx->rope[l->rope];
    const size_t half = t->rope->dim / 2;
    const float *sines = t->sin + r * half;
    float negative[MAX_HALF];
    for (size_t k = 0; back && k < half; k++)
        negative[k] = -sines[k];
    ctx->model->kernels->rope(head + l->head_dim - t->rope->dim, t->cos + r * half,
                              back ? negative : sines, t->rope->dim, t->rope->kind == QR_ROPE_NEOX);
}

/* Keys and the low-rank form of queries, with norms and RoPE. */
static void project_down(const struct qr_step *s, uint32_t i, const float *src,
                         const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_config *c = m->config;
    const struct qr_model_layer *layer = &m->layers[i];
    const size_t d = c->layers[i].head_dim, rank = c->mla.q_lora_rank;
    const struct qr_packed *const w[] = { layer->mat[QR_W_LATENT_Q_A], layer->mat[QR_W_ATTN_K] };
    const struct qr_projection p[] = { { w[0], NULL, ctx->compress.q_a, { QR_W_LATENT_Q_A, i, 0 } },
                                       { w[1], NULL, ctx->k, { QR_W_ATTN_K, i, 1 } } };
    struct qr_act act;
    size_t begin, end;
    qr_convert_input(s, &act, w, 2, src, s->n_tokens, team);
    qr_project(s, &act, p, 2, team);
    quire_team_barrier(team);
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *q = ctx->compress.q_a + r * rank, *k = ctx->k + r * d;
        m->kernels->rms_norm(q, q, layer->vec[QR_W_LATENT_Q_NORM], 0, c->norm_eps, rank);
        m->kernels->rms_norm(k, k, layer->vec[QR_W_ATTN_K_NORM], 0, c->norm_eps, d);
        rotate(s, i, k, r, false);
    }
    quire_team_barrier(team);
}

static void project_queries(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_layer_config *l = &m->config->layers[i];
    const struct qr_packed *w = m->layers[i].mat[QR_W_ATTN_Q];
    const struct qr_projection p = { w, NULL, ctx->q, { QR_W_ATTN_Q, i, 0 } };
    struct qr_act act;
    size_t begin, end;
    qr_convert_input(s, &act, &w, 1, ctx->compress.q_a, s->n_tokens, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t h = begin * l->n_heads; h < end * l->n_heads; h++) {
        float *q = ctx->q + h * l->head_dim;
        m->kernels->rms_norm(q, q, NULL, 0, m->config->norm_eps, l->head_dim);
        rotate(s, i, q, h / l->n_heads, false);
    }
}

static void write_rows(const struct qr_step *s, uint32_t group, uint32_t layer, const float *rows,
                       const struct quire_team *team)
{
    const struct quire_kv_write_args write = {
        .struct_size = sizeof write,
        .group = group,
        .layer = layer,
        .dtype = QUIRE_KV_F32,
        .k = rows,
        .slot_mapping = s->args->batch->groups[group].slot_mapping,
        .n_tokens = s->n_tokens,
    };
    quire_kv_write_part(s->kv, &write, team);
}

/* Attention to the keys of the window. Ends with a barrier. */
static void attend_window(const struct qr_step *s, uint32_t i, float *lse,
                          const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const struct quire_attention_args args = { .struct_size = sizeof args,
                                               .group = layer->plan_group,
                                               .layer = layer->kv_layer,
                                               .config = &layer->attention,
                                               .q = ctx->q,
                                               .out = ctx->att,
                                               .lse = lse };
    qr_attention_part_with(s->plan, &args, NULL, NULL, team);
    quire_team_barrier(team);
}

/* Attention to compressed keys, merged with that to the window. Ends with a barrier. */
static void attend_compressed(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_layer_config *l = &m->config->layers[i];
    const struct qr_compress_buffers *b = &ctx->compress;
    const struct quire_attention_args args = { .struct_size = sizeof args,
                                               .group = m->compress_plan_group,
                                               .layer = m->layers[i].compress_layer,
                                               .config = &m->compress_attention,
                                               .q = ctx->q,
                                               .out = b->att,
                                               .lse = b->lse };
    struct qr_key_selection selection = { b->bits, b->words, 1 };
    if (l->index == QR_INDEX_OWN)
        selection = (struct qr_key_selection){ ctx->index.bits, ctx->index.words, 1 };
    qr_attention_part_with(s->plan, &args, &selection, NULL, team);
    quire_team_barrier(team);
    const struct quire_attention_partial parts[] = { { .out = ctx->att, .lse = b->window_lse },
                                                     { .out = b->att, .lse = b->lse } };
    const struct quire_attention_merge_args merge = { .struct_size = sizeof merge,
                                                      .n_parts = 2,
                                                      .parts = parts,
                                                      .n_tokens = s->n_tokens,
                                                      .n_heads = l->n_heads,
                                                      .v_head_size = l->head_dim,
                                                      .sinks = m->layers[i].vec[QR_W_ATTN_SINKS],
                                                      .out = ctx->att };
    quire_attention_merge_part(&merge, team);
    quire_team_barrier(team);
}

/* Rotates the outputs back, and multiplies those of each group of heads. Ends with a barrier. */
static void project_groups(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_shared_kv_config *c = &m->config->shared_kv;
    const struct qr_layer_config *l = &m->config->layers[i];
    const size_t width = (size_t)l->n_heads * l->head_dim;
    const struct qr_batched_args args = {
        .w = m->layers[i].experts[QR_W_ATTN_O_A],
        .n_heads = c->o_groups,
        .n_rows = s->n_tokens,
        .in = ctx->att,
        .in_stride = width,
        .in_head_stride = width / c->o_groups,
        .memory = ctx->compress.act_memory,
        .out = ctx->compress.low,
        .out_stride = (size_t)c->o_groups * c->o_rank,
        .out_head_stride = c->o_rank,
        .compute = m->compute,
        .unpacked = qr_thread_unpacked(s, team),
    };
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t h = begin * l->n_heads; h < end * l->n_heads; h++)
        rotate(s, i, ctx->att + h * l->head_dim, h / l->n_heads, true);
    quire_team_barrier(team);
    qr_batched_convert_part(&args, m->kernels, team);
    quire_team_barrier(team);
    qr_batched_part(&args, m->kernels, team);
    quire_team_barrier(team);
}

void qr_shared_kv_attention(const struct qr_step *s, uint32_t i, const float *src,
                            const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_layer *layer = &m->layers[i];
    const struct qr_layer_config *l = &m->config->layers[i];
    project_down(s, i, src, team);
    project_queries(s, i, team);
    write_rows(s, layer->kv_group, layer->kv_layer, ctx->k, team);
    if (l->compress_rate) {
        qr_compress_keys(s, i, src, team);
        write_rows(s, (uint32_t)m->compress_group, layer->compress_layer, ctx->compress.keys, team);
        if (l->index == QR_INDEX_OWN)
            qr_index_select(s, i, src, ctx->compress.q_a, team);
        else
            qr_compress_select(s, i, team);
    }
    quire_team_barrier(team);
    attend_window(s, i, l->compress_rate ? ctx->compress.window_lse : NULL, team);
    if (l->compress_rate)
        attend_compressed(s, i, team);
    project_groups(s, i, team);
}
