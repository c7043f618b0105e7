/* SPDX-License-Identifier: Apache-2.0 */
#include "tool_list.h"
#include "json_text.h"
#include "json/parse.h"
#include <stdlib.h>
#include <string.h>

/* The tool object with its name: the member "function", or the value itself. */
static const struct qr_json *function_of(const struct qr_json *value)
{
    const struct qr_json *function = qr_json_get(value, "function");
    return function ? function : value;
}

/* Checks one tool and adds its name. */
static bool add_name(struct tool_list *list, const struct qr_json *value, size_t i,
                     struct text *problem)
{
    const char *type = qr_json_string(qr_json_get(value, "type"));
    const struct qr_json *function = function_of(value);
    const char *name = qr_json_string(qr_json_get(function, "name"));
    if (!qr_json_is_object(value) || !qr_json_is_object(function))
        text_addf(problem, "tools[%zu] is no object", i);
    else if (function != value && type && strcmp(type, "function") != 0)
        text_addf(problem, "tools[%zu].type '%.40s' is not 'function'", i, type);
    else if (!name || !*name)
        text_addf(problem, "tools[%zu] has no name", i);
    else if (tool_list_find(list, name))
        text_addf(problem, "tools[%zu]: '%.60s' is the name of an earlier tool, too", i, name);
    if (problem->size || problem->failed || !name)
        return false;
    struct tool *grown = realloc(list->tools, (list->n + 1) * sizeof *grown);
    if (grown)
        list->tools = grown;
    char *copy = grown ? strdup(name) : NULL;
    if (!copy) {
        text_addf(problem, "out of memory");
        return false;
    }
    list->tools[list->n++] = (struct tool){ copy, false };
    return true;
}

/* Adds the names of all tools; `all` is an array or one tool. */
static bool add_names(struct tool_list *list, const struct qr_json *all, struct text *problem)
{
    if (qr_json_is_object(all))
        return add_name(list, all, 0, problem);
    if (!qr_json_is_array(all) || !qr_json_size(all))
        text_addf(problem, "neither a tool nor an array of tools");
    for (struct qr_json_iter i = qr_json_iterate(all); qr_json_next(&i);)
        if (!add_name(list, i.value, i.index, problem))
            return false;
    return !problem->size && !problem->failed;
}

/* Adds a tool in its wrapped form, with further members if it has them. */
static void add_wrapped(struct text *out, const struct qr_json *tool)
{
    if (function_of(tool) != tool && qr_json_is_string(qr_json_get(tool, "type"))) {
        text_add_json_value(out, tool);
        return;
    }
    text_addf(out, "{\"type\": \"function\", \"function\": ");
    text_add_json_value(out, function_of(tool));
    text_add(out, "}", 1);
}

/* The array of all tools; `all` is an array or one tool. */
static void add_json(struct text *out, const struct qr_json *all)
{
    text_add(out, "[", 1);
    if (qr_json_is_object(all))
        add_wrapped(out, all);
    for (struct qr_json_iter i = qr_json_iterate(all); qr_json_is_array(all) && qr_json_next(&i);) {
        text_add(out, ", ", i.index ? 2 : 0);
        add_wrapped(out, i.value);
    }
    text_add(out, "]", 1);
}

/* Whether the array that was written can be read: wrapping nests a tool deeper than its file. */
static bool is_readable(const struct text *json, struct text *problem)
{
    struct qr_json_error error;
    struct qr_json *again =
        json->failed ? NULL : qr_json_parse(json->data, json->size, 0, NULL, &error);
    if (!again)
        text_addf(problem, "%s", json->failed ? "out of memory" : error.text);
    qr_json_free(again);
    return again != NULL;
}

bool tool_list_parse(struct tool_list *list, const char *text, size_t size, struct text *problem)
{
    struct qr_json_error error;
    struct text json = { 0 };
    *list = (struct tool_list){ 0 };
    struct qr_json *root = qr_json_parse(text, size, 0, NULL, &error);
    if (!root) {
        text_addf(problem, "line %u: %s %s", error.line, error.text, error.key);
        return false;
    }
    const struct qr_json *tools = qr_json_is_object(root) ? qr_json_get(root, "tools") : NULL;
    const bool ok = add_names(list, tools ? tools : root, problem);
    if (ok)
        add_json(&json, tools ? tools : root);
    qr_json_free(root);
    if (!ok || !is_readable(&json, problem)) {
        text_free(&json);
        tool_list_free(list);
        return false;
    }
    list->json = json.data;
    return true;
}

void tool_list_free(struct tool_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->tools[i].name);
    free(list->tools);
    free(list->json);
    *list = (struct tool_list){ 0 };
}

struct tool *tool_list_find(const struct tool_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->tools[i].name, name) == 0)
            return &list->tools[i];
    return NULL;
}
