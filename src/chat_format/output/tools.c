/* SPDX-License-Identifier: Apache-2.0 */
/* tools.c - the tools on offer: names, and the types of their parameters. */
#include "chat_format/output/tools.h"
#include "base/error.h"
#include "chat_format/output/json_scan.h"
#include "chat_format/output/python_literal.h"
#include "json/parse.h"
#include <string.h>

enum { MAX_DEPTH = 16, MAX_TOOLS = 4096 };

/* ---- Reading */

static quire_status read_tool(struct qr_tools *t, const struct qr_json *v, struct quire_error *err)
{
    struct qr_tool *const tool = &t->tools[t->n];
    const struct qr_json *const function = qr_json_get(v, "function");
    const struct qr_json *const inner = qr_json_is_object(function) ? function : v;
    if (!qr_json_is_object(inner))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "tools[%zu] is no object", t->n);
    const struct qr_json *const name = qr_json_get(inner, "name");
    tool->name = qr_json_string(name);
    tool->name_size = qr_json_string_size(name);
    if (tool->name_size == 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "tools[%zu] has no name", t->n);
    const struct qr_tool *const other = qr_tools_find(t, tool->name, tool->name_size);
    if (other)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "tools[%zu] and tools[%zu] have the name \"%s\"",
                       (size_t)(other - t->tools), t->n, tool->name);
    tool->parameters = qr_json_get(inner, "parameters");
    if (qr_json_is_null(tool->parameters))
        tool->parameters = NULL;
    if (tool->parameters && !qr_json_is_object(tool->parameters) &&
        !qr_json_is_bool(tool->parameters))
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "tools[%zu] (\"%s\"): parameters is neither an object nor a boolean", t->n,
                       tool->name);
    t->n++;
    return QUIRE_OK;
}

static quire_status read_all(struct qr_tools *t, struct quire_error *err)
{
    if (!qr_json_is_array(t->document))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "tools_json is no array");
    const size_t n = qr_json_size(t->document);
    if (n > MAX_TOOLS)
        return qr_fail(err, QUIRE_E_LIMIT, "tools_json has %zu tools, the limit is %d", n,
                       MAX_TOOLS);
    t->tools = qr_calloc(t->allocator, n, sizeof *t->tools);
    if (!t->tools)
        return qr_fail(err, QUIRE_E_NOMEM, "tools_json: out of memory");
    for (struct qr_json_iter i = qr_json_iterate(t->document); qr_json_next(&i);)
        QR_TRY(read_tool(t, i.value, err));
    return QUIRE_OK;
}

quire_status qr_tools_read(struct qr_tools *t, const char *json, const struct quire_allocator *a,
                           struct quire_error *err)
{
    struct qr_json_error e;
    *t = (struct qr_tools){ .allocator = a };
    if (!json)
        return QUIRE_OK;
    t->document = qr_json_parse(json, strlen(json), QR_JSON_ALLOW_BIG_INTEGERS, a, &e);
    if (!t->document)
        return qr_fail(err, e.code, "tools_json: %s at byte %zu%s%s", e.text, e.offset,
                       e.key[0] ? ": " : "", e.key);
    const quire_status status = read_all(t, err);
    if (status != QUIRE_OK)
        qr_tools_free(t);
    return status;
}

void qr_tools_free(struct qr_tools *t)
{
    if (t->document) {
        if (t->tools)
            qr_free(t->allocator, t->tools, qr_json_size(t->document), sizeof *t->tools);
        qr_json_free(t->document);
    }
    *t = (struct qr_tools){ 0 };
}

const struct qr_tool *qr_tools_find(const struct qr_tools *t, const char *name, size_t size)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->tools[i].name_size == size && memcmp(t->tools[i].name, name, size) == 0)
            return &t->tools[i];
    return NULL;
}

/* ---- Types */

static void add_type(struct qr_value_types *t, enum qr_value_type type)
{
    if (!qr_value_types_have(t, type)) /* each of the types once: they fit */
        t->types[t->n++] = (uint8_t)type;
}

bool qr_value_types_have(const struct qr_value_types *t, enum qr_value_type type)
{
    return memchr(t->types, type, t->n) != NULL;
}

/* Names of types: of JSON Schema, and those of Python that hosts write in their place. */
static void add_named_type(struct qr_value_types *t, const char *name)
{
    static const struct {
        const char *name;
        enum qr_value_type type;
    } table[] = {
        { "string", QR_TYPE_STRING }, { "integer", QR_TYPE_INTEGER },
        { "number", QR_TYPE_NUMBER }, { "boolean", QR_TYPE_BOOLEAN },
        { "null", QR_TYPE_NULL },     { "array", QR_TYPE_ARRAY },
        { "object", QR_TYPE_OBJECT }, { "str", QR_TYPE_STRING },
        { "int", QR_TYPE_INTEGER },   { "float", QR_TYPE_NUMBER },
        { "bool", QR_TYPE_BOOLEAN },  { "list", QR_TYPE_ARRAY },
        { "dict", QR_TYPE_OBJECT },
    };
    for (size_t i = 0; name && i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0)
            add_type(t, table[i].type);
}

static enum qr_value_type type_of_value(const struct qr_json *v)
{
    return qr_json_is_string(v)    ? QR_TYPE_STRING
           : qr_json_is_integer(v) ? QR_TYPE_INTEGER
           : qr_json_is_number(v)  ? QR_TYPE_NUMBER
           : qr_json_is_bool(v)    ? QR_TYPE_BOOLEAN
           : qr_json_is_null(v)    ? QR_TYPE_NULL
           : qr_json_is_array(v)   ? QR_TYPE_ARRAY
                                   : QR_TYPE_OBJECT;
}

/* Follows "#/a/b" from the root of the tool's schema. NULL: not there, or not of this form. */
static const struct qr_json *resolve(const struct qr_json *root, const char *ref)
{
    if (!ref || ref[0] != '#')
        return NULL;
    const struct qr_json *v = root;
    for (ref++; v && *ref == '/';) {
        const size_t n = strcspn(++ref, "/");
        v = qr_json_get_n(v, ref, n);
        ref += n;
    }
    return v;
}

static void collect(const struct qr_json *root, const struct qr_json *s, struct qr_value_types *t,
                    unsigned depth)
{
    static const char *const unions[] = { "anyOf", "oneOf", "allOf" };
    if (!qr_json_is_object(s) || depth == MAX_DEPTH)
        return;
    const struct qr_json *const type = qr_json_get(s, "type");
    if (type) {
        add_named_type(t, qr_json_string(type));
        for (struct qr_json_iter i = qr_json_iterate(type); qr_json_next(&i);)
            add_named_type(t, qr_json_string(i.value));
        return;
    }
    const struct qr_json *const ref = qr_json_get(s, "$ref");
    if (ref)
        collect(root, resolve(root, qr_json_string(ref)), t, depth + 1);
    for (struct qr_json_iter i = qr_json_iterate(qr_json_get(s, "enum")); qr_json_next(&i);)
        add_type(t, type_of_value(i.value));
    if (qr_json_get(s, "const"))
        add_type(t, type_of_value(qr_json_get(s, "const")));
    for (size_t u = 0; u < sizeof unions / sizeof *unions; u++)
        for (struct qr_json_iter i = qr_json_iterate(qr_json_get(s, unions[u])); qr_json_next(&i);)
            collect(root, i.value, t, depth + 1);
    if (t->n == 0 && qr_json_get(s, "properties"))
        add_type(t, QR_TYPE_OBJECT);
    if (t->n == 0 && qr_json_get(s, "items"))
        add_type(t, QR_TYPE_ARRAY);
}

static const struct qr_json *property(const struct qr_tool *tool, const char *key, size_t size)
{
    if (tool == NULL)
        return NULL;
    const struct qr_json *s = tool->parameters;
    for (unsigned i = 0; i < MAX_DEPTH && qr_json_get(s, "$ref"); i++)
        s = resolve(tool->parameters, qr_json_string(qr_json_get(s, "$ref")));
    return qr_json_get_n(qr_json_get(s, "properties"), key, size);
}

bool qr_tool_declares(const struct qr_tool *tool, const char *key, size_t size)
{
    return property(tool, key, size) != NULL;
}

struct qr_value_types qr_tool_property_types(const struct qr_tool *tool, const char *key,
                                             size_t size)
{
    struct qr_value_types t = { 0 };
    const struct qr_json *const schema = property(tool, key, size);
    if (schema)
        collect(tool->parameters, schema, &t, 0);
    return t;
}

/* ---- Values */

static bool is_integer(const char *p, size_t n)
{
    /* 5.0 is an integer of JSON Schema; an exponent may make one */
    const char *const point = memchr(p, '.', n);
    if (memchr(p, 'e', n) || memchr(p, 'E', n) || !point)
        return true;
    for (const char *q = point + 1; q < p + n; q++)
        if (*q != '0')
            return false;
    return true;
}

static bool fits(enum qr_value_type type, const char *p, size_t n)
{
    switch (type) {
    case QR_TYPE_INTEGER:
        return (*p == '-' || (*p >= '0' && *p <= '9')) && is_integer(p, n);
    case QR_TYPE_NUMBER:
        return *p == '-' || (*p >= '0' && *p <= '9');
    case QR_TYPE_BOOLEAN:
        return *p == 't' || *p == 'f';
    case QR_TYPE_NULL:
        return *p == 'n';
    case QR_TYPE_ARRAY:
        return *p == '[';
    default: /* QR_TYPE_OBJECT */
        return *p == '{';
    }
}

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

static bool append_string(const struct quire_allocator *a, struct qr_bytes *out, const char *text,
                          size_t size)
{
    return qr_bytes_append(a, out, "\"", 1) && qr_bytes_append_escaped(a, out, text, size) &&
           qr_bytes_append(a, out, "\"", 1);
}

/* Appends p[n] if it is JSON of one of the types. *done tells whether it was. */
static bool append_fitting(const struct quire_allocator *a, struct qr_bytes *out,
                           const struct qr_value_types *types, const char *p, size_t n, bool *done)
{
    *done = false;
    if (n == 0 || !qr_json_scan_valid(p, n))
        return true;
    *done = types->n == 0;
    for (unsigned i = 0; i < types->n && types->types[i] != QR_TYPE_STRING; i++)
        *done = *done || fits((enum qr_value_type)types->types[i], p, n);
    return *done ? qr_bytes_append(a, out, p, n) : true;
}

bool qr_tools_append_typed(const struct quire_allocator *a, struct qr_bytes *out,
                           const struct qr_value_types *types, const char *text, size_t size)
{
    const bool string = types->n > 0 && types->types[0] == QR_TYPE_STRING;
    const char *p = text;
    size_t n = size;
    bool done = false;
    for (; n > 0 && is_space(*p); n--)
        p++;
    while (n > 0 && is_space(p[n - 1]))
        n--;
    if (!string && !append_fitting(a, out, types, p, n, &done))
        return false;
    if (!done && !string && types->n > 0 && n > 0) {
        struct qr_bytes json = { 0 };
        bool ok = true;
        if (qr_python_literal(a, &json, p, n, &ok))
            ok = append_fitting(a, out, types, json.data, json.size, &done);
        qr_bytes_free(a, &json);
        if (!ok)
            return false;
    }
    return done || append_string(a, out, text, size);
}
