/* SPDX-License-Identifier: Apache-2.0 */
#include "chat_messages.h"
#include "fields.h"
#include "json_build.h"
#include "json_text.h"
#include "template_fields.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MESSAGES = 4096, MAX_PARTS = 4096 };

static char *keep(struct generation *g, const char *data, size_t size)
{
    char *copy = generation_alloc(g, size + 1);
    if (copy != NULL)
        memcpy(copy, data, size);
    return copy;
}

/* Joins the texts of content parts. */
static bool read_parts(struct generation *g, json_t *parts, struct fields *message,
                       struct quire_chat_message *out)
{
    static const char *const types[] = { "text", "input_text", "output_text", "refusal", NULL };
    struct text joined = { 0 };
    for (size_t i = 0; i < json_array_size(parts) && message->error->status == 0; i++) {
        struct fields f;
        char path[160];
        unsigned type = 0;
        const char *text = NULL;
        snprintf(path, sizeof path, "%s.content[%zu]", message->path, i);
        if (!fields_init(&f, json_array_get(parts, i), path, message->error))
            break;
        if (!fields_choice(&f, "type", types, &type))
            fields_fail(&f, "type", "type is missing.");
        else if (!fields_string(&f, type == 3 ? "refusal" : "text", &text))
            fields_fail(&f, types[type], "The text of the part is missing.");
        else
            text_add_string(&joined, text);
    }
    char *copy = keep(g, joined.data ? joined.data : "", joined.size);
    if (joined.failed || copy == NULL)
        api_fail(message->error, 500, NULL, NULL, "out of memory");
    out->content = copy;
    out->content_len = QUIRE_NUL_TERMINATED;
    text_free(&joined);
    return message->error->status == 0;
}

static bool read_content(struct generation *g, struct fields *f, struct quire_chat_message *out)
{
    json_t *content = NULL;
    if (!fields_value(f, "content", &content))
        return f->error->status == 0;
    if (json_is_string(content)) {
        out->content = json_string_value(content);
        out->content_len =
            json_string_length(content) ? json_string_length(content) : QUIRE_NUL_TERMINATED;
        return true;
    }
    if (!json_is_array(content) || json_array_size(content) > MAX_PARTS)
        return fields_fail(f, "content",
                           "content must be a string or an array of at most %d "
                           "parts.",
                           MAX_PARTS);
    return read_parts(g, content, f, out);
}

/* A function of a call with its arguments as text if they are an object, otherwise as it is. */
static json_t *with_text_arguments(json_t *function)
{
    const json_t *arguments = json_object_get(function, "arguments");
    struct text text = { 0 };
    if (!json_is_object(arguments))
        return json_incref(function);
    json_t *copy = json_copy(function);
    json_text_write(&text, arguments);
    json_build_set(&copy, "arguments",
                   text.failed ? NULL : json_stringn_nocheck(text.data, text.size));
    text_free(&text);
    return copy;
}

/* OpenAI's API has the arguments of calls as text, Anthropic's and Ollama's have objects. The
 * templates of models are of either kind: the library gives them text with an object as both
 * (quire/chat_template.h). */
static json_t *with_text_calls(const json_t *calls)
{
    json_t *out = json_array(), *call;
    size_t i;
    json_array_foreach(calls, i, call)
    {
        json_t *function = json_object_get(call, "function");
        json_t *copy = function != NULL ? json_copy(call) : json_incref(call);
        if (function != NULL)
            json_build_set(&copy, "function", with_text_arguments(function));
        json_build_append(&out, copy);
    }
    return out;
}

/* Members other than role and content, for the template. */
static bool read_extra(struct generation *g, json_t *message, struct api_error *error,
                       struct quire_chat_message *out)
{
    const char *name;
    json_t *value, *extra = json_object();
    json_object_foreach(message, name, value)
    {
        if (strcmp(name, "role") == 0 || strcmp(name, "content") == 0)
            continue;
        const bool is_calls = strcmp(name, "tool_calls") == 0 && json_is_array(value);
        json_build_set(&extra, name, is_calls ? with_text_calls(value) : json_incref(value));
    }
    if (extra == NULL || json_object_size(extra) > 0)
        out->extra_json = template_fields_dump(g, extra, error);
    json_decref(extra);
    return error->status == 0;
}

static bool read_message(struct generation *g, json_t *value, const char *path, bool is_last,
                         struct api_error *error, struct quire_chat_message *out)
{
    static const char *const roles[] = { "system", "developer", "user", "assistant",
                                         "tool",   "function",  NULL };
    struct fields f;
    unsigned role = 0;
    if (!fields_init(&f, value, path, error))
        return false;
    if (!fields_choice(&f, "role", roles, &role))
        return fields_fail(&f, "role", "role is missing.");
    out->role = role == 1 ? "system" : roles[role];
    if (!read_content(g, &f, out))
        return false;
    if (out->content == NULL && (role != 3 || is_last))
        return fields_fail(&f, "content", "content is missing.");
    if (out->content == NULL) /* beside calls; templates join it with other text */
        out->content = "";
    return read_extra(g, value, error, out);
}

bool chat_messages_read(struct generation *g, struct quire_request_params *request, json_t *array,
                        const char *path, struct api_error *error)
{
    const size_t n = json_array_size(array);
    if (!json_is_array(array) || n == 0 || n > MAX_MESSAGES)
        return api_fail(error, 400, NULL, path, "%s must be an array of 1 to %d messages.", path,
                        MAX_MESSAGES);
    struct quire_chat_message *messages = generation_alloc(g, n * sizeof *messages);
    if (messages == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    for (size_t i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s[%zu]", path, i);
        if (!read_message(g, json_array_get(array, i), name, i + 1 == n, error, &messages[i]))
            return false;
    }
    request->messages = messages;
    request->n_messages = n;
    return true;
}
