/* SPDX-License-Identifier: Apache-2.0 */
#include "rerank.h"
#include "exchange.h"
#include "fields.h"
#include "generation.h"
#include "json_build.h"
#include "openai_answer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DOCUMENTS = 2048 };

struct rerank {
    struct openai_answer answer;
    uint32_t top_n;
    bool return_documents;
    bool several_labels; /* the scores of a classifier of several labels rank nothing */
    const json_t *documents;
};

/* A string, or with `text_of` an object with the string `text`; otherwise the error names it. */
static const json_t *text_value(const json_t *value, bool text_of, const char *name,
                                struct api_error *error)
{
    const json_t *text = text_of && json_is_object(value) ? json_object_get(value, "text") : value;
    if (!json_is_string(text))
        api_fail(error, 400, "invalid_type", name, "%s must be a string%s.", name,
                 text_of ? " or an object with the string `text`" : "");
    else if (json_string_length(text) == 0)
        api_fail(error, 400, NULL, name, "%s is empty.", name);
    return error->status == 0 ? text : NULL;
}

static void set_pair(struct quire_request_params *r, const json_t *first, const json_t *second,
                     bool raw)
{
    r->task = QUIRE_TASK_SCORE;
    r->text = json_string_value(first);
    r->text_size = json_string_length(first);
    r->text_pair = json_string_value(second);
    r->text_pair_size = json_string_length(second);
    r->raw_scores = raw;
}

/* Whether scores are the outputs of the head as they are. The parameter is vLLM's. */
static bool read_raw(struct fields *f)
{
    bool use_activation = true;
    fields_boolean(f, "use_activation", &use_activation);
    return !use_activation;
}

static void event(struct generation *g, uint32_t index, struct answer *answer,
                  const struct quire_event *ev)
{
    struct rerank *r = g->state;
    (void)index;
    if (ev->kind == QUIRE_EVENT_VECTOR && answer->n_values != 1)
        r->several_labels = true;
}

/* Answers with an error if the model has no single score. */
static bool refuse_labels(struct generation *g)
{
    const struct rerank *r = g->state;
    struct api_error e = { 0 };
    if (!r->several_labels)
        return false;
    api_fail(&e, 400, NULL, "model", "The model gives %zu scores for a text, not one.",
             g->answers[0].n_values);
    exchange_reply_error(g->exchange, &e);
    return true;
}

static json_t *usage_json(const struct generation *g)
{
    const struct generation_usage u = generation_usage(g);
    return json_pack("{s:I, s:I}", "prompt_tokens", (json_int_t)u.prompt_tokens, "total_tokens",
                     (json_int_t)u.prompt_tokens);
}

/* ---- Rerank */

struct ranked {
    float score;
    uint32_t index;
};

/* The highest score first, equal ones in the order of the documents. */
static int compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static json_t *result_json(const struct rerank *r, const struct ranked *d)
{
    json_t *result = json_pack("{s:I, s:o}", "index", (json_int_t)d->index, "relevance_score",
                               json_build_logprob(d->score));
    json_t *document = json_array_get(r->documents, d->index);
    if (r->return_documents && json_is_string(document))
        json_build_set(&result, "document", json_pack("{s:O}", "text", document));
    else if (r->return_documents)
        json_build_set(&result, "document", json_incref(document));
    return result;
}

static void finish_rerank(struct generation *g)
{
    const struct rerank *r = g->state;
    struct ranked *ranked = generation_alloc(g, g->n_requests * sizeof *ranked);
    json_t *results = ranked ? json_array() : NULL;
    if (refuse_labels(g)) {
        json_decref(results);
        return;
    }
    for (uint32_t i = 0; ranked != NULL && i < g->n_requests; i++)
        ranked[i] = (struct ranked){ g->answers[i].values[0], i };
    if (ranked != NULL)
        qsort(ranked, g->n_requests, sizeof *ranked, compare);
    for (uint32_t i = 0; results != NULL && i < r->top_n && i < g->n_requests; i++)
        json_build_append(&results, result_json(r, &ranked[i]));
    exchange_reply_json(g->exchange, 200,
                        json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", r->answer.id, "object", "list",
                                  "model", g->model->name, "results", results, "usage",
                                  usage_json(g)));
}

static const struct generation_format rerank_format = { .event = event,
                                                        .finish = finish_rerank,
                                                        .input = "documents" };

static bool parse_rerank(struct generation *g, struct api_error *error)
{
    static const char *const harmless[] = { "user", "request_id", NULL };
    struct fields f;
    struct rerank *r = g->state = generation_alloc(g, sizeof *r);
    json_t *query = NULL, *documents = NULL;
    int64_t top_n = 0;
    if (r == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    r->return_documents = true;
    fields_init(&f, g->body, "", error);
    if (!openai_answer_init(&r->answer, g, &f, "rerank"))
        return false;
    fields_value(&f, "query", &query);
    fields_array(&f, "documents", MAX_DOCUMENTS, &documents);
    fields_integer(&f, "top_n", 0, INT32_MAX, &top_n);
    fields_boolean(&f, "return_documents", &r->return_documents);
    const bool raw = read_raw(&f);
    const json_t *first = text_value(query, true, "query", error);
    for (uint32_t i = 0; i < g->n_requests && error->status == 0; i++) {
        char name[64];
        snprintf(name, sizeof name, "documents[%u]", (unsigned)i);
        set_pair(&g->requests[i], first,
                 text_value(json_array_get(documents, i), true, name, error), raw);
    }
    r->documents = documents;
    r->top_n = top_n ? (uint32_t)top_n : UINT32_MAX;
    return fields_finish(&f, harmless);
}

/* ---- Score */

static void finish_score(struct generation *g)
{
    const struct rerank *r = g->state;
    if (refuse_labels(g))
        return;
    json_t *data = json_array();
    for (uint32_t i = 0; i < g->n_requests; i++)
        json_build_append(&data,
                          json_pack("{s:I, s:s, s:o}", "index", (json_int_t)i, "object", "score",
                                    "score", json_build_logprob(g->answers[i].values[0])));
    exchange_reply_json(g->exchange, 200,
                        json_pack("{s:s, s:s, s:I, s:s, s:o, s:o}", "id", r->answer.id, "object",
                                  "list", "created", (json_int_t)r->answer.created, "model",
                                  g->model->name, "data", data, "usage", usage_json(g)));
}

static const struct generation_format score_format = { .event = event,
                                                       .finish = finish_score,
                                                       .input = "text_2" };

/* Text i of a string or of an array, of which one item stands for all. */
static const json_t *side(const json_t *value, uint32_t i, const char *name,
                          struct api_error *error)
{
    char item[64];
    if (!json_is_array(value))
        return text_value(value, false, name, error);
    if (json_array_size(value) == 1)
        i = 0;
    snprintf(item, sizeof item, "%s[%u]", name, (unsigned)i);
    return text_value(json_array_get(value, i), false, item, error);
}

static bool parse_score(struct generation *g, struct api_error *error)
{
    static const char *const harmless[] = { "user", "request_id", NULL };
    struct fields f;
    struct rerank *r = g->state = generation_alloc(g, sizeof *r);
    json_t *texts[2] = { NULL, NULL };
    if (r == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    fields_init(&f, g->body, "", error);
    if (!openai_answer_init(&r->answer, g, &f, "score"))
        return false;
    fields_value(&f, "text_1", &texts[0]);
    fields_value(&f, "text_2", &texts[1]);
    const bool raw = read_raw(&f);
    for (uint32_t i = 0; i < g->n_requests && error->status == 0; i++) {
        const json_t *first = side(texts[0], i, "text_1", error);
        const json_t *second = side(texts[1], i, "text_2", error);
        set_pair(&g->requests[i], first, second, raw);
    }
    return fields_finish(&f, harmless);
}

/* ---- Routes */

/* Number of texts; 0: *error. */
static uint32_t count_texts(const json_t *value, bool may_be_single, const char *name,
                            struct api_error *error)
{
    const size_t n = may_be_single && json_is_string(value) ? 1 : json_array_size(value);
    if (n > 0 && n <= MAX_DOCUMENTS)
        return (uint32_t)n;
    api_fail(error, 400, value && n == 0 && !json_is_array(value) ? "invalid_type" : NULL, name,
             "%s must be %san array of 1 to %d texts.", name, may_be_single ? "a string or " : "",
             MAX_DOCUMENTS);
    return 0;
}

/* Number of pairs of a request for scores; 0: *error. */
static uint32_t count_pairs(const json_t *body, struct api_error *error)
{
    const uint32_t a = count_texts(json_object_get(body, "text_1"), true, "text_1", error);
    const uint32_t b = a ? count_texts(json_object_get(body, "text_2"), true, "text_2", error) : 0;
    if (b > 0 && a > 1 && a != b) {
        api_fail(error, 400, NULL, "text_2",
                 "text_1 has %u texts and text_2 has %u: they must be 1 and any number, or equally "
                 "many.",
                 (unsigned)a, (unsigned)b);
        return 0;
    }
    return b;
}

void rerank_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    const uint32_t n =
        body ? count_texts(json_object_get(body, "documents"), false, "documents", &error) : 0;
    openai_start(x, &rerank_format, body, n, parse_rerank, &error);
}

void score_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &score_format, body, body ? count_pairs(body, &error) : 0, parse_score, &error);
}
