/* SPDX-License-Identifier: Apache-2.0 */
#include "tool_fields.h"
#include "json_build.h"
#include "template_fields.h"
#include <stdio.h>
#include <string.h>

enum { MAX_TOOLS = 512, MAX_NAME = 256 };

/* ---- Tools ---- */

/* Name and parameters of a tool, checked: {"name", "description", "parameters", "strict"}. */
static json_t *read_function(struct fields *f, const char *schema_name, const char *const *harmless)
{
    const char *name = NULL, *description = NULL;
    json_t *parameters = NULL;
    bool strict;
    if (!fields_string(f, "name", &name) || name[0] == '\0' || strlen(name) > MAX_NAME)
        fields_fail(f, "name", "%s.name must be a string of 1 to %d bytes.", f->path, MAX_NAME);
    fields_string(f, "description", &description);
    fields_object(f, schema_name, &parameters);
    fields_boolean(f, "strict", &strict);
    if (!fields_finish(f, harmless))
        return NULL;
    json_t *function = json_pack("{s:s}", "name", name);
    if (description != NULL)
        json_build_set(&function, "description", json_string(description));
    if (parameters != NULL)
        json_build_set(&function, "parameters", json_incref(parameters));
    else
        json_build_set(&function, "parameters",
                       json_pack("{s:s, s:{}}", "type", "object", "properties"));
    return function;
}

/* One tool in OpenAI's notation. NULL: the error is set, or out of memory. */
static json_t *read_tool(struct fields *f, json_t *tool, size_t index, enum tool_notation notation)
{
    static const char *const types[] = { "function", "custom", NULL };
    static const char *const anthropic[] = { "cache_control", "input_examples",
                                             "eager_input_streaming", NULL };
    struct fields t, inner;
    char path[48], inner_path[64];
    json_t *function = tool;
    unsigned type = 0;
    snprintf(path, sizeof path, "tools[%zu]", index);
    if (!fields_init(&t, tool, path, f->error))
        return NULL;
    t.ignored = f->ignored;
    t.user = f->user;
    fields_choice(&t, "type", types, &type);
    if ((type == 1) != (notation == TOOLS_ANTHROPIC) && json_object_get(tool, "type") != NULL) {
        fields_fail(&t, "type", "%s.type is not supported: only functions are.", path);
        return NULL;
    }
    if (notation == TOOLS_RESPONSES)
        function = read_function(&t, "parameters", NULL);
    else if (notation == TOOLS_ANTHROPIC)
        function = read_function(&t, "input_schema", anthropic);
    else if (fields_object(&t, "function", &function)) {
        snprintf(inner_path, sizeof inner_path, "%s.function", path);
        fields_init(&inner, function, inner_path, f->error);
        function = fields_finish(&t, NULL) ? read_function(&inner, "parameters", NULL) : NULL;
    } else {
        fields_fail(&t, "function", "%s.function is missing.", path);
        return NULL;
    }
    return function ? json_pack("{s:s, s:o}", "type", "function", "function", function) : NULL;
}

static const char *tool_name(const json_t *tools, size_t index)
{
    const json_t *function = json_object_get(json_array_get(tools, index), "function");
    return json_string_value(json_object_get(function, "name"));
}

static bool same_name(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

/* The index of the tool with this name, or the number of tools. */
static size_t find_tool(const json_t *tools, const char *name)
{
    size_t i = 0;
    while (i < json_array_size(tools) && !same_name(tool_name(tools, i), name))
        i++;
    return i;
}

bool tool_fields_read(struct fields *f, struct generation *g, enum tool_notation notation)
{
    json_t *tools = NULL;
    if (!fields_array(f, "tools", MAX_TOOLS, &tools) || json_array_size(tools) == 0)
        return f->error->status == 0;
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(tools) && f->error->status == 0; i++) {
        json_t *tool = read_tool(f, json_array_get(tools, i), i, notation);
        char path[64];
        snprintf(path, sizeof path, "tools[%zu]", i);
        if (tool == NULL && f->error->status == 0)
            api_fail(f->error, 500, NULL, NULL, "out of memory");
        json_build_append(&list, tool);
        if (list != NULL && find_tool(list, tool_name(list, i)) < i)
            api_fail(f->error, 400, NULL, path, "%s has the name of another tool: %.100s.", path,
                     tool_name(list, i));
    }
    if (f->error->status == 0)
        g->requests[0].tools_json = template_fields_dump(g, list, f->error);
    g->tools = list; /* dropped with the generation */
    return f->error->status == 0;
}

/* ---- Choice ---- */

bool tool_fields_set_choice(struct generation *g, enum quire_tool_choice choice, const char *name,
                            const char *param, struct api_error *error)
{
    struct quire_request_params *r = &g->requests[0];
    const bool needs_tools =
        choice == QUIRE_TOOL_CHOICE_REQUIRED || choice == QUIRE_TOOL_CHOICE_NAMED;
    if (needs_tools && r->tools_json == NULL)
        return api_fail(error, 400, NULL, param, "%s needs tools.", param);
    if (choice == QUIRE_TOOL_CHOICE_NAMED && find_tool(g->tools, name) == json_array_size(g->tools))
        return api_fail(error, 400, NULL, param, "%s: there is no tool %.100s.", param, name);
    g->output.tool_choice = choice;
    g->output.tool_name = name;
    return true;
}

/* {"type": "function", "function": {"name"}}, in the responses API {"type": "function", "name"}. */
static bool read_named(struct fields *f, struct generation *g, json_t *object,
                       enum tool_notation notation)
{
    static const char *const types[] = { "function", NULL };
    struct fields c;
    json_t *function = object;
    unsigned type;
    fields_init(&c, object, "tool_choice", f->error);
    if (!fields_choice(&c, "type", types, &type))
        return fields_fail(&c, "type", "tool_choice.type must be function.");
    if (notation == TOOLS_OPENAI && !fields_object(&c, "function", &function))
        return fields_fail(&c, "function", "tool_choice.function is missing.");
    const char *name = json_string_value(json_object_get(function, "name"));
    if (name == NULL)
        return fields_fail(f, "tool_choice", "tool_choice must name a function.");
    return tool_fields_set_choice(g, QUIRE_TOOL_CHOICE_NAMED, name, "tool_choice", f->error);
}

bool tool_fields_read_choice(struct fields *f, struct generation *g, enum tool_notation notation)
{
    static const char *const names[] = { "auto", "none", "required", NULL };
    static const enum quire_tool_choice choices[] = { QUIRE_TOOL_CHOICE_AUTO,
                                                      QUIRE_TOOL_CHOICE_NONE,
                                                      QUIRE_TOOL_CHOICE_REQUIRED };
    json_t *v;
    unsigned choice;
    bool parallel = true;
    fields_boolean(f, "parallel_tool_calls", &parallel);
    g->output.single_call = !parallel;
    if (!fields_value(f, "tool_choice", &v))
        return f->error->status == 0;
    if (json_is_object(v))
        return read_named(f, g, v, notation);
    return fields_choice(f, "tool_choice", names, &choice) &&
           tool_fields_set_choice(g, choices[choice], NULL, "tool_choice", f->error);
}

/* ---- Calls in answers ---- */

static const char *string_of(const struct text *t) { return t->data ? t->data : ""; }

json_t *tool_call_json(const struct answer_call *call)
{
    return json_pack("{s:s, s:s, s:{s:s, s:s}}", "id", string_of(&call->id), "type", "function",
                     "function", "name", string_of(&call->name), "arguments",
                     string_of(&call->arguments));
}

json_t *tool_calls_json(const struct answer *a)
{
    json_t *calls = json_array();
    for (size_t i = 0; i < a->n_calls; i++)
        json_build_append(&calls, tool_call_json(&a->calls[i]));
    return calls;
}

json_t *tool_call_delta(const struct piece *p)
{
    if (p->name == NULL)
        return json_pack("{s:I, s:{s:s%}}", "index", (json_int_t)p->tool_index, "function",
                         "arguments", p->text, p->size);
    return json_pack("{s:I, s:s%, s:s, s:{s:s%, s:s%}}", "index", (json_int_t)p->tool_index, "id",
                     p->id, p->id_size, "type", "function", "function", "name", p->name,
                     p->name_size, "arguments", p->text, p->size);
}
