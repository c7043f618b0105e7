/* SPDX-License-Identifier: Apache-2.0 */
#include "completions.h"
#include "exchange.h"
#include "fields.h"
#include "generation.h"
#include "json_build.h"
#include "logprobs.h"
#include "openai_answer.h"
#include "prompt_list.h"
#include "sampling_fields.h"

enum { MAX_PROMPTS = 64, DEFAULT_MAX_TOKENS = 16, MAX_LOGPROBS = 20 };

struct completion {
    struct openai_answer answer;
    bool logprobs;
    bool failed;                         /* out of memory */
    struct logprobs_position *positions; /* [n_positions], with logprobs */
    uint32_t n_positions;                /* prompts times answers */
};

/* Index of an answer in the list of choices. */
static uint32_t choice_index(const struct generation *g, const struct answer *answer)
{
    return (uint32_t)(answer - g->answers);
}

static void started(struct generation *g)
{
    const struct completion *c = g->state;
    if (c->answer.stream)
        openai_stream_begin(g);
}

/* Drops the reference to logprobs. */
static json_t *choice_json(uint32_t index, const char *text, size_t size, json_t *logprobs,
                           const char *reason)
{
    return json_pack("{s:s%, s:I, s:o, s:s?}", "text", text, size, "index", (json_int_t)index,
                     "logprobs", logprobs, "finish_reason", reason);
}

static void text_event(struct generation *g, uint32_t index, struct answer *answer,
                       const struct quire_event *ev)
{
    struct completion *c = g->state;
    const uint32_t choice = choice_index(g, answer);
    json_t *logprobs = json_null();
    if (c->logprobs)
        logprobs = logprobs_completion(quire_engine_tokenizer(g->model->engine),
                                       &g->requests[index], ev, &c->positions[choice]);
    if (!c->answer.stream) {
        if (c->logprobs && !logprobs_extend(&answer->data, logprobs))
            c->failed = true;
    } else if (ev->text_size > 0 || json_array_size(json_object_get(logprobs, "tokens")) > 0 ||
               logprobs == NULL) {
        openai_stream_write(&c->answer, g, answer,
                            choice_json(choice, ev->text, ev->text_size, logprobs, NULL));
    } else {
        json_decref(logprobs);
    }
}

static void event(struct generation *g, uint32_t index, struct answer *answer,
                  const struct quire_event *ev)
{
    const struct completion *c = g->state;
    if (ev->kind == QUIRE_EVENT_TEXT)
        text_event(g, index, answer, ev);
    else if (!c->answer.stream)
        return;
    else if (ev->kind == QUIRE_EVENT_PROMPT)
        openai_stream_progress(&c->answer, g, ev->usage,
                               choice_json(choice_index(g, answer), "", 0, json_null(), NULL));
    else if (ev->kind == QUIRE_EVENT_DONE)
        openai_stream_write(
            &c->answer, g, answer,
            choice_json(choice_index(g, answer), "", 0, json_null(), openai_finish_reason(answer)));
}

static void finish(struct generation *g)
{
    struct completion *c = g->state;
    if (c->answer.stream) {
        openai_stream_end(&c->answer, g);
        return;
    }
    json_t *choices = c->failed ? NULL : json_array();
    for (uint32_t i = 0; i < g->n_requests * g->choices; i++) {
        const struct answer *a = &g->answers[i];
        json_t *logprobs = a->data ? json_incref(a->data) : json_null();
        json_build_append(&choices, choice_json(i, a->text.data ? a->text.data : "", a->text.size,
                                                logprobs, openai_finish_reason(a)));
    }
    const struct generation_usage u = generation_usage(g);
    json_t *answer = openai_object(&c->answer, g, c->answer.object, choices);
    json_build_set(&answer, "usage", openai_usage(&u));
    json_build_set(&answer, "timings", openai_timings(&g->answers[0].usage));
    exchange_reply_json(g->exchange, 200, answer);
}

static void destroy(struct generation *g)
{
    struct completion *c = g->state;
    for (uint32_t i = 0; c != NULL && i < c->n_positions; i++)
        logprobs_position_free(&c->positions[i]);
}

static const struct generation_format format = {
    .started = started,
    .event = event,
    .finish = finish,
    .stream_error = openai_stream_error,
    .destroy = destroy,
    .input = "prompt",
};

/* echo and logprobs. The settings of the first request become those of all. */
static bool read_output(struct fields *f, struct generation *g, struct completion *c)
{
    struct quire_request_params *r = &g->requests[0];
    bool echo = false;
    int64_t logprobs = 0;
    const char *suffix = "";
    fields_boolean(f, "echo", &echo);
    if (fields_integer(f, "logprobs", 0, MAX_LOGPROBS, &logprobs)) {
        c->logprobs = true;
        r->flags |= QUIRE_REQUEST_LOGPROBS;
        r->n_logprobs = (uint32_t)logprobs;
    }
    if (echo)
        r->flags |= QUIRE_REQUEST_ECHO;
    if (fields_string(f, "suffix", &suffix) && suffix[0] != '\0')
        fields_fail(f, "suffix", "suffix is not supported: the text cannot be inserted before it.");
    if (f->error->status != 0 || !c->logprobs)
        return f->error->status == 0;
    const uint32_t n = g->n_requests * r->n;
    c->positions = generation_alloc(g, n * sizeof *c->positions);
    if (c->positions == NULL)
        return api_fail(f->error, 500, NULL, NULL, "out of memory");
    c->n_positions = n;
    return true;
}

/* How the text of prompts becomes tokens: as in llama.cpp and vLLM the client owns all of it, also
 * the control tokens in it. */
static void read_text_flags(struct fields *f, struct generation *g)
{
    bool add_special = true, parse_special = true;
    fields_boolean(f, "add_special_tokens", &add_special);
    fields_boolean(f, "parse_special", &parse_special);
    for (uint32_t i = 0; i < g->n_requests; i++)
        g->requests[i].text_flags = (add_special ? QUIRE_ENCODE_ADD_BOS : 0u) |
                                    (parse_special ? QUIRE_ENCODE_PARSE_SPECIAL : 0u);
}

/* Without a seed equal prompts get different answers. With one, each prompt gets the answer that it
 * gets alone. */
static void set_streams(struct fields *f, struct generation *g)
{
    json_t *seed;
    for (uint32_t i = 0; i < g->n_requests && !fields_value(f, "seed", &seed); i++)
        g->requests[i].stream = i * g->requests[0].n;
}

static bool parse(struct generation *g, struct api_error *error)
{
    static const char *const harmless[] = { "user", "id_slot", "request_id", NULL };
    struct fields f;
    struct completion *c = g->state = generation_alloc(g, sizeof *c);
    json_t *prompt = NULL;
    if (c == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    c->answer.object = c->answer.chunk = "text_completion";
    fields_init(&f, g->body, "", error);
    fields_value(&f, "prompt", &prompt);
    if (!prompt_list_set(g, prompt, "prompt", error) ||
        !openai_answer_init(&c->answer, g, &f, "cmpl") ||
        !openai_answer_read_stream(&c->answer, g, &f) || !sampling_fields_read(&f, g) ||
        !openai_read_max_tokens(g, &f, true, DEFAULT_MAX_TOKENS) || !read_output(&f, g, c))
        return false;
    read_text_flags(&f, g);
    set_streams(&f, g);
    return fields_finish(&f, harmless);
}

void completions_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    const uint32_t n =
        body ? prompt_list_count(json_object_get(body, "prompt"), "prompt", MAX_PROMPTS, &error)
             : 0;
    openai_start(x, &format, body, n, parse, &error);
}
