/* SPDX-License-Identifier: Apache-2.0 */
/* encoder_cache.c - the private KV cache of a context's encoder: one layer at a time of the
 * sequences of one pass, and its plan. */
#include "model/forward/encoder_cache.h"
#include "base/alloc.h"
#include "base/error.h"
#include <quire/attention.h>
#include <string.h>

enum { BLOCK = 64 }; /* tokens; the block size the kernels are tuned for */

/* The longest sequence of a pass; sequences of cross attention may be longer. */
static uint32_t longest(const struct quire_context *c)
{
    return c->max_encoder_len < c->max_encoder_tokens ? c->max_encoder_len : c->max_encoder_tokens;
}

void qr_encoder_cache_size(struct quire_context *limits)
{
    /* the last block of each sequence may hold a single token */
    const uint64_t row = (longest(limits) + (uint64_t)BLOCK - 1) / BLOCK;
    const uint64_t full = row * limits->max_seqs;
    const uint64_t mixed = limits->max_encoder_tokens / BLOCK + (uint64_t)limits->max_seqs;
    limits->encoder.row_blocks = (uint32_t)row;
    limits->encoder.n_blocks = (uint32_t)(full < mixed ? full : mixed);
}

/* Creates the cache and reports its size. */
static quire_status create_cache(const struct quire_model *m, const struct quire_context *c,
                                 struct quire_kv_cache **kv, uint64_t *bytes,
                                 struct quire_error *err)
{
    const size_t n = m->encoder.n_kv;
    struct quire_kv_group_config *groups = qr_calloc(c->allocator, n, sizeof *groups);
    if (!groups)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu KV groups", n);
    memcpy(groups, m->encoder.kv, n * sizeof *groups);
    for (size_t g = 0; g < n; g++) {
        groups[g].k_dtype = groups[g].v_dtype = c->encoder_dtype;
        groups[g].n_blocks = c->encoder.n_blocks;
    }
    const struct quire_kv_params config = { .struct_size = sizeof config,
                                            .block_size = BLOCK,
                                            .groups = groups,
                                            .n_groups = (uint32_t)n,
                                            .allocator = c->allocator,
                                            .isa = m->kernels->level };
    struct quire_kv_memory memory = { .struct_size = sizeof memory };
    quire_status s = quire_kv_bytes(&config, &memory, err);
    if (s == QUIRE_OK)
        s = quire_kv_create(&config, kv, err);
    qr_free(c->allocator, groups, n, sizeof *groups);
    *bytes = memory.total;
    return s;
}

static struct quire_plan_params plan_params(const struct quire_model *m,
                                            const struct quire_context *c,
                                            const struct quire_kv_cache *kv)
{
    return (struct quire_plan_params){
        .struct_size = sizeof(struct quire_plan_params),
        .kv = kv,
        .groups = m->encoder.plan,
        .n_groups = m->encoder.n_plan,
        .max_tokens = c->max_encoder_tokens,
        .max_seqs = c->max_seqs,
        .max_seq_len = longest(c),
        .max_blocks = c->encoder.n_blocks,
        .n_threads = c->threads ? quire_threads_count(c->threads) : 1,
        .isa = m->kernels->level,
        .allocator = c->allocator,
    };
}

quire_status qr_encoder_cache_bytes(const struct quire_model *model,
                                    const struct quire_context *limits, uint64_t *bytes,
                                    struct quire_error *err)
{
    struct quire_kv_cache *kv;
    uint64_t plan = 0;
    *bytes = 0;
    if (!qr_model_encodes(model))
        return QUIRE_OK;
    /* the size of a plan depends on a cache; pages of this one are never touched */
    QR_TRY(create_cache(model, limits, &kv, bytes, err));
    const struct quire_plan_params p = plan_params(model, limits, kv);
    const quire_status s = quire_plan_bytes(&p, &plan, err);
    quire_kv_destroy(kv);
    *bytes += plan;
    return s;
}

/* Allocates all blocks until destroy; qr_encoder_cache_place assigns them to sequences. */
static quire_status allocate_blocks(struct quire_context *ctx, struct quire_error *err)
{
    struct qr_encoder_cache *e = &ctx->encoder;
    for (uint32_t g = 0; g < ctx->model->encoder.n_kv; g++)
        QR_TRY(quire_kv_alloc(e->kv, g, -1, e->n_blocks, e->table, err));
    return QUIRE_OK;
}

quire_status qr_encoder_cache_create(struct quire_context *ctx, struct quire_error *err)
{
    struct qr_encoder_cache *e = &ctx->encoder;
    uint64_t bytes;
    if (!qr_model_encodes(ctx->model))
        return QUIRE_OK;
    QR_TRY(create_cache(ctx->model, ctx, &e->kv, &bytes, err));
    quire_status s = allocate_blocks(ctx, err);
    const struct quire_plan_params p = plan_params(ctx->model, ctx, e->kv);
    if (s == QUIRE_OK)
        s = quire_plan_create(&p, &e->plan, err);
    for (uint32_t g = 0; g < ctx->model->encoder.n_kv; g++)
        e->groups[g] = (struct quire_attention_batch_group){ .block_table = e->table,
                                                             .max_blocks = e->row_blocks,
                                                             .slot_mapping = e->slots };
    if (s != QUIRE_OK)
        qr_encoder_cache_destroy(ctx);
    return s;
}

void qr_encoder_cache_destroy(struct quire_context *ctx)
{
    quire_plan_destroy(ctx->encoder.plan);
    quire_kv_destroy(ctx->encoder.kv);
}

void qr_encoder_cache_place(struct quire_context *ctx, const struct quire_encode_args *step)
{
    struct qr_encoder_cache *e = &ctx->encoder;
    int32_t next_block = 0;
    for (uint32_t i = 0; i < step->n_seqs; i++) {
        const int32_t begin = step->query_start_loc[i], n = step->query_start_loc[i + 1] - begin;
        int32_t *row = e->table + (size_t)i * e->row_blocks;
        e->seq_lens[i] = n;
        for (int32_t t = 0; t < n; t++)
            e->slots[begin + t] = (int64_t)next_block * BLOCK + t;
        for (int32_t j = 0; j < (n + BLOCK - 1) / BLOCK; j++)
            row[j] = next_block++;
    }
}
