/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c - the forward pass over the layers of a step: embedding, residual blocks, outputs. The
 * configuration describes all differences between model families. */
#include "model/forward/forward.h"
#include "base/threads.h"
#include "linear/packed.h"
#include "model/forward/adapter_apply.h"
#include "model/forward/altup.h"
#include "model/forward/compress.h"
#include "model/forward/encoder_outputs.h"
#include "model/forward/hyper.h"
#include "model/forward/index_blocks.h"
#include "model/forward/layer_attention.h"
#include "model/forward/layer_cross.h"
#include "model/forward/layer_ffn.h"
#include "model/forward/layer_moe.h"
#include "model/forward/layer_recurrent.h"
#include "model/forward/lm_head.h"
#include "model/forward/mtp_input.h"
#include "model/forward/ngram.h"
#include "model/forward/norm.h"
#include "model/forward/per_layer_embedding.h"
#include "model/forward/projection.h"
#include "model/forward/shared_block.h"
#include "model/forward/thread_state.h"
#include <math.h>
#include <string.h>

/* x += row `index` of an embedding table; row r of ctx->h is scratch. */
static void add_table_row(const struct qr_step *s, const struct qr_packed *table, size_t index,
                          size_t r, float *x)
{
    struct quire_context *ctx = s->ctx;
    float *row = ctx->h + r * table->k;
    qr_packed_unpack_row(table, index, row);
    ctx->model->kernels->add(x, row, table->k);
}

/* The caller's embedding of row r; NULL: the one of its token id. Models with per-layer embeddings,
 * which are looked up by token id, refuse such rows (qr_step_check_tokens). */
static const float *given_embedding(const struct qr_step *s, size_t r)
{
    const struct quire_forward_args *a = s->args;
    if (a->embedding_rows && a->embedding_rows[r])
        return a->embedding_rows[r];
    return a->token_ids ? NULL : a->embeddings + r * s->ctx->model->config->hidden_size;
}

static void embed_token(const struct qr_step *s, size_t r, float *x)
{
    const size_t token = (size_t)s->args->token_ids[r];
    qr_packed_unpack_row(s->ctx->model->global.mat[s->stack.embedding], token, x);
    qr_adapter_embed(s, r, token, x);
}

/* x = EMBD_PROJ e + bias for all rows; e are the embeddings in ctx->sub. Starts and ends with a
 * barrier. */
static void project_embeddings(const struct qr_step *s, const struct quire_team *team)
{
    const struct qr_model_layer *global = &s->ctx->model->global;
    const struct qr_packed *matrix = global->mat[QR_W_EMBD_PROJ];
    const struct qr_projection p = { matrix, global->vec[QR_W_EMBD_PROJ_BIAS], s->ctx->x,
                                     QR_NO_ADAPTER_SITE };
    struct qr_act act;
    quire_team_barrier(team);
    qr_convert_input(s, &act, &matrix, 1, s->ctx->sub, s->n_tokens, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
}

/* Row r of the embeddings, before their norm. */
static void embed_row(const struct qr_step *s, size_t r, float *x)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_model_config *c = m->config;
    const struct qr_packed *positions = m->global.mat[s->stack.positions],
                           *types = m->global.mat[QR_W_TYPE_EMBD];
    const int32_t *type_ids = s->encode ? s->encode->token_type_ids : NULL;
    const size_t width = qr_embedding_size(c);
    const float *given = given_embedding(s, r);
    if (given)
        memcpy(x, given, width * sizeof *x);
    else
        embed_token(s, r, x);
    if (c->embedding_scale != 1)
        m->kernels->scale(x, c->embedding_scale, width);
    for (size_t j = 0; c->embedding_affine && j < width; j++)
        x[j] = (x[j] + m->global.vec[QR_W_EMBD_SHIFT][j]) * m->global.vec[QR_W_EMBD_SCALE][j];
    if (types)
        add_table_row(s, types, type_ids ? (size_t)type_ids[r] : 0, r, x);
    if (positions)
        add_table_row(s, positions, (size_t)s->ctx->positions[r] + c->position_offset, r, x);
}

static void embed(const struct qr_step *s, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_config *c = m->config;
    const size_t width = qr_embedding_size(c);
    float *rows = c->embedding_size ? ctx->sub : ctx->x;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        if (!qr_mtp_is_separate(c)) /* else qr_mtp_input() has them */
            embed_row(s, r, rows + r * width);
        for (uint32_t i = 0; i < c->n_rope; i++)
            if (c->rope[i].kind != QR_ROPE_NONE)
                qr_rope_table_row(&ctx->rope[i], r, ctx->positions[r], ctx->lengths[r]);
        qr_index_rope_row(s, r);
        qr_compress_rope_row(s, r);
    }
    if (c->embedding_norm)
        qr_norm_rows(s, &m->global, s->stack.embd_norm, s->stack.embd_norm_bias, rows, rows, width,
                     begin, end);
    if (c->embedding_size)
        project_embeddings(s, team);
    if (ctx->embedding)
        memcpy(ctx->embedding + begin * c->hidden_size, ctx->x + begin * c->hidden_size,
               (end - begin) * c->hidden_size * sizeof *ctx->x);
    if (!s->replicated)
        return; /* the thread reads only its own rows of x; the RoPE table, after a barrier */
    quire_team_barrier(team);
    memcpy(qr_thread_state(s, team).x, ctx->x,
           s->n_tokens * (size_t)c->hidden_size * sizeof(float));
}

/* x = alpha h + beta sub over the thread's rows, h the normed input of the sublayer. */
static void add_scaled(const struct qr_step *s, const float *sub, int kind,
                       const struct quire_team *team)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const struct qr_kernels *k = s->ctx->model->kernels;
    const struct qr_thread_state t = qr_thread_state(s, team);
    const size_t width = c->hidden_size;
    for (size_t r = t.begin; r < t.end; r++) {
        float *x = t.x + r * width;
        memcpy(x, t.h + r * width, width * sizeof *x);
        k->scale(x, c->norm_alpha[kind], width);
        k->axpy(x, c->norm_beta[kind], sub + r * width, width);
    }
}

/* x = (x + shift) * weight + (sub + out shift) * out scale for the vectors behind role `weight` in
 * one row. */
static void add_affine(const struct qr_model_layer *layer, enum qr_weight_role weight,
                       const float *sub, float *x, size_t width)
{
    const float *w = layer->vec[weight], *shift = layer->vec[weight + 1],
                *out_scale = layer->vec[weight + 2], *out_shift = layer->vec[weight + 3];
    for (size_t j = 0; j < width; j++)
        x[j] = (x[j] + shift[j]) * w[j] + (sub[j] + out_shift[j]) * out_scale[j];
}

/* x += residual_scale * scale * gain * sub over the thread's rows; sub passes the sublayer's output
 * norm first, if the block has one. */
static void add_residual(const struct qr_step *s, enum qr_block_kind block,
                         const struct qr_model_layer *layer, const float *sub, float scale,
                         enum qr_weight_role post, enum qr_weight_role post_bias,
                         const struct quire_team *team)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const struct qr_kernels *k = s->ctx->model->kernels;
    const struct qr_thread_state t = qr_thread_state(s, team);
    const size_t width = c->hidden_size;
    const bool attention = post == QR_W_ATTN_POST_NORM;
    const enum qr_weight_role role = attention ? QR_W_ATTN_RESIDUAL : QR_W_FFN_RESIDUAL;
    const float *weights = layer->vec[role];
    const bool twice = attention && c->second_post_norm;
    const float *gain = layer->vec[attention ? QR_W_ATTN_GAIN : QR_W_FFN_GAIN];
    scale *= c->residual_scale * (gain ? *gain : 1);
    if (twice) /* h is unused between sublayers */
        memcpy(t.h + t.begin * width, t.x + t.begin * width,
               (t.end - t.begin) * width * sizeof *t.h);
    if (block == QR_BLOCK_SANDWICH_NORM || block == QR_BLOCK_OUTPUT_NORM) {
        qr_norm_rows(s, layer, post, post_bias, t.h, sub, width, t.begin, t.end);
        sub = t.h;
    }
    for (size_t r = t.begin; r < t.end; r++) {
        float *x = t.x + r * width;
        if (c->residual_affine) {
            add_affine(layer, role, sub + r * width, x, width);
            continue;
        }
        for (size_t j = 0; weights && j < width; j++)
            x[j] *= weights[j];
        if (scale == 1)
            k->add(x, sub + r * width, width);
        else
            k->axpy(x, scale, sub + r * width, width);
    }
    if (block == QR_BLOCK_POST_NORM)
        qr_norm_rows(s, layer, post, post_bias, t.x, t.x, width, t.begin, t.end);
    if (twice) {
        k->add(t.x + t.begin * width, t.h + t.begin * width, (t.end - t.begin) * width);
        qr_norm_rows(s, layer, QR_W_ATTN_POST_NORM_2, QR_W_ATTN_POST_NORM_2_BIAS, t.x, t.x, width,
                     t.begin, t.end);
    }
}

/* LAuReL of layer i, x += h + norm(right(left(h))), before attention's output is added. */
static void add_laurel(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_thread_state t = qr_thread_state(s, team);
    const size_t width = m->config->hidden_size;
    qr_laurel(s, i, s->ctx->sub2, team);
    m->kernels->add(t.x + t.begin * width, t.h + t.begin * width, (t.end - t.begin) * width);
    add_residual(s, QR_BLOCK_SANDWICH_NORM, &m->layers[i], s->ctx->sub2, 1, QR_W_LAUREL_POST_NORM,
                 QR_W_ATTN_POST_NORM_BIAS, team);
}

/* x *= factor over the thread's rows. */
static void scale_rows(const struct qr_step *s, float factor, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_thread_state t = qr_thread_state(s, team);
    const size_t width = m->config->hidden_size;
    m->kernels->scale(t.x + t.begin * width, factor, (t.end - t.begin) * width);
}

/* x += gain * embedding over the thread's rows. */
static void add_embedding(const struct qr_step *s, float gain, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_thread_state t = qr_thread_state(s, team);
    const size_t width = m->config->hidden_size;
    m->kernels->axpy(t.x + t.begin * width, gain, s->ctx->embedding + t.begin * width,
                     (t.end - t.begin) * width);
}

/* The mixer of layer i: attention, a recurrent layer, or both side by side. */
static void run_mixer(const struct qr_step *s, uint32_t i, bool normed,
                      const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const enum qr_mixer mixer = c->layers[i].mixer;
    const enum qr_block_kind block = qr_layer_block(c, &c->layers[i]);
    float *recurrent = mixer == QR_MIXER_BOTH ? ctx->sub2 : ctx->sub;
    qr_moe_keep_input(s, i, team);
    if (mixer != QR_MIXER_RECURRENT)
        qr_attention_sublayer(s, i, normed, ctx->sub, team);
    if (mixer != QR_MIXER_ATTENTION)
        qr_recurrent_sublayer(s, i, normed, recurrent, team);
    if (block == QR_BLOCK_SCALED_NORM) {
        add_scaled(s, ctx->sub, mixer == QR_MIXER_RECURRENT, team);
        return;
    }
    if (c->laurel_rank)
        add_laurel(s, i, team);
    if (mixer != QR_MIXER_RECURRENT)
        add_residual(s, block, layer, ctx->sub, c->attention_out_scale, QR_W_ATTN_POST_NORM,
                     QR_W_ATTN_POST_NORM_BIAS, team);
    if (mixer != QR_MIXER_ATTENTION)
        add_residual(s, block, layer, recurrent, c->recurrent.out_scale, QR_W_ATTN_POST_NORM,
                     QR_W_ATTN_POST_NORM_BIAS, team);
    if (c->laurel_rank)
        scale_rows(s, (float)sqrt(0.5), team);
}

/* Attention and feed-forward sublayers that read the same residual stream. */
static void run_parallel_block(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const enum qr_block_kind block = ctx->model->config->block;
    qr_attention_sublayer(s, i, true, ctx->sub, team);
    /* PARALLEL: both sublayers read one norm, whose weight has the attention's role */
    qr_ffn_sublayer(s, i, true, ctx->sub2, team);
    add_residual(s, block, layer, ctx->sub, 1, QR_W_ATTN_POST_NORM, QR_W_ATTN_POST_NORM_BIAS, team);
    add_residual(s, block, layer, ctx->sub2, 1, QR_W_FFN_POST_NORM, QR_W_FFN_POST_NORM_BIAS, team);
}

/* A layer with hyper-connections: what a sublayer reads takes the place of the residual stream. */
static void run_hyper_block(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const bool normed = qr_block_norms_input(c->block);
    if (c->layers[i].ngram)
        qr_ngram_add(s, i, team);
    qr_hyper_read(s, i, QR_HYPER_ATTENTION, team);
    if (c->layers[i].mixer == QR_MIXER_RECURRENT)
        qr_recurrent_sublayer(s, i, normed, ctx->sub, team);
    else
        qr_attention_sublayer(s, i, normed, ctx->sub, team);
    qr_hyper_add(s, ctx->sub, team);
    qr_hyper_read(s, i, QR_HYPER_FFN, team);
    qr_ffn_sublayer(s, i, normed, ctx->sub, team);
    qr_hyper_add(s, ctx->sub, team);
}

static void run_block(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_layer_config *l = &c->layers[i];
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const enum qr_block_kind block = qr_layer_block(c, l);
    const bool normed = qr_block_norms_input(block);
    if (ctx->hyper.streams) {
        run_hyper_block(s, i, team);
        return;
    }
    if (block == QR_BLOCK_PARALLEL || block == QR_BLOCK_PARALLEL_2NORM) {
        run_parallel_block(s, i, team);
        return;
    }
    if (l->mixer == QR_MIXER_SHARED_BLOCK) {
        qr_shared_block(s, i, ctx->sub, team);
        add_residual(s, block, layer, ctx->sub, c->recurrent.out_scale, QR_W_ATTN_POST_NORM,
                     QR_W_ATTN_POST_NORM_BIAS, team);
        return;
    }
    if (l->mixer != QR_MIXER_NONE)
        run_mixer(s, i, normed, team);
    if (layer->mat[QR_W_CROSS_Q]) {
        qr_cross_sublayer(s, i, normed, ctx->sub, team);
        add_residual(s, block, layer, ctx->sub, 1, QR_W_CROSS_POST_NORM, QR_W_CROSS_POST_NORM_BIAS,
                     team);
    }
    if (l->no_ffn)
        return;
    qr_ffn_sublayer(s, i, normed, ctx->sub, team);
    if (block == QR_BLOCK_SCALED_NORM)
        add_scaled(s, ctx->sub, 2, team);
    else
        add_residual(s, block, layer, ctx->sub, l->moe ? 1 : c->ffn_out_scale, QR_W_FFN_POST_NORM,
                     QR_W_FFN_POST_NORM_BIAS, team);
    if (i > 0 && c->layers[i - 1].shortcut)
        add_residual(s, block, layer, ctx->moe.shortcut, 1, QR_W_FFN_POST_NORM,
                     QR_W_FFN_POST_NORM_BIAS, team);
}

/* What follows the sublayers of a layer: the correction of other residual streams, its per-layer
 * embedding, the embedding, and its factor. */
static void finish_layer(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    if (ctx->altup.streams)
        qr_altup_correct(s, i, team);
    if (ctx->ple.rows) {
        qr_ple_sublayer(s, i, ctx->sub, team);
        if (ctx->altup.streams)
            qr_altup_add(s, i, ctx->sub, team);
        else
            add_residual(s, QR_BLOCK_SANDWICH_NORM, layer, ctx->sub, 1, QR_W_PLE_POST_NORM,
                         QR_W_FFN_POST_NORM_BIAS, team);
    }
    if (layer->vec[QR_W_EMBD_GAIN])
        add_embedding(s, layer->vec[QR_W_EMBD_GAIN][0], team);
    if (layer->vec[QR_W_LAYER_SCALE])
        scale_rows(s, layer->vec[QR_W_LAYER_SCALE][0], team);
}

/* Stores the hidden states before layer i, or after the last layer and the final norm, for the
 * caller; of the residual streams of AltUp the active one, of hyper-connections their mean. */
static void store_hidden(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const size_t width = s->ctx->model->config->hidden_size;
    const float *x =
        s->ctx->altup.streams && i < s->stack.end ? qr_altup_active(s) : qr_thread_state(s, team).x;
    float *out = s->args->hidden + (size_t)(i - s->stack.first) * s->n_tokens * width;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    if (s->ctx->hyper.streams && i < s->stack.end)
        qr_hyper_mean(s, out, begin, end);
    else if (i == s->stack.end)
        qr_final_norm_rows(s, out, x, begin, end);
    else
        memcpy(out + begin * width, x + begin * width, (end - begin) * width * sizeof *out);
}

/* Writes the hidden states after the final norm, or those that a head reads next, to
 * args->last_hidden. */
static void store_last_hidden(const struct qr_step *s, const struct quire_team *team)
{
    size_t begin, end;
    const struct qr_model_config *c = s->ctx->model->config;
    if (qr_mtp_is_separate(c) || c->mtp.heads) {
        qr_mtp_output(s, team);
        return;
    }
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    qr_final_norm_rows(s, s->args->last_hidden, qr_thread_state(s, team).x, begin, end);
}

/* Stores the residual stream before layer i, or behind the last one, if the caller asks for it. */
static void store_features(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_forward_args *a = s->args;
    const size_t width = s->ctx->model->config->hidden_size;
    const float *x = qr_thread_state(s, team).x;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (uint32_t f = 0; f < a->n_features; f++)
        for (size_t r = begin; a->feature_layers[f] == i && r < end; r++)
            memcpy(a->features + (r * a->n_features + f) * width, x + r * width, width * sizeof *x);
}

/* The final norm between two loops over the layers. */
static void norm_loop(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const struct qr_thread_state t = qr_thread_state(s, team);
    if (c->loop_norm && c->loop_layers && (i + 1) % c->loop_layers == 0 && i + 1 < c->n_layers)
        qr_final_norm_rows(s, t.x, t.x, t.begin, t.end);
}

void qr_forward_part(void *step, const struct quire_team *team)
{
    const struct qr_step *s = step;
    const bool altup = s->ctx->altup.streams != NULL;
    embed(s, team);
    if (qr_mtp_stores_context(s)) {
        quire_team_barrier(team);
        qr_mtp_store_context(s, team);
        return;
    }
    if (s->ctx->ple.rows)
        qr_ple_prepare(s, team);
    if (s->ctx->model->config->mtp.kind)
        qr_mtp_input(s, team);
    if (altup)
        qr_altup_begin(s, team);
    if (s->ctx->hyper.streams)
        qr_hyper_begin(s, team);
    for (uint32_t i = s->stack.first; i < s->stack.end; i++) {
        if (s->args->hidden)
            store_hidden(s, i, team);
        if (s->args->features)
            store_features(s, i, team);
        if (altup)
            qr_altup_predict(s, i, team);
        run_block(s, i, team);
        finish_layer(s, i, team);
        norm_loop(s, i, team);
    }
    if (s->args->features)
        store_features(s, s->stack.end, team);
    if (altup)
        qr_altup_merge(s, team);
    if (s->ctx->hyper.streams)
        qr_hyper_read(s, 0, QR_HYPER_OUTPUT, team);
    if (s->args->hidden)
        store_hidden(s, s->stack.end, team);
    if (s->args->last_hidden)
        store_last_hidden(s, team);
    if (s->encode) {
        qr_thread_publish_rows(s, team);
        qr_encoder_outputs(s, team);
    }
    if (s->args->logits && s->n_logits)
        qr_lm_head(s, team);
}
