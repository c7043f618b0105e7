/* SPDX-License-Identifier: Apache-2.0 */
/* keywords_object.c - the keywords of objects. */
#include "grammar/json_schema/keywords_object.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/keys.h"
#include "grammar/json_schema/list.h"
#include "grammar/json_schema/normalize.h"
#include "grammar/json_schema/object_set.h"
#include "grammar/json_schema/pattern.h"

enum { MAX_REGIONS = 256 };

struct pattern {
    qr_regex keys;
    qr_expr value;
};

struct object_reader {
    struct qr_schema *s;
    const struct qr_keywords *k;
    struct pattern *patterns;
    uint32_t n_patterns;
    qr_expr additional;
    qr_regex names; /* propertyNames */
    struct qr_list properties;
};

static bool read_patterns(struct object_reader *r)
{
    const struct qr_json *map = r->k->pattern_properties;
    if (!map)
        return true;
    if (!qr_json_is_object(map))
        return qr_schema_fail(r->s, QUIRE_E_INVALID_ARG, r->k->schema, "patternProperties",
                              "must be an object of schemas");
    r->patterns = qr_schema_alloc(r->s, qr_json_size(map), sizeof *r->patterns);
    if (!r->patterns)
        return false;
    for (struct qr_json_iter i = qr_json_iterate(map); qr_json_next(&i);) {
        struct pattern *p = &r->patterns[r->n_patterns++];
        p->value = qr_expr_schema(r->s, i.value);
        struct qr_value_set set;
        if (!qr_schema_pattern(r->s, map, i.key, i.key, &set))
            return false;
        p->keys = set.strings;
    }
    return true;
}

/* The set of a declared key: its schema and those of the patterns that match, or the additional
 * one. */
static qr_expr declared_value(struct object_reader *r, const char *key, size_t size,
                              const struct qr_json *schema)
{
    qr_expr value = schema ? qr_expr_schema(r->s, schema) : QR_EXPR_ALL;
    bool matched = schema;
    if (!qr_string_matches(r->s, r->names, key, size))
        return QR_EXPR_NONE;
    for (uint32_t i = 0; i < r->n_patterns; i++)
        if (qr_string_matches(r->s, r->patterns[i].keys, key, size)) {
            value = qr_expr_and(r->s, value, r->patterns[i].value);
            matched = true;
        }
    return matched ? value : r->additional;
}

static bool add_property(struct object_reader *r, const char *key, const struct qr_json *schema,
                         bool required)
{
    const size_t size = strlen(key);
    const uint32_t id = qr_key_id(r->s, key, size);
    if (id == UINT32_MAX)
        return false;
    uint32_t *slot = &qr_key_slots(r->s)[id];
    struct qr_property *list = r->properties.items;
    if (*slot) {
        list[*slot - 1].required |= required;
        return true;
    }
    const struct qr_property p = { id, declared_value(r, key, size, schema), required };
    if (!qr_list_push(r->s, &r->properties, &p, sizeof p))
        return false;
    qr_key_slots(r->s)[id] = r->properties.n;
    return qr_schema_ok(r->s);
}

static bool read_properties(struct object_reader *r)
{
    const struct qr_json *map = r->k->properties, *required = r->k->required;
    bool ok = true;
    if (map && !qr_json_is_object(map))
        return qr_schema_fail(r->s, QUIRE_E_INVALID_ARG, r->k->schema, "properties",
                              "must be an object of schemas");
    if (required && !qr_json_is_array(required))
        return qr_schema_fail(r->s, QUIRE_E_INVALID_ARG, r->k->schema, "required",
                              "must be an array of strings");
    for (struct qr_json_iter i = qr_json_iterate(map); ok && qr_json_next(&i);)
        ok = add_property(r, i.key, i.value, false) && (i.index % 64 || qr_schema_check(r->s));
    for (struct qr_json_iter i = qr_json_iterate(required); ok && qr_json_next(&i);) {
        if (!qr_json_is_string(i.value))
            ok = qr_schema_fail(r->s, QUIRE_E_INVALID_ARG, r->k->schema, "required",
                                "must be an array of strings");
        ok = ok && add_property(r, qr_json_string(i.value), NULL, true);
    }
    const struct qr_property *list = r->properties.items;
    for (uint32_t i = 0; i < r->properties.n; i++)
        qr_key_slots(r->s)[list[i].key] = 0;
    return ok;
}

struct region {
    qr_regex keys;
    qr_expr value;
    bool matched; /* by a pattern */
};

/* Splits each region by one pattern. */
static bool split_regions(struct object_reader *r, const struct pattern *p, struct qr_list *from)
{
    struct qr_schema *s = r->s;
    struct qr_list to = { 0 };
    const struct region *list = from->items;
    const qr_regex outside = qr_regex_not(s->regexes, p->keys);
    for (uint32_t i = 0; i < from->n; i++)
        for (int inside = 1; inside >= 0; inside--) {
            struct region x = list[i];
            x.keys =
                qr_regex_and(s->regexes, (qr_regex[]){ x.keys, inside ? p->keys : outside }, 2);
            x.matched |= inside;
            if (inside)
                x.value = qr_expr_and(s, x.value, p->value);
            if (!qr_string_is_none(s, x.keys) && !qr_list_push(s, &to, &x, sizeof x))
                return false;
            if (!qr_schema_check(s))
                return false;
        }
    if (to.n > MAX_REGIONS)
        return qr_schema_fail(s, QUIRE_E_LIMIT, r->k->schema, "patternProperties",
                              "too many patterns that overlap");
    *from = to;
    return qr_schema_check(s);
}

static bool build_regions(struct object_reader *r, struct qr_object_alt *alt)
{
    struct qr_list regions = { 0 };
    const struct region all = { r->names, QR_EXPR_ALL, false };
    if (!qr_list_push(r->s, &regions, &all, sizeof all))
        return false;
    for (uint32_t i = 0; i < r->n_patterns; i++)
        if (!split_regions(r, &r->patterns[i], &regions))
            return false;
    struct qr_key_region *list = qr_schema_alloc(r->s, regions.n, sizeof *list);
    if (!list)
        return false;
    for (uint32_t i = 0; i < regions.n; i++) {
        const struct region *x = (const struct region *)regions.items + i;
        const qr_expr value = x->matched ? x->value : r->additional;
        if (value != QR_EXPR_NONE && x->keys != QR_REGEX_NONE)
            list[alt->n_regions++] = (struct qr_key_region){ x->keys, value };
    }
    alt->regions = list;
    return true;
}

static bool read_names(struct object_reader *r)
{
    r->names = QR_REGEX_ANY;
    if (!r->k->property_names)
        return true;
    const struct qr_value_set *set = qr_normalize(r->s, qr_expr_schema(r->s, r->k->property_names));
    if (set)
        r->names = set->strings;
    return set;
}

bool qr_keywords_object(struct qr_schema *s, const struct qr_keywords *k, struct qr_value_set *out)
{
    struct object_reader r = { .s = s, .k = k, .additional = QR_EXPR_ALL };
    out->objects = &qr_object_any;
    out->n_objects = 1;
    if (!k->properties && !k->pattern_properties && !k->additional_properties && !k->required &&
        !k->min_properties && !k->max_properties && !k->property_names)
        return true;
    struct qr_object_alt *alt = qr_schema_alloc(s, 1, sizeof *alt);
    if (!alt)
        return false;
    if (k->additional_properties)
        r.additional = qr_expr_schema(s, k->additional_properties);
    if (!qr_keyword_count(s, k->schema, "minProperties", k->min_properties, 0, &alt->min) ||
        !qr_keyword_count(s, k->schema, "maxProperties", k->max_properties, QR_UNLIMITED,
                          &alt->max) ||
        !read_names(&r) || !read_patterns(&r) || !read_properties(&r) || !build_regions(&r, alt))
        return false;
    alt->properties = r.properties.items;
    alt->n_properties = r.properties.n;
    out->objects = alt;
    out->n_objects = !qr_object_is_obviously_none(alt);
    return qr_schema_ok(s);
}
