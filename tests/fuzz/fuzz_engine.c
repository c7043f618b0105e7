/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_engine.c - engine calls on a small model: submit, step, poll, cancel, bad calls.
 *
 * Requests run together, with priorities, small pools, drafts, beam search, embeddings, callbacks
 * and several answers of which the best is returned. Checks that every request ends with exactly
 * one DONE event, that its tokens, their log-probabilities, its text and its vector are those of
 * the same request alone in another engine, that text is well-formed, that a step does not
 * allocate, and that every block is free or referenced. */
#include "engine/draft_model.h"
#include "engine_request.h"
#include "fuzz.h"
#include "tiny_model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_REQUESTS = 12,
    N_DTYPES = 6,
    ENCODER = N_DTYPES, /* in place of a dtype: the same model with bidirectional attention */
};

struct run {
    struct quire_engine *engine;
    struct fuzz_memory memory;
    unsigned dtype; /* enum quire_kv_dtype, or ENCODER */
    uint32_t n_blocks, context;
    struct engine_request requests[MAX_REQUESTS];
    uint32_t n;
};

static struct fuzz_buffer models[2]; /* decoder, encoder */
static struct quire_engine *alone[N_DTYPES + 1];

static struct quire_engine *open_engine(const struct quire_engine_params *p)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e = NULL;
    const quire_status s = quire_engine_open(p, &e, &err);
    fuzz_check_error(s, &err);
    fuzz_check((s == QUIRE_OK) == (e != NULL), "%s", fuzz_status(s));
    return e;
}

static struct quire_engine_params params_for(unsigned dtype)
{
    struct quire_engine_params p;
    struct fuzz_buffer *model = &models[dtype == ENCODER];
    struct tiny_shape shape = tiny_running;
    shape.bidirectional = dtype == ENCODER;
    if (!model->size)
        tiny_model(&shape, model);
    quire_engine_params_init(&p, sizeof p);
    p.model_data = model->data;
    p.model_bytes = model->size;
    p.n_threads = 1;
    if (dtype != ENCODER)
        p.k_dtype = p.v_dtype = (enum quire_kv_dtype)dtype;
    p.kv_bytes = 4 << 20;
    p.block_size = 16;
    return p;
}

/* ---- Events */

/* Polls one event; false if there is none. */
static bool poll_one(struct quire_engine *e, struct engine_request *requests, uint32_t n)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    fuzz_check(quire_engine_poll(e, &ev, NULL) == QUIRE_OK, "poll failed");
    if (ev.kind == QUIRE_EVENT_NONE)
        return false;
    uint32_t i = 0;
    while (i < n && requests[i].id != ev.id)
        i++;
    fuzz_check(i < n, "an event of an unknown request");
    fuzz_check(!requests[i].params.event_callback, "an event for a callback is polled");
    engine_request_take(&requests[i], &ev);
    return true;
}

/* ---- The same request alone */

static void check_alone(const struct run *run, const struct engine_request *r)
{
    static struct engine_request same;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e = alone[run->dtype];
    if (!e) {
        struct quire_engine_params p = params_for(run->dtype);
        p.context_length = CONTEXT;
        e = alone[run->dtype] = open_engine(&p);
    }
    same = (struct engine_request){ .params = r->params, .n_prompt = r->n_prompt };
    same.params.flags |= QUIRE_REQUEST_NO_REUSE;
    same.params.draft_tokens = 0;
    same.params.event_callback = NULL;
    const quire_status s = quire_engine_submit(e, &same.params, &same.id, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    while (!same.done) {
        fuzz_check(quire_engine_step(e, &err) == QUIRE_OK, "%s", err.msg);
        while (poll_one(e, &same, 1)) {}
    }
    const bool vector = r->params.task != QUIRE_TASK_GENERATE && r->reason == QUIRE_FINISH_STOP;
    fuzz_check(!vector || (r->n_values && r->n_values == same.n_values &&
                           memcmp(r->values, same.values, r->n_values * sizeof *r->values) == 0),
               "another vector than alone: pooling %d", (int)r->params.pooling);
    /* an answer that was cancelled, and any that competed with it, may have another rank */
    if (r->cancelled && (r->params.best_of > 1 || r->params.beam_width))
        return;
    const bool cut = r->reason == QUIRE_FINISH_CANCELLED || r->context_full || same.context_full;
    const size_t n = r->n_tokens < same.n_tokens ? r->n_tokens : same.n_tokens;
    fuzz_check(cut || (r->n_tokens == same.n_tokens && r->reason == same.reason),
               "%zu tokens and %s, alone %zu and %s", r->n_tokens,
               quire_finish_reason_name(r->reason), same.n_tokens,
               quire_finish_reason_name(same.reason));
    fuzz_check(memcmp(r->tokens, same.tokens, n * sizeof *r->tokens) == 0,
               "other tokens than alone: %s, draft_tokens %u, best_of %u, beams %u, flags 0x%x",
               quire_finish_reason_name(r->reason), r->params.draft_tokens, r->params.best_of,
               r->params.beam_width, r->params.flags);
    /* a prompt that was cancelled has NaN where it was not computed */
    fuzz_check(r->reason == QUIRE_FINISH_CANCELLED ||
                   memcmp(r->logprobs, same.logprobs, n * sizeof *r->logprobs) == 0,
               "other log-probabilities than alone: flags 0x%x", r->params.flags);
    fuzz_check(cut || (r->output_size == same.output_size &&
                       memcmp(r->output, same.output, r->output_size) == 0),
               "\"%.*s\", alone \"%.*s\"", (int)r->output_size, r->output, (int)same.output_size,
               same.output);
}

/* ---- Calls */

/* An answer that only one of two contexts cuts short may change which one is the best. */
static void limit_answers(const struct run *run, struct engine_request *r)
{
    struct quire_engine_info info = { .struct_size = sizeof info };
    fuzz_check(quire_engine_get_info(run->engine, &info) == QUIRE_OK, "no info");
    if (r->n_prompt + r->params.max_tokens > info.context_length)
        r->params.best_of = r->params.beam_width = 0;
}

/* A chat request is rendered whenever its tokens can be counted, and has as many. */
static void check_rendered(struct run *run, const struct engine_request *r, quire_status counted)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_prompt *prompt;
    size_t n = 0;
    const quire_status s = quire_engine_render_prompt(run->engine, &r->params, true, &prompt, &err);
    fuzz_check_error(s, &err);
    fuzz_check((s == QUIRE_OK) == (prompt != NULL), "%s", fuzz_status(s));
    fuzz_check(!r->params.messages || s == counted, "rendered: %s, counted: %s", fuzz_status(s),
               fuzz_status(counted));
    if (s != QUIRE_OK)
        return;
    fuzz_check(quire_engine_encode_prompt(run->engine, prompt, NULL, 0, &n, &err) == QUIRE_OK, "%s",
               err.msg);
    fuzz_check(n == r->n_prompt, "%zu tokens, counted %zu", n, (size_t)r->n_prompt);
    quire_chat_prompt_destroy(prompt);
}

static void submit(struct run *run, struct fuzz_input *in)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct engine_request *r = &run->requests[run->n];
    if (run->n == MAX_REQUESTS)
        return;
    engine_request_draw(r, run->dtype == ENCODER, in);
    const quire_status counted =
        quire_engine_count_tokens(run->engine, &r->params, &r->n_prompt, &err);
    fuzz_check_error(counted, &err);
    check_rendered(run, r, counted);
    if (counted == QUIRE_OK)
        limit_answers(run, r);
    const quire_status s = quire_engine_submit(run->engine, &r->params, &r->id, &err);
    fuzz_check_error(s, &err);
    fuzz_check(s != QUIRE_OK || counted == QUIRE_OK, "submitted, but not counted: %s",
               fuzz_status(counted));
    fuzz_check((s == QUIRE_OK) == (r->id != 0), "%s, id %llu", fuzz_status(s),
               (unsigned long long)r->id);
    run->n += s == QUIRE_OK;
}

static void cancel(struct run *run, struct fuzz_input *in)
{
    const uint32_t i = fuzz_below(in, MAX_REQUESTS + 2);
    if (i >= run->n) {
        fuzz_check(quire_request_cancel(run->engine, 1000 + i) == QUIRE_E_RANGE,
                   "an unknown request is cancelled");
    } else if (quire_request_cancel(run->engine, run->requests[i].id) == QUIRE_OK) {
        fuzz_check(!run->requests[i].done, "a request that has ended is cancelled");
        run->requests[i].cancelled = true;
    }
}

static void bad_calls(struct run *run, struct fuzz_input *in)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct {
        struct quire_request_params p;
        uint8_t newer[256]; /* struct_size may be as large */
    } larger = { .newer = { 0 } };
    struct quire_request_params *p = &larger.p;
    quire_request_id id = 1;
    quire_request_params_init(p, sizeof *p);
    p->struct_size = fuzz_chance(in, 30) ? (uint32_t)fuzz_take(in, 1) : p->struct_size;
    p->text = fuzz_chance(in, 50) ? "x" : NULL;
    p->text_size = fuzz_chance(in, 50) ? 1 : 0;
    p->n_tokens = fuzz_chance(in, 30) ? 3 : 0;
    p->n_messages = fuzz_chance(in, 30) ? 1 : 0;
    p->n_stop = fuzz_chance(in, 30) ? 2 : 0;
    p->text_flags = 64;
    const struct quire_prompt_part part = { .n_rows = fuzz_below(in, 3) };
    p->parts = fuzz_chance(in, 20) ? &part : NULL;
    p->n_parts = fuzz_chance(in, 50) ? 1 : 0;
    p->n = fuzz_chance(in, 10) ? 129 : 0;
    p->reserved = fuzz_chance(in, 10);
    p->deadline = fuzz_chance(in, 10) ? (double)NAN : 0;
    const quire_status s = quire_engine_submit(run->engine, p, &id, &err);
    fuzz_check(s != QUIRE_OK && id == 0 && err.msg[0], "%s", fuzz_status(s));
}

static void step(struct run *run)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const size_t calls = run->memory.calls;
    const quire_status s = quire_engine_step(run->engine, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    fuzz_check(run->memory.calls == calls, "a step allocates");
}

static void check_pool(const struct quire_kv_cache *kv)
{
    for (uint32_t g = 0; g < quire_kv_group_count(kv); g++) {
        struct quire_kv_group_config config;
        uint32_t used = 0;
        fuzz_check(quire_kv_get_group(kv, g, &config, NULL) == QUIRE_OK, "no group %u", g);
        for (uint32_t b = 0; b < config.n_blocks; b++)
            used += quire_kv_ref_count(kv, g, (int32_t)b) != 0;
        fuzz_check(used + quire_kv_free_block_count(kv, g) == config.n_blocks,
                   "%u blocks used, %zu free of %u", used, quire_kv_free_block_count(kv, g),
                   config.n_blocks);
    }
}

static void check_blocks(const struct run *run)
{
    check_pool(run->engine->kv); /* NULL for an encoder */
    if (run->engine->draft_model)
        check_pool(run->engine->draft_model->kv);
}

/* The model drafts for itself, with a cache of its own that may be too small. */
static void set_draft_model(struct quire_engine_params *p, struct fuzz_input *in)
{
    static struct quire_model *draft_model;
    static struct quire_tokenizer *tokenizer;
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.data = p->model_data;
    mp.data_bytes = p->model_bytes;
    if (!draft_model &&
        (quire_model_open(&mp, &draft_model, NULL) != QUIRE_OK ||
         quire_tokenizer_open_memory(mp.data, mp.data_bytes, NULL, 0, NULL, &tokenizer, NULL)))
        abort();
    p->draft_model = draft_model;
    p->draft_tokenizer = tokenizer;
    p->draft_cache_tokens = fuzz_below(in, 3) * CONTEXT / 2;
}

static bool open_run(struct run *run, struct fuzz_input *in)
{
    static const uint32_t blocks[] = { 16, 16, 32, 64, 24, 0 };
    memset(run, 0, sizeof *run);
    fuzz_memory_init(&run->memory, 64 << 20);
    run->dtype = fuzz_below(in, N_DTYPES + 1);
    struct quire_engine_params p = params_for(run->dtype);
    p.block_size = FUZZ_PICK(in, blocks);
    p.context_length = fuzz_chance(in, 20) ? 16 + fuzz_below(in, 64) : CONTEXT;
    p.max_step_tokens = fuzz_below(in, 40);
    p.max_requests = fuzz_below(in, MAX_REQUESTS);
    p.max_seqs = fuzz_below(in, 5);
    p.max_draft_tokens = fuzz_below(in, 6);
    if (run->dtype == ENCODER) { /* a step holds the whole context */
        p.max_step_tokens += CONTEXT;
        p.max_draft_tokens = 0;
    }
    p.cache_tokens =
        run->dtype != ENCODER && fuzz_chance(in, 40) ? CONTEXT + fuzz_below(in, CONTEXT) : 0;
    if (p.max_draft_tokens && fuzz_chance(in, 50))
        set_draft_model(&p, in);
    p.allocator = &run->memory.hooks;
    run->engine = open_engine(&p);
    return run->engine != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run run;
    struct fuzz_input in = { data, size };
    if (!open_run(&run, &in)) {
        fuzz_memory_done(&run.memory);
        return 0;
    }
    for (uint32_t calls = 0; in.left && calls < 200; calls++) {
        switch (fuzz_below(&in, 8)) {
        case 0:
        case 1:
            submit(&run, &in);
            break;
        case 2:
            cancel(&run, &in);
            break;
        case 3:
            bad_calls(&run, &in);
            break;
        case 4:
        case 5:
            (void)poll_one(run.engine, run.requests, run.n);
            break;
        default:
            step(&run);
        }
        check_blocks(&run);
    }
    const bool drain = size % 8 != 0; /* else closes with live requests */
    while (drain && quire_engine_active_count(run.engine))
        step(&run);
    while (drain && poll_one(run.engine, run.requests, run.n)) {}
    check_blocks(&run);
    quire_engine_close(run.engine);
    fuzz_memory_done(&run.memory);
    for (uint32_t i = 0; drain && i < run.n; i++) {
        fuzz_check(run.requests[i].done, "request %u has no DONE event", i);
        check_alone(&run, &run.requests[i]);
    }
    return 0;
}
