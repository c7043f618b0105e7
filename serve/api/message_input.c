/* SPDX-License-Identifier: Apache-2.0 */
#include "message_input.h"
#include "fields.h"
#include "json_build.h"
#include <stdio.h>
#include <string.h>

enum { MAX_MESSAGES = 4096, MAX_BLOCKS = 4096 };

enum block_type { TEXT, TOOL_USE, TOOL_RESULT, THINKING, REDACTED_THINKING };
static const char *const block_types[] = { "text",     "tool_use",          "tool_result",
                                           "thinking", "redacted_thinking", NULL };

/* The messages that one message becomes. */
struct conversion {
    json_t *list; /* [messages] so far; NULL: out of memory */
    const char *role;
    json_t *texts, *calls; /* of the message under construction */
    json_t *reasoning;     /* a string, or NULL */
};

/* Appends the message under construction, if it has anything. */
static void flush(struct conversion *c)
{
    if (json_array_size(c->texts) > 0 || json_array_size(c->calls) > 0 || c->reasoning != NULL) {
        json_t *message = json_pack("{s:s}", "role", c->role);
        if (json_array_size(c->texts) > 0)
            json_build_set(&message, "content", json_incref(c->texts));
        if (json_array_size(c->calls) > 0)
            json_build_set(&message, "tool_calls", json_incref(c->calls));
        if (c->reasoning != NULL)
            json_build_set(&message, "reasoning_content", json_incref(c->reasoning));
        json_build_append(&c->list, message);
    }
    json_decref(c->texts);
    json_decref(c->calls);
    json_decref(c->reasoning);
    c->texts = json_array();
    c->calls = json_array();
    c->reasoning = NULL;
}

static void add_text(struct conversion *c, struct fields *f)
{
    const char *text = NULL;
    if (!fields_string(f, "text", &text))
        fields_fail(f, "text", "%s.text is missing.", f->path);
    else
        json_build_append(&c->texts, json_pack("{s:s, s:s}", "type", "text", "text", text));
}

static void add_call(struct conversion *c, struct fields *f)
{
    const char *id = NULL, *name = NULL;
    json_t *input = NULL;
    fields_string(f, "id", &id);
    fields_string(f, "name", &name);
    fields_object(f, "input", &input);
    if (id == NULL || name == NULL || input == NULL)
        fields_fail(f, "", "%s must have id, name and input.", f->path);
    else
        json_build_append(&c->calls,
                          json_pack("{s:s, s:s, s:{s:s, s:O}}", "id", id, "type", "function",
                                    "function", "name", name, "arguments", input));
}

/* A message of its own, behind the texts before it. */
static void add_result(struct conversion *c, struct fields *f)
{
    const char *id = NULL;
    json_t *content = NULL;
    bool is_error;
    if (!fields_string(f, "tool_use_id", &id))
        fields_fail(f, "tool_use_id", "%s.tool_use_id is missing.", f->path);
    fields_boolean(f, "is_error", &is_error);
    fields_value(f, "content", &content);
    if (f->error->status != 0)
        return;
    flush(c);
    json_build_append(&c->list,
                      json_pack("{s:s, s:s, s:o}", "role", "tool", "tool_call_id", id, "content",
                                content ? json_incref(content) : json_string("")));
}

static void add_thinking(struct conversion *c, struct fields *f)
{
    const char *text = NULL;
    if (!fields_string(f, "thinking", &text))
        fields_fail(f, "thinking", "%s.thinking is missing.", f->path);
    json_decref(c->reasoning);
    c->reasoning = text ? json_string(text) : NULL;
}

static void add_block(struct conversion *c, json_t *block, const char *path,
                      struct api_error *error)
{
    struct fields f;
    unsigned type = 0;
    const bool assistant = strcmp(c->role, "assistant") == 0;
    if (!fields_init(&f, block, path, error))
        return;
    if (!fields_choice(&f, "type", block_types, &type)) {
        fields_fail(&f, "type", "%s.type is missing.", path);
        return;
    }
    if (type != TEXT && (type == TOOL_RESULT) == assistant) {
        fields_fail(&f, "type", "%s: a message of the role %s has no %s.", path, c->role,
                    block_types[type]);
        return;
    }
    switch ((enum block_type)type) {
    case TEXT:
        add_text(c, &f);
        break;
    case TOOL_USE:
        add_call(c, &f);
        break;
    case TOOL_RESULT:
        add_result(c, &f);
        break;
    case THINKING:
        add_thinking(c, &f);
        break;
    case REDACTED_THINKING: /* nothing that a model could read */
        break;
    }
}

static void add_message(struct conversion *c, json_t *message, size_t index,
                        struct api_error *error)
{
    static const char *const roles[] = { "user", "assistant", NULL };
    struct fields f;
    char path[64];
    unsigned role = 0;
    json_t *content = NULL;
    snprintf(path, sizeof path, "messages[%zu]", index);
    if (!fields_init(&f, message, path, error))
        return;
    if (!fields_choice(&f, "role", roles, &role))
        fields_fail(&f, "role", "%s.role must be user or assistant.", path);
    if (!fields_value(&f, "content", &content))
        fields_fail(&f, "content", "%s.content is missing.", path);
    else if (!json_is_string(content) &&
             (!json_is_array(content) || json_array_size(content) > MAX_BLOCKS))
        fields_fail(&f, "content", "%s.content must be a string or an array of at most %d blocks.",
                    path, MAX_BLOCKS);
    if (error->status != 0)
        return;
    c->role = roles[role];
    if (json_is_string(content) || json_array_size(content) == 0) {
        json_build_append(&c->list, json_pack("{s:s, s:O}", "role", c->role, "content", content));
        return;
    }
    for (size_t i = 0; i < json_array_size(content) && error->status == 0; i++) {
        snprintf(path, sizeof path, "messages[%zu].content[%zu]", index, i);
        add_block(c, json_array_get(content, i), path, error);
    }
    flush(c);
}

json_t *message_input(json_t *messages, struct api_error *error)
{
    struct conversion c = { .list = json_array(), .texts = json_array(), .calls = json_array() };
    const size_t n = json_array_size(messages);
    if (!json_is_array(messages) || n == 0 || n > MAX_MESSAGES)
        api_fail(error, 400, NULL, "messages", "messages must be an array of 1 to %d messages.",
                 MAX_MESSAGES);
    for (size_t i = 0; i < n && error->status == 0; i++)
        add_message(&c, json_array_get(messages, i), i, error);
    if (error->status == 0 && (c.list == NULL || c.texts == NULL || c.calls == NULL))
        api_fail(error, 500, NULL, NULL, "out of memory");
    json_decref(c.texts);
    json_decref(c.calls);
    json_decref(c.reasoning);
    if (error->status == 0)
        return c.list;
    json_decref(c.list);
    return NULL;
}
