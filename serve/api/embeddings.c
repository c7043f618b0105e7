/* SPDX-License-Identifier: Apache-2.0 */
#include "embeddings.h"
#include "exchange.h"
#include "fields.h"
#include "generation.h"
#include "json_build.h"
#include "openai_answer.h"
#include "prompt_list.h"
#include "text.h"
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 2048 };

struct embeddings {
    struct openai_answer answer;
    bool base64;
    bool failed;          /* out of memory */
    struct text *vectors; /* [n_requests] JSON of the vectors that are there */
};

/* The vector as base64 of little-endian floats. */
static void write_base64(struct text *out, const float *values, size_t n)
{
    unsigned char *bytes = malloc(n * 4 + 1);
    gnutls_datum_t encoded = { 0 };
    for (size_t i = 0; bytes != NULL && i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], 4);
        for (unsigned k = 0; k < 4; k++)
            bytes[i * 4 + k] = (unsigned char)(bits >> (8 * k));
    }
    const gnutls_datum_t data = { bytes, (unsigned)(n * 4) };
    if (bytes != NULL && gnutls_base64_encode2(&data, &encoded) == 0) {
        text_add_string(out, "\"");
        text_add(out, encoded.data, encoded.size);
        text_add_string(out, "\"");
    } else {
        out->failed = true;
    }
    gnutls_free(encoded.data);
    free(bytes);
}

/* Vectors are written when they come, so that no turn of the event loop writes many. */
static void event(struct generation *g, uint32_t index, struct answer *answer,
                  const struct quire_event *ev)
{
    struct embeddings *e = g->state;
    if (ev->kind != QUIRE_EVENT_VECTOR)
        return;
    if (e->base64)
        write_base64(&e->vectors[index], answer->values, answer->n_values);
    else
        json_build_floats(&e->vectors[index], answer->values, answer->n_values);
    e->failed |= e->vectors[index].failed;
    free(answer->values);
    answer->values = NULL;
}

static void finish(struct generation *g)
{
    struct embeddings *e = g->state;
    const struct generation_usage u = generation_usage(g);
    const unsigned long long tokens = u.prompt_tokens;
    struct text out = { 0 };
    text_add_string(&out, "{\"object\":\"list\",\"data\":[");
    for (uint32_t i = 0; i < g->n_requests; i++) {
        text_format(&out, "%s{\"object\":\"embedding\",\"index\":%u,\"embedding\":", i ? "," : "",
                    (unsigned)i);
        text_add(&out, e->vectors[i].data, e->vectors[i].size);
        text_add_string(&out, "}");
        text_free(&e->vectors[i]);
    }
    text_add_string(&out, "],\"model\":");
    json_build_write(&out, json_string(generation_model_name(g)));
    text_format(&out, ",\"usage\":{\"prompt_tokens\":%llu,\"total_tokens\":%llu}}\n", tokens,
                tokens);
    if (out.failed || e->failed)
        exchange_reply_json(g->exchange, 200, NULL);
    else
        exchange_reply(g->exchange, 200, "application/json", out.data, out.size);
    text_free(&out);
}

static void destroy(struct generation *g)
{
    struct embeddings *e = g->state;
    for (uint32_t i = 0; e != NULL && e->vectors != NULL && i < g->n_requests; i++)
        text_free(&e->vectors[i]);
}

static const struct generation_format format = {
    .event = event, .finish = finish, .destroy = destroy, .input = "input"
};

static bool parse(struct generation *g, struct api_error *error)
{
    static const char *const harmless[] = { "user", "request_id", NULL };
    static const char *const encodings[] = { "float", "base64", NULL };
    struct fields f;
    struct embeddings *e = g->state = generation_alloc(g, sizeof *e);
    json_t *input = NULL;
    unsigned encoding = 0;
    int64_t dimensions = 0;
    bool normalize = true;
    if (e == NULL || (e->vectors = generation_alloc(g, g->n_requests * sizeof *e->vectors)) == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    fields_init(&f, g->body, "", error);
    fields_value(&f, "input", &input);
    if (!prompt_list_set(g, input, "input", error) ||
        !openai_answer_init(&e->answer, g, &f, "embd"))
        return false;
    fields_choice(&f, "encoding_format", encodings, &encoding);
    fields_integer(&f, "dimensions", 1, INT32_MAX, &dimensions);
    fields_boolean(&f, "normalize", &normalize);
    e->base64 = encoding == 1;
    for (uint32_t i = 0; i < g->n_requests; i++) {
        g->requests[i].task = QUIRE_TASK_EMBED;
        g->requests[i].dimensions = (uint32_t)dimensions;
        g->requests[i].normalize = normalize;
    }
    return fields_finish(&f, harmless);
}

void embeddings_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    const uint32_t n =
        body ? prompt_list_count(json_object_get(body, "input"), "input", MAX_INPUTS, &error) : 0;
    openai_start(x, &format, body, n, parse, &error);
}
