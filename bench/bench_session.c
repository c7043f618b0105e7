/* SPDX-License-Identifier: Apache-2.0 */
/* bench_session.c - opens a model with a filled KV cache and runs prefill and decode steps. */
#include "bench_session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };

static quire_status open_model(struct bench_session *s, const struct bench_session_params *p,
                               struct quire_error *err)
{
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = p->path;
    mp.pack_cache = p->pack_cache;
    mp.isa = p->isa;
    mp.compute = p->compute;
    mp.threads = s->machine->threads;
    mp.flags = p->bf16_states ? QUIRE_MODEL_BF16_STATES : 0;
    quire_status status = quire_model_open(&mp, &s->model, err);
    s->info.struct_size = sizeof s->info;
    if (status == QUIRE_OK)
        status = quire_model_get_info(s->model, &s->info);
    if (status == QUIRE_OK && s->info.kind != QUIRE_MODEL_DECODER) {
        snprintf(err->msg, sizeof err->msg, "architecture '%s' is not a decoder", s->info.arch);
        return QUIRE_E_UNSUPPORTED;
    }
    return status == QUIRE_OK
               ? quire_model_kv_groups(s->model, s->groups, BENCH_MAX_GROUPS, &s->n_groups)
               : status;
}

static quire_status open_cache(struct bench_session *s, const struct bench_session_params *p,
                               struct quire_error *err)
{
    const uint32_t max_blocks = (p->max_len + BLOCK - 1) / BLOCK;
    for (uint32_t g = 0; g < s->n_groups; g++) {
        s->groups[g].k_dtype = p->k_type;
        s->groups[g].v_dtype = s->groups[g].flags & QUIRE_KV_LATENT ? p->k_type : p->v_type;
        s->groups[g].n_blocks = p->max_seqs * max_blocks;
    }
    const struct quire_kv_params config = { .struct_size = sizeof config,
                                            .block_size = BLOCK,
                                            .groups = s->groups,
                                            .n_groups = s->n_groups,
                                            .isa = p->isa };
    quire_status status = quire_kv_create(&config, &s->kv, err);
    if (status == QUIRE_OK)
        status = bench_tables_open(&s->tables, s->kv, p->max_seqs, max_blocks, p->shuffle,
                                   p->seed + 1, err);
    for (uint32_t i = 0; status == QUIRE_OK && i < p->max_seqs; i++)
        status =
            bench_cache_fill(s->kv, &s->tables, i, p->depth, p->seed, s->machine->threads, err);
    return status;
}

static quire_status open_adapters(struct bench_session *s, const char *path,
                                  struct quire_error *err)
{
    struct quire_adapter_params ap;
    quire_status status = QUIRE_OK;
    quire_adapter_params_init(&ap, sizeof ap);
    ap.path = path;
    s->adapter_index = calloc(s->max_seqs, sizeof *s->adapter_index);
    for (uint32_t i = 0; s->adapter_index && i < s->max_seqs; i++)
        s->adapter_index[i] = (int32_t)(i % BENCH_ADAPTERS);
    for (int i = 0; path && i < BENCH_ADAPTERS && status == QUIRE_OK; i++)
        status = quire_adapter_open(s->model, &ap, &s->adapters[i], err);
    return s->adapter_index ? status : QUIRE_E_NOMEM;
}

/* States of the sequences, all zero, in the order of the sequences. */
static quire_status open_states(struct bench_session *s, const struct bench_session_params *p,
                                struct quire_error *err)
{
    struct quire_state_pool_params sp;
    if (!s->info.state_bytes)
        return QUIRE_OK;
    quire_state_pool_params_init(&sp, sizeof sp);
    sp.state_bytes = s->info.state_bytes;
    sp.n_slots = p->max_seqs + 1;
    s->state_slots = malloc(sp.n_slots * sizeof *s->state_slots);
    quire_status status =
        s->state_slots ? quire_state_pool_create(&sp, &s->states, err) : QUIRE_E_NOMEM;
    for (uint32_t i = 0; status == QUIRE_OK && i < sp.n_slots; i++)
        status = quire_state_pool_alloc(s->states, &s->state_slots[i], err);
    return status;
}

static quire_status open_context(struct bench_session *s, const struct bench_session_params *p,
                                 struct quire_error *err)
{
    struct quire_context_params cp;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = s->kv;
    cp.states = s->states;
    cp.threads = s->machine->threads;
    cp.max_tokens = p->chunk > p->max_seqs ? p->chunk : p->max_seqs;
    cp.max_seqs = p->max_seqs;
    cp.max_logits = p->max_seqs;
    cp.max_seq_len = p->max_len;
    cp.max_adapter_rank = p->lora ? QUIRE_ADAPTER_MAX_RANK : 0;
    const size_t row = s->info.vocab_size * sizeof(float);
    s->ids = malloc(cp.max_tokens * sizeof *s->ids);
    s->slots = malloc(cp.max_tokens * sizeof *s->slots);
    s->starts = malloc((p->max_seqs + 1) * sizeof *s->starts);
    s->lens = malloc(p->max_seqs * sizeof *s->lens);
    s->logits = malloc(p->max_seqs * row);
    s->other_logits = malloc(p->max_seqs * row);
    if (!s->ids || !s->slots || !s->starts || !s->lens || !s->logits || !s->other_logits)
        return QUIRE_E_NOMEM;
    return quire_context_create(s->model, &cp, &s->context, err);
}

int bench_session_open(struct bench_session *s, const struct bench_session_params *p,
                       struct bench_machine *m)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    *s = (struct bench_session){
        .machine = m, .max_seqs = p->max_seqs, .max_len = p->max_len, .chunk = p->chunk
    };
    quire_status status = open_model(s, p, &err);
    if (status == QUIRE_OK)
        status = s->n_groups ? open_cache(s, p, &err) : QUIRE_OK;
    if (status == QUIRE_OK)
        status = open_states(s, p, &err);
    if (status == QUIRE_OK)
        status = open_adapters(s, p->lora, &err);
    if (status == QUIRE_OK)
        status = open_context(s, p, &err);
    if (status == QUIRE_OK)
        return 0;
    bench_session_close(s);
    return bench_fail(p->path, status, &err);
}

void bench_session_close(struct bench_session *s)
{
    quire_context_destroy(s->context);
    quire_kv_destroy(s->kv);
    quire_state_pool_destroy(s->states);
    free(s->state_slots);
    bench_tables_close(&s->tables);
    free(s->adapter_index);
    for (int i = 0; i < BENCH_ADAPTERS; i++)
        if (quire_adapter_close(s->adapters[i]) != QUIRE_OK)
            bench_error(70, "the adapter is still in use");
    if (quire_model_close(s->model) != QUIRE_OK)
        bench_error(70, "the model is still in use");
    free(s->ids), free(s->slots), free(s->starts), free(s->lens), free(s->logits),
        free(s->other_logits);
    *s = (struct bench_session){ 0 };
}

/* ---- steps */

static void put_token(struct bench_session *s, uint32_t row, uint32_t seq, uint32_t position)
{
    const uint64_t hash = ((uint64_t)seq << 32 | position) * 0x9e3779b97f4a7c15ull;
    s->ids[row] = (int32_t)((hash >> 32) % s->info.vocab_size);
    if (s->n_groups)
        s->slots[row] = bench_slot(&s->tables, seq, position);
}

/* Runs one forward pass of the tokens set by put_token(); the caller has set starts and lens of
 * n_seqs sequences. */
static quire_status step(struct bench_session *s, uint32_t n_seqs, float *logits,
                         struct quire_error *err)
{
    struct quire_attention_batch_group groups[BENCH_MAX_GROUPS];
    for (uint32_t g = 0; g < s->n_groups; g++)
        groups[g] = (struct quire_attention_batch_group){ .block_table = s->tables.ids,
                                                          .max_blocks = s->tables.max_blocks,
                                                          .slot_mapping = s->slots };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = n_seqs,
                                                 .query_start_loc = s->starts,
                                                 .seq_lens = s->lens,
                                                 .n_groups = s->n_groups,
                                                 .groups = groups };
    const struct quire_forward_args args = {
        .struct_size = sizeof args,
        .batch = &batch,
        .token_ids = s->ids,
        .logits = logits,
        .adapters = (const struct quire_adapter *const *)s->adapters,
        .n_adapters = s->use_adapters ? BENCH_ADAPTERS : 0,
        .adapter_index = s->adapter_index,
        .state_slots = s->state_slots,
    };
    return quire_context_forward(s->context, &args, err);
}

quire_status bench_session_reset_states(struct bench_session *s, struct quire_error *err)
{
    quire_status status = QUIRE_OK;
    for (uint32_t i = 0; s->states && i < s->max_seqs && status == QUIRE_OK; i++)
        status =
            quire_state_pool_copy(s->states, s->state_slots[i], s->state_slots[s->max_seqs], err);
    return status;
}

quire_status bench_session_prompt(struct bench_session *s, uint32_t depth, uint32_t n,
                                  uint32_t chunk, float *logits, struct quire_error *err)
{
    quire_status status = QUIRE_OK;
    for (uint32_t done = 0; done < n && status == QUIRE_OK;) {
        const uint32_t some = n - done < chunk ? n - done : chunk;
        for (uint32_t i = 0; i < some; i++)
            put_token(s, i, 0, depth + done + i);
        done += some;
        s->starts[0] = 0;
        s->starts[1] = (int32_t)some;
        s->lens[0] = (int32_t)(depth + done);
        status = step(s, 1, done == n ? logits : NULL, err);
    }
    return status;
}

quire_status bench_session_decode(struct bench_session *s, uint32_t n_seqs, uint32_t position,
                                  float *logits, struct quire_error *err)
{
    for (uint32_t i = 0; i < n_seqs; i++) {
        put_token(s, i, i, position);
        s->starts[i] = (int32_t)i;
        s->lens[i] = (int32_t)position + 1;
    }
    s->starts[n_seqs] = (int32_t)n_seqs;
    return step(s, n_seqs, logits, err);
}

/* ---- operations and bytes */

static enum bench_roof linear_roof(const struct quire_model_info *info)
{
    if (info->compute == QUIRE_COMPUTE_F32 || !strcmp(info->weight_type, "F32"))
        return BENCH_F32;
    if (info->compute == QUIRE_COMPUTE_THROUGHPUT || !strcmp(info->weight_type, "BF16"))
        return bench_native_roof(info->isa);
    return strcmp(info->weight_type, "F16") ? BENCH_INT8 : BENCH_F32;
}

static enum bench_roof attention_roof(const struct quire_model_info *info, enum quire_kv_dtype k)
{
    const bool rounds =
        info->compute != QUIRE_COMPUTE_F32 && k != QUIRE_KV_F32 && k != QUIRE_KV_F16;
    return rounds ? BENCH_BF16 : BENCH_F32;
}

/* Adds the attention of one sequence in all layers of a group: n queries at a depth of `depth`
 * keys. */
static void attention_need(const struct bench_session *s, const struct quire_kv_group_config *g,
                           uint32_t depth, uint32_t n, double need[BENCH_ROOFS])
{
    const double window = g->sliding_window ? g->sliding_window : 1e30;
    const double d = g->head_size + g->v_head_size, heads = s->info.n_heads;
    double pairs = 0;
    for (uint32_t i = 0; i < n; i++)
        pairs += depth + i + 1.0 < window ? depth + i + 1.0 : window;
    double keys = depth < window ? depth : window;
    keys += n;
    need[attention_roof(&s->info, g->k_dtype)] += 2 * d * pairs * heads * g->n_layers;
    double row = (double)bench_kv_row_bytes(g->k_dtype, g->head_size);
    if (!(g->flags & QUIRE_KV_LATENT)) /* MLA: the value is a part of the latent row */
        row += (double)bench_kv_row_bytes(g->v_dtype, g->v_head_size);
    need[BENCH_READ] += keys * g->n_kv_heads * g->n_layers * row;
}

void bench_session_need(const struct bench_session *s, uint32_t n_seqs, uint32_t depth, uint32_t n,
                        double need[BENCH_ROOFS])
{
    const struct quire_model_info *info = &s->info;
    const double bytes = (double)info->token_weight_bytes, all = (double)info->weight_bytes;
    const double head = (double)info->vocab_size * info->hidden_size; /* one row per prompt */
    const double parameters = (double)info->n_parameters * bytes / all;
    memset(need, 0, BENCH_ROOFS * sizeof *need);
    need[linear_roof(info)] = 2 * n_seqs * ((parameters - head) * n + head);
    need[BENCH_READ] = bytes;
    for (uint32_t g = 0; g < s->n_groups; g++)
        for (uint32_t i = 0; i < n_seqs; i++)
            attention_need(s, &s->groups[g], depth, n, need);
}
