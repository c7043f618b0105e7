/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_server.c - the routes of quire-server, with a small model and without HTTP.
 *
 * Input: a line "METHOD PATH [TURNS]", then the body. The client goes away after so many turns of
 * the event loop; without a number it waits for the answer. Checks that every request is answered
 * exactly once, that answers and events are JSON, that errors have a message, and that no
 * generation and no model in use is left. */
#include "exchange.h"
#include "fuzz.h"
#include "generation.h"
#include "generation_events.h"
#include "json_mutator.h"
#include "keys.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "model_list.h"
#include "response_store.h"
#include "router.h"
#include "server.h"
#include "tiny_model.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_TURNS = 20000, MAX_BODY = 1 << 16 };

static struct server server;

/* The exchange under test. */
static struct {
    struct exchange *x;
    bool streaming, answered;
    unsigned turns, abort_after; /* 0 = never */
} state;

/* ---- Replaces serve/http/exchange.c */

const char *exchange_header(const struct exchange *x, const char *name)
{
    (void)x;
    return strcmp(name, "Accept") == 0 ? "*/*" : NULL;
}

const char *exchange_query(const struct exchange *x, const char *name)
{
    (void)x;
    (void)name;
    return NULL;
}

void exchange_add_header(struct exchange *x, const char *name, const char *value)
{
    fuzz_check(x == state.x && name[0] && value != NULL, "header");
}

/* After its answer an exchange must not be used: freeing it lets the sanitizer check that. */
static void answered(struct exchange *x)
{
    fuzz_check(x == state.x && !state.answered, "answered twice");
    state.answered = true;
    free((char *)x->body);
    free(x);
    state.x = NULL;
}

void exchange_reply(struct exchange *x, int status, const char *type, const void *body, size_t size)
{
    fuzz_check(status >= 200 && status < 600 && !state.streaming, "status %d", status);
    fuzz_check((type != NULL && body != NULL) || size == 0, "body without a type");
    answered(x);
}

static void check_json(json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    fuzz_check(text != NULL, "an answer that is no JSON");
    free(text);
    json_decref(json);
}

void exchange_reply_json(struct exchange *x, int status, json_t *json)
{
    fuzz_check(status >= 200 && status < 600 && !state.streaming, "status %d", status);
    check_json(json);
    answered(x);
}

void exchange_reply_error(struct exchange *x, const struct api_error *error)
{
    fuzz_check(error->message[0] != '\0' && error->status >= 400, "status %d", error->status);
    fuzz_check(error->status != 500 || strcmp(error->message, "out of memory") != 0, "%s",
               error->message);
    exchange_reply_json(x, error->status, api_error_json(error, x->route->dialect, x->id));
}

void exchange_begin_stream(struct exchange *x, int status, const char *type)
{
    fuzz_check(x == state.x && !state.streaming && status == 200 && type != NULL, "stream");
    state.streaming = true;
}

bool exchange_is_streaming(const struct exchange *x)
{
    fuzz_check(x == state.x, "after the answer");
    return state.streaming;
}

void exchange_write(struct exchange *x, const void *data, size_t size)
{
    fuzz_check(x == state.x && state.streaming && (data != NULL || size == 0), "write");
}

void exchange_write_event(struct exchange *x, const char *name, json_t *json)
{
    fuzz_check(x == state.x && state.streaming && (name == NULL || name[0]), "event");
    check_json(json);
}

void exchange_end(struct exchange *x)
{
    fuzz_check(state.streaming, "end without a stream");
    answered(x);
}

/* ---- The server */

static void after_turn(void *user)
{
    (void)user;
    struct exchange *x = state.x;
    state.turns++;
    fuzz_check(state.turns < MAX_TURNS, "no answer");
    if (x != NULL && state.turns == state.abort_after) {
        if (x->aborted != NULL)
            x->aborted(x->user);
        answered(x);
    }
    if (state.answered && server.generations == NULL)
        loop_stop(server.loop);
}

static struct options small_options(const char *model)
{
    struct options o = {
#define SECTION(title)
#define OPTION(kind, field, initial, ...) .field = initial,
#include "options.def"
#undef SECTION
#undef OPTION
    };
    o.models.text[o.models.n++] = model;
    o.context = 48;
    o.threads = 1;
    o.parallel = 8;
    o.max_queue = 64;
    o.kv_bytes = 4 << 20;
    o.response_store = 8;
    o.max_body = MAX_BODY;
    return o;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct fuzz_buffer model = { 0 };
    struct api_error error = { 0 };
    static char path[4096];
    (void)argc;
    (void)argv;
    tiny_model(&tiny_running, &model);
    snprintf(path, sizeof path, "tiny=%s", fuzz_path("server.gguf"));
    fuzz_write_file(path + 5, model.data, model.size);
    fuzz_buffer_free(&model);
    server.options = small_options(path);
    server.loop = loop_create();
    server.log = log_open(LOG_TEXT, QUIRE_LOG_ERROR);
    server.metrics = metrics_create();
    server.responses = response_store_create(server.options.response_store);
    server.keys = keys_open(NULL, &error);
    server.registry = registry_create(&server, generation_events, &error);
    fuzz_check(server.loop && server.log && server.metrics && server.responses && server.keys &&
                   server.registry,
               "%s", error.message);
    loop_after_events(server.loop, after_turn, NULL);
    return 0;
}

static struct exchange *new_exchange(const struct route *route, const char *rest,
                                     const uint8_t *body, size_t size)
{
    struct exchange *x = calloc(1, sizeof *x);
    char *copy = malloc(size + 1);
    fuzz_check(x != NULL && copy != NULL, "no memory");
    memcpy(copy, body, size);
    copy[size] = '\0';
    *x = (struct exchange){ .server = &server,
                            .route = route,
                            .method = route->method,
                            .path = route->path,
                            .path_rest = rest,
                            .body = copy,
                            .body_size = size,
                            .id = "fuzz" };
    x->key = keys_find(server.keys, NULL, NULL);
    x->received = loop_now(server.loop);
    return x;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char line[256], method[16], path[200], allowed[64];
    const char *rest;
    const uint8_t *end = memchr(data, '\n', size);
    if (end == NULL || (size_t)(end - data) >= sizeof line || size > MAX_BODY)
        return -1;
    memcpy(line, data, (size_t)(end - data));
    line[end - data] = '\0';
    unsigned turns = 0;
    if (sscanf(line, "%15s %199s %u", method, path, &turns) < 2)
        return -1;
    const struct route *route = router_find(method, path, &rest, allowed);
    if (route == NULL)
        return -1;
    memset(&state, 0, sizeof state);
    state.abort_after = turns;
    state.x = new_exchange(route, rest, end + 1, size - (size_t)(end + 1 - data));
    route->handler(state.x);
    if (!state.answered || server.generations != NULL)
        loop_run(server.loop);
    fuzz_check(registry_model(server.registry, 0)->n_users == 0, "a model is still held");
    fuzz_check(registry_model(server.registry, 0)->n_answers == 0, "answers are still counted");
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    const uint8_t *end = memchr(data, '\n', size);
    if (end == NULL || seed % 8 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    const size_t line = (size_t)(end + 1 - data);
    return line + json_mutate(data + line, size - line, max_size - line, seed);
}
