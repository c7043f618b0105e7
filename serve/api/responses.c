/* SPDX-License-Identifier: Apache-2.0 */
#include "responses.h"
#include "chat_messages.h"
#include "exchange.h"
#include "fields.h"
#include "json_build.h"
#include "openai_answer.h"
#include "response_answer.h"
#include "response_input.h"
#include "response_store.h"
#include "sampling_fields.h"
#include "server.h"
#include "structure_fields.h"
#include "template_fields.h"
#include "tool_fields.h"
#include <stdio.h>
#include <string.h>

enum { MAX_ITEMS = 4096, MAX_LOGPROBS = 20 };

/* ---- The conversation */

/* `input` as messages; NULL: *error. */
static json_t *input_messages(struct fields *f, json_t *input)
{
    json_t *messages = json_array();
    if (json_is_string(input)) {
        json_build_append(&messages, json_pack("{s:s, s:O}", "role", "user", "content", input));
    } else if (json_is_array(input) && json_array_size(input) > 0 &&
               json_array_size(input) <= MAX_ITEMS) {
        for (size_t i = 0; i < json_array_size(input) && f->error->status == 0; i++)
            response_input_add(&messages, json_array_get(input, i), i, f->error);
    } else {
        fields_fail(f, "input", "input must be a string or an array of 1 to %d items.", MAX_ITEMS);
    }
    if (messages == NULL)
        api_fail(f->error, 500, NULL, NULL, "out of memory");
    return messages;
}

/* The input as items, for /input_items. */
static json_t *input_items(json_t *input)
{
    if (json_is_array(input))
        return json_incref(input);
    return json_pack("[{s:s, s:s, s:[{s:s, s:O}]}]", "type", "message", "role", "user", "content",
                     "type", "input_text", "text", input);
}

/* Sets the messages of the request: instructions, earlier turns, input. The input is checked by
 * itself first, so that errors count its items from 0. */
static bool set_messages(struct fields *f, struct generation *g, const json_t *earlier)
{
    struct response *r = g->state;
    struct quire_request_params *request = &g->requests[0];
    const char *instructions = NULL;
    json_t *input = NULL;
    fields_string(f, "instructions", &instructions);
    fields_value(f, "input", &input);
    json_t *messages = f->error->status == 0 ? input_messages(f, input) : NULL;
    r->input = messages ? input_items(input) : NULL;
    r->conversation = earlier ? json_copy((json_t *)earlier) : json_array();
    if (messages != NULL && chat_messages_read(g, request, messages, "input", f->error) &&
        json_array_extend(r->conversation, messages) != 0)
        api_fail(f->error, 500, NULL, NULL, "out of memory");
    json_t *all = json_array();
    if (instructions != NULL)
        json_build_append(&all, json_pack("{s:s, s:s}", "role", "system", "content", instructions));
    r->messages = all; /* the request points into them */
    if (f->error->status == 0 && (all == NULL || json_array_extend(all, r->conversation) != 0))
        api_fail(f->error, 500, NULL, NULL, "out of memory");
    json_decref(messages);
    return f->error->status == 0 && chat_messages_read(g, request, all, "input", f->error);
}

/* ---- Parameters */

static bool read_text(struct fields *f, struct generation *g)
{
    static const char *const verbosities[] = { "medium", NULL };
    struct fields t;
    json_t *text, *object;
    unsigned verbosity;
    if (!fields_object(f, "text", &text))
        return f->error->status == 0;
    fields_init(&t, text, "text", f->error);
    fields_choice(&t, "verbosity", verbosities, &verbosity);
    if (fields_object(&t, "format", &object))
        structure_read_format(f, g, object, "text.format", true);
    return fields_finish(&t, NULL);
}

/* reasoning.effort goes to the template like reasoning_effort of the chat API. */
static bool read_reasoning(struct fields *f, struct generation *g)
{
    static const char *const harmless[] = { "summary", "generate_summary", NULL };
    struct fields r;
    json_t *reasoning;
    const char *effort = NULL;
    if (!fields_object(f, "reasoning", &reasoning))
        return f->error->status == 0;
    fields_init(&r, reasoning, "reasoning", f->error);
    if (fields_string(&r, "effort", &effort) &&
        json_object_set_new(g->body, "reasoning_effort", json_string(effort)) != 0)
        api_fail(f->error, 500, NULL, NULL, "out of memory");
    return fields_finish(&r, harmless);
}

/* `include`: only log-probabilities. */
static bool read_logprobs(struct fields *f, struct generation *g)
{
    struct response *r = g->state;
    struct quire_request_params *request = &g->requests[0];
    json_t *include = NULL;
    int64_t top = 0;
    fields_integer(f, "top_logprobs", 0, MAX_LOGPROBS, &top);
    fields_array(f, "include", 16, &include);
    for (size_t i = 0; i < json_array_size(include); i++) {
        const char *name = json_string_value(json_array_get(include, i));
        if (name == NULL || strcmp(name, "message.output_text.logprobs") != 0)
            return fields_fail(f, "include", "include[%zu] is not supported.", i);
        r->logprobs = true;
    }
    if (top > 0)
        r->logprobs = true;
    if (r->logprobs)
        request->flags |= QUIRE_REQUEST_LOGPROBS;
    request->n_logprobs = (uint32_t)top;
    return f->error->status == 0;
}

static void refuse_unsupported(struct fields *f)
{
    fields_unsupported(f, "background", json_false());
    fields_unsupported(f, "conversation", NULL);
    fields_unsupported(f, "prompt", NULL);
    fields_unsupported(f, "truncation", json_string("disabled"));
}

/* Members of the object that repeat the request, with their defaults. */
static json_t *echo_json(const json_t *body, bool store)
{
    static const char *const names[] = {
        "instructions", "max_output_tokens", "previous_response_id", "temperature", "top_p", "user"
    };
    static const char *const with_default[] = { "metadata", "parallel_tool_calls", "reasoning",
                                                "text",     "tool_choice",         "tools" };
    json_t *echo = json_pack("{s:{}, s:b, s:{s:n, s:n}, s:{s:{s:s}}, s:s, s:[], s:b, s:s, s:b}",
                             "metadata", "parallel_tool_calls", 1, "reasoning", "effort", "summary",
                             "text", "format", "type", "text", "tool_choice", "auto", "tools",
                             "store", store, "truncation", "disabled", "background", 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        json_t *v = json_object_get(body, names[i]);
        json_build_set(&echo, names[i], v ? json_incref(v) : json_null());
    }
    for (size_t i = 0; i < sizeof with_default / sizeof with_default[0]; i++) {
        json_t *v = json_object_get(body, with_default[i]);
        if (v != NULL && !json_is_null(v))
            json_build_set(&echo, with_default[i], json_incref(v));
    }
    return echo;
}

static const char *const harmless[] = { "user",
                                        "metadata",
                                        "service_tier",
                                        "safety_identifier",
                                        "prompt_cache_key",
                                        "prompt_cache_retention",
                                        "max_tool_calls",
                                        NULL };

static bool read_parameters(struct fields *f, struct generation *g)
{
    struct response *r = g->state;
    int64_t max_tokens = 0;
    json_t *metadata;
    r->store = true;
    fields_boolean(f, "store", &r->store);
    if (fields_integer(f, "max_output_tokens", 1, INT32_MAX, &max_tokens))
        g->requests[0].max_tokens = (uint32_t)max_tokens;
    fields_object(f, "metadata", &metadata);
    refuse_unsupported(f);
    if (!openai_answer_read_stream(&r->common, g, f) || !sampling_fields_read(f, g) ||
        !read_text(f, g) || !read_reasoning(f, g) || !template_fields_read(f, g) ||
        !read_logprobs(f, g) || !tool_fields_read(f, g, TOOLS_RESPONSES) ||
        !tool_fields_read_choice(f, g, TOOLS_RESPONSES))
        return false;
    g->output.parse = true;
    if (g->requests[0].n > 1)
        return fields_fail(f, "n", "n must be 1.");
    g->flags |= KEEP_TEXT;
    return true;
}

static bool parse(struct generation *g, struct api_error *error)
{
    struct fields f;
    struct response *r = g->state = generation_alloc(g, sizeof *r);
    const char *previous = NULL;
    const struct stored_response *earlier = NULL;
    if (r == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    fields_init(&f, g->body, "", error);
    if (!openai_answer_init(&r->common, g, &f, "resp") || !read_parameters(&f, g))
        return false;
    if (fields_string(&f, "previous_response_id", &previous)) {
        earlier = response_store_find(g->server->responses, g->exchange->key, previous);
        if (earlier == NULL)
            return api_fail(error, 404, "response_not_found", "previous_response_id",
                            "There is no response %.60s.", previous);
    }
    if (!set_messages(&f, g, earlier ? earlier->conversation : NULL) ||
        !fields_finish(&f, harmless))
        return false;
    r->echo = echo_json(g->body, r->store);
    return r->echo != NULL || api_fail(error, 500, NULL, NULL, "out of memory");
}

void responses_create_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &response_format, body, body != NULL, parse, &error);
}

/* ---- Stored responses */

/* Splits "ID" or "ID/REST". */
static const char *split(const struct exchange *x, char id[64])
{
    const char *slash = strchr(x->path_rest, '/');
    const size_t n = slash ? (size_t)(slash - x->path_rest) : strlen(x->path_rest);
    snprintf(id, 64, "%.*s", (int)(n < 63 ? n : 63), x->path_rest);
    return slash ? slash + 1 : "";
}

static void reply_not_found(struct exchange *x, const char *id)
{
    struct api_error error = { 0 };
    api_fail(&error, 404, "response_not_found", "response_id", "There is no response %s.", id);
    exchange_reply_error(x, &error);
}

void responses_get_route(struct exchange *x)
{
    char id[64];
    const char *rest = split(x, id);
    const struct stored_response *r = response_store_find(x->server->responses, x->key, id);
    if (r == NULL || (rest[0] != '\0' && strcmp(rest, "input_items") != 0))
        reply_not_found(x, x->path_rest);
    else if (rest[0] == '\0')
        exchange_reply_json(x, 200, json_incref(r->response));
    else
        exchange_reply_json(x, 200,
                            json_pack("{s:s, s:O, s:b, s:n, s:n}", "object", "list", "data",
                                      r->input, "has_more", 0, "first_id", "last_id"));
}

void responses_cancel_route(struct exchange *x)
{
    char id[64];
    struct api_error error = { 0 };
    const char *rest = split(x, id);
    if (strcmp(rest, "cancel") != 0 ||
        response_store_find(x->server->responses, x->key, id) == NULL) {
        reply_not_found(x, x->path_rest);
        return;
    }
    api_fail(&error, 400, NULL, NULL,
             "Only background responses can be cancelled: close the "
             "connection of a running one.");
    exchange_reply_error(x, &error);
}

void responses_delete_route(struct exchange *x)
{
    char id[64];
    if (split(x, id)[0] != '\0' || !response_store_remove(x->server->responses, x->key, id))
        reply_not_found(x, x->path_rest);
    else
        exchange_reply_json(
            x, 200, json_pack("{s:s, s:s, s:b}", "id", id, "object", "response", "deleted", 1));
}
