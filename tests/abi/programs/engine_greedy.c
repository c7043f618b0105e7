/* SPDX-License-Identifier: Apache-2.0 */
/* engine_greedy.c - engine API: two engines with different blocks and steps choose the same tokens.
 * Compiled with the headers of an earlier version and linked with the current library.
 * usage: engine_greedy MODEL.gguf */
#include <quire/quire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 24 };

struct answer {
    int32_t tokens[MAX_TOKENS];
    size_t n_tokens;
    char text[4096];
    size_t size;
};

static void check(quire_status s, const struct quire_error *err)
{
    if (s != QUIRE_OK) {
        fprintf(stderr, "%s: %s\n", quire_status_name(s), err->msg);
        exit(1);
    }
}

static void require(bool condition, const char *text)
{
    if (!condition) {
        fprintf(stderr, "engine_greedy: %s\n", text);
        exit(1);
    }
}

static void append(const struct quire_event *event, struct answer *a)
{
    require(a->n_tokens + event->n_tokens <= MAX_TOKENS, "more tokens than max_tokens");
    require(a->size + event->text_size < sizeof a->text, "text too long");
    if (event->n_tokens)
        memcpy(a->tokens + a->n_tokens, event->tokens, event->n_tokens * sizeof *a->tokens);
    a->n_tokens += event->n_tokens;
    memcpy(a->text + a->size, event->text, event->text_size);
    a->size += event->text_size;
}

static void generate(struct quire_engine *engine, struct answer *a)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_chat_message message = { .role = "user",
                                                .content = "What color is the sky?",
                                                .content_len = QUIRE_NUL_TERMINATED };
    struct quire_sampling_params sampling;
    quire_sampling_params_init(&sampling, sizeof sampling);
    sampling.temperature = 0;
    struct quire_request_params params;
    quire_request_params_init(&params, sizeof params);
    params.messages = &message;
    params.n_messages = 1;
    params.max_tokens = MAX_TOKENS;
    params.flags = QUIRE_REQUEST_IGNORE_EOS;
    params.sampling = &sampling;
    quire_request_id id;
    check(quire_engine_submit(engine, &params, &id, &err), &err);
    memset(a, 0, sizeof *a);
    struct quire_event event;
    quire_event_init(&event, sizeof event);
    do {
        check(quire_engine_step(engine, &err), &err);
        while (quire_engine_poll(engine, &event, NULL) == QUIRE_OK &&
               event.kind != QUIRE_EVENT_NONE) {
            append(&event, a);
            if (event.kind == QUIRE_EVENT_DONE) {
                require(event.id == id, "another request");
                require(event.reason == QUIRE_FINISH_LENGTH, "the request did not end by length");
                require(event.usage->completion_tokens == MAX_TOKENS, "usage");
            }
        }
    } while (quire_engine_active_count(engine));
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 64;
    struct quire_error err = QUIRE_ERROR_INIT;
    static struct answer by_path, by_model;

    struct quire_engine_params params;
    quire_engine_params_init(&params, sizeof params);
    params.model_path = argv[1];
    params.thread_backend = QUIRE_THREADS_PTHREAD;
    params.n_threads = 1;
    params.context_length = 256;
    struct quire_engine *engine;
    check(quire_engine_open(&params, &engine, &err), &err);
    struct quire_engine_info info;
    quire_engine_info_init(&info, sizeof info);
    check(quire_engine_get_info(engine, &info), &err);
    require(info.context_length == 256 && info.block_size == 64 && info.has_chat_template, "info");
    generate(engine, &by_path);
    quire_engine_close(engine);

    struct quire_model_params model_params;
    quire_model_params_init(&model_params, sizeof model_params);
    model_params.path = argv[1];
    struct quire_model *model;
    check(quire_model_open(&model_params, &model, &err), &err);
    struct quire_tokenizer *tokenizer;
    check(quire_tokenizer_open(argv[1], NULL, &tokenizer, &err), &err);
    quire_engine_params_init(&params, sizeof params);
    params.model = model;
    params.tokenizer = tokenizer;
    params.chat_template = quire_tokenizer_chat_template(tokenizer, NULL);
    params.thread_backend = QUIRE_THREADS_PTHREAD;
    params.n_threads = 2;
    params.context_length = 512;
    params.block_size = 16;
    params.max_step_tokens = 5;
    check(quire_engine_open(&params, &engine, &err), &err);
    generate(engine, &by_model);
    quire_engine_close(engine);
    quire_tokenizer_close(tokenizer);
    require(quire_model_close(model) == QUIRE_OK, "the model is still in use");

    require(by_path.n_tokens == MAX_TOKENS && by_model.n_tokens == MAX_TOKENS, "number of tokens");
    require(!memcmp(by_path.tokens, by_model.tokens, sizeof by_path.tokens), "other tokens");
    require(by_path.size == by_model.size && !memcmp(by_path.text, by_model.text, by_path.size),
            "other text");
    printf("engine_greedy: %zu equal tokens, library %s\n", by_path.n_tokens, quire_version());
    return 0;
}
