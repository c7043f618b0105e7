/* SPDX-License-Identifier: Apache-2.0 */
/* document.c - resources, anchors and references of a schema document. */
#include "grammar/json_schema/document.h"
#include "grammar/json_schema/list.h"
#include "grammar/json_schema/uri.h"
#include "json/parse.h"
#include <stdio.h>

/* A schema with an identifier, or the root. */
struct resource {
    const struct qr_json *root, *end; /* nodes of the document */
    const char *uri;                  /* absolute as far as known, without fragment */
};

struct anchor {
    uint32_t resource;
    const char *name;
    const struct qr_json *schema;
    bool dynamic;
};

struct qr_schema_document {
    const struct qr_json *root;
    enum qr_draft draft;
    struct qr_list resources, anchors; /* resources in the order of the document */
    uint32_t n_recursive_anchors;
};

static const struct qr_json *end_of(const struct qr_json *v)
{
    const char c = *qr_json_text(v);
    return c == '{' || c == '[' ? v + v[1].at : v + 1;
}

enum qr_draft qr_document_draft(const struct qr_schema_document *d) { return d->draft; }

/* ---- Keywords with subschemas */

enum shape { SCHEMA = 1, LIST = 2, MAP = 4 };

static unsigned keyword_shape(const char *key)
{
    static const struct {
        const char *key;
        unsigned shape;
    } table[] = {
        { "properties", MAP },
        { "patternProperties", MAP },
        { "$defs", MAP },
        { "definitions", MAP },
        { "dependentSchemas", MAP },
        { "dependencies", MAP },
        { "items", SCHEMA | LIST },
        { "prefixItems", LIST },
        { "allOf", LIST },
        { "anyOf", LIST },
        { "oneOf", LIST },
        { "additionalItems", SCHEMA },
        { "additionalProperties", SCHEMA },
        { "contains", SCHEMA },
        { "propertyNames", SCHEMA },
        { "unevaluatedProperties", SCHEMA },
        { "unevaluatedItems", SCHEMA },
        { "not", SCHEMA },
        { "if", SCHEMA },
        { "then", SCHEMA },
        { "else", SCHEMA },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].key, key) == 0)
            return table[i].shape;
    return 0;
}

/* ---- Resources and anchors */

/* Adds the resource with this identifier, whose base URI is that of resource *in, and makes it the
 * new *in. */
static bool add_resource(struct qr_schema *s, struct qr_schema_document *d,
                         const struct qr_json *schema, const char *id, uint32_t *in)
{
    const char *fragment;
    const struct resource *list = d->resources.items;
    const char *uri = qr_uri_resolve(s, list ? list[*in].uri : "", id, &fragment);
    if (!uri)
        return false;
    if (*fragment && schema != d->root) { /* drafts 4 to 7: "#name" is an anchor */
        const struct anchor a = { *in, fragment, schema, false };
        return qr_list_push(s, &d->anchors, &a, sizeof a);
    }
    const struct resource r = { schema, end_of(schema), uri };
    *in = d->resources.n;
    return qr_list_push(s, &d->resources, &r, sizeof r);
}

static bool add_anchors(struct qr_schema *s, struct qr_schema_document *d,
                        const struct qr_json *schema, uint32_t in)
{
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        const char *name =
            qr_json_string(qr_json_get(schema, dynamic ? "$dynamicAnchor" : "$anchor"));
        const struct anchor a = { in, name, schema, dynamic };
        if (name && !qr_list_push(s, &d->anchors, &a, sizeof a))
            return false;
    }
    d->n_recursive_anchors += qr_json_is_true(qr_json_get(schema, "$recursiveAnchor"));
    return true;
}

static bool scan(struct qr_schema *s, struct qr_schema_document *d, const struct qr_json *schema,
                 uint32_t in);

/* The subschemas of one keyword. Recursion is bounded by the nesting that the parser accepts. */
static bool scan_keyword(struct qr_schema *s, struct qr_schema_document *d, const char *key,
                         const struct qr_json *value, uint32_t in)
{
    const unsigned shape = keyword_shape(key);
    if (shape & SCHEMA && qr_json_is_object(value))
        return scan(s, d, value, in);
    if ((shape & LIST && qr_json_is_array(value)) || (shape & MAP && qr_json_is_object(value)))
        for (struct qr_json_iter i = qr_json_iterate(value); qr_json_next(&i);)
            if (qr_json_is_object(i.value) && !scan(s, d, i.value, in))
                return false;
    return true;
}

/* in  resource that contains the schema */
static bool scan(struct qr_schema *s, struct qr_schema_document *d, const struct qr_json *schema,
                 uint32_t in)
{
    const bool ignore_siblings = d->draft <= QR_DRAFT_7 && qr_json_get(schema, "$ref");
    const char *id = qr_json_string(qr_json_get(schema, "$id"));
    if (!id && (d->draft == QR_DRAFT_4 || schema == d->root))
        id = qr_json_string(qr_json_get(schema, "id"));
    if (id && !ignore_siblings) {
        if (!add_resource(s, d, schema, id, &in))
            return false;
    } else if (schema == d->root && !add_resource(s, d, schema, "", &in)) {
        return false;
    }
    if (!add_anchors(s, d, schema, in))
        return false;
    if (d->draft >= QR_DRAFT_2019 &&
        (qr_json_get(schema, "unevaluatedProperties") || qr_json_get(schema, "unevaluatedItems")))
        s->track_evaluated = true;
    for (struct qr_json_iter i = qr_json_iterate(schema); qr_json_next(&i);)
        if (!scan_keyword(s, d, i.key, i.value, in))
            return false;
    return qr_schema_check(s);
}

static bool read_draft(struct qr_schema *s, struct qr_schema_document *d)
{
    static const struct {
        const char *uri;
        enum qr_draft draft;
    } table[] = {
        { "json-schema.org/draft-04/schema", QR_DRAFT_4 },
        { "json-schema.org/draft-06/schema", QR_DRAFT_6 },
        { "json-schema.org/draft-07/schema", QR_DRAFT_7 },
        { "json-schema.org/draft/2019-09/schema", QR_DRAFT_2019 },
        { "json-schema.org/draft/2020-12/schema", QR_DRAFT_2020 },
    };
    const char *uri = qr_json_string(qr_json_get(d->root, "$schema"));
    d->draft = QR_DRAFT_2020;
    if (!uri)
        return true;
    if (strstr(uri, "json-schema.org/draft-03/") || strstr(uri, "json-schema.org/draft-02/"))
        return qr_schema_fail(s, QUIRE_E_UNSUPPORTED, d->root, "$schema",
                              "drafts before 4 are not supported");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strstr(uri, table[i].uri))
            d->draft = table[i].draft;
    return true;
}

struct qr_schema_document *qr_document_new(struct qr_schema *s, const struct qr_json *root)
{
    struct qr_schema_document *d = qr_schema_alloc(s, 1, sizeof *d);
    if (!d)
        return NULL;
    d->root = root;
    if (!qr_json_is_object(root) && !qr_json_is_bool(root)) {
        qr_schema_fail(s, QUIRE_E_INVALID_ARG, root, NULL, "a schema is an object or a boolean");
        return NULL;
    }
    return read_draft(s, d) && scan(s, d, root, 0) ? d : NULL;
}

/* ---- References */

/* The innermost resource that contains a schema. */
static const struct resource *resource_of(const struct qr_schema_document *d,
                                          const struct qr_json *schema)
{
    const struct resource *r = d->resources.items;
    for (uint32_t i = d->resources.n; i-- > 0;)
        if (schema >= r[i].root && schema < r[i].end)
            return &r[i];
    return &r[0];
}

/* One step of a JSON pointer: the reference token of n bytes at `token`. */
static const struct qr_json *step(const struct qr_json *v, const char *token, size_t n, char *key)
{
    size_t size = 0, index = 0;
    for (size_t i = 0; i < n; i++) {
        char c = token[i];
        if (c == '~' && i + 1 < n && (token[i + 1] == '0' || token[i + 1] == '1'))
            c = token[++i] == '0' ? '~' : '/';
        key[size++] = c;
    }
    if (qr_json_is_object(v))
        return qr_json_get_n(v, key, size);
    if (!size || size > 9 || strspn(token, "0123456789") < n)
        return NULL;
    for (size_t i = 0; i < size; i++)
        index = 10 * index + (size_t)(key[i] - '0');
    return qr_json_at(v, index);
}

static const struct qr_json *find_fragment(struct qr_schema *s, const struct resource *r,
                                           const char *fragment)
{
    const struct qr_schema_document *d = s->document;
    const struct anchor *anchors = d->anchors.items;
    const uint32_t resource = (uint32_t)(r - (const struct resource *)d->resources.items);
    const struct qr_json *v = r->root;
    if (*fragment && *fragment != '/') {
        for (uint32_t i = 0; i < d->anchors.n; i++)
            if (anchors[i].resource == resource && strcmp(anchors[i].name, fragment) == 0)
                return anchors[i].schema;
        return NULL;
    }
    char *key = qr_schema_alloc(s, strlen(fragment) + 1, 1);
    if (!key)
        return NULL;
    while (v && *fragment == '/') {
        const size_t n = strcspn(++fragment, "/");
        v = step(v, fragment, n, key);
        fragment += n;
    }
    return v;
}

/* Dynamic references are resolved where only one target is possible. */
static bool check_dynamic(struct qr_schema *s, const struct qr_json *schema, const char *keyword,
                          const struct qr_json *target)
{
    const struct qr_schema_document *d = s->document;
    const struct anchor *a = d->anchors.items;
    const char *name = qr_json_string(qr_json_get(target, "$dynamicAnchor"));
    uint32_t n = 0;
    if (strcmp(keyword, "$recursiveRef") == 0)
        n = d->n_recursive_anchors;
    else if (strcmp(keyword, "$dynamicRef") == 0 && name)
        for (uint32_t i = 0; i < d->anchors.n; i++)
            n += a[i].dynamic && strcmp(a[i].name, name) == 0;
    return n < 2 || qr_schema_fail(s, QUIRE_E_UNSUPPORTED, schema, keyword,
                                   "a dynamic reference with several possible targets");
}

const struct qr_json *qr_document_resolve(struct qr_schema *s, const struct qr_json *schema,
                                          const char *keyword)
{
    const struct qr_schema_document *d = s->document;
    const struct resource *r = d->resources.items;
    const char *ref = qr_json_string(qr_json_get(schema, keyword)), *fragment;
    uint32_t i = 0;
    if (!ref) {
        qr_schema_fail(s, QUIRE_E_INVALID_ARG, schema, keyword, "must be a string");
        return NULL;
    }
    const char *uri = qr_uri_resolve(s, resource_of(d, schema)->uri, ref, &fragment);
    if (!uri)
        return NULL;
    while (i < d->resources.n && strcmp(r[i].uri, uri) != 0)
        i++;
    if (i == d->resources.n) {
        qr_schema_fail(s, QUIRE_E_UNSUPPORTED, schema, keyword,
                       "\"%.120s\" is another document; only this one is read", ref);
        return NULL;
    }
    const struct qr_json *target = find_fragment(s, &r[i], fragment);
    if (!qr_schema_ok(s))
        return NULL;
    if (!qr_json_is_object(target) && !qr_json_is_bool(target)) {
        qr_schema_fail(s, QUIRE_E_INVALID_ARG, schema, keyword,
                       target ? "\"%.120s\" is no schema" : "\"%.120s\" does not exist", ref);
        return NULL;
    }
    return check_dynamic(s, schema, keyword, target) ? target : NULL;
}

/* ---- Pointers */

void qr_document_pointer(const struct qr_json *root, const struct qr_json *value, char *out,
                         size_t size)
{
    size_t used = 0;
    out[0] = 0;
    if (!value || value < root || value >= end_of(root))
        return;
    while (root != value && used + 1 < size) {
        struct qr_json_iter i = qr_json_iterate(root);
        bool found = false;
        while (!found && qr_json_next(&i))
            found = value >= i.value && value < end_of(i.value);
        if (!found)
            return;
        out[used++] = '/';
        if (!i.key)
            used += (size_t)snprintf(out + used, size - used, "%zu", i.index);
        for (const char *p = i.key; p && *p && used + 2 < size; p++) {
            if (*p == '~' || *p == '/')
                out[used++] = '~';
            out[used++] = *p == '~' ? '0' : *p == '/' ? '1' : *p;
        }
        used = used < size ? used : size - 1;
        out[used] = 0;
        root = i.value;
    }
}
