/* SPDX-License-Identifier: Apache-2.0 */
#include "response_input.h"
#include "fields.h"
#include "json_build.h"
#include <stdio.h>
#include <string.h>

/* The last message if it is one of the assistant that has no content yet: calls and reasoning are
 * collected there. */
static json_t *open_message(json_t *messages)
{
    json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    const char *role = json_string_value(json_object_get(last, "role"));
    const bool open =
        role != NULL && strcmp(role, "assistant") == 0 && json_object_get(last, "content") == NULL;
    return open ? last : NULL;
}

/* The open message, a new one if there is none. */
static json_t *assistant_message(json_t **messages)
{
    if (open_message(*messages) == NULL)
        json_build_append(messages, json_pack("{s:s}", "role", "assistant"));
    return open_message(*messages);
}

static void add_message(json_t **messages, struct fields *f)
{
    const char *role = NULL;
    json_t *content = NULL;
    if (!fields_string(f, "role", &role))
        fields_fail(f, "role", "role is missing.");
    if (!fields_value(f, "content", &content))
        fields_fail(f, "content", "content is missing.");
    if (f->error->status != 0)
        return;
    json_t *open = strcmp(role, "assistant") == 0 ? open_message(*messages) : NULL;
    if (open != NULL && json_object_get(open, "tool_calls") == NULL)
        json_object_set(open, "content", content); /* behind its reasoning */
    else
        json_build_append(messages, json_pack("{s:s, s:O}", "role", role, "content", content));
}

static void add_call(json_t **messages, struct fields *f)
{
    const char *id = NULL, *name = NULL, *arguments = NULL;
    fields_string(f, "call_id", &id);
    fields_string(f, "name", &name);
    fields_string(f, "arguments", &arguments);
    if (id == NULL || name == NULL || arguments == NULL) {
        fields_fail(f, "", "%s must have call_id, name and arguments.", f->path);
        return;
    }
    json_t *message = assistant_message(messages);
    json_t *calls = json_object_get(message, "tool_calls");
    calls = calls ? json_incref(calls) : json_array();
    json_build_append(&calls, json_pack("{s:s, s:s, s:{s:s, s:s}}", "id", id, "type", "function",
                                        "function", "name", name, "arguments", arguments));
    json_object_set_new(message, "tool_calls", calls);
}

static void add_output(json_t **messages, struct fields *f)
{
    const char *id = NULL;
    json_t *output = NULL;
    fields_string(f, "call_id", &id);
    fields_value(f, "output", &output);
    if (id == NULL || output == NULL)
        fields_fail(f, "", "%s must have call_id and output.", f->path);
    else
        json_build_append(messages, json_pack("{s:s, s:s, s:O}", "role", "tool", "tool_call_id", id,
                                              "content", output));
}

/* Texts of `content`; summaries are not what the model wrote. */
static void add_reasoning(json_t **messages, struct fields *f)
{
    json_t *content = NULL, *part;
    size_t i;
    if (!fields_array(f, "content", 4096, &content))
        return;
    json_array_foreach(content, i, part)
    {
        json_t *text = json_object_get(part, "text");
        if (!json_is_string(text))
            fields_fail(f, "content", "%s.content[%zu].text is missing.", f->path, i);
        else if (i == 0)
            json_object_set(assistant_message(messages), "reasoning_content", text);
    }
}

void response_input_add(json_t **messages, json_t *item, size_t index, struct api_error *error)
{
    enum { MESSAGE, CALL, OUTPUT, REASONING };
    static const char *const types[] = { "message", "function_call", "function_call_output",
                                         "reasoning", NULL };
    struct fields f;
    char path[40];
    unsigned type = MESSAGE;
    snprintf(path, sizeof path, "input[%zu]", index);
    if (!fields_init(&f, item, path, error))
        return;
    fields_choice(&f, "type", types, &type);
    if (error->status != 0)
        return;
    if (type == MESSAGE)
        add_message(messages, &f);
    else if (type == CALL)
        add_call(messages, &f);
    else if (type == OUTPUT)
        add_output(messages, &f);
    else
        add_reasoning(messages, &f);
}
