/* SPDX-License-Identifier: Apache-2.0 */
#include "openai_answer.h"
#include "json_build.h"
#include "metrics.h"
#include "model_list.h"
#include "server.h"
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

json_t *openai_body(const struct exchange *x, struct api_error *error)
{
    return fields_parse(x->body, x->body_size, error);
}

void openai_start(struct exchange *x, const struct generation_format *format, json_t *body,
                  uint32_t n, bool (*parse)(struct generation *g, struct api_error *error),
                  struct api_error *error)
{
    struct generation *g = NULL;
    if (n > 0)
        g = generation_create(x, format, body, n, error);
    else
        json_decref(body);
    if (g == NULL)
        exchange_reply_error(x, error);
    else if (parse(g, error))
        generation_start(g);
    else
        generation_fail(g, error);
}

static void count_ignored(void *user, const char *name) { metrics_ignored_parameter(user, name); }

void openai_count_ignored(struct fields *f, const struct generation *g)
{
    f->ignored = count_ignored;
    f->user = g->server->metrics;
}

bool openai_answer_init(struct openai_answer *a, struct generation *g, struct fields *f,
                        const char *id_prefix)
{
    const char *model = NULL;
    uint64_t random[2];
    openai_count_ignored(f, g);
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return api_fail(f->error, 500, NULL, NULL, "no random numbers");
    snprintf(a->id, sizeof a->id, "%s-%016llx%08llx", id_prefix, (unsigned long long)random[0],
             (unsigned long long)random[1] & 0xffffffff);
    a->created = (long)time(NULL);
    fields_string(f, "model", &model);
    if (f->error->status == 0)
        (void)generation_find_model(g, model, f->error);
    return f->error->status == 0;
}

bool openai_answer_read_stream(struct openai_answer *a, struct generation *g, struct fields *f)
{
    json_t *options;
    fields_boolean(f, "stream", &a->stream);
    fields_boolean(f, "return_progress", &a->return_progress);
    fields_boolean(f, "timings_per_token", &a->timings_per_token);
    if (fields_object(f, "stream_options", &options)) {
        static const char *const harmless[] = { "include_obfuscation", NULL };
        struct fields o;
        fields_init(&o, options, "stream_options", f->error);
        o.ignored = f->ignored;
        o.user = f->user;
        fields_boolean(&o, "include_usage", &a->include_usage);
        fields_boolean(&o, "continuous_usage_stats", &a->continuous_usage);
        if (fields_finish(&o, harmless) && !a->stream)
            fields_fail(f, "stream_options", "stream_options is allowed with stream only.");
    }
    g->flags |= a->stream ? KEEP_ALIVE : KEEP_TEXT;
    return f->error->status == 0;
}

bool openai_read_max_tokens(struct generation *g, struct fields *f, bool allow_zero,
                            int64_t initial)
{
    /* max_completion_tokens is OpenAI's newer name, n_predict llama.cpp's */
    static const char *const names[] = { "n_predict", "max_tokens", "max_completion_tokens" };
    int64_t n = initial;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (fields_integer(f, names[i], -1, INT32_MAX, &n) && n == 0 && !allow_zero)
            fields_fail(f, names[i], "%s must be at least 1, or -1 for no limit.", names[i]);
    g->requests[0].max_tokens = n > 0 ? (uint32_t)n : 0;
    if (n == 0)
        g->requests[0].flags |= QUIRE_REQUEST_PROMPT_ONLY;
    return f->error->status == 0;
}

const char *openai_finish_reason(const struct answer *a)
{
    if (a->reason == QUIRE_FINISH_LENGTH)
        return "length";
    return a->has_calls ? "tool_calls" : "stop";
}

json_t *openai_usage(const struct generation_usage *u)
{
    return json_pack("{s:I, s:I, s:I, s:{s:I}}", "prompt_tokens", (json_int_t)u->prompt_tokens,
                     "completion_tokens", (json_int_t)u->completion_tokens, "total_tokens",
                     (json_int_t)u->prompt_tokens + (json_int_t)u->completion_tokens,
                     "prompt_tokens_details", "cached_tokens", (json_int_t)u->cached_tokens);
}

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

json_t *openai_timings(const struct quire_usage *u)
{
    const double prompt_n = (double)(u->prompt_done - u->cached_tokens), n = u->completion_tokens;
    /* the first token belongs to the time of the prompt */
    const double later = n > 1 ? n - 1 : 0;
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:I, s:f, s:f, s:f}", "cache_n",
                     (json_int_t)u->cached_tokens, "prompt_n", (json_int_t)prompt_n, "prompt_ms",
                     u->prompt_seconds * 1e3, "prompt_per_token_ms",
                     ratio(u->prompt_seconds * 1e3, prompt_n), "prompt_per_second",
                     ratio(prompt_n, u->prompt_seconds), "predicted_n", (json_int_t)n,
                     "predicted_ms", u->generate_seconds * 1e3, "predicted_per_token_ms",
                     ratio(u->generate_seconds * 1e3, later), "predicted_per_second",
                     ratio(later, u->generate_seconds));
}

json_t *openai_object(const struct openai_answer *a, const struct generation *g, const char *object,
                      json_t *choices)
{
    char fingerprint[64];
    snprintf(fingerprint, sizeof fingerprint, "quire-%s-%016llx", quire_version(),
             (unsigned long long)g->model->model_info.fingerprint);
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:o}", "id", a->id, "object", object, "created",
                     (json_int_t)a->created, "model", generation_model_name(g),
                     "system_fingerprint", fingerprint, "choices", choices);
}

/* ---- Streams */

void openai_stream_begin(struct generation *g)
{
    exchange_begin_stream(g->exchange, 200, "text/event-stream; charset=utf-8");
}

static void send_chunk(struct generation *g, json_t *chunk)
{
    exchange_write_event(g->exchange, NULL, chunk);
    g->last_write = loop_now(g->server->loop);
}

/* A chunk of a stream; drops the reference to choices. */
static json_t *chunk_json(const struct openai_answer *a, const struct generation *g,
                          json_t *choices)
{
    json_t *chunk = openai_object(a, g, a->chunk, choices);
    const struct generation_usage u = generation_usage(g);
    if (a->continuous_usage || (a->include_usage && json_array_size(choices) == 0))
        json_build_set(&chunk, "usage", openai_usage(&u));
    else if (a->include_usage)
        json_build_set(&chunk, "usage", json_null());
    return chunk;
}

void openai_stream_write(const struct openai_answer *a, struct generation *g,
                         const struct answer *answer, json_t *choice)
{
    json_t *chunk = chunk_json(a, g, json_pack("[o]", choice));
    if (answer->done || a->timings_per_token)
        json_build_set(&chunk, "timings", openai_timings(&answer->usage));
    send_chunk(g, chunk);
}

void openai_stream_progress(const struct openai_answer *a, struct generation *g,
                            const struct quire_usage *u, json_t *choice)
{
    if (!a->return_progress) {
        json_decref(choice);
        return;
    }
    json_t *chunk = chunk_json(a, g, json_pack("[o]", choice));
    const double seconds = loop_now(g->server->loop) - g->started - u->queue_seconds;
    json_build_set(&chunk, "prompt_progress",
                   json_pack("{s:I, s:I, s:I, s:f}", "total", (json_int_t)u->prompt_tokens, "cache",
                             (json_int_t)u->cached_tokens, "processed", (json_int_t)u->prompt_done,
                             "time_ms", seconds > 0 ? seconds * 1e3 : 0.0));
    send_chunk(g, chunk);
}

void openai_stream_end(const struct openai_answer *a, struct generation *g)
{
    static const char done[] = "data: [DONE]\n\n";
    if (a->include_usage)
        send_chunk(g, chunk_json(a, g, json_array()));
    exchange_write(g->exchange, done, sizeof done - 1);
    exchange_end(g->exchange);
}

void openai_stream_error(struct generation *g, const struct api_error *error)
{
    exchange_write_event(g->exchange, NULL, api_error_json(error, DIALECT_OPENAI, g->exchange->id));
}
