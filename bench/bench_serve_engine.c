/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_engine.c - plays requests against an engine that runs its own thread. */
#include "bench_cache.h"
#include "bench_serve_play.h"
#include "bench_stats.h"
#include <quire/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tokens that a request drafts per step with --draft-model, and all requests together. */
enum { DRAFT_TOKENS = 16, MAX_DRAFT_TOKENS = 128 };

enum { MAX_SCHEMA_BYTES = 1 << 20 };

struct player {
    const struct serve_setup *setup;
    struct quire_engine *engine;
    quire_request_id *ids; /* [n] */
    int32_t *tokens;       /* [longest prompt] scratch */
    char *schema;          /* of --json-schema, or NULL */
    size_t schema_size;    /* bytes */
    uint32_t vocab;
};

/* Ids below 300 are bytes and special tokens in the common vocabularies. */
static int32_t token_id(uint64_t hash, uint32_t vocab)
{
    const uint32_t first = vocab > 600 ? 300 : 0;
    return (int32_t)(first + (hash >> 32) % (vocab - first));
}

static void submit(void *self, uint32_t i)
{
    struct player *p = self;
    const struct workload *w = p->setup->w;
    const struct workload_request *request = &w->requests[i];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_sampling_params greedy;
    struct quire_request_params rp;
    quire_sampling_params_init(&greedy, sizeof greedy);
    greedy.temperature = 0;
    quire_request_params_init(&rp, sizeof rp);
    for (uint32_t k = 0; k < request->prompt; k++)
        p->tokens[k] = token_id(workload_token(w, i, k), p->vocab);
    rp.tokens = p->tokens;
    rp.n_tokens = request->prompt;
    rp.max_tokens = request->answer;
    rp.flags = QUIRE_REQUEST_IGNORE_EOS;
    rp.has_grammar = p->schema != NULL;
    rp.grammar_kind = QUIRE_GRAMMAR_JSON_SCHEMA;
    rp.grammar_flags = p->schema ? QUIRE_GRAMMAR_COMPACT : 0; /* random models go on with blanks */
    rp.grammar_text = p->schema;
    rp.grammar_text_size = p->schema_size;
    rp.sampling = &greedy;
    rp.draft_tokens = p->setup->o->draft_model ? DRAFT_TOKENS : 0;
    rp.user = (void *)(uintptr_t)i;
    p->setup->log->records[i].n_prompt = request->prompt;
    if (quire_engine_submit(p->engine, &rp, &p->ids[i], &err) != QUIRE_OK)
        serve_log_end(p->setup->log, i, SERVE_FAILED, err.msg);
}

static void cancel(void *self, uint32_t i)
{
    struct player *p = self;
    (void)quire_request_cancel(p->engine, p->ids[i]); /* it may have ended meanwhile */
}

static void take_event(struct player *p, const struct quire_event *ev)
{
    struct serve_log *log = p->setup->log;
    const uint32_t i = (uint32_t)(uintptr_t)ev->user;
    if (ev->kind == QUIRE_EVENT_TEXT)
        serve_log_tokens(log, i, (uint32_t)ev->n_tokens, bench_now());
    if (ev->kind != QUIRE_EVENT_DONE)
        return;
    log->records[i].n_cached = ev->usage->cached_tokens;
    log->records[i].queue_seconds = ev->usage->queue_seconds;
    log->records[i].generate_seconds = ev->usage->generate_seconds;
    const bool whole = ev->reason == QUIRE_FINISH_LENGTH && !ev->context_full;
    if (whole || (p->schema && ev->reason == QUIRE_FINISH_STOP))
        serve_log_end(log, i, SERVE_DONE, NULL);
    else if (ev->reason == QUIRE_FINISH_CANCELLED)
        serve_log_end(log, i, SERVE_CANCELLED, NULL);
    else
        serve_log_end(log, i, SERVE_FAILED,
                      ev->message[0] ? ev->message : quire_finish_reason_name(ev->reason));
}

static void wait_for_events(void *self, double seconds)
{
    struct player *p = self;
    struct quire_event ev;
    quire_event_init(&ev, sizeof ev);
    quire_status status = quire_engine_wait(p->engine, 0, seconds, &ev, NULL);
    while (status == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE) {
        take_event(p, &ev);
        status = quire_engine_poll(p->engine, &ev, NULL);
    }
}

/* ---- Opening */

static void longest(const struct workload *w, uint32_t *prompt, uint32_t *sequence)
{
    *prompt = *sequence = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct workload_request *r = &w->requests[i];
        *prompt = r->prompt > *prompt ? r->prompt : *prompt;
        *sequence = r->prompt + r->answer > *sequence ? r->prompt + r->answer : *sequence;
    }
}

/* All that can be queued or running at a time; the cost of an event grows with it. At least 16, the
 * engine's default, so that its default of max_seqs, on which the size of the cache depends, does
 * not depend on the stream. */
static uint32_t max_requests(const struct serve_setup *setup)
{
    uint32_t n = setup->w->concurrency ? setup->w->concurrency : setup->w->n;
    n = n < setup->o->max_seqs ? setup->o->max_seqs : n;
    return n < 16 ? 16 : n;
}

static int open_engine(struct player *p, struct quire_error *err)
{
    const struct bench_options *o = p->setup->o;
    struct quire_engine_params ep;
    quire_engine_params_init(&ep, sizeof ep);
    enum quire_compute modes[3];
    uint32_t prompt;
    if (bench_kv_types(o, "f16", 0, &ep.k_dtype, &ep.v_dtype) < 0 ||
        bench_compute_modes(o, "native", modes) != 1)
        return 64;
    ep.model_path = p->setup->model_path;
    ep.pack_cache = o->pack_cache;
    ep.isa = o->isa;
    ep.compute = modes[0];
    ep.n_threads = o->threads.n ? o->threads.v[0] : 0;
    ep.max_requests = max_requests(p->setup);
    ep.max_step_tokens = o->chunk;
    ep.max_seqs = o->max_seqs;
    ep.cache_tokens = o->cache_tokens;
    ep.draft_model_path = o->draft_model;
    ep.max_draft_tokens = o->draft_model ? MAX_DRAFT_TOKENS : 0;
    ep.target_itl = o->target_itl * 1e-3;
    longest(p->setup->w, &prompt, &ep.context_length);
    quire_status status = quire_engine_open(&ep, &p->engine, err);
    if (status != QUIRE_OK)
        return bench_fail(ep.model_path, status, err);
    p->ids = calloc(p->setup->w->n, sizeof *p->ids);
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): the longest prompt */
    p->tokens = malloc(prompt * sizeof *p->tokens);
    if (!p->ids || !p->tokens)
        return bench_error(71, "no memory");
    status = quire_engine_start(p->engine, err);
    return status == QUIRE_OK ? 0 : bench_fail(ep.model_path, status, err);
}

static int read_schema(struct player *p, const char *path)
{
    char *text = malloc(MAX_SCHEMA_BYTES);
    FILE *f = fopen(path, "rb");
    const size_t size = f && text ? fread(text, 1, MAX_SCHEMA_BYTES, f) : 0;
    const bool bad = !f || ferror(f) || !feof(f);
    if (f)
        fclose(f);
    p->schema = text;
    p->schema_size = size;
    if (!text)
        return bench_error(71, "no memory");
    return bad ? bench_error(66, "--json-schema %s: cannot be read, or not below %d bytes", path,
                             MAX_SCHEMA_BYTES)
               : 0;
}

static void get_result(const struct player *p, struct serve_engine_result *out)
{
    struct quire_engine_info info;
    struct quire_engine_stats stats;
    struct quire_model_info model = { .struct_size = sizeof model };
    quire_engine_info_init(&info, sizeof info);
    quire_engine_stats_init(&stats, sizeof stats);
    *out = (struct serve_engine_result){ .n_threads = 0 };
    if (quire_engine_get_info(p->engine, &info) != QUIRE_OK ||
        quire_engine_get_stats(p->engine, &stats) != QUIRE_OK ||
        quire_model_get_info(quire_engine_model(p->engine), &model) != QUIRE_OK)
        return;
    snprintf(out->model, sizeof out->model, "%.63s", model.name[0] ? model.name : model.arch);
    snprintf(out->weight_type, sizeof out->weight_type, "%.15s", model.weight_type);
    out->n_threads = info.n_threads;
    out->max_seqs = info.max_seqs;
    out->context_length = info.context_length;
    out->cache_tokens = info.cache_tokens;
    out->n_preemptions = stats.n_preemptions;
    out->n_steps = stats.n_steps;
    out->n_drafted = stats.model_drafted_tokens + stats.lookup_drafted_tokens;
    out->n_accepted = stats.model_accepted_tokens + stats.lookup_accepted_tokens;
}

int serve_engine(const struct serve_setup *setup, struct serve_engine_result *result)
{
    struct player p = { .setup = setup };
    struct quire_error err = QUIRE_ERROR_INIT;
    int code = setup->o->json_schema ? read_schema(&p, setup->o->json_schema) : 0;
    if (!code)
        code = open_engine(&p, &err);
    struct quire_model_info model = { .struct_size = sizeof model };
    if (!code && quire_model_get_info(quire_engine_model(p.engine), &model) != QUIRE_OK)
        code = 70;
    if (!code) {
        const struct serve_target target = { &p, submit, wait_for_events, cancel };
        p.vocab = model.vocab_size;
        serve_play(setup->w, &target, setup->log);
        get_result(&p, result);
    }
    quire_engine_close(p.engine);
    free(p.ids);
    free(p.tokens);
    free(p.schema);
    return code;
}
