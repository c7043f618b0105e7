/* SPDX-License-Identifier: Apache-2.0 */
/* tag_writer.c - writes the JSON text of structural tags. */
#include "chat_format/output/tag_writer.h"
#include "json/parse.h"
#include <string.h>

static void put(struct qr_tag_writer *w, const char *text, size_t size)
{
    if (!w->nomem && !qr_bytes_append(w->allocator, &w->out, text, size))
        w->nomem = true;
}

void qr_tag_text(struct qr_tag_writer *w, const char *json) { put(w, json, strlen(json)); }

void qr_tag_string(struct qr_tag_writer *w, const char *text, size_t size)
{
    put(w, "\"", 1);
    if (!w->nomem && !qr_bytes_append_escaped(w->allocator, &w->out, text, size))
        w->nomem = true;
    put(w, "\"", 1);
}

/* Members or elements without the brackets. Documents are nested at most QR_JSON_MAX_DEPTH deep. */
static void items(struct qr_tag_writer *w, const struct qr_json *v)
{
    bool first = true;
    for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i); first = false) {
        if (!first)
            put(w, ",", 1);
        if (i.key) {
            qr_tag_string(w, i.key, strlen(i.key));
            put(w, ":", 1);
        }
        qr_tag_value(w, i.value);
    }
}

void qr_tag_value(struct qr_tag_writer *w, const struct qr_json *v)
{
    if (qr_json_is_string(v))
        qr_tag_string(w, qr_json_string(v), qr_json_string_size(v));
    else if (qr_json_is_number(v)) /* its text, which keeps all digits */
        put(w, qr_json_text(v), strspn(qr_json_text(v), "+-.0123456789eE"));
    else if (qr_json_is_bool(v))
        qr_tag_text(w, qr_json_is_true(v) ? "true" : "false");
    else if (qr_json_is_null(v))
        qr_tag_text(w, "null");
    else {
        const bool object = qr_json_is_object(v);
        put(w, object ? "{" : "[", 1);
        items(w, v);
        put(w, object ? "}" : "]", 1);
    }
}

static bool allows_object(const struct qr_json *type)
{
    if (!type)
        return true;
    const char *const name = qr_json_string(type);
    bool object = name && strcmp(name, "object") == 0;
    for (struct qr_json_iter i = qr_json_iterate(type); qr_json_next(&i);)
        object = object ||
                 (qr_json_is_string(i.value) && strcmp(qr_json_string(i.value), "object") == 0);
    return object;
}

bool qr_tag_object_schema(struct qr_tag_writer *w, const struct qr_json *schema)
{
    if (!schema)
        qr_tag_text(w, "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}");
    else if (qr_json_is_true(schema))
        qr_tag_text(w, "{\"type\":\"object\"}");
    else if (!qr_json_is_object(schema) || !allows_object(qr_json_get(schema, "type")))
        return false;
    else {
        qr_tag_text(w, "{\"type\":\"object\"");
        for (struct qr_json_iter i = qr_json_iterate(schema); qr_json_next(&i);) {
            if (strcmp(i.key, "type") == 0)
                continue;
            put(w, ",", 1);
            qr_tag_string(w, i.key, strlen(i.key));
            put(w, ":", 1);
            qr_tag_value(w, i.value);
        }
        put(w, "}", 1);
    }
    return true;
}

void qr_tag_const(struct qr_tag_writer *w, const char *text, size_t size)
{
    qr_tag_text(w, "{\"type\":\"const_string\",\"value\":");
    qr_tag_string(w, text, size);
    qr_tag_text(w, "}");
}

void qr_tag_regex(struct qr_tag_writer *w, const char *pattern)
{
    qr_tag_text(w, "{\"type\":\"regex\",\"pattern\":");
    qr_tag_string(w, pattern, strlen(pattern));
    qr_tag_text(w, "}");
}

void qr_tag_flag(struct qr_tag_writer *w, const char *name, bool value)
{
    qr_tag_text(w, ",\"");
    qr_tag_text(w, name);
    qr_tag_text(w, value ? "\":true" : "\":false");
}
