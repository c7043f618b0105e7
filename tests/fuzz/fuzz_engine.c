/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_engine.c - engine calls on a small model: submit, step, poll, cancel, bad calls.
 *
 * Requests run together, with priorities, small pools, drafts, beam search, and several answers of
 * which the best is returned. Checks that every request ends with exactly one DONE event, that its
 * tokens, their log-probabilities and its text are those of the same request alone in another
 * engine, that text is well-formed, that a step does not allocate, and that every block is free or
 * referenced. */
#include "base/utf8.h"
#include "engine/types.h"
#include "fuzz.h"
#include "tiny_model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_REQUESTS = 12,
    MAX_TEXT = 48,
    MAX_NEW = 24,
    CONTEXT = 128,
    MAX_OUTPUT = 4096,
    N_DTYPES = 6
};

struct request {
    quire_request_id id;
    struct quire_request_params params;
    struct quire_sampling_params sampling;
    struct quire_chat_message messages[2];
    int32_t prompt[MAX_TEXT];
    char text[MAX_TEXT + 1], stop[3];
    const char *stops[1];
    int32_t stop_token;
    int32_t tokens[CONTEXT + 1];
    float logprobs[CONTEXT + 1]; /* of the tokens */
    size_t n_tokens, n_prompt;
    char output[MAX_OUTPUT];
    size_t output_size;
    bool cancelled, done;
    enum quire_finish_reason reason;
    bool context_full;
};

struct run {
    struct quire_engine *engine;
    struct fuzz_memory memory;
    enum quire_kv_dtype dtype;
    uint32_t n_blocks, context;
    struct request requests[MAX_REQUESTS];
    uint32_t n;
};

static struct fuzz_buffer model;
static struct quire_engine *alone[N_DTYPES];

static struct quire_engine *open_engine(const struct quire_engine_params *p)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e = NULL;
    const quire_status s = quire_engine_open(p, &e, &err);
    fuzz_check_error(s, &err);
    fuzz_check((s == QUIRE_OK) == (e != NULL), "%s", fuzz_status(s));
    return e;
}

static struct quire_engine_params params_for(enum quire_kv_dtype dtype)
{
    struct quire_engine_params p;
    if (!model.size)
        tiny_model(&tiny_running, &model);
    quire_engine_params_init(&p, sizeof p);
    p.model_data = model.data;
    p.model_bytes = model.size;
    p.n_threads = 1;
    p.k_dtype = p.v_dtype = dtype;
    p.kv_bytes = 4 << 20;
    p.block_size = 16;
    return p;
}

/* ---- Events */

static void take_event(struct request *r, const struct quire_event *ev)
{
    fuzz_check(!r->done, "an event after DONE");
    fuzz_check(ev->text && ev->message && ev->usage, "a NULL pointer in an event");
    fuzz_check(qr_utf8_valid((const uint8_t *)ev->text, ev->text_size), "ill-formed text");
    fuzz_check(r->n_tokens + ev->n_tokens <= CONTEXT + 1, "too many tokens");
    fuzz_check(!ev->n_logprobs == !ev->logprobs, "%u log-probabilities", ev->n_logprobs);
    if (ev->n_tokens)
        memcpy(r->tokens + r->n_tokens, ev->tokens, ev->n_tokens * sizeof *ev->tokens);
    for (size_t i = 0; i < ev->n_tokens && ev->logprobs; i++)
        r->logprobs[r->n_tokens + i] = ev->logprobs[i * ev->n_logprobs].logprob;
    r->n_tokens += ev->n_tokens;
    fuzz_check(ev->text_size <= MAX_OUTPUT - r->output_size, "too much text");
    if (ev->text_size)
        memcpy(r->output + r->output_size, ev->text, ev->text_size);
    r->output_size += ev->text_size;
    const size_t echoed =
        r->params.flags & QUIRE_REQUEST_ECHO ? (size_t)ev->usage->prompt_tokens : 0;
    fuzz_check(ev->usage->completion_tokens + echoed >= r->n_tokens || ev->kind != QUIRE_EVENT_DONE,
               "usage has %u tokens, events %zu", ev->usage->completion_tokens, r->n_tokens);
    if (ev->kind == QUIRE_EVENT_DONE) {
        r->done = true;
        fuzz_check(r->cancelled || ev->usage->prompt_tokens == r->n_prompt,
                   "%u tokens, %zu were counted", ev->usage->prompt_tokens, r->n_prompt);
        r->reason = ev->reason;
        r->context_full = ev->context_full;
        fuzz_check(ev->reason == QUIRE_FINISH_STOP || ev->reason == QUIRE_FINISH_LENGTH ||
                       (ev->reason == QUIRE_FINISH_CANCELLED && r->cancelled),
                   "request ends with %s: %s", quire_finish_reason_name(ev->reason), ev->message);
    }
}

/* Polls one event; false if there is none. */
static bool poll_one(struct quire_engine *e, struct request *requests, uint32_t n)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    fuzz_check(quire_engine_poll(e, &ev, NULL) == QUIRE_OK, "poll failed");
    if (ev.kind == QUIRE_EVENT_NONE)
        return false;
    uint32_t i = 0;
    while (i < n && requests[i].id != ev.id)
        i++;
    fuzz_check(i < n, "an event of an unknown request");
    take_event(&requests[i], &ev);
    return true;
}

/* ---- The same request alone */

static void check_alone(const struct run *run, const struct request *r)
{
    static struct request same;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e = alone[run->dtype];
    if (!e) {
        struct quire_engine_params p = params_for(run->dtype);
        p.context_length = CONTEXT;
        e = alone[run->dtype] = open_engine(&p);
    }
    same = (struct request){ .params = r->params, .n_prompt = r->n_prompt };
    same.params.flags |= QUIRE_REQUEST_NO_REUSE;
    same.params.draft_tokens = 0;
    const quire_status s = quire_engine_submit(e, &same.params, &same.id, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    while (!same.done) {
        fuzz_check(quire_engine_step(e, &err) == QUIRE_OK, "%s", err.msg);
        while (poll_one(e, &same, 1)) {}
    }
    /* an answer that was cancelled may not be the best one */
    if (r->reason == QUIRE_FINISH_CANCELLED && (r->params.best_of > 1 || r->params.beam_width))
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

static void draw_prompt(struct request *r, struct fuzz_input *in)
{
    static const char *const prefixes[] = { "", "Once upon a time there", "<|im_start|>" };
    struct quire_request_params *p = &r->params;
    size_t n = fuzz_below(in, MAX_TEXT - 24);
    const char *prefix = FUZZ_PICK(in, prefixes);
    const size_t n_prefix = strlen(prefix);
    memcpy(r->text, prefix, n_prefix);
    const uint8_t *bytes = fuzz_take_bytes(in, &n);
    if (n)
        memcpy(r->text + n_prefix, bytes, n);
    n += n_prefix;
    switch (fuzz_below(in, 3)) {
    case 0:
        p->text = r->text;
        p->text_size = n;
        p->text_flags = fuzz_below(in, 8);
        break;
    case 1:
        for (size_t i = 0; i < n; i++)
            r->prompt[i] = (uint8_t)r->text[i];
        if (n && fuzz_chance(in, 5))
            r->prompt[n - 1] = (int32_t)fuzz_take(in, 4);
        p->tokens = r->prompt;
        p->n_tokens = n;
        break;
    default:
        r->messages[0] = (struct quire_chat_message){ .role = "user",
                                                      .content = r->text,
                                                      .content_len = n ? n : 0 };
        r->messages[1] = (struct quire_chat_message){ .role = "assistant", .content = "No." };
        p->messages = r->messages;
        p->n_messages = 1 + fuzz_below(in, 2);
    }
}

/* Beam search, mostly without what contradicts it. */
static void draw_search(struct quire_request_params *p, struct fuzz_input *in)
{
    static const double penalties[] = { 1, 0, 2, -1, (double)NAN };
    p->beam_width = fuzz_below(in, 6);
    p->early_stopping = (enum quire_beam_stopping)fuzz_below(in, 4);
    p->length_penalty = FUZZ_PICK(in, penalties);
    if (!fuzz_chance(in, 5))
        p->draft_tokens = p->best_of = 0;
}

/* Scheduling and drafts, which change no token, and limits of the answer. */
static void draw_options(struct request *r, struct fuzz_input *in)
{
    struct quire_request_params *p = &r->params;
    const uint32_t draws = (uint32_t)fuzz_take(in, 2);
    p->priority = (int32_t)(draws % 3);
    p->client = draws / 3 % 3;
    p->cache_salt = draws / 9 % 2;
    p->draft_tokens = draws / 18 % 6;
    p->best_of = draws / 108 % 4;
    if (fuzz_chance(in, 20))
        p->min_tokens = fuzz_below(in, MAX_NEW + 2);
    if (fuzz_chance(in, 20))
        p->n_logprobs = fuzz_below(in, 22);
    if (p->flags & QUIRE_REQUEST_PROMPT_ONLY && !fuzz_chance(in, 5))
        p->max_tokens = p->min_tokens = p->draft_tokens = p->best_of = 0;
    if (fuzz_chance(in, 25))
        draw_search(p, in);
    if (fuzz_chance(in, 20)) {
        r->stop_token = (int32_t)fuzz_below(in, 300);
        p->stop_tokens = &r->stop_token;
        p->n_stop_tokens = 1;
    }
}

/* An answer that only one of two contexts cuts short may change which one is the best. */
static void limit_answers(const struct run *run, struct request *r)
{
    struct quire_engine_info info = { .struct_size = sizeof info };
    fuzz_check(quire_engine_get_info(run->engine, &info) == QUIRE_OK, "no info");
    if (r->n_prompt + r->params.max_tokens > info.context_length)
        r->params.best_of = r->params.beam_width = 0;
}

static void submit(struct run *run, struct fuzz_input *in)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct request *r = &run->requests[run->n];
    if (run->n == MAX_REQUESTS)
        return;
    memset(r, 0, sizeof *r);
    quire_request_params_init(&r->params, sizeof r->params);
    draw_prompt(r, in);
    r->params.max_tokens = fuzz_below(in, MAX_NEW) + 1;
    r->params.flags = fuzz_below(in, 64);
    r->params.stream = fuzz_below(in, 3);
    quire_sampling_params_init(&r->sampling, sizeof r->sampling);
    r->sampling.temperature = (float)fuzz_below(in, 4) / 2;
    r->sampling.repetition_penalty = 1 + (float)fuzz_below(in, 3);
    r->params.sampling = &r->sampling;
    if (fuzz_chance(in, 30)) {
        r->stop[0] = (char)('a' + fuzz_below(in, 26));
        r->stops[0] = r->stop;
        r->params.stop = r->stops;
        r->params.n_stop = 1;
    }
    draw_options(r, in);
    const quire_status counted =
        quire_engine_count_tokens(run->engine, &r->params, &r->n_prompt, &err);
    fuzz_check_error(counted, &err);
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

static void check_blocks(const struct run *run)
{
    const struct quire_kv_cache *kv = run->engine->kv;
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

static bool open_run(struct run *run, struct fuzz_input *in)
{
    static const uint32_t blocks[] = { 16, 16, 32, 64, 24, 0 };
    memset(run, 0, sizeof *run);
    fuzz_memory_init(&run->memory, 64 << 20);
    run->dtype = (enum quire_kv_dtype)fuzz_below(in, N_DTYPES);
    struct quire_engine_params p = params_for(run->dtype);
    p.block_size = FUZZ_PICK(in, blocks);
    p.context_length = fuzz_chance(in, 20) ? 16 + fuzz_below(in, 64) : CONTEXT;
    p.max_step_tokens = fuzz_below(in, 40);
    p.max_requests = fuzz_below(in, MAX_REQUESTS);
    p.max_seqs = fuzz_below(in, 5);
    p.max_draft_tokens = fuzz_below(in, 6);
    p.cache_tokens = fuzz_chance(in, 40) ? CONTEXT + fuzz_below(in, CONTEXT) : 0;
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
