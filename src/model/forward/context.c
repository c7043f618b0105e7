/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - limits, memory and lifetime of a context. */
#include "base/alloc.h"
#include "base/bump.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "linear/batched.h"
#include "model/forward/adapter_rows.h"
#include "model/forward/altup.h"
#include "model/forward/compress.h"
#include "model/forward/context_check.h"
#include "model/forward/conv_attention.h"
#include "model/forward/disentangled.h"
#include "model/forward/encoder_cache.h"
#include "model/forward/hyper.h"
#include "model/forward/latent_expand.h"
#include "model/forward/layer_index.h"
#include "model/forward/mtp_input.h"
#include "model/forward/partial_head.h"
#include "model/forward/per_layer_embedding.h"
#include "model/forward/shared_block.h"
#include "model/forward/step.h"
#include "model/forward/thread_state.h"
#include "model/forward/token_shift.h"
#include "model/forward/widened_rows.h"
#include "model/load/weight_roles.h"
#include "recurrent/state_pool.h"
#include <quire/adapter.h>

void quire_context_params_init(struct quire_context_params *params, size_t struct_size)
{
    const struct quire_context_params defaults = { .max_tokens = 512, .max_seqs = 1 };
    qr_struct_init(params, struct_size, &defaults, sizeof defaults);
}

static uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

static void set_limits(const struct quire_model *m, const struct quire_context_params *p,
                       struct quire_context *c)
{
    *c = (struct quire_context){
        .kv = p->kv,
        .states = p->states,
        .threads = p->threads,
        .allocator = p->allocator,
        .max_tokens = p->max_tokens,
        .max_seqs = p->max_seqs,
        .max_seq_len = p->max_seq_len ? p->max_seq_len : m->config->context_length,
        .max_spans = p->max_spans,
        .max_tree_tokens = p->max_tree_tokens,
        .max_tree_words = p->max_tree_words,
        .max_sparse_blocks = p->max_sparse_blocks,
        .encoder_dtype = p->encoder_dtype,
        /* selected keys are few: no rows are expanded for them */
        .expand.from = m->config->index.n_heads ? 0 : p->expand_latent_from,
        .adapters.limit = p->max_adapter_rank,
        .adapters.max_rank = (p->max_adapter_rank + 15) / 16 * 16,
    };
    if (qr_model_encodes(m)) {
        c->max_encoder_tokens = p->max_encoder_tokens ? p->max_encoder_tokens : p->max_tokens;
        c->max_encoder_len = p->max_encoder_len
                                 ? p->max_encoder_len
                                 : min_u32(c->max_encoder_tokens, m->config->context_length);
        qr_encoder_cache_size(c);
    }
    c->max_rows = max_u32(qr_model_decodes(m) ? c->max_tokens : 0, c->max_encoder_tokens);
    /* by default a step computes the logits of the last row of each sequence */
    c->max_logits = max_u32(p->max_logits         ? p->max_logits
                            : qr_model_decodes(m) ? c->max_tokens
                                                  : c->max_rows,
                            c->max_seqs);
}

static void *take(struct qr_bump *c, size_t n, size_t width, size_t elem)
{
    size_t count;
    if (qr_mul_size(n, width, &count))
        return qr_bump_alloc(c, count, elem);
    c->overflow = true;
    return NULL;
}

static float *take_floats(struct qr_bump *c, size_t n, size_t width)
{
    return take(c, n, width, sizeof(float));
}

/* Whether the matmul of a role reads ctx->gate. */
static bool reads_gate(int role) { return role == QR_W_FFN_DOWN || role == QR_W_SHARED_DOWN; }

/* Forms that weights with k columns may read. Those with the same input may differ in type. */
static unsigned act_forms(const struct quire_model *m, size_t k)
{
    if (m->compute == QUIRE_COMPUTE_F32)
        return QR_ACT_F32;
    const unsigned bf16 =
        qr_linear_act_form(QR_WEIGHT_BF16, m->compute, m->kernels) | (m->onednn ? QR_ACT_BF16 : 0);
    return QR_ACT_F32 | bf16 | (k % QR_BLOCK_K ? 0 : QR_ACT_Q8);
}

/* Those of QR_ACT_Q8_MODIFIERS that a weight of the model reads. */
static unsigned sum_forms(const struct quire_model *m)
{
    unsigned forms = 0;
    for (uint32_t i = 0; i <= qr_model_total_layers(m->config); i++) {
        const struct qr_model_layer *layer = i ? &m->layers[i - 1] : &m->global;
        for (int r = 0; r < QR_W_N_ROLES; r++) {
            const struct qr_packed *w = layer->experts[r] ? layer->experts[r][0] : layer->mat[r];
            forms |= w ? qr_linear_act_forms(w, m->compute, m->kernels, 1) : 0;
        }
    }
    return forms & QR_ACT_Q8_MODIFIERS;
}

/* Bytes of an activation object of weights with k columns, if their forms suit k. sums: of
 * sum_forms. */
static size_t input_bytes(const struct quire_model *m, size_t rows, size_t k, unsigned sums)
{
    const unsigned forms = act_forms(m, k);
    size_t bytes = 0;
    (void)qr_act_bytes(forms & QR_ACT_Q8 ? forms | sums : forms, rows, k, &bytes);
    return bytes;
}

/* Bytes of the largest activation object of any matmul of the model: layer_rows rows for layers,
 * head_rows for the matrices outside them; gate: of those that read ctx->gate, or of the others. */
static size_t act_bytes(const struct quire_model *m, size_t layer_rows, size_t head_rows, bool gate)
{
    const unsigned sums = sum_forms(m);
    size_t most = 0;
    for (uint32_t i = 0; i <= qr_model_total_layers(m->config); i++) {
        const struct qr_model_layer *layer = i ? &m->layers[i - 1] : &m->global;
        for (int r = 0; r < QR_W_N_ROLES; r++) {
            const struct qr_packed *w = layer->mat[r];
            if (!w || r == QR_W_POS_EMBD || r == QR_W_PLE_EMBD ||
                qr_role_is_dense((enum qr_weight_role)r) || reads_gate(r) != gate)
                continue;
            const bool all = i || r == QR_W_PLE_PROJ || r == QR_W_HYPER_OUT_DOWN ||
                             r == QR_W_HYPER_OUT_UP || r == QR_W_MTP_POST;
            const size_t bytes = input_bytes(m, all ? layer_rows : head_rows, w->k, sums);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

/* The same for the matrices of experts, with one row per assignment. */
static size_t expert_act_bytes(const struct quire_model *m, size_t rows)
{
    const struct qr_model_config *c = m->config;
    const size_t widths[] = { qr_expert_width(c), c->moe.ffn_size, c->moe.adjugate_ffn_size };
    const unsigned sums = sum_forms(m);
    size_t most = 0;
    for (int i = 0; i < 3; i++) {
        const size_t bytes = input_bytes(m, rows, widths[i], sums);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void reserve_moe(const struct quire_model *m, struct quire_context *ctx, struct qr_bump *c)
{
    const struct qr_moe_config *moe = &m->config->moe;
    const size_t rows = ctx->max_rows, assignments = rows * moe->top_k;
    struct qr_moe_buffers *b = &ctx->moe;
    if (!qr_model_has_experts(m->config))
        return;
    const size_t classes = (size_t)moe->n_experts + moe->n_identity + moe->n_zero;
    b->scores = take_floats(c, rows, classes);
    b->weights = take_floats(c, assignments, 1);
    b->experts = take(c, assignments, 1, sizeof(uint32_t));
    b->places = take(c, assignments, 1, sizeof(uint32_t));
    b->assignments = take(c, assignments, 1, sizeof(uint32_t));
    b->starts = take(c, classes + 1, 1, sizeof(uint32_t));
    b->used = take(c, classes + 1, 1, sizeof(uint32_t));
    b->shortcut =
        qr_model_has_shortcuts(m->config) ? take_floats(c, rows, m->config->hidden_size) : NULL;
    b->in = take_floats(c, assignments, qr_expert_width(m->config));
    if (moe->latent_size)
        b->latent = take_floats(c, rows, moe->latent_size);
    const size_t inner =
        moe->ffn_size > moe->adjugate_ffn_size ? moe->ffn_size : moe->adjugate_ffn_size;
    b->gate = take_floats(c, assignments, inner);
    b->up = take_floats(c, assignments, inner);
    if (moe->router_norm || moe->router_before_mixer)
        b->router_in = take_floats(c, rows, m->config->hidden_size);
    if (moe->beside_dense && moe->beside_input == QR_BESIDE_EARLY)
        b->early = take_floats(c, rows, m->config->hidden_size);
    if (moe->router_hidden) {
        b->router_state = take_floats(c, rows, moe->router_hidden);
        b->router_a = take_floats(c, rows, moe->router_hidden);
        b->router_b = take_floats(c, rows, moe->router_hidden);
    }
    if (!moe->shared_ffn_size)
        return;
    b->shared = take_floats(c, rows, m->config->hidden_size);
    b->shared_gate = take_floats(c, rows, 1);
}

/* Bytes of the activation forms of the largest batched matmul of latent attention. Layers may have
 * different types. */
static size_t batched_act_bytes(const struct quire_model *m, size_t rows)
{
    static const enum qr_weight_role roles[] = { QR_W_LATENT_UK, QR_W_LATENT_UV };
    size_t most = 0, bytes;
    for (uint32_t i = 0; i < m->config->n_layers; i++)
        for (int r = 0; r < 2; r++) {
            if (!m->layers[i].experts[roles[r]]) /* a layer without attention */
                continue;
            const struct qr_packed *w = m->layers[i].experts[roles[r]][0];
            if (!qr_batched_act_bytes(w, m->compute, m->kernels, m->config->layers[i].n_heads, rows,
                                      &bytes))
                bytes = SIZE_MAX; /* makes the allocation fail */
            most = bytes > most ? bytes : most;
        }
    return most;
}

static void reserve_expand(const struct quire_model *m, struct quire_context *ctx,
                           struct qr_bump *c)
{
    const struct qr_expand_sizes n = qr_expand_sizes(m, ctx);
    struct qr_latent_expand *e = &ctx->expand;
    e->table = take(c, n.table, 1, sizeof *e->table);
    e->slots = take(c, n.slots, 1, sizeof *e->slots);
    e->rows = take_floats(c, n.rows, 1);
    e->k = take_floats(c, n.k, 1);
    e->v = take_floats(c, n.v, 1);
    e->act_memory = take(c, n.act, 1, 1);
}

static void reserve_heads(const struct quire_model *m, struct quire_context *ctx, struct qr_bump *c)
{
    const struct qr_model_config *cfg = m->config;
    const size_t rows = ctx->max_rows, heads = cfg->max_heads, rank = cfg->mla.kv_lora_rank;
    const size_t latent_row = rank + cfg->mla.qk_rope_dim;
    const size_t wide = cfg->head_dim + (cfg->key_bias ? (size_t)QR_KEY_BIAS_WIDTH : 0);
    ctx->q = take_floats(c, rows, heads * wide);
    ctx->att = take_floats(c, rows, heads * cfg->v_head_dim);
    ctx->att_gate = cfg->attention_gate || cfg->differential
                        ? take_floats(c, rows, heads * cfg->v_head_dim)
                        : NULL;
    if (!rank) {
        ctx->k = take_floats(c, rows, cfg->max_kv_heads * wide);
        qr_widened_reserve(cfg, ctx, c);
        ctx->v = take_floats(c, rows, (size_t)cfg->max_kv_heads * cfg->v_head_dim);
        return;
    }
    ctx->k = take_floats(c, rows, latent_row);
    ctx->latent.q_a = cfg->mla.q_lora_rank ? take_floats(c, rows, cfg->mla.q_lora_rank) : NULL;
    ctx->latent.q = take_floats(c, rows, heads * latent_row);
    ctx->latent.att = take_floats(c, rows, heads * rank);
    ctx->latent.act_memory = take(c, batched_act_bytes(m, rows), 1, 1);
    ctx->latent.starts = take(c, (size_t)ctx->max_seqs + 1, 1, sizeof *ctx->latent.starts);
    ctx->latent.runs = take(c, ctx->max_seqs, 1, sizeof *ctx->latent.runs);
    if (ctx->expand.from)
        reserve_expand(m, ctx, c);
}

static void reserve_recurrent(const struct quire_model *m, struct quire_context *ctx,
                              struct qr_bump *c)
{
    const struct qr_recurrent_config *r = &m->config->recurrent;
    struct qr_recurrent_buffers *b = &ctx->recurrent;
    const size_t rows = ctx->max_rows, keys = (size_t)qr_recurrent_key_width(r),
                 values = (size_t)qr_recurrent_value_width(r),
                 dt = (size_t)qr_recurrent_dt_width(r), in = 2 * keys + values;
    const bool channels = qr_recurrent_reads_channels(r);
    b->in = take_floats(c, rows, in);
    const bool wide =
        (r->conv_taps && r->kind != QR_RECURRENT_SHORT_CONV) || r->kind == QR_RECURRENT_WKV7;
    b->conv = take_floats(c, rows, wide ? in : 0);
    b->z = take_floats(c, rows, r->output == QR_RECURRENT_OUT_PLAIN ? 0 : values);
    b->dt = take_floats(c, rows, r->kind == QR_RECURRENT_WKV6 ? 0 : dt);
    b->decay = take_floats(c, rows, r->kind == QR_RECURRENT_MAMBA1 ? 0 : dt);
    const bool betas = r->kind == QR_RECURRENT_DELTA || r->gated_linear;
    b->beta = take_floats(c, rows, betas ? r->n_heads : 0);
    b->low = take_floats(c, rows, r->dt_rank + (channels ? 2 * (size_t)r->key_dim : 0));
    b->low_z = take_floats(c, rows, channels ? r->dt_rank : r->gate_rank);
    b->out = take_floats(c, rows, values);
    const size_t threads = ctx->threads ? quire_threads_count(ctx->threads) : 1;
    b->tile_floats = (size_t)QR_SCAN_COLUMNS * r->key_dim;
    b->tiles = take_floats(c, m->bf16_states ? threads : 0, b->tile_floats);
    b->n_marks = (qr_state_pool_n_slots(ctx->states) + 63) / 64;
    b->marks = take(c, b->n_marks, 1, sizeof *b->marks);
    b->runs = take(c, ctx->max_seqs, 1, sizeof *b->runs);
}

static void reserve_encoder(const struct quire_model *m, struct quire_context *ctx,
                            struct qr_bump *c)
{
    struct qr_encoder_cache *e = &ctx->encoder;
    e->table = take(c, ctx->max_seqs, e->row_blocks, sizeof *e->table);
    e->seq_lens = take(c, ctx->max_seqs, 1, sizeof *e->seq_lens);
    e->slots = take(c, ctx->max_encoder_tokens, 1, sizeof *e->slots);
    e->groups = take(c, m->encoder.n_kv, 1, sizeof *e->groups);
    qr_disentangled_reserve(m, ctx, c);
    ctx->all_rows = take(c, ctx->max_logits, 1, sizeof *ctx->all_rows);
    for (uint32_t i = 0; ctx->all_rows && i < ctx->max_logits; i++)
        ctx->all_rows[i] = i;
}

/* Bytes of a thread's unpacked panels: those of gate and up, which take turns, or the largest one;
 * 0 if no weight is unpacked. */
static size_t unpacked_bytes(const struct quire_model *m)
{
    size_t most = 0;
    for (uint32_t i = 0; i <= qr_model_total_layers(m->config); i++) {
        const struct qr_model_layer *layer = i ? &m->layers[i - 1] : &m->global;
        for (int r = 0; r < QR_W_N_ROLES; r++) {
            const struct qr_packed *w = layer->experts[r] ? layer->experts[r][0] : layer->mat[r];
            if (!w || !qr_linear_unpacks(w, m->compute))
                continue;
            const size_t n = w->k == m->config->hidden_size ? 2 : 1,
                         bytes = n * qr_unpacked_bytes(w->k);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

static void reserve_threads(const struct quire_model *m, struct quire_context *ctx,
                            struct qr_bump *c)
{
    enum { ROWS = QR_REPLICATED_ROWS_MAX };
    struct qr_thread_buffers *b = &ctx->per_thread;
    const size_t threads = ctx->threads ? quire_threads_count(ctx->threads) : 1;
    const size_t dense = act_bytes(m, ROWS, ROWS, false), experts = expert_act_bytes(m, ROWS);
    struct qr_bump one = { 0 };
    take_floats(&one, 2, QR_TILE_FLOATS);
    take_floats(&one, 2 * ROWS, m->config->hidden_size);
    b->act_offset_bytes = one.used;
    take(&one, dense > experts ? dense : experts, 1, 1);
    const size_t unpacked = unpacked_bytes(m), unpacked_at = one.used;
    take(&one, unpacked, 1, 1);
    b->stride_bytes = one.used;
    c->overflow |= one.overflow;
    b->counters = take(c, 2 * threads, 1, sizeof *b->counters);
    b->down_counters = b->counters ? b->counters + threads : NULL;
    b->memory = take(c, threads, 1, b->stride_bytes);
    b->unpacked = unpacked ? take(c, threads, 1, sizeof *b->unpacked) : NULL;
    for (size_t i = 0; b->unpacked && i < threads; i++)
        qr_unpacked_init(&b->unpacked[i], b->memory + i * b->stride_bytes + unpacked_at, unpacked);
}

/* Whether a layer has two sublayers side by side. */
static bool has_parallel(const struct qr_model_config *c)
{
    if (c->block == QR_BLOCK_PARALLEL || c->block == QR_BLOCK_PARALLEL_2NORM || c->laurel_rank)
        return true;
    for (uint32_t i = 0; i < c->n_layers; i++)
        if (c->layers[i].mixer == QR_MIXER_BOTH || c->layers[i].mixer == QR_MIXER_SHARED_BLOCK ||
            (c->layers[i].moe && c->moe.beside_dense))
            return true;
    return false;
}

static void reserve_buffers(const struct quire_model *m, struct quire_context *ctx,
                            struct qr_bump *c)
{
    const struct qr_model_config *cfg = m->config;
    const size_t rows = ctx->max_rows, hidden = cfg->hidden_size;
    ctx->x = take_floats(c, rows, hidden);
    ctx->h = take_floats(c, rows, hidden);
    ctx->sub = take_floats(c, rows, hidden);
    ctx->sub2 = has_parallel(cfg) ? take_floats(c, rows, hidden) : NULL;
    reserve_heads(m, ctx, c);
    ctx->gate = take_floats(c, rows, cfg->max_ffn_size);
    ctx->gates = qr_model_has_sparse_gates(cfg) ? take_floats(c, rows, cfg->max_ffn_size) : NULL;
    ctx->head_in = take_floats(c, ctx->max_logits, hidden);
    ctx->head_mid = m->global.mat[QR_W_HEAD_DENSE] || m->config->n_labels
                        ? take_floats(c, ctx->max_logits, hidden)
                        : NULL;
    ctx->positions = take(c, rows, 1, sizeof(uint32_t));
    ctx->lengths = take(c, rows, 1, sizeof(uint32_t));
    ctx->last_rows = take(c, ctx->max_seqs, 1, sizeof(uint32_t));
    ctx->row_ids = take(c, ctx->max_logits, 1, sizeof(uint32_t));
    const size_t dense = act_bytes(m, rows, ctx->max_logits, false),
                 experts = expert_act_bytes(m, rows * cfg->moe.top_k);
    ctx->act_memory = take(c, dense > experts ? dense : experts, 1, 1);
    ctx->gate_memory = take(c, act_bytes(m, rows, 0, true), 1, 1);
    reserve_threads(m, ctx, c);
    reserve_moe(m, ctx, c);
    qr_ple_reserve(m, ctx, c);
    qr_altup_reserve(m, ctx, c);
    qr_hyper_reserve(m, ctx, c);
    qr_compress_reserve(m, ctx, c);
    qr_adapter_reserve(m, ctx, c);
    if (cfg->shared_block.n_blocks || cfg->gains)
        ctx->embedding = take(c, rows, cfg->hidden_size, sizeof(float));
    qr_shared_block_reserve(m, ctx, c);
    qr_mtp_reserve(m, ctx, c);
    qr_partial_head_reserve(m, ctx, c);
    qr_index_reserve(m, ctx, c);
    if (ctx->states)
        reserve_recurrent(m, ctx, c);
    qr_conv_attention_reserve(cfg, ctx, c);
    qr_token_shift_reserve(m, ctx, c);
    if (qr_model_encodes(m))
        reserve_encoder(m, ctx, c);
    for (uint32_t i = 0; i < cfg->n_rope; i++) {
        float *memory = take_floats(c, qr_rope_table_floats(&cfg->rope[i], rows), 1);
        if (memory)
            qr_rope_table_init(&ctx->rope[i], &cfg->rope[i], rows, memory);
    }
}

/* Checks the parameters, sets the limits and counts the bytes of the buffers. */
static quire_status measure(const struct quire_model *m, const struct quire_context_params *params,
                            struct quire_context *c, struct qr_bump *buffers,
                            struct quire_error *err)
{
    struct quire_context_params p;
    QR_READ_STRUCT(&p, params, expand_latent_from, "params", err);
    QR_TRY(qr_context_check(m, &p, err));
    set_limits(m, &p, c);
    *buffers = (struct qr_bump){ 0 };
    reserve_buffers(m, c, buffers);
    if (buffers->overflow)
        return qr_fail(err, QUIRE_E_LIMIT, "a step of %u tokens exceeds the address space",
                       c->max_rows);
    return QUIRE_OK;
}

quire_status quire_context_bytes(const struct quire_model *model,
                                 const struct quire_context_params *params, uint64_t *bytes,
                                 struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_context c;
    struct qr_bump buffers;
    uint64_t plan = 0, encoder = 0, expand = 0;
    if (!bytes)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "bytes is NULL");
    QR_TRY(measure(model, params, &c, &buffers, err));
    QR_TRY(qr_encoder_cache_bytes(model, &c, &encoder, err));
    QR_TRY(qr_expand_bytes(model, &c, &expand, err));
    QR_TRY(qr_step_plan_bytes(model, &c, &plan, err));
    *bytes = sizeof c + buffers.used + plan + encoder + expand;
    return QUIRE_OK;
}

quire_status quire_context_create(struct quire_model *model,
                                  const struct quire_context_params *params,
                                  struct quire_context **out, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_context limits;
    struct qr_bump buffers;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_TRY(measure(model, params, &limits, &buffers, err));
    struct quire_context *c = qr_alloc(limits.allocator, 1, sizeof *c);
    void *memory = qr_alloc_aligned(limits.allocator, buffers.used, QR_BUMP_ALIGN);
    quire_status s = QUIRE_E_NOMEM;
    if (c && memory) {
        *c = limits;
        c->handle.kind = QR_KIND_CONTEXT;
        c->model = model;
        c->memory = memory;
        c->memory_bytes = buffers.used;
        buffers = (struct qr_bump){ .base = memory };
        reserve_buffers(model, c, &buffers);
        s = qr_step_plan_create(c, err);
        if (s == QUIRE_OK)
            s = qr_encoder_cache_create(c, err);
        if (s == QUIRE_OK && (s = qr_expand_create(c, err)) != QUIRE_OK)
            qr_encoder_cache_destroy(c);
        if (s != QUIRE_OK)
            quire_plan_destroy(c->plan);
    } else {
        qr_fail(err, s, "no memory for a step of %u tokens (%zu bytes)", limits.max_rows,
                buffers.used);
    }
    if (s != QUIRE_OK) {
        qr_free(limits.allocator, memory, buffers.used, 1);
        qr_free(limits.allocator, c, 1, sizeof *c);
        return s;
    }
    __atomic_fetch_add(&model->n_contexts, 1, __ATOMIC_ACQ_REL);
    *out = c;
    return QUIRE_OK;
}

void quire_context_destroy(struct quire_context *context)
{
    if (!qr_handle_end(context, QR_KIND_CONTEXT))
        return;
    quire_plan_destroy(context->plan);
    qr_encoder_cache_destroy(context);
    qr_expand_destroy(context);
    __atomic_fetch_sub(&context->model->n_contexts, 1, __ATOMIC_ACQ_REL);
    qr_free(context->allocator, context->memory, context->memory_bytes, 1);
    qr_free(context->allocator, context, 1, sizeof *context);
}
