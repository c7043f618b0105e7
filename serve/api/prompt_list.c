/* SPDX-License-Identifier: Apache-2.0 */
#include "prompt_list.h"
#include <stdio.h>

uint32_t prompt_list_count(const json_t *value, const char *name, uint32_t max,
                           struct api_error *error)
{
    if (json_is_string(value))
        return 1;
    const size_t n = json_array_size(value);
    if (n == 0) {
        api_fail(error, 400, value && !json_is_array(value) ? "invalid_type" : NULL, name,
                 "%s must be a string, or an array of strings, of token ids, or of arrays of token "
                 "ids, that is not empty.",
                 name);
        return 0;
    }
    if (json_is_integer(json_array_get(value, 0)))
        return 1;
    if (n > max) {
        api_fail(error, 400, NULL, name, "%s has %zu items; at most %u are allowed.", name, n,
                 (unsigned)max);
        return 0;
    }
    return (uint32_t)n;
}

static bool set_tokens(struct generation *g, struct quire_request_params *r, json_t *list,
                       const char *name, struct api_error *error)
{
    const size_t n = json_array_size(list);
    int32_t *tokens = generation_alloc(g, (n + 1) * sizeof *tokens);
    if (tokens == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        char param[64];
        snprintf(param, sizeof param, "%s[%zu]", name, i);
        if (!json_is_integer(v))
            return api_fail(error, 400, "invalid_type", param, "%s must be a token id.", param);
        if (json_integer_value(v) < 0 || json_integer_value(v) > INT32_MAX)
            return api_fail(error, 400, NULL, param, "%s is no token id.", param);
        tokens[i] = (int32_t)json_integer_value(v);
    }
    if (n == 0)
        return api_fail(error, 400, NULL, name, "%s is empty.", name);
    r->tokens = tokens;
    r->n_tokens = n;
    return true;
}

/* A string or an array of token ids; `kind` is what the first item of the list is. */
static bool set_prompt(struct generation *g, struct quire_request_params *r, json_t *value,
                       json_type kind, const char *name, struct api_error *error)
{
    if (value != NULL && json_typeof(value) == kind && json_is_array(value))
        return set_tokens(g, r, value, name, error);
    if (value == NULL || json_typeof(value) != kind || !json_is_string(value))
        return api_fail(error, 400, "invalid_type", name, "%s must be %s.", name,
                        kind == JSON_ARRAY ? "an array of token ids" : "a string");
    r->text = json_string_value(value);
    r->text_size = json_string_length(value);
    return true;
}

bool prompt_list_set(struct generation *g, json_t *value, const char *name, struct api_error *error)
{
    json_t *first = json_array_get(value, 0);
    if (json_is_string(value) || json_is_integer(first))
        return set_prompt(g, &g->requests[0], value, json_typeof(value), name, error);
    const json_type kind = json_is_array(first) ? JSON_ARRAY : JSON_STRING;
    for (uint32_t i = 0; i < g->n_requests; i++) {
        char item[64];
        snprintf(item, sizeof item, "%s[%u]", name, (unsigned)i);
        if (!set_prompt(g, &g->requests[i], json_array_get(value, i), kind, item, error))
            return false;
    }
    return true;
}
