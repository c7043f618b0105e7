/* SPDX-License-Identifier: Apache-2.0 */
/* layer_index.c - the indexer of sparse attention: index queries and keys, cache write of the keys,
 * scores of all visible keys, and the highest of them. */
#include "model/forward/layer_index.h"
#include "attention/index_scores.h"
#include "attention/mask.h"
#include "base/threads.h"
#include "model/forward/compress.h"
#include "model/forward/index_blocks.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/top_keys.h"
#include <math.h>
#include <string.h>

enum {
    /* Rows whose scores are held at a time: a trade of memory for fewer barriers. */
    SCORED_ROWS = 16,
    /* Keys that a thread scores at a time, a multiple of 64. */
    SCORED_KEYS = 1024,
};

/* Epsilon of the LayerNorm of index keys, independent of the model's epsilon. */
#define KEY_NORM_EPS 1e-6f

/* Selections of a row: one, or one per head. */
static uint32_t n_selections(const struct qr_index_config *c)
{
    return c->weighted ? 1 : c->n_heads;
}

static void *take(struct qr_bump *b, size_t n, size_t width, size_t elem)
{
    size_t count;
    if (qr_mul_size(n, width, &count))
        return qr_bump_alloc(b, count, elem);
    b->overflow = true;
    return NULL;
}

void qr_index_reserve(const struct quire_model *model, struct quire_context *ctx,
                      struct qr_bump *buffers)
{
    const struct qr_index_config *c = &model->config->index;
    struct qr_index_buffers *b = &ctx->index;
    const size_t rows = ctx->max_rows;
    if (!c->n_heads)
        return;
    b->words = ((size_t)ctx->max_seq_len + 63) / 64;
    b->q = take(buffers, rows, (size_t)c->n_heads * c->head_dim, sizeof *b->q);
    b->k = take(buffers, rows, c->head_dim, sizeof *b->k);
    b->weights = c->weighted ? take(buffers, rows, c->n_heads, sizeof *b->weights) : NULL;
    for (size_t i = 0; c->unit_weights && b->weights && i < rows * c->n_heads; i++)
        b->weights[i] = 1;
    b->scores =
        take(buffers, (size_t)SCORED_ROWS * n_selections(c), 64 * b->words, sizeof *b->scores);
    b->bits = take(buffers, rows * n_selections(c), b->words, sizeof *b->bits);
    b->row_seqs = take(buffers, rows, 1, sizeof *b->row_seqs);
    qr_index_blocks_reserve(model, ctx, buffers);
}

void qr_index_place(const struct qr_step *s)
{
    const struct qr_index_config *c = &s->ctx->model->config->index;
    const struct quire_attention_batch *batch = s->args->batch;
    struct qr_index_buffers *b = &s->ctx->index;
    const uint64_t rest = c->compressed ? c->block_size - 1 : 0, /* behind the last block */
        most = (uint64_t)c->top_k * c->block_size + rest;
    b->selects = false;
    for (uint32_t i = 0; i < batch->n_seqs; i++) {
        b->selects = b->selects || (uint32_t)batch->seq_lens[i] > most;
        for (int32_t r = batch->query_start_loc[i]; r < batch->query_start_loc[i + 1]; r++)
            b->row_seqs[r] = i;
    }
}

/* ---- index queries and keys */

static void project(const struct qr_step *s, uint32_t i, const float *src, const float *q_src,
                    const struct quire_team *team)
{
    const struct qr_index_buffers *b = &s->ctx->index;
    const struct qr_model_layer *layer = &s->ctx->model->layers[i];
    const struct qr_packed *const k[] = { layer->mat[QR_W_INDEX_K] }, *const q[] = {
        layer->mat[QR_W_INDEX_Q]
    };
    const struct qr_projection to_k = { k[0], NULL, b->k, { QR_W_INDEX_K, i, 0 } },
                               to_q = { q[0], NULL, b->q, { QR_W_INDEX_Q, i, 0 } };
    struct qr_act act;
    if (k[0]) {
        qr_convert_input(s, &act, k, 1, src, s->n_tokens, team);
        qr_project(s, &act, &to_k, 1, team);
        quire_team_barrier(team);
    }
    qr_convert_input(s, &act, q, 1, q_src ? q_src : src, s->n_tokens, team);
    qr_project(s, &act, &to_q, 1, team);
    quire_team_barrier(team);
    if (!layer->mat[QR_W_INDEX_WEIGHTS])
        return;
    /* in f32 in every compute mode, like the scores of experts */
    const struct qr_projection to_weights = {
        layer->mat[QR_W_INDEX_WEIGHTS], NULL, b->weights, { QR_W_INDEX_WEIGHTS, i, 0 }
    };
    qr_project_f32(s, src, &to_weights, 1, team);
    quire_team_barrier(team);
}

/* RoPE of the first elements of an index query or key. */
static void rotate(const struct qr_step *s, uint32_t i, float *x, size_t row)
{
    const struct quire_context *ctx = s->ctx;
    const uint8_t set = ctx->model->config->layers[i].rope;
    if (set == QR_LAYER_NO_ROPE)
        return;
    const struct qr_rope_table *t = &ctx->rope[set];
    const size_t half = t->rope->dim / 2;
    if (ctx->model->config->index.rope_last)
        x += ctx->model->config->index.head_dim - t->rope->dim;
    ctx->model->kernels->rope(x, t->cos + row * half, t->sin + row * half, t->rope->dim,
                              !ctx->model->config->index.interleaved);
}

static void finish_key(const struct qr_step *s, uint32_t i, size_t r)
{
    const struct qr_index_config *c = &s->ctx->model->config->index;
    const struct qr_model_layer *layer = &s->ctx->model->layers[i];
    float *k = s->ctx->index.k + r * c->head_dim;
    if (c->layer_norm)
        s->ctx->model->kernels->layer_norm(k, k, layer->vec[QR_W_INDEX_K_NORM],
                                           layer->vec[QR_W_INDEX_K_NORM_BIAS], 0, KEY_NORM_EPS,
                                           c->head_dim);
    else
        qr_norm_vector(s, layer->vec[QR_W_INDEX_K_NORM], k, c->head_dim);
    rotate(s, i, k, r);
}

/* Norms and RoPE of the thread's rows. Ends with a barrier. */
static void finish_rows(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct qr_index_buffers *b = &s->ctx->index;
    const struct qr_index_config *c = &s->ctx->model->config->index;
    const struct qr_model_layer *layer = &s->ctx->model->layers[i];
    const size_t d = c->head_dim;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        if (!c->compressed && !c->pooled) /* else a key has several tokens */
            finish_key(s, i, r);
        for (size_t h = 0; h < c->n_heads; h++) {
            float *q = b->q + (r * c->n_heads + h) * d;
            if (c->q_norm)
                qr_norm_vector(s, layer->vec[QR_W_INDEX_Q_NORM], q, d);
            rotate(s, i, q, r);
        }
    }
    quire_team_barrier(team);
}

/* Stores the keys in the cache. Ends with a barrier. */
static void write_keys(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct quire_kv_write_args write = {
        .struct_size = sizeof write,
        .group = (uint32_t)m->index_group,
        .layer = m->layers[i].index_layer,
        .dtype = QUIRE_KV_F32,
        .k = s->ctx->index.k,
        .slot_mapping = s->args->batch->groups[m->index_group].slot_mapping,
        .n_tokens = s->n_tokens,
    };
    quire_kv_write_part(s->kv, &write, team);
    quire_team_barrier(team);
}

/* ---- selection */

/* Position of the key in a slot of a sequence; in a tree of drafts its depth counts. */
static uint32_t key_position(const struct qr_attn_seq *seq, uint32_t slot)
{
    const uint32_t first = qr_seq_first_pos(seq);
    return seq->tree && slot >= first ? first + seq->depths[slot - first] : slot;
}

/* Replaces scores of n keys by those of their blocks, the highest of each block, at its number.
 * Returns the number of blocks. In place: no block has a higher number than its keys' slots. */
static uint32_t block_scores(const struct qr_attn_seq *seq, uint32_t block_size, float *scores,
                             uint32_t n)
{
    uint32_t n_blocks = 0;
    for (uint32_t slot = 0; slot < n; slot++) {
        const uint32_t block = key_position(seq, slot) / block_size;
        const float v = scores[slot];
        if (block == n_blocks)
            scores[n_blocks++] = v;
        else if (v > scores[block])
            scores[block] = v;
    }
    return n_blocks;
}

/* Replaces bits of blocks by those of their keys, from the last word on: the bits of a word's
 * blocks are in earlier words, or in the first one. */
static void expand_blocks(const struct qr_attn_seq *seq, uint32_t block_size, uint64_t *bits,
                          uint32_t n)
{
    for (uint32_t w = (n + 63) / 64; w-- > 0;) {
        uint64_t keys = 0;
        for (uint32_t i = 0; i < 64 && w * 64 + i < n; i++) {
            const uint32_t block = key_position(seq, w * 64 + i) / block_size;
            keys |= (bits[block / 64] >> block % 64 & 1) << i;
        }
        bits[w] = keys;
    }
}

/* Selects keys of a row by the scores of the keys in slots below n. */
static void select_keys(const struct qr_index_config *c, const struct qr_attn_seq *seq,
                        uint32_t position, float *scores, uint32_t n, uint64_t *bits)
{
    if (c->block_size == 1) {
        qr_top_keys(scores, n, c->top_k, bits);
        return;
    }
    if (c->compressed || c->pooled) {
        qr_index_select_blocks(c, scores, n, bits);
        return;
    }
    const uint32_t n_blocks = block_scores(seq, c->block_size, scores, n),
                   newest = position / c->block_size;
    for (uint32_t i = 0; i < c->local_blocks && i <= newest; i++)
        scores[newest - i] = INFINITY;
    qr_top_keys(scores, n_blocks, c->top_k, bits);
    expand_blocks(seq, c->block_size, bits, n);
}

/* One step of selection: rows [first, first + n). */
struct scored_rows {
    const struct qr_step *s;
    struct qr_index_queries queries;
    uint32_t first, n;
    uint32_t n_chunks; /* of the keys of the longest sequence */
};

static const struct qr_attn_seq *row_seq(const struct scored_rows *x, uint32_t row, uint32_t *seq,
                                         uint32_t *token)
{
    *seq = x->s->ctx->index.row_seqs[row];
    *token = row - x->queries.plan->seqs[*seq].first_token;
    return &x->queries.plan->seqs[*seq];
}

/* Scores of one chunk of keys of one row. */
static void score_chunk(const struct scored_rows *x, uint32_t unit, uint32_t rank)
{
    const struct qr_index_buffers *b = &x->s->ctx->index;
    const uint32_t heads = n_selections(&x->s->ctx->model->config->index);
    const uint32_t at = unit / x->n_chunks, begin = unit % x->n_chunks * SCORED_KEYS;
    uint32_t seq, token;
    row_seq(x, x->first + at, &seq, &token);
    const uint32_t keys = (qr_index_key_end(&x->queries, seq, token) + 63) / 64 * 64,
                   end = keys < begin + SCORED_KEYS ? keys : begin + SCORED_KEYS;
    if (begin < end)
        qr_index_scores(&x->queries, seq, token, begin, end,
                        b->scores + (size_t)at * heads * b->words * 64, b->words * 64, rank);
}

static void select_row(const struct scored_rows *x, uint32_t unit)
{
    const struct quire_context *ctx = x->s->ctx;
    const struct qr_index_buffers *b = &ctx->index;
    const struct qr_index_config *c = &ctx->model->config->index;
    const uint32_t heads = n_selections(c), row = x->first + unit / heads;
    uint32_t seq, token;
    const struct qr_attn_seq *q = row_seq(x, row, &seq, &token);
    const uint32_t n = qr_index_key_end(&x->queries, seq, token);
    uint64_t *bits = b->bits + ((size_t)row * heads + unit % heads) * b->words;
    select_keys(c, q, ctx->positions[row], b->scores + (size_t)unit * b->words * 64, n, bits);
    const size_t used = ((size_t)n + 63) / 64, all = ((size_t)q->len + 63) / 64;
    memset(bits + used, 0, (all - used) * sizeof *bits);
}

/* Selects the keys of all rows. Ends with a barrier. */
static void select_all(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_index_buffers *b = &ctx->index;
    struct scored_rows x = { .s = s,
                             .queries = { .plan = s->plan,
                                          .group = ctx->model->index_plan_group,
                                          .layer = ctx->model->layers[i].index_layer,
                                          .q = b->q,
                                          .weights = b->weights } };
    x.n_chunks = (s->plan->batch_max_seq_len + SCORED_KEYS - 1) / SCORED_KEYS;
    for (x.first = 0; x.first < s->n_tokens; x.first += x.n) {
        const uint32_t left = s->n_tokens - x.first;
        size_t unit;
        x.n = left < SCORED_ROWS ? left : SCORED_ROWS;
        struct qr_work_steal scoring =
            qr_work_steal_begin(ctx->per_thread.counters, team, (size_t)x.n * x.n_chunks);
        while (qr_work_steal_next(&scoring, &unit))
            score_chunk(&x, (uint32_t)unit, team->rank);
        quire_team_barrier(team);
        struct qr_work_steal selecting = qr_work_steal_begin(
            ctx->per_thread.counters, team, (size_t)x.n * n_selections(&ctx->model->config->index));
        while (qr_work_steal_next(&selecting, &unit))
            select_row(&x, (uint32_t)unit);
        quire_team_barrier(team);
    }
}

void qr_index_select(const struct qr_step *s, uint32_t i, const float *src, const float *q_src,
                     const struct quire_team *team)
{
    project(s, i, src, q_src, team);
    finish_rows(s, i, team);
    if (s->ctx->model->config->index.pooled)
        qr_compress_index(s, i, src, team);
    write_keys(s, i, team);
    if (s->ctx->model->config->index.compressed) {
        qr_index_compress(s, i, team);
        write_keys(s, i, team);
    }
    if (s->ctx->index.selects || s->ctx->model->config->index.pooled)
        select_all(s, i, team);
}

bool qr_index_selection(const struct qr_step *s, uint32_t i, struct qr_key_selection *out)
{
    const struct qr_index_buffers *b = &s->ctx->index;
    const struct qr_model_config *c = s->ctx->model->config;
    if (c->layers[i].index == QR_INDEX_NONE || !b->selects)
        return false;
    *out = (struct qr_key_selection){ b->bits, b->words, n_selections(&c->index) };
    return true;
}
