/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - scenarios of tokenizer, chat template, sampler and engine. */
#include "scenarios.h"
#include <stdio.h>
#include <string.h>

static const char story[] = "Once upon a time there was a fox who read old books.";

quire_status run_tokenizer(struct run *run)
{
    quire_status s;
    static char path[4200], text[512];
    int32_t ids[128];
    size_t n = 0, size = 0;
    struct quire_tokenizer *tok = NULL;
    struct quire_detokenizer *d = NULL;
    snprintf(path, sizeof path, "%s/goldens/gguf/llama-q8_0.gguf", run->shared);
    const struct quire_tokenizer_params params = { .struct_size = sizeof params,
                                                   .allocator = run->allocator };
    CALL(quire_tokenizer_open(path, &params, &tok, &run->err));
    CALL(quire_tokenizer_encode(tok, story, sizeof story - 1, 0, ids, 128, &n, &run->err));
    add_result(run, ids, n * sizeof *ids);
    CALL(quire_tokenizer_decode(tok, ids, n, 0, text, sizeof text, &size, &run->err));
    add_result(run, text, size);
    CALL(quire_detokenizer_create(tok, 0, &d, &run->err));
    for (size_t i = 0; i < n; i++) {
        const char *piece;
        CALL(quire_detokenizer_push(d, ids[i], &piece, &size, &run->err));
        add_result(run, piece, size);
    }
end:
    DO(quire_detokenizer_destroy(d));
    DO(quire_tokenizer_close(tok));
    return s;
}

/* A tokenizer.json, whose pre-tokenizer is a compiled regular expression. */
quire_status run_tokenizer_json(struct run *run)
{
    static const char json[] =
        "{\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"vocab\":{\"a\":0,\"b\":1,"
        "\"ab\":2,\"<unk>\":3},\"merges\":[\"a b\"]},\"added_tokens\":[{\"id\":3,"
        "\"content\":\"<unk>\",\"special\":true}],"
        "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}}";
    quire_status s;
    int32_t ids[16];
    size_t n = 0;
    struct quire_tokenizer *tok = NULL;
    const struct quire_tokenizer_params params = { .struct_size = sizeof params,
                                                   .allocator = run->allocator };
    CALL(quire_tokenizer_open_memory(json, sizeof json - 1, NULL, 0, &params, &tok, &run->err));
    CALL(quire_tokenizer_encode(tok, "abba ab", 7, 0, ids, 16, &n, &run->err));
    add_result(run, ids, n * sizeof *ids);
end:
    DO(quire_tokenizer_close(tok));
    return s;
}

quire_status run_template(struct run *run)
{
    static const char source[] =
        "{% for m in messages %}{{ m.role }}: {{ m.content | trim | upper }} {{ '%.3f' % (1.1 * 3) "
        "}} {{ 0.1 + 0.2 }} {{ 7 / 3 }} {{ x }} {{ x * 3 }}{% endfor %}";
    quire_status s;
    struct quire_chat_template *t = NULL;
    struct quire_chat_prompt *prompt = NULL;
    struct quire_chat_template_params params;
    quire_chat_template_params_init(&params, sizeof params);
    params.allocator = run->allocator;
    CALL(quire_chat_template_create(source, sizeof source - 1, &params, &t, &run->err));
    const struct quire_chat_message message = { "user", " why? ", QUIRE_NUL_TERMINATED, NULL };
    struct quire_chat_render_args args;
    quire_chat_render_args_init(&args, sizeof args);
    args.messages = &message;
    args.n_messages = 1;
    args.variables_json = "{\"x\": 0.3000001}";
    CALL(quire_chat_template_render(t, &args, &prompt, &run->err));
    size_t n;
    const char *text = quire_chat_prompt_text(prompt, &n);
    add_result(run, text, n);
end:
    DO(quire_chat_prompt_destroy(prompt));
    DO(quire_chat_template_destroy(t));
    return s;
}

quire_status run_sampler(struct run *run)
{
    enum { VOCAB = 300 };
    static float logits[VOCAB];
    quire_status s;
    struct quire_sampler *sampler = NULL;
    struct quire_sampling_params p;
    fill_floats(logits, VOCAB, 13);
    DO(quire_sampling_params_init(&p, sizeof p));
    p.repetition_penalty = 1.1f;
    p.frequency_penalty = 0.1f;
    CALL(quire_sampling_validate(&p, VOCAB, &run->err));
    CALL(quire_sampler_create(VOCAB, run->allocator, &sampler, &run->err));
    int32_t history[64];
    for (uint32_t i = 0; i < 64; i++) {
        const struct quire_sample_args args = { .struct_size = sizeof args,
                                                .logits = logits,
                                                .history = history,
                                                .n_history = i,
                                                .index = i };
        CALL(quire_sampler_sample(sampler, &p, &args, &history[i], &run->err));
    }
    add_result(run, history, sizeof history);
end:
    DO(quire_sampler_destroy(sampler));
    return s;
}

/* Runs a request to its end; its failure is that of the call. */
static quire_status generate(struct run *run, struct quire_engine *engine,
                             const struct quire_request_params *rp)
{
    quire_status s;
    quire_request_id id;
    struct quire_event ev;
    quire_event_init(&ev, sizeof ev);
    size_t n_tokens;
    CALL(quire_engine_count_tokens(engine, rp, &n_tokens, &run->err));
    add_result(run, &n_tokens, sizeof n_tokens);
    CALL(quire_engine_submit(engine, rp, &id, &run->err));
    for (;;) {
        CALL(quire_engine_step(engine, &run->err));
        do {
            CALL(quire_engine_poll(engine, &ev, &run->err));
            add_result(run, ev.text, ev.text_size);
            if (ev.n_tokens)
                add_result(run, ev.tokens, ev.n_tokens * sizeof *ev.tokens);
        } while (ev.kind != QUIRE_EVENT_NONE && ev.kind != QUIRE_EVENT_DONE);
        if (ev.kind == QUIRE_EVENT_DONE)
            break;
    }
    if (ev.reason == QUIRE_FINISH_ERROR) {
        s = ev.status;
        snprintf(run->err.msg, sizeof run->err.msg, "%s", ev.message);
    }
end:
    return s;
}

/* An event of a request with a callback. */
struct delivery {
    struct run *run;
    bool done;
    quire_status status; /* of a request that failed */
};

static quire_status deliver(void *user, struct quire_engine *engine, const struct quire_event *ev)
{
    struct delivery *d = user;
    (void)engine;
    add_result(d->run, ev->text, ev->text_size);
    d->done = ev->kind == QUIRE_EVENT_DONE;
    if (d->done && ev->reason == QUIRE_FINISH_ERROR) {
        d->status = ev->status;
        snprintf(d->run->err.msg, sizeof d->run->err.msg, "%s", ev->message);
    }
    return QUIRE_OK;
}

/* A prompt of text and embeddings, whose events are delivered by a callback. */
static quire_status generate_from_parts(struct run *run, struct quire_engine *engine)
{
    quire_status s;
    enum { N_ROWS = 3 };
    static float rows[N_ROWS * 1024];
    struct delivery d = { .run = run };
    struct quire_model_info info = { .struct_size = sizeof info };
    struct quire_request_params rp;
    quire_request_id id;
    quire_request_params_init(&rp, sizeof rp);
    CALL(quire_model_get_info(quire_engine_model(engine), &info));
    fill_floats(rows, N_ROWS * (size_t)info.hidden_size, 5);
    const struct quire_prompt_part parts[] = {
        { .text = story, .text_size = sizeof story - 1 },
        { .embeddings = rows, .n_rows = N_ROWS, .hidden_size = info.hidden_size },
    };
    rp.parts = parts;
    rp.n_parts = 2;
    rp.max_tokens = 4;
    rp.event_callback = deliver;
    rp.event_user = &d;
    CALL(quire_engine_submit(engine, &rp, &id, &run->err));
    while (!d.done)
        CALL(quire_engine_step(engine, &run->err));
    s = d.status;
end:
    return s;
}

/* draft_tokens: with a draft model, per step; 0 = without. */
static quire_status generate_twice(struct run *run, uint32_t draft_tokens)
{
    quire_status s;
    static char path[4200];
    struct quire_engine *engine = NULL;
    struct quire_engine_params p;
    snprintf(path, sizeof path, "%s/goldens/gguf/llama-q8_0.gguf", run->shared);
    quire_engine_params_init(&p, sizeof p);
    p.model_path = path;
    p.n_threads = 2;
    p.context_length = 256;
    p.allocator = run->allocator;
    p.chat_template = "{{ messages[0].content }}";
    p.draft_model_path = draft_tokens ? path : NULL; /* it drafts for itself */
    p.max_draft_tokens = draft_tokens;
    CALL(quire_engine_open(&p, &engine, &run->err));
    struct quire_sampling_params sampling = { .struct_size = sizeof sampling };
    CALL(quire_engine_default_sampling(engine, &sampling));
    add_result(run, &sampling.temperature, sizeof sampling.temperature);
    struct quire_request_params rp;
    quire_request_params_init(&rp, sizeof rp);
    rp.text = story;
    rp.text_size = sizeof story - 1;
    rp.max_tokens = 8;
    rp.draft_tokens = draft_tokens;
    rp.flags = draft_tokens ? QUIRE_REQUEST_FIXED_DRAFT : 0;
    s = generate(run, engine, &rp);
    if (s == QUIRE_OK)
        s = generate(run, engine, &rp); /* the prompt is cached */
    if (s == QUIRE_OK && !draft_tokens)
        s = generate_from_parts(run, engine);
end:
    DO(quire_engine_close(engine));
    return s;
}

quire_status run_engine(struct run *run) { return generate_twice(run, 0); }

quire_status run_draft_model(struct run *run) { return generate_twice(run, 3); }
