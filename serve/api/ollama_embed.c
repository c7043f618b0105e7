/* SPDX-License-Identifier: Apache-2.0 */
#include "ollama_embed.h"
#include "exchange.h"
#include "json_build.h"
#include "ollama_common.h"
#include "openai_answer.h"
#include "prompt_list.h"
#include "text.h"
#include <stdlib.h>

enum { MAX_INPUTS = 2048 };

/* JSON of the vectors that are there. */
struct vectors {
    struct text *text; /* [n_requests] */
};

/* Vectors are written when they come, so that no turn of the event loop writes many. */
static void event(struct generation *g, uint32_t index, struct answer *answer,
                  const struct quire_event *ev)
{
    const struct vectors *v = g->state;
    if (ev->kind != QUIRE_EVENT_VECTOR)
        return;
    json_build_floats(&v->text[index], answer->values, answer->n_values);
    free(answer->values);
    answer->values = NULL;
}

static void destroy(struct generation *g)
{
    const struct vectors *v = g->state;
    for (uint32_t i = 0; v != NULL && v->text != NULL && i < g->n_requests; i++)
        text_free(&v->text[i]);
}

/* Sends *out, or the error if memory was out, and frees it. */
static void reply(struct generation *g, struct text *out)
{
    const struct vectors *v = g->state;
    for (uint32_t i = 0; i < g->n_requests; i++)
        out->failed |= v->text[i].failed;
    if (out->failed)
        exchange_reply_json(g->exchange, 200, NULL);
    else
        exchange_reply(g->exchange, 200, "application/json", out->data, out->size);
    text_free(out);
}

static void finish(struct generation *g)
{
    const struct vectors *v = g->state;
    struct text out = { 0 };
    json_t *rest = json_pack("{s:s}", "model", generation_model_name(g));
    ollama_add_durations(&rest, g, false);
    json_build_write(&out, rest);
    if (out.size > 0)
        out.data[--out.size] = '\0'; /* the brace */
    text_add_string(&out, ",\"embeddings\":[");
    for (uint32_t i = 0; i < g->n_requests; i++) {
        text_add_string(&out, i ? "," : "");
        text_add(&out, v->text[i].data, v->text[i].size);
    }
    text_add_string(&out, "]}\n");
    reply(g, &out);
}

static void finish_one(struct generation *g)
{
    const struct vectors *v = g->state;
    struct text out = { 0 };
    text_add_string(&out, "{\"embedding\":");
    text_add(&out, v->text[0].data, v->text[0].size);
    text_add_string(&out, "}\n");
    reply(g, &out);
}

static const struct generation_format format = {
    .input = "input", .event = event, .finish = finish, .destroy = destroy
};
static const struct generation_format one_format = {
    .input = "prompt", .event = event, .finish = finish_one, .destroy = destroy
};

/* Options of generation do not change vectors. */
static const char *const harmless[] = { "keep_alive", "truncate", "options", NULL };

static bool parse(struct generation *g, const char *input, bool normalize, struct api_error *error)
{
    struct fields f;
    struct vectors *v = g->state = generation_alloc(g, sizeof *v);
    json_t *value = NULL;
    int64_t dimensions = 0;
    if (v == NULL || (v->text = generation_alloc(g, g->n_requests * sizeof *v->text)) == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    fields_init(&f, g->body, "", error);
    fields_value(&f, input, &value);
    if (!ollama_read_model(&f, g) || !prompt_list_set(g, value, input, error))
        return false;
    fields_integer(&f, "dimensions", 1, INT32_MAX, &dimensions);
    for (uint32_t i = 0; i < g->n_requests; i++) {
        g->requests[i].task = QUIRE_TASK_EMBED;
        g->requests[i].dimensions = (uint32_t)dimensions;
        g->requests[i].normalize = normalize;
    }
    return fields_finish(&f, harmless);
}

static bool parse_input(struct generation *g, struct api_error *error)
{
    return parse(g, "input", true, error);
}

static bool parse_prompt(struct generation *g, struct api_error *error)
{
    return parse(g, "prompt", false, error);
}

void ollama_embed_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    const uint32_t n =
        body ? prompt_list_count(json_object_get(body, "input"), "input", MAX_INPUTS, &error) : 0;
    openai_start(x, &format, body, n, parse_input, &error);
}

void ollama_embeddings_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    const uint32_t n =
        body ? prompt_list_count(json_object_get(body, "prompt"), "prompt", 1, &error) : 0;
    openai_start(x, &one_format, body, n, parse_prompt, &error);
}
