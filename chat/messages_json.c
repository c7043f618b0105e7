/* SPDX-License-Identifier: Apache-2.0 */
/* messages_json.c - the messages of a JSON array. */
#include "messages_json.h"
#include <string.h>

/* Adds the text of a content: a string, or an array of text parts, which are joined by newlines.
 * False: something else, which is described in problem. */
static bool add_content(struct text *out, const struct qr_json *content, size_t i,
                        struct text *problem)
{
    if (qr_json_is_string(content)) {
        text_add(out, qr_json_string(content), qr_json_string_size(content));
        return true;
    }
    if (!qr_json_is_array(content)) {
        text_addf(problem, "messages[%zu].content is neither a string nor an array of parts", i);
        return false;
    }
    for (struct qr_json_iter k = qr_json_iterate(content); qr_json_next(&k);) {
        const char *type = qr_json_string(qr_json_get(k.value, "type"));
        const struct qr_json *text = qr_json_get(k.value, "text");
        if (!type || strcmp(type, "text") != 0 || !qr_json_is_string(text)) {
            text_addf(problem, "messages[%zu].content[%zu] of type '%.40s' is not text", i, k.index,
                      type ? type : "");
            return false;
        }
        if (k.index)
            text_add(out, "\n", 1);
        text_add(out, qr_json_string(text), qr_json_string_size(text));
    }
    return true;
}

/* Whether the message has no member but role, content and nulls; another one is described in
 * problem. */
static bool has_known_members(const struct qr_json *message, size_t i, struct text *problem)
{
    for (struct qr_json_iter k = qr_json_iterate(message); qr_json_next(&k);) {
        if (strcmp(k.key, "role") == 0 || strcmp(k.key, "content") == 0 || qr_json_is_null(k.value))
            continue;
        text_addf(problem, "messages[%zu].%.60s is not supported", i, k.key);
        return false;
    }
    return true;
}

static bool read_message(const struct qr_json *message, size_t i, struct conversation *out,
                         struct text *problem)
{
    const char *role = qr_json_string(qr_json_get(message, "role"));
    if (!role || !*role) {
        text_addf(problem, "messages[%zu] has no role", i);
        return false;
    }
    struct text content = { 0 };
    text_add(&content, "", 0);
    bool ok = has_known_members(message, i, problem) &&
              add_content(&content, qr_json_get(message, "content"), i, problem);
    if (ok && (content.failed || !conversation_add(out, role, content.data, content.size))) {
        text_addf(problem, "out of memory");
        ok = false;
    }
    text_free(&content);
    return ok;
}

bool messages_from_json(const struct qr_json *list, struct conversation *out, struct text *problem)
{
    if (!qr_json_is_array(list))
        text_addf(problem, "messages is not an array");
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);)
        if (!read_message(i.value, i.index, out, problem))
            return false;
    return qr_json_is_array(list);
}
