/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - opens and closes an engine; its sizes and defaults. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "engine/callback.h"
#include "engine/capacity.h"
#include "engine/draft_model_open.h"
#include "engine/drive.h"
#include "engine/kv_setup.h"
#include "engine/mask_ahead.h"
#include "engine/open_model.h"
#include "engine/prompt.h"
#include "engine/request.h"
#include "engine/sequence_setup.h"
#include "engine/source.h"
#include "engine/step.h"
#include "engine/vector.h"
#include <math.h>
#include <sched.h>
#include <unistd.h>

enum { DEFAULT_REQUESTS = 16, MAX_REQUESTS = 65536, MAX_DRAFT_TOKENS = 1024 };

void quire_engine_params_init(struct quire_engine_params *params, size_t struct_size)
{
    const struct quire_engine_params defaults = { .k_dtype = QUIRE_KV_F16,
                                                  .v_dtype = QUIRE_KV_F16 };
    qr_struct_init(params, struct_size, &defaults, sizeof defaults);
}

static uint32_t request_count(const struct quire_engine_params *p)
{
    return p->max_requests ? p->max_requests : DEFAULT_REQUESTS;
}

static quire_status check_params(const struct quire_engine_params *p, struct quire_error *err)
{
    if (!!p->model_path + !!p->model_data + !!p->model != 1)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "give exactly one of model_path, model_data and model");
    if (!p->model != !p->tokenizer)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is given without %s",
                       p->model ? "model" : "tokenizer", p->model ? "tokenizer" : "model");
    if (p->model && p->pack_cache)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "pack_cache is given for a model that is open");
    QR_TRY(qr_engine_check_kv(p, err));
    if (p->max_requests > MAX_REQUESTS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "max_requests %u is above %d", p->max_requests,
                       MAX_REQUESTS);
    if (p->max_step_tokens > INT32_MAX || p->context_length > INT32_MAX)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is above 2^31 - 1",
                       p->max_step_tokens > INT32_MAX ? "max_step_tokens" : "context_length");
    if (p->max_seqs > request_count(p))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "max_seqs %u is above max_requests %u",
                       p->max_seqs, request_count(p));
    if (p->max_step_tokens && p->max_seqs > p->max_step_tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "max_seqs %u is above max_step_tokens %u",
                       p->max_seqs, p->max_step_tokens);
    if (p->max_draft_tokens > MAX_DRAFT_TOKENS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "max_draft_tokens %u is above %d",
                       p->max_draft_tokens, MAX_DRAFT_TOKENS);
    if (p->reserved)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.reserved is not 0");
    if (!(p->target_itl >= 0))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "target_itl %g is not a number of seconds >= 0",
                       p->target_itl);
    QR_TRY(qr_draft_model_check(p, err));
    const uint32_t opening =
        p->flags & (QUIRE_ENGINE_ALLOW_UNKNOWN | QUIRE_ENGINE_STRICT | QUIRE_ENGINE_BF16_STATES);
    if (p->model && opening)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "flags: %s is given for a model that is open",
                       opening & QUIRE_ENGINE_STRICT        ? "QUIRE_ENGINE_STRICT"
                       : opening & QUIRE_ENGINE_BF16_STATES ? "QUIRE_ENGINE_BF16_STATES"
                                                            : "QUIRE_ENGINE_ALLOW_UNKNOWN");
    const uint32_t known = QUIRE_ENGINE_LOCK_CACHE | QUIRE_ENGINE_DRY_RUN |
                           QUIRE_ENGINE_ALLOW_UNKNOWN | QUIRE_ENGINE_STRICT | QUIRE_ENGINE_MTP |
                           QUIRE_ENGINE_PLAIN_KEYS | QUIRE_ENGINE_ROTATE_VALUES |
                           QUIRE_ENGINE_BF16_STATES;
    if (p->flags & ~known)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "flags 0x%x has unknown bits", p->flags);
    return QUIRE_OK;
}

static quire_status open_threads(struct quire_engine *e, const struct quire_engine_params *p,
                                 struct quire_error *err)
{
    e->threads = p->threads;
    if (p->threads)
        return qr_handle_check(p->threads, QR_KIND_THREADS, "threads", err);
    struct quire_threads_params tp;
    quire_threads_params_init(&tp, sizeof tp);
    tp.backend = p->thread_backend;
    tp.n_threads = p->n_threads;
    tp.allocator = p->allocator;
    QR_TRY(quire_threads_create(&tp, &e->own_threads, err));
    e->threads = e->own_threads;
    return QUIRE_OK;
}

/* Lists the end-of-generation tokens. */
static quire_status list_eog(struct quire_engine *e, struct quire_error *err)
{
    const size_t n = quire_tokenizer_vocab_size(e->tokenizer);
    e->n_text_tokens = n < e->vocab_size ? (uint32_t)n : e->vocab_size;
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        uint32_t found = 0;
        for (uint32_t i = 0; i < e->n_text_tokens; i++)
            if (quire_tokenizer_is_eog(e->tokenizer, (int32_t)i)) {
                if (pass)
                    e->eog[found] = (int32_t)i;
                found++;
            }
        if (pass)
            break;
        e->n_eog = found;
        e->eog = qr_alloc(e->allocator, found, sizeof *e->eog);
        if (!e->eog)
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    }
    return QUIRE_OK;
}

static void context_params(struct quire_engine *e, struct quire_context_params *cp)
{
    quire_context_params_init(cp, sizeof *cp);
    cp->kv = e->kv;
    cp->states = e->states;
    cp->threads = e->threads;
    cp->max_tokens = e->info.max_step_tokens;
    cp->max_seqs = e->info.max_seqs;
    cp->max_logits = e->info.max_seqs + e->info.max_draft_tokens;
    cp->max_seq_len = e->info.context_length;
    cp->allocator = e->allocator;
    cp->max_adapter_rank = e->info.max_adapter_rank;
    cp->max_encoder_tokens = e->max_source_tokens;
    cp->max_encoder_len = e->max_source_tokens ? e->info.context_length : 0;
}

/* One row per sequence and draft token, and a copy of one for answers that fork. */
static size_t logits_count(const struct quire_engine *e)
{
    if (e->encodes)
        return 0;
    return ((size_t)e->info.max_seqs + e->info.max_draft_tokens + 1) * e->vocab_size;
}

static struct qr_sequence_memory_params memory_params(struct quire_engine *e)
{
    return (struct qr_sequence_memory_params){
        .kv = e->kv,
        .states = e->states,
        .has_cross_group = e->max_source_tokens,
        .cross_group = e->cross_group,
        .block_size = e->info.block_size,
        .cache_tokens = e->info.cache_tokens,
        .n_sequences = e->info.max_seqs,
        .max_tokens = e->info.context_length,
        .hash_bits = QR_HASH_BITS,
        .allocator = e->allocator,
        .embeddings = &e->embeddings,
    };
}

static quire_status init_scheduler(struct quire_engine *e, struct quire_error *err)
{
    const struct qr_sequence_memory_params memory = memory_params(e);
    QR_TRY(qr_embedding_table_init(&e->embeddings, e->hidden_size, e->allocator, err));
    QR_TRY(qr_sequence_memory_init(&e->memory, &memory, err));
    const struct qr_scheduler_params scheduler = {
        .memory = &e->memory,
        .model = e->encodes ? NULL : e->model, /* keys of encoders are not cached */
        .max_tasks = e->n_requests,
        .max_running = e->info.max_seqs,
        .max_step_tokens = e->info.max_step_tokens,
        .max_draft_tokens = e->info.max_draft_tokens,
        .allocator = e->allocator,
    };
    return qr_scheduler_init(&e->scheduler, &scheduler, err);
}

static void init_team_size(struct quire_engine *e)
{
    struct qr_topology topology;
    cpu_set_t allowed;
    const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    qr_topology_read("", known ? &allowed : NULL, &topology);
    qr_team_size_init(&e->team_size, &topology, quire_threads_count(e->threads));
}

/* Allocates everything a step needs besides the KV cache. */
static quire_status reserve_step(struct quire_engine *e, struct quire_error *err)
{
    struct quire_context_params cp;
    context_params(e, &cp);
    QR_TRY(quire_context_create(e->model, &cp, &e->context, err));
    if (!e->encodes)
        QR_TRY(quire_sampler_create(e->vocab_size, e->allocator, &e->sampler, err));
    QR_TRY(init_scheduler(e, err));
    const struct qr_batch_params batch = {
        .n_groups = e->memory.n_groups,
        .max_seqs = e->info.max_seqs,
        .max_tokens = e->info.max_step_tokens,
        .max_blocks = e->memory.max_blocks,
        .max_logits = e->info.max_seqs + e->info.max_draft_tokens,
        .allocator = e->allocator,
    };
    QR_TRY(qr_batch_init(&e->batch, &batch, err));
    QR_TRY(qr_sources_init(e, err));
    init_team_size(e);
    if (e->encodes)
        QR_TRY(qr_vector_reserve(e, err));
    e->logits = qr_alloc(e->allocator, logits_count(e), sizeof *e->logits);
    e->requests = qr_calloc(e->allocator, e->n_requests, sizeof *e->requests);
    e->n_free = e->n_requests;
    return e->logits && e->requests ? QUIRE_OK
                                    : qr_fail(err, QUIRE_E_NOMEM, "no memory for requests");
}

static quire_status set_info(struct quire_engine *e, const struct qr_capacity *capacity,
                             const struct quire_engine_params *p)
{
    struct quire_model_info mi = { .struct_size = sizeof mi };
    QR_TRY(quire_model_get_info(e->model, &mi));
    e->vocab_size = mi.vocab_size;
    e->hidden_size = mi.hidden_size;
    e->needs_token_ids = mi.needs_token_ids;
    e->n_token_types = mi.n_token_types;
    e->n_labels = mi.n_labels;
    e->sigmoid_scores = mi.sigmoid_scores;
    e->encodes = mi.kind == QUIRE_MODEL_ENCODER;
    e->max_source_tokens = capacity->max_source_tokens;
    e->cross_group = mi.cross_group < 0 ? 0 : (uint32_t)mi.cross_group;
    e->decoder_start_id = mi.decoder_start_id;
    e->info = (struct quire_engine_info){
        .struct_size = sizeof e->info,
        .context_length = capacity->context_length,
        .model_context_length = capacity->model_context_length,
        .block_size = capacity->block_size,
        .n_threads = quire_threads_count(e->threads),
        .max_step_tokens = capacity->max_step_tokens,
        .k_dtype = p->k_dtype,
        .v_dtype = p->v_dtype,
        .weight_bytes = mi.weight_bytes,
        .kv_bytes = capacity->kv_bytes - capacity->draft_kv_bytes,
        .kv_budget = capacity->budget,
        .available_bytes = capacity->available,
        .has_chat_template = e->chat_template != NULL,
        .max_seqs = capacity->max_seqs,
        .max_draft_tokens = p->max_draft_tokens,
        .cache_tokens = capacity->cache_tokens,
        .tokenizer_bytes = qr_engine_tokenizer_bytes(e),
        .max_adapter_rank = p->max_adapter_rank,
        .state_bytes = capacity->state_bytes,
        .n_state_checkpoints = capacity->n_checkpoints,
    };
    if (capacity->context_length > capacity->model_context_length)
        qr_log(p->logger, QUIRE_LOG_WARN, "context of %u tokens exceeds the model's %u",
               capacity->context_length, capacity->model_context_length);
    return QUIRE_OK;
}

/* Sets info.context_bytes. */
static quire_status measure_step(struct quire_engine *e, const struct quire_engine_params *p,
                                 struct quire_error *err)
{
    struct quire_context_params cp;
    context_params(e, &cp);
    QR_TRY(quire_context_bytes(e->model, &cp, &e->info.context_bytes, err));
    e->info.context_bytes += (uint64_t)request_count(p) * sizeof *e->requests +
                             qr_scheduler_bytes(request_count(p), e->info.max_seqs);
    if (e->encodes) {
        e->info.context_bytes += qr_vector_buffer_bytes(e);
        return QUIRE_OK;
    }
    /* 16 bytes of the sampler per token of the vocabulary */
    e->info.context_bytes += logits_count(e) * sizeof(float) + (uint64_t)e->vocab_size * 16;
    const struct qr_sequence_memory_params memory = memory_params(e);
    e->info.context_bytes += qr_sequence_memory_bytes(&memory) + qr_sources_bytes(e);
    return QUIRE_OK;
}

/* The KV cache and the pool of recurrent states, each where the model has layers that use it. */
static quire_status create_pools(struct quire_engine *e, const struct qr_capacity *capacity,
                                 const struct quire_engine_params *p, struct quire_error *err)
{
    const struct qr_kv_setup kv = {
        .model = e->model,
        .groups = capacity->groups,
        .n_groups = capacity->n_groups,
        .block_size = capacity->block_size,
        .scales_path = p->kv_scales,
    };
    const struct quire_state_pool_params states = { .struct_size = sizeof states,
                                                    .n_slots = capacity->n_state_slots,
                                                    .state_bytes = capacity->state_size,
                                                    .allocator = p->allocator };
    if (capacity->n_state_slots)
        QR_TRY(quire_state_pool_create(&states, &e->states, err));
    return capacity->n_groups ? qr_engine_create_kv(e, &kv, p, &e->kv, err) : QUIRE_OK;
}

static void destroy_pools(struct quire_engine *e)
{
    quire_kv_destroy(e->kv);
    quire_state_pool_destroy(e->states);
    e->kv = NULL;
    e->states = NULL;
}

static quire_status reserve(struct quire_engine *e, const struct qr_capacity *capacity,
                            const struct quire_engine_params *p, struct quire_error *err)
{
    QR_TRY(set_info(e, capacity, p));
    QR_TRY(create_pools(e, capacity, p, err));
    QR_TRY(measure_step(e, p, err));
    QR_TRY(list_eog(e, err));
    if (!e->dry_run)
        QR_TRY(reserve_step(e, err));
    return qr_draft_model_reserve(e, capacity, p, err);
}

static quire_status open_parts(struct quire_engine *e, const struct quire_engine_params *p,
                               struct quire_error *err)
{
    QR_TRY(open_threads(e, p, err));
    quire_status s = qr_engine_open_tokenizer(e, p, err);
    if (s == QUIRE_OK)
        s = qr_prompt_open_template(e, p->chat_template, err);
    if (s != QUIRE_OK)
        return qr_engine_prefer_model_error(p, s, err);
    QR_TRY(qr_engine_open_model(e, p, err));
    struct qr_capacity capacity;
    QR_TRY(qr_draft_model_open(e, p, err));
    QR_TRY(qr_capacity_init(&capacity, e->model, qr_draft_model_of(e), p, err));
    s = reserve(e, &capacity, p, err);
    if (e->dry_run)
        destroy_pools(e); /* they were created only to measure the contexts */
    qr_capacity_free(&capacity);
    return s;
}

static quire_status open_lock(struct quire_engine *e, struct quire_error *err)
{
    e->event_fd = -1;
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for an engine");
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    int error = pthread_mutex_init(&e->lock, NULL);
    if (!error && (error = pthread_cond_init(&e->events_changed, &attr)))
        pthread_mutex_destroy(&e->lock);
    if (!error && (error = pthread_cond_init(&e->work_changed, &attr))) {
        pthread_cond_destroy(&e->events_changed);
        pthread_mutex_destroy(&e->lock);
    }
    pthread_condattr_destroy(&attr);
    e->lock_ready = error == 0;
    return error ? qr_fail_errno(err, QUIRE_E_NOMEM, error, "no lock for an engine") : QUIRE_OK;
}

static void close_lock(struct quire_engine *e)
{
    if (!e->lock_ready || qr_engine_is_forked(e))
        return;
    if (e->event_fd >= 0)
        close(e->event_fd);
    pthread_cond_destroy(&e->work_changed);
    pthread_cond_destroy(&e->events_changed);
    pthread_mutex_destroy(&e->lock);
}

quire_status quire_engine_open(const struct quire_engine_params *params, struct quire_engine **out,
                               struct quire_error *err)
{
    QR_FP_SCOPE;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    if (!params)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params is NULL");
    struct quire_engine_params p;
    QR_READ_STRUCT(&p, params, pack_cache, "params", err);
    QR_TRY(check_params(&p, err));
    struct quire_engine *e = qr_calloc(p.allocator, 1, sizeof *e);
    if (!e)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for an engine");
    e->handle.kind = QR_KIND_ENGINE;
    e->allocator = p.allocator;
    e->dry_run = p.flags & QUIRE_ENGINE_DRY_RUN;
    if (!e->dry_run)
        e->n_requests = request_count(&p);
    e->target_itl = p.target_itl;
    quire_status s = open_lock(e, err);
    if (s == QUIRE_OK)
        s = qr_adapters_init(&e->adapters, err);
    if (s == QUIRE_OK)
        s = open_parts(e, &p, err);
    if (s == QUIRE_OK)
        s = qr_grammar_cache_init(&e->grammars, e->tokenizer, e->allocator, err);
    if (s == QUIRE_OK)
        s = qr_mask_ahead_init(&e->mask_ahead, err);
    if (s != QUIRE_OK)
        quire_engine_close(e);
    else
        *out = e;
    return s;
}

void quire_engine_close(struct quire_engine *e)
{
    if (qr_handle_is(e, QR_KIND_ENGINE) && qr_engine_in_callback(e))
        return;
    if (!qr_handle_end(e, QR_KIND_ENGINE))
        return;
    qr_engine_stop_thread(e);
    if (qr_engine_is_forked(e)) /* its thread is in the parent process */
        e->mask_ahead = (struct qr_mask_ahead){ 0 };
    for (uint32_t i = 0; e->requests && i < e->n_requests; i++)
        qr_request_destroy(e, &e->requests[i]);
    qr_free(e->allocator, e->requests, e->n_requests, sizeof *e->requests);
    qr_free(e->allocator, e->logits, logits_count(e), sizeof *e->logits);
    qr_free(e->allocator, e->eog, e->n_eog, sizeof *e->eog);
    qr_vector_free_buffers(e);
    qr_batch_free(&e->batch, e->allocator);
    qr_sources_free(e);
    qr_scheduler_free(&e->scheduler);
    qr_sequence_memory_free(&e->memory);
    qr_embedding_table_free(&e->embeddings);
    qr_draft_model_close(e);
    quire_sampler_destroy(e->sampler);
    quire_context_destroy(e->context);
    destroy_pools(e);
    qr_adapters_free(e);
    /* fails only while contexts or adapters exist, and those are gone */
    (void)quire_model_close(e->own_model);
    qr_prompt_close_template(e);
    qr_mask_ahead_free(&e->mask_ahead);
    qr_grammar_cache_free(&e->grammars);
    quire_tokenizer_close(e->own_tokenizer);
    quire_threads_destroy(e->own_threads);
    close_lock(e);
    qr_free(e->allocator, e, 1, sizeof *e);
}

QR_DEFINE_ZERO_INIT(quire_engine_info)

quire_status quire_engine_get_info(const struct quire_engine *engine,
                                   struct quire_engine_info *info)
{
    if (!qr_handle_is(engine, QR_KIND_ENGINE) || !info)
        return QUIRE_E_INVALID_ARG;
    QR_TRY(qr_struct_check_out(info, QR_SIZE_TO(struct quire_engine_info, has_chat_template),
                               "info", NULL));
    qr_struct_write(info, &engine->info, sizeof engine->info);
    return QUIRE_OK;
}

const struct quire_model *quire_engine_model(const struct quire_engine *engine)
{
    return qr_handle_is(engine, QR_KIND_ENGINE) ? engine->model : NULL;
}

const struct quire_tokenizer *quire_engine_tokenizer(const struct quire_engine *engine)
{
    return qr_handle_is(engine, QR_KIND_ENGINE) ? engine->tokenizer : NULL;
}

quire_status quire_engine_default_sampling(const struct quire_engine *engine,
                                           struct quire_sampling_params *sampling)
{
    QR_FP_SCOPE;
    if (!qr_handle_is(engine, QR_KIND_ENGINE) || !sampling)
        return QUIRE_E_INVALID_ARG;
    QR_TRY(qr_struct_check_out(sampling, QR_SIZE_TO(struct quire_sampling_params, seed), "sampling",
                               NULL));
    struct quire_sampling_params s, defaults;
    quire_sampling_params_init(&defaults, sizeof defaults);
    s = defaults;
    struct quire_model_info mi = { .struct_size = sizeof mi };
    QR_TRY(quire_model_get_info(engine->model, &mi));
    if (!isnan(mi.temperature))
        s.temperature = mi.temperature;
    if (!isnan(mi.top_p))
        s.top_p = mi.top_p;
    if (!isnan(mi.min_p))
        s.min_p = mi.min_p;
    if (!isnan(mi.repetition_penalty))
        s.repetition_penalty = mi.repetition_penalty;
    if (mi.top_k >= 0)
        s.top_k = mi.top_k;
    /* ignores invalid recommendations: they would fail every request */
    const bool valid = quire_sampling_validate(&s, engine->vocab_size, NULL) == QUIRE_OK;
    qr_struct_write(sampling, valid ? &s : &defaults, sizeof s);
    return QUIRE_OK;
}
