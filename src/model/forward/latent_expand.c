/* SPDX-License-Identifier: Apache-2.0 */
/* latent_expand.c - expanded latent attention, for prefill: computes keys and values of all
 * heads from the cached latent rows of one sequence and layer, then runs ordinary attention over
 * them. */
#include "model/forward/latent_expand.h"
#include "attention/types.h"
#include "base/error.h"
#include "base/threads.h"
#include "linear/batched.h"
#include "model/forward/thread_state.h"
#include <quire/attention.h>
#include <string.h>

enum {
    BLOCK = 64, /* tokens; the block size the kernels are tuned for */
    /* Rows expanded at a time. More rows use each weight more often; fewer stay in cache. */
    CHUNK = 128,
};

static uint32_t n_blocks(const struct quire_context *c) { return (c->max_seq_len - 1) / BLOCK + 1; }

/* The first layer with latent attention; hybrids begin with others. NULL: there is none. */
static const struct qr_model_layer *find_latent_layer(const struct quire_model *m)
{
    for (uint32_t i = 0; i < m->config->n_layers; i++)
        if (m->layers[i].experts[QR_W_LATENT_UV])
            return &m->layers[i];
    return NULL;
}

static const struct qr_model_layer *latent_layer(const struct quire_model *m)
{
    const struct qr_model_layer *layer = find_latent_layer(m);
    QR_INVARIANT(layer); /* qr_expand_check refuses other models */
    return layer;
}

/* Activation forms of a chunk; the two weights may have different types. */
static unsigned act_forms(const struct quire_model *m)
{
    const struct qr_model_layer *layer = latent_layer(m);
    return qr_linear_act_form(layer->experts[QR_W_LATENT_UK_ROWS][0]->type, m->compute,
                              m->kernels) |
           qr_linear_act_form(layer->experts[QR_W_LATENT_UV][0]->type, m->compute, m->kernels);
}

/* ---- memory */

quire_status qr_expand_check(const struct quire_model *m, uint32_t from, struct quire_error *err)
{
    if (from && (!m->config->mla.expand || !find_latent_layer(m)))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "params.expand_latent_from: %s",
                       find_latent_layer(m)
                           ? "the model was opened without QUIRE_MODEL_EXPAND_LATENT"
                           : "the model has no latent attention");
    return QUIRE_OK;
}

struct qr_expand_sizes qr_expand_sizes(const struct quire_model *m,
                                       const struct quire_context *limits)
{
    const struct qr_model_config *c = m->config;
    struct qr_expand_sizes s = { .table = n_blocks(limits),
                                 .slots = (size_t)n_blocks(limits) * BLOCK };
    s.rows = CHUNK * ((size_t)c->mla.kv_lora_rank + c->mla.qk_rope_dim);
    s.k = CHUNK * (size_t)c->max_heads * c->head_dim;
    s.v = CHUNK * (size_t)c->max_heads * c->v_head_dim;
    if (!qr_act_bytes(act_forms(m), CHUNK, c->mla.kv_lora_rank, &s.act))
        s.act = SIZE_MAX; /* makes the allocation fail */
    return s;
}

static struct quire_attention_config expanded_config(const struct quire_model *m)
{
    const struct qr_model_config *c = m->config;
    struct quire_attention_config a = latent_layer(m)->attention;
    a.n_kv_heads = a.n_heads;
    a.head_size = c->head_dim;
    a.v_head_size = c->v_head_dim;
    return a;
}

/* Creates a cache for one sequence and layer and reports its size. Its dtype keeps all bits that
 * the attention products use. */
static quire_status create_cache(const struct quire_model *m, const struct quire_context *c,
                                 struct quire_kv_cache **kv, uint64_t *bytes,
                                 struct quire_error *err)
{
    const enum quire_kv_dtype dtype =
        m->compute == QUIRE_COMPUTE_F32 ? QUIRE_KV_F32 : QUIRE_KV_BF16;
    const struct quire_kv_group_config group = { .n_layers = 1,
                                                 .n_kv_heads = m->config->max_heads,
                                                 .head_size = m->config->head_dim,
                                                 .v_head_size = m->config->v_head_dim,
                                                 .k_dtype = dtype,
                                                 .v_dtype = dtype,
                                                 .n_blocks = n_blocks(c) };
    const struct quire_kv_params config = { .struct_size = sizeof config,
                                            .block_size = BLOCK,
                                            .groups = &group,
                                            .n_groups = 1,
                                            .allocator = c->allocator,
                                            .isa = m->kernels->level };
    struct quire_kv_memory memory = { .struct_size = sizeof memory };
    QR_TRY(quire_kv_bytes(&config, &memory, err));
    *bytes = memory.total;
    return quire_kv_create(&config, kv, err);
}

static struct quire_plan_params plan_params(const struct quire_model *m,
                                            const struct quire_context *c,
                                            const struct quire_kv_cache *kv,
                                            const struct quire_plan_group *group)
{
    return (struct quire_plan_params){
        .struct_size = sizeof(struct quire_plan_params),
        .kv = kv,
        .groups = group,
        .n_groups = 1,
        .max_tokens = c->max_tokens,
        .max_seqs = 1,
        .max_seq_len = c->max_seq_len,
        .n_threads = c->threads ? quire_threads_count(c->threads) : 1,
        .max_spans = c->max_spans,
        .isa = m->kernels->level,
        .allocator = c->allocator,
    };
}

quire_status qr_expand_bytes(const struct quire_model *model, const struct quire_context *limits,
                             uint64_t *bytes, struct quire_error *err)
{
    struct quire_kv_cache *kv;
    uint64_t plan = 0;
    *bytes = 0;
    if (!limits->expand.from)
        return QUIRE_OK;
    /* the size of a plan depends on a cache; pages of this one are never touched */
    QR_TRY(create_cache(model, limits, &kv, bytes, err));
    const struct quire_attention_config config = expanded_config(model);
    const struct quire_plan_group group = { .config = &config };
    const struct quire_plan_params p = plan_params(model, limits, kv, &group);
    const quire_status s = quire_plan_bytes(&p, &plan, err);
    quire_kv_destroy(kv);
    *bytes += plan;
    return s;
}

quire_status qr_expand_create(struct quire_context *ctx, struct quire_error *err)
{
    struct qr_latent_expand *e = &ctx->expand;
    uint64_t bytes;
    if (!e->from)
        return QUIRE_OK;
    QR_TRY(create_cache(ctx->model, ctx, &e->kv, &bytes, err));
    quire_status s = quire_kv_alloc(e->kv, 0, -1, n_blocks(ctx), e->table, err);
    for (uint32_t i = 0; s == QUIRE_OK && i < n_blocks(ctx) * BLOCK; i++)
        e->slots[i] = (int64_t)e->table[i / BLOCK] * BLOCK + i % BLOCK;
    const struct quire_attention_config config = expanded_config(ctx->model);
    const struct quire_plan_group group = { .config = &config };
    const struct quire_plan_params p = plan_params(ctx->model, ctx, e->kv, &group);
    if (s == QUIRE_OK)
        s = quire_plan_create(&p, &e->plan, err);
    if (s != QUIRE_OK)
        qr_expand_destroy(ctx);
    return s;
}

void qr_expand_destroy(struct quire_context *ctx)
{
    quire_plan_destroy(ctx->expand.plan);
    quire_kv_destroy(ctx->expand.kv);
}

/* ---- absorbed and expanded rows */

static uint32_t new_tokens(const struct quire_attention_batch *b, uint32_t seq)
{
    return (uint32_t)(b->query_start_loc[seq + 1] - b->query_start_loc[seq]);
}

/* Expanded keys have a head and a block size of their own, and blocks that no list names may be
 * gone; rows of a tree mask cannot be left out. Such steps are absorbed. */
static bool is_expanded(const struct qr_step *s, uint32_t seq)
{
    const uint32_t from = s->ctx->expand.from;
    const struct quire_attention_batch *b = s->args->batch;
    return from && !b->tree_mask && !b->sparse && new_tokens(b, seq) >= from;
}

/* Builds the plan over a sequence's expanded keys. */
static quire_status build_plan(struct quire_context *ctx, const struct quire_attention_batch *b,
                               uint32_t seq, struct quire_error *err)
{
    const int32_t starts[] = { 0, (int32_t)new_tokens(b, seq) };
    const struct quire_attention_batch_group group = { .block_table = ctx->expand.table,
                                                       .max_blocks = n_blocks(ctx) };
    const int32_t first_span = b->spans ? b->span_loc[seq] : 0,
                  span_loc[] = { 0, b->spans ? b->span_loc[seq + 1] - first_span : 0 };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &b->seq_lens[seq],
                                                 .causal = b->causal ? &b->causal[seq] : NULL,
                                                 .n_groups = 1,
                                                 .groups = &group,
                                                 .span_loc = b->spans ? span_loc : NULL,
                                                 .spans = b->spans ? b->spans + first_span : NULL };
    ctx->expand.plan->team_size = ctx->plan->team_size;
    QR_TRY(quire_plan_build(ctx->expand.plan, &batch, err));
    ctx->expand.planned = seq;
    return QUIRE_OK;
}

quire_status qr_latent_place(const struct qr_step *s, struct quire_error *err)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_attention_batch *b = s->args->batch;
    struct qr_latent_buffers *l = &ctx->latent;
    bool expanded = false;
    int32_t row = 0;
    l->n_runs = 0;
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        const uint32_t n = new_tokens(b, i), first = (uint32_t)b->query_start_loc[i];
        l->starts[i] = row;
        if (is_expanded(s, i)) {
            expanded = true;
            QR_TRY(build_plan(ctx, b, i, err));
            continue;
        }
        QR_INVARIANT(l->runs); /* allocated with the context */
        struct qr_row_run *last = l->n_runs ? &l->runs[l->n_runs - 1] : NULL;
        if (last && last->row + last->n == first)
            last->n += n;
        else if (n)
            l->runs[l->n_runs++] = (struct qr_row_run){ first, n, (uint32_t)row };
        row += (int32_t)n;
    }
    l->starts[b->n_seqs] = row;
    if (!expanded)
        return QUIRE_OK;
    /* the plan has checked the whole batch; this one divides only the absorbed rows */
    struct quire_attention_batch absorbed = *b;
    absorbed.query_start_loc = l->starts;
    return quire_plan_build(ctx->plan, &absorbed, err);
}

/* ---- execution */

/* Reads the latent rows of positions [first, first + n) of a sequence from the cache. */
static void read_rows(const struct qr_step *s, const struct qr_model_layer *layer, uint32_t seq,
                      uint32_t first, uint32_t n, const struct quire_team *team)
{
    const struct qr_mla_config *m = &s->ctx->model->config->mla;
    const struct quire_attention_batch_group *g = &s->args->batch->groups[layer->kv_group];
    const size_t stride = g->block_table_stride ? g->block_table_stride : g->max_blocks;
    const size_t width = (size_t)m->kv_lora_rank + m->qk_rope_dim;
    int64_t slots[CHUNK];
    size_t begin, end;
    qr_team_range(team, n, 1, &begin, &end);
    const struct quire_kv_slot_args map = { .struct_size = sizeof map,
                                            .block_size = quire_kv_block_size(s->kv),
                                            .block_table = g->block_table + seq * stride,
                                            .n_entries = g->max_blocks,
                                            .first_block = g->first_block ? g->first_block[seq] : 0,
                                            .first_pos = first + (uint32_t)begin,
                                            .n_tokens = end - begin };
    const struct quire_kv_read_args read = { .struct_size = sizeof read,
                                             .group = layer->kv_group,
                                             .layer = layer->kv_layer,
                                             .k = s->ctx->expand.rows + begin * width,
                                             .slots = slots,
                                             .n_tokens = end - begin };
    quire_status status = quire_kv_map_slots(&map, slots, NULL);
    if (status == QUIRE_OK)
        status = quire_kv_read(s->kv, &read, NULL);
    (void)status; /* cannot fail: building the step's plan checked these blocks */
}

static void project_rows(const struct qr_step *s, uint32_t i, enum qr_weight_role role,
                         const struct qr_act *act, float *out, size_t out_row,
                         const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const size_t heads = m->config->layers[i].n_heads;
    const struct qr_batched_args args = { .w = m->layers[i].experts[role],
                                          .n_heads = heads,
                                          .n_rows = act->m,
                                          .x = act,
                                          .compute = m->compute,
                                          .unpacked = qr_thread_unpacked(s, team),
                                          .out = out,
                                          .out_stride = heads * out_row,
                                          .out_head_stride = out_row };
    qr_batched_part(&args, m->kernels, team);
}

/* Computes keys and values of all heads for the first n of ctx->expand.rows. Ends with a
 * barrier. */
static void expand_rows(const struct qr_step *s, uint32_t i, uint32_t n,
                        const struct quire_team *team)
{
    const struct qr_latent_expand *e = &s->ctx->expand;
    const struct quire_model *m = s->ctx->model;
    const struct qr_model_config *c = m->config;
    const size_t heads = c->layers[i].n_heads, rank = c->mla.kv_lora_rank,
                 rope = c->mla.qk_rope_dim;
    struct qr_act act;
    size_t begin, end;
    qr_act_init(&act, act_forms(m), e->rows, rank + rope, n, rank, e->act_memory);
    qr_act_convert_part(&act, m->kernels, team);
    quire_team_barrier(team);
    project_rows(s, i, QR_W_LATENT_UK_ROWS, &act, e->k, c->head_dim, team);
    project_rows(s, i, QR_W_LATENT_UV, &act, e->v, c->v_head_dim, team);
    qr_team_range(team, n, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        for (size_t h = 0; h < heads; h++)
            memcpy(e->k + (r * heads + h) * c->head_dim + c->mla.qk_nope_dim,
                   e->rows + r * (rank + rope) + rank, rope * sizeof *e->k);
    quire_team_barrier(team);
}

static void attend(const struct qr_step *s, uint32_t i, uint32_t seq, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const size_t heads = c->layers[i].n_heads, row = (size_t)s->args->batch->query_start_loc[seq];
    const struct quire_attention_args args = {
        .struct_size = sizeof args,
        .q = ctx->q + row * heads * c->head_dim,
        .out = ctx->att + row * heads * c->v_head_dim,
    };
    quire_attention_part(ctx->expand.plan, &args, team);
    quire_team_barrier(team);
}

/* Expands one sequence and computes its attention. A barrier separates the steps of a chunk: latent
 * rows, activation forms, keys and values, cache write. */
static void expand_sequence(const struct qr_step *s, uint32_t i, uint32_t seq,
                            const struct quire_team *team)
{
    struct qr_latent_expand *e = &s->ctx->expand;
    const struct quire_attention_batch *b = s->args->batch;
    const uint32_t len = (uint32_t)b->seq_lens[seq];
    if (team->rank == 0 && e->planned != seq) {
        const quire_status status = build_plan(s->ctx, b, seq, NULL);
        (void)status; /* cannot fail: qr_latent_place built the same plan */
    }
    for (uint32_t at = 0; at < len; at += CHUNK) {
        const uint32_t n = len - at < CHUNK ? len - at : CHUNK;
        read_rows(s, &s->ctx->model->layers[i], seq, at, n, team);
        quire_team_barrier(team);
        expand_rows(s, i, n, team);
        const struct quire_kv_write_args write = { .struct_size = sizeof write,
                                                   .dtype = QUIRE_KV_F32,
                                                   .k = e->k,
                                                   .v = e->v,
                                                   .slot_mapping = e->slots + at,
                                                   .n_tokens = n };
        quire_kv_write_part(e->kv, &write, team);
    }
    quire_team_barrier(team);
    attend(s, i, seq, team);
}

void qr_latent_expand(const struct qr_step *s, uint32_t layer, const struct quire_team *team)
{
    for (uint32_t seq = 0; seq < s->args->batch->n_seqs; seq++)
        if (is_expanded(s, seq))
            expand_sequence(s, layer, seq, team);
}
