/* SPDX-License-Identifier: Apache-2.0 */
#include "ollama_embed.h"
#include "exchange.h"
#include "json_build.h"
#include "ollama_common.h"
#include "openai_answer.h"
#include "prompt_list.h"

enum { MAX_INPUTS = 2048 };

static json_t *vector_json(const struct answer *a)
{
    json_t *vector = json_array();
    for (size_t i = 0; i < a->n_values; i++)
        json_build_append(&vector, json_real(a->values[i]));
    return vector;
}

static void finish(struct generation *g)
{
    json_t *vectors = json_array();
    for (uint32_t i = 0; i < g->n_requests; i++)
        json_build_append(&vectors, vector_json(&g->answers[i]));
    json_t *object = json_pack("{s:s, s:o}", "model", g->model->name, "embeddings", vectors);
    ollama_add_durations(&object, g, false);
    exchange_reply_json(g->exchange, 200, object);
}

static void finish_one(struct generation *g)
{
    exchange_reply_json(g->exchange, 200,
                        json_pack("{s:o}", "embedding", vector_json(&g->answers[0])));
}

static const struct generation_format format = { .input = "input", .finish = finish };
static const struct generation_format one_format = { .input = "prompt", .finish = finish_one };

/* Options of generation do not change vectors. */
static const char *const harmless[] = { "keep_alive", "truncate", "options", NULL };

static bool parse(struct generation *g, const char *input, bool normalize, struct api_error *error)
{
    struct fields f;
    json_t *value = NULL;
    int64_t dimensions = 0;
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
