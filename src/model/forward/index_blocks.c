/* SPDX-License-Identifier: Apache-2.0 */
/* index_blocks.c - compressed index keys: one for each block of consecutive tokens. */
#include "model/forward/index_blocks.h"
#include "base/bump.h"
#include "base/checked.h"
#include "base/threads.h"
#include "model/forward/norm.h"
#include "model/forward/top_keys.h"
#include <quire/kv_cache.h>
#include <string.h>

enum {
    READ_ROWS = 32,                 /* rows that are read from the cache at a time */
    INDEX_POOL_ROWS = READ_ROWS + 1 /* and their sum */
};

void qr_index_blocks_reserve(const struct quire_model *model, struct quire_context *ctx,
                             struct qr_bump *buffers)
{
    const struct qr_model_config *c = model->config;
    struct qr_index_buffers *b = &ctx->index;
    const size_t threads = ctx->threads ? quire_threads_count(ctx->threads) : 1;
    size_t n;
    if (!c->index.compressed)
        return;
    buffers->overflow |= !qr_mul_size(threads, (size_t)INDEX_POOL_ROWS * c->index.head_dim, &n);
    b->pooled = qr_bump_alloc(buffers, n, sizeof *b->pooled);
    float *memory =
        qr_bump_alloc(buffers, qr_rope_table_floats(&c->rope[0], ctx->max_rows), sizeof *memory);
    if (memory)
        qr_rope_table_init(&b->starts, &c->rope[0], ctx->max_rows, memory);
}

/* Whether the token of row r is the last one of its block. */
static bool ends_block(const struct qr_step *s, size_t r)
{
    const uint32_t size = s->ctx->model->config->index.block_size;
    return s->ctx->positions[r] % size == size - 1;
}

void qr_index_rope_row(const struct qr_step *s, size_t r)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    if (c->index.compressed && ends_block(s, r) && c->rope[0].kind != QR_ROPE_NONE)
        qr_rope_table_row(&ctx->index.starts, r, ctx->positions[r] + 1 - c->index.block_size,
                          ctx->lengths[r]);
}

/* Reads the rows of positions [first, first + n) of a sequence. */
static void read_rows(const struct qr_step *s, uint32_t i, uint32_t seq, uint32_t first, uint32_t n,
                      float *rows)
{
    const struct quire_model *m = s->ctx->model;
    const struct quire_attention_batch_group *g = &s->args->batch->groups[m->index_group];
    const size_t stride = g->block_table_stride ? g->block_table_stride : g->max_blocks;
    int64_t slots[READ_ROWS];
    const struct quire_kv_slot_args map = { .struct_size = sizeof map,
                                            .block_size = quire_kv_block_size(s->kv),
                                            .block_table = g->block_table + seq * stride,
                                            .n_entries = g->max_blocks,
                                            .first_block = g->first_block ? g->first_block[seq] : 0,
                                            .first_pos = first,
                                            .n_tokens = n };
    const struct quire_kv_read_args read = { .struct_size = sizeof read,
                                             .group = (uint32_t)m->index_group,
                                             .layer = m->layers[i].index_layer,
                                             .k = rows,
                                             .slots = slots,
                                             .n_tokens = n };
    quire_status status = quire_kv_map_slots(&map, slots, NULL);
    if (status == QUIRE_OK)
        status = quire_kv_read(s->kv, &read, NULL);
    (void)status; /* cannot fail: building the step's plan checked these blocks */
}

/* The key of the block that ends with row r. */
static void compress_row(const struct qr_step *s, uint32_t i, size_t r, float *rows)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_config *c = m->config;
    const size_t d = c->index.head_dim;
    float *sum = rows + READ_ROWS * d, *k = ctx->index.k + r * d;
    const uint32_t last = ctx->positions[r];
    memset(sum, 0, d * sizeof *sum);
    for (uint32_t at = last + 1 - c->index.block_size, n; at < last; at += n) {
        n = last - at < READ_ROWS ? last - at : READ_ROWS;
        read_rows(s, i, ctx->index.row_seqs[r], at, n, rows);
        for (uint32_t j = 0; j < n; j++)
            m->kernels->add(sum, rows + j * d, d);
    }
    m->kernels->add(sum, k, d);
    m->kernels->scale(sum, 1 / (float)c->index.block_size, d);
    qr_norm_vector(s, m->layers[i].vec[QR_W_INDEX_K_NORM], sum, d);
    if (c->layers[i].rope != QR_LAYER_NO_ROPE && c->rope[0].kind != QR_ROPE_NONE) {
        const struct qr_rope_table *t = &ctx->index.starts;
        const size_t half = t->rope->dim / 2;
        m->kernels->rope(sum, t->cos + r * half, t->sin + r * half, t->rope->dim,
                         !c->index.interleaved);
    }
    memcpy(k, sum, d * sizeof *k);
}

void qr_index_compress(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const size_t d = s->ctx->model->config->index.head_dim;
    float *rows = s->ctx->index.pooled + (size_t)team->rank * INDEX_POOL_ROWS * d;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        if (ends_block(s, r))
            compress_row(s, i, r, rows);
    quire_team_barrier(team);
}

void qr_index_select_blocks(const struct qr_index_config *c, float *scores, uint32_t n,
                            uint64_t *bits)
{
    const uint32_t size = c->block_size, n_blocks = n / size;
    for (uint32_t b = 0; b < n_blocks; b++) /* in place: no block is behind its last slot */
        scores[b] = scores[(size_t)b * size + size - 1];
    qr_top_keys(scores, n_blocks, c->top_k, bits);
    for (uint32_t w = (n + 63) / 64; w-- > 0;) { /* a word's blocks are in it or below */
        uint64_t keys = 0;
        for (uint32_t j = 0; j < 64 && w * 64 + j < n; j++) {
            const uint32_t block = (w * 64 + j) / size;
            const bool key = !c->pooled || (w * 64 + j) % size == size - 1;
            const bool selected =
                block >= n_blocks ? !c->pooled : key && (bits[block / 64] >> block % 64 & 1);
            keys |= (uint64_t)selected << j;
        }
        bits[w] = keys;
    }
}
