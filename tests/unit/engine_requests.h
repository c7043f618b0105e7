/* SPDX-License-Identifier: Apache-2.0 */
/* engine_requests.h - fixtures of the engine tests: engines over the tiny reference models,
 * requests and their results. */
#ifndef QUIRE_ENGINE_REQUESTS_H
#define QUIRE_ENGINE_REQUESTS_H
#include "base/utf8.h"
#include "engine/types.h"
#include "quire_cmocka.h"
#include <quire/engine.h>

/* All events of one request, accumulated. */
struct result {
    char text[8192];
    size_t size;
    int32_t tokens[1024];
    size_t n_tokens;
    struct quire_event done;
    struct quire_usage usage; /* done.usage */
    uint32_t prompt_events;
};

static inline struct quire_engine_params params_for(const char *model)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/goldens/gguf/%s", shared_dir(), model);
    struct quire_engine_params p;
    quire_engine_params_init(&p, sizeof p);
    p.model_path = path;
    p.n_threads = 2;
    p.thread_backend = QUIRE_THREADS_PTHREAD;
    return p;
}

static inline struct quire_engine *open_with(const struct quire_engine_params *p)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e;
    const quire_status s = quire_engine_open(p, &e, &err);
    if (s != QUIRE_OK)
        fail_msg("open: %s: %s", quire_status_name(s), err.msg);
    return e;
}

static inline struct quire_engine *open_model(const char *model)
{
    const struct quire_engine_params p = params_for(model);
    return open_with(&p);
}

static const struct quire_sampling_params greedy_sampling = {
    .struct_size = sizeof greedy_sampling,
    .top_p = 1,
    .repetition_penalty = 1,
};

static inline struct quire_request_params greedy(const char *text, uint32_t max_tokens)
{
    struct quire_request_params p;
    quire_request_params_init(&p, sizeof p);
    p.text = text;
    p.text_size = strlen(text);
    p.max_tokens = max_tokens;
    p.sampling = &greedy_sampling;
    return p;
}

static inline quire_request_id submit(struct quire_engine *e, const struct quire_request_params *p)
{
    quire_request_id id;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = quire_engine_submit(e, p, &id, &err);
    if (s != QUIRE_OK)
        fail_msg("submit: %s: %s", quire_status_name(s), err.msg);
    return id;
}

static inline void append_event(const struct quire_event *ev, struct result *r)
{
    assert_non_null(ev->text);
    assert_non_null(ev->message);
    assert_true(qr_utf8_valid((const uint8_t *)ev->text, ev->text_size));
    assert_true(r->size + ev->text_size < sizeof r->text && r->n_tokens + ev->n_tokens <= 1024);
    memcpy(r->text + r->size, ev->text, ev->text_size);
    r->size += ev->text_size;
    r->text[r->size] = 0;
    if (ev->n_tokens)
        memcpy(r->tokens + r->n_tokens, ev->tokens, ev->n_tokens * sizeof(int32_t));
    r->n_tokens += ev->n_tokens;
    r->prompt_events += ev->kind == QUIRE_EVENT_PROMPT;
}

/* Steps and polls until all n requests are done. */
static inline void run_to_completion(struct quire_engine *e, const quire_request_id *ids, size_t n,
                                     struct result *results)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    for (size_t i = 0; i < n; i++)
        results[i] = (struct result){ .size = 0 };
    for (size_t guard = 0, left = n; left; guard++) {
        assert_true(guard < 100000);
        assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
        if (ev.kind == QUIRE_EVENT_NONE) {
            assert_status(QUIRE_OK, quire_engine_step(e, NULL));
            continue;
        }
        size_t i = 0;
        while (i < n && ids[i] != ev.id)
            i++;
        assert_true(i < n);
        append_event(&ev, &results[i]);
        results[i].done = ev;
        results[i].usage = *ev.usage;
        results[i].done.usage = &results[i].usage;
        results[i].done.message = results[i].done.message_data;
        left -= ev.kind == QUIRE_EVENT_DONE;
    }
}

static inline void run_one(struct quire_engine *e, quire_request_id id, struct result *r)
{
    run_to_completion(e, &id, 1, r);
}

static inline void generate(struct quire_engine *e, const struct quire_request_params *p,
                            struct result *r)
{
    run_one(e, submit(e, p), r);
}

static inline void assert_same(const struct result *a, const struct result *b)
{
    assert_int_equal(a->n_tokens, b->n_tokens);
    assert_memory_equal(a->tokens, b->tokens, a->n_tokens * sizeof(int32_t));
    assert_string_equal(a->text, b->text);
    assert_int_equal(a->done.reason, b->done.reason);
}

static const char story[] __attribute__((unused)) =
    "Once upon a time there was a fox who lived under a hill and read old books by the light "
    "of a small lantern, every night until the stars went out.";

static const char template[] __attribute__((unused)) =
    "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}";

static inline struct quire_chat_message message(const char *role, const char *content)
{
    return (struct quire_chat_message){ .role = role,
                                        .content = content,
                                        .content_len = QUIRE_NUL_TERMINATED };
}

#endif
