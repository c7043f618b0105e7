/* SPDX-License-Identifier: Apache-2.0 */
/* messages_json.c - the messages of a JSON array. */
#include "messages_json.h"
#include "json_text.h"
#include <string.h>

/* One message while it is read. */
struct reader {
    size_t index; /* of the message */
    struct text *problem;
    struct text content, tool_calls;
};

/* Adds the text of a content: a string, or an array of text parts, which are joined by newlines.
 * False: something else, which is described in problem. */
static bool add_content(struct reader *r, const struct qr_json *content)
{
    struct text *out = &r->content;
    if (qr_json_is_string(content)) {
        text_add(out, qr_json_string(content), qr_json_string_size(content));
        return true;
    }
    if (!qr_json_is_array(content)) {
        text_addf(r->problem, "messages[%zu].content is neither a string nor an array of parts",
                  r->index);
        return false;
    }
    for (struct qr_json_iter k = qr_json_iterate(content); qr_json_next(&k);) {
        const char *type = qr_json_string(qr_json_get(k.value, "type"));
        const struct qr_json *text = qr_json_get(k.value, "text");
        if (!type || strcmp(type, "text") != 0 || !qr_json_is_string(text)) {
            text_addf(r->problem, "messages[%zu].content[%zu] of type '%.40s' is not text",
                      r->index, k.index, type ? type : "");
            return false;
        }
        if (k.index)
            text_add(out, "\n", 1);
        text_add(out, qr_json_string(text), qr_json_string_size(text));
    }
    return true;
}

/* Adds `"key": value` with a string. */
static void add_quoted(struct text *out, const char *before, const char *value)
{
    text_addf(out, "%s", before);
    text_add_json(out, value, strlen(value));
}

/* Adds one call: id, type and function with name and arguments, a string or an object. */
static bool add_call(struct reader *r, const struct qr_json *call, size_t k)
{
    struct text *out = &r->tool_calls, object = { 0 };
    const struct qr_json *function = qr_json_get(call, "function");
    const char *id = qr_json_string(qr_json_get(call, "id"));
    const char *name = qr_json_string(qr_json_get(function, "name"));
    const struct qr_json *arguments = qr_json_get(function, "arguments");
    if (!name || !*name || (!qr_json_is_string(arguments) && !qr_json_is_object(arguments))) {
        text_addf(r->problem,
                  "messages[%zu].tool_calls[%zu].function has no name, or arguments that are "
                  "neither a string nor an object",
                  r->index, k);
        return false;
    }
    text_addf(out, "%s{", k ? ", " : "");
    if (id)
        add_quoted(out, "\"id\": ", id);
    add_quoted(out,
               id ? ", \"type\": \"function\", \"function\": {\"name\": "
                  : "\"type\": \"function\", \"function\": {\"name\": ",
               name);
    if (qr_json_is_object(arguments))
        text_add_json_value(&object, arguments);
    add_quoted(out, ", \"arguments\": ",
               object.size                    ? object.data
               : qr_json_is_string(arguments) ? qr_json_string(arguments)
                                              : "{}");
    text_addf(out, "}}");
    out->failed = out->failed || object.failed;
    text_free(&object);
    return true;
}

static bool add_calls(struct reader *r, const struct qr_json *calls)
{
    if (!qr_json_is_array(calls)) {
        text_addf(r->problem, "messages[%zu].tool_calls is not an array", r->index);
        return false;
    }
    text_add(&r->tool_calls, "[", 1);
    for (struct qr_json_iter k = qr_json_iterate(calls); qr_json_next(&k);)
        if (!add_call(r, k.value, k.index))
            return false;
    text_add(&r->tool_calls, "]", 1);
    return true;
}

/* Reads a member into extra or content. Nulls are no members. */
static bool read_member(struct reader *r, const struct qr_json_iter *k, const char *role,
                        struct message_extra *extra)
{
    const char *value = qr_json_string(k->value);
    const char **field = strcmp(k->key, "reasoning_content") == 0 ? &extra->reasoning
                         : strcmp(k->key, "tool_call_id") == 0    ? &extra->call_id
                         : strcmp(k->key, "name") == 0 && strcmp(role, "tool") == 0
                             ? &extra->tool_name
                             : NULL;
    if (strcmp(k->key, "role") == 0 || qr_json_is_null(k->value))
        return true;
    if (strcmp(k->key, "content") == 0)
        return add_content(r, k->value);
    if (strcmp(k->key, "tool_calls") == 0)
        return add_calls(r, k->value);
    if (!field || !value) {
        text_addf(r->problem,
                  field ? "messages[%zu].%.60s is not a string"
                        : "messages[%zu].%.60s is not supported",
                  r->index, k->key);
        return false;
    }
    *field = value;
    return true;
}

static bool read_message(struct reader *r, const struct qr_json *message, struct conversation *out)
{
    const char *role = qr_json_string(qr_json_get(message, "role"));
    struct message_extra extra = { 0 };
    if (!role || !*role) {
        text_addf(r->problem, "messages[%zu] has no role", r->index);
        return false;
    }
    for (struct qr_json_iter k = qr_json_iterate(message); qr_json_next(&k);)
        if (!read_member(r, &k, role, &extra))
            return false;
    const bool has_calls = r->tool_calls.size > 2; /* [] are none */
    const struct qr_json *content = qr_json_get(message, "content");
    if (!has_calls && !qr_json_is_string(content) && !qr_json_is_array(content))
        return add_content(r, content); /* describes it */
    extra.tool_calls = has_calls ? r->tool_calls.data : NULL;
    text_add(&r->content, "", 0);
    if (!r->content.failed && !r->tool_calls.failed &&
        conversation_add_extra(out, role, r->content.data, r->content.size, &extra))
        return true;
    text_addf(r->problem, "out of memory");
    return false;
}

bool messages_from_json(const struct qr_json *list, struct conversation *out, struct text *problem)
{
    bool ok = qr_json_is_array(list);
    if (!ok)
        text_addf(problem, "messages is not an array");
    for (struct qr_json_iter i = qr_json_iterate(list); ok && qr_json_next(&i);) {
        struct reader r = { .index = i.index, .problem = problem };
        ok = read_message(&r, i.value, out);
        text_free(&r.content);
        text_free(&r.tool_calls);
    }
    return ok;
}
