/* SPDX-License-Identifier: Apache-2.0 */
/* messages_json.c - the messages of a JSON array. */
#include "messages_json.h"
#include <string.h>

/* Adds the text of a content: a string, or an array of text parts, which are joined by newlines.
 * False: something else, which is described in problem. */
static bool add_content(struct text *out, const json_t *content, size_t i, struct text *problem)
{
    size_t k;
    json_t *part;
    if (json_is_string(content)) {
        text_add(out, json_string_value(content), json_string_length(content));
        return true;
    }
    if (!json_is_array(content)) {
        text_addf(problem, "messages[%zu].content is neither a string nor an array of parts", i);
        return false;
    }
    json_array_foreach(content, k, part)
    {
        const char *type = json_string_value(json_object_get(part, "type"));
        const json_t *text = json_object_get(part, "text");
        if (!type || strcmp(type, "text") != 0 || !json_is_string(text)) {
            text_addf(problem, "messages[%zu].content[%zu] of type '%.40s' is not text", i, k,
                      type ? type : "");
            return false;
        }
        if (k)
            text_add(out, "\n", 1);
        text_add(out, json_string_value(text), json_string_length(text));
    }
    return true;
}

/* Whether the message has no member but role, content and nulls; another one is described in
 * problem. */
static bool has_known_members(json_t *message, size_t i, struct text *problem)
{
    const char *key;
    json_t *value;
    json_object_foreach(message, key, value)
    {
        if (strcmp(key, "role") == 0 || strcmp(key, "content") == 0 || json_is_null(value))
            continue;
        text_addf(problem, "messages[%zu].%.60s is not supported", i, key);
        return false;
    }
    return true;
}

static bool read_message(json_t *message, size_t i, struct conversation *out, struct text *problem)
{
    const char *role = json_string_value(json_object_get(message, "role"));
    if (!role || !*role) {
        text_addf(problem, "messages[%zu] has no role", i);
        return false;
    }
    struct text content = { 0 };
    text_add(&content, "", 0);
    bool ok = has_known_members(message, i, problem) &&
              add_content(&content, json_object_get(message, "content"), i, problem);
    if (ok && (content.failed || !conversation_add(out, role, content.data, content.size))) {
        text_addf(problem, "out of memory");
        ok = false;
    }
    text_free(&content);
    return ok;
}

bool messages_from_json(const json_t *list, struct conversation *out, struct text *problem)
{
    size_t i;
    json_t *item;
    if (!json_is_array(list))
        text_addf(problem, "messages is not an array");
    json_array_foreach(list, i, item)
    {
        if (!read_message(item, i, out, problem))
            return false;
    }
    return json_is_array(list);
}
