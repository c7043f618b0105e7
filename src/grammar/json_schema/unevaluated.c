/* SPDX-License-Identifier: Apache-2.0 */
/* unevaluated.c - unevaluatedProperties and unevaluatedItems. */
#include "grammar/json_schema/unevaluated.h"
#include "grammar/json_schema/array_set.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/keys.h"
#include "grammar/json_schema/list.h"
#include "grammar/json_schema/pattern.h"

/* ---- What the keywords of one schema evaluate */

static bool evaluated_keys(struct qr_schema *s, const struct qr_keywords *k, qr_regex *out)
{
    struct qr_list list = { 0 };
    *out = k->additional_properties ? (qr_regex)QR_REGEX_ANY : (qr_regex)QR_REGEX_NONE;
    if (k->additional_properties)
        return true;
    for (struct qr_json_iter i = qr_json_iterate(k->properties); qr_json_next(&i);) {
        const qr_regex r = qr_string_literal(s, i.key, strlen(i.key));
        if (!qr_list_push(s, &list, &r, sizeof r))
            return false;
    }
    for (struct qr_json_iter i = qr_json_iterate(k->pattern_properties); qr_json_next(&i);) {
        struct qr_value_set set;
        if (!qr_schema_pattern(s, k->pattern_properties, i.key, i.key, &set) ||
            !qr_list_push(s, &list, &set.strings, sizeof set.strings))
            return false;
    }
    if (list.n)
        *out = qr_regex_or(s->regexes, list.items, list.n);
    return true;
}

static uint32_t evaluated_items(const struct qr_keywords *k)
{
    const bool tuple = qr_json_is_array(k->items);
    if ((k->items && !tuple) || (tuple && k->additional_items) || qr_json_is_true(k->contains))
        return QR_UNLIMITED;
    return (uint32_t)qr_json_size(tuple ? k->items : k->prefix_items);
}

bool qr_mark_evaluated(struct qr_schema *s, const struct qr_keywords *k, struct qr_value_set *set)
{
    const uint32_t items = evaluated_items(k);
    qr_regex keys;
    if (!s->track_evaluated)
        return true;
    if (!evaluated_keys(s, k, &keys))
        return false;
    struct qr_object_alt *objects = qr_schema_alloc(s, set->n_objects, sizeof *objects);
    struct qr_array_alt *arrays = qr_schema_alloc(s, set->n_arrays, sizeof *arrays);
    if (!objects || !arrays)
        return false;
    for (uint32_t i = 0; i < set->n_objects; i++) {
        objects[i] = set->objects[i];
        objects[i].evaluated = keys;
    }
    for (uint32_t i = 0; i < set->n_arrays; i++) {
        arrays[i] = set->arrays[i];
        arrays[i].evaluated = items;
    }
    set->objects = objects;
    set->arrays = arrays;
    return true;
}

/* ---- The keywords */

static bool restrict_object(struct qr_schema *s, qr_expr value, struct qr_object_alt *alt)
{
    const qr_regex outside = qr_regex_not(s->regexes, alt->evaluated);
    struct qr_property *list = qr_schema_alloc(s, alt->n_properties, sizeof *list);
    struct qr_key_region *regions = qr_schema_alloc(s, 2 * (size_t)alt->n_regions, sizeof *regions);
    uint32_t n = 0;
    if (!list || !regions)
        return false;
    for (uint32_t i = 0; i < alt->n_properties; i++) {
        size_t size;
        const char *text = qr_key_text(s, alt->properties[i].key, &size);
        list[i] = alt->properties[i];
        if (!qr_string_matches(s, alt->evaluated, text, size))
            list[i].value = qr_expr_and(s, list[i].value, value);
    }
    for (uint32_t i = 0; i < alt->n_regions; i++)
        for (int in = 0; in < 2; in++) {
            struct qr_key_region r = alt->regions[i];
            r.keys =
                qr_regex_and(s->regexes, (qr_regex[]){ r.keys, in ? alt->evaluated : outside }, 2);
            if (!in)
                r.value = qr_expr_and(s, r.value, value);
            if (r.value != QR_EXPR_NONE && !qr_string_is_none(s, r.keys))
                regions[n++] = r;
        }
    alt->properties = list;
    alt->regions = regions;
    alt->n_regions = n;
    alt->evaluated = QR_REGEX_ANY;
    return qr_schema_check(s);
}

static bool restrict_array(struct qr_schema *s, const struct qr_keywords *k, qr_expr value,
                           struct qr_array_alt *alt)
{
    const bool all = alt->evaluated == QR_UNLIMITED;
    const uint32_t n = !all && alt->evaluated > alt->n_prefix ? alt->evaluated : alt->n_prefix;
    qr_expr *prefix = qr_schema_alloc(s, n, sizeof *prefix);
    if (!prefix)
        return false;
    if (alt->n_contains)
        return qr_schema_fail(s, QUIRE_E_UNSUPPORTED, k->schema, "unevaluatedItems",
                              "beside contains");
    for (uint32_t i = 0; i < n && !all; i++) {
        prefix[i] = qr_array_item(alt, i);
        if (i >= alt->evaluated)
            prefix[i] = qr_expr_and(s, prefix[i], value);
    }
    if (!all) {
        alt->prefix = prefix;
        alt->n_prefix = n;
        alt->rest = qr_expr_and(s, alt->rest, value);
    }
    alt->evaluated = QR_UNLIMITED;
    return qr_schema_check(s);
}

bool qr_apply_unevaluated(struct qr_schema *s, const struct qr_keywords *k,
                          struct qr_value_set *set)
{
    if (k->unevaluated_properties) {
        const qr_expr value = qr_expr_schema(s, k->unevaluated_properties);
        struct qr_object_alt *list = qr_schema_alloc(s, set->n_objects, sizeof *list);
        if (!list)
            return false;
        for (uint32_t i = 0; i < set->n_objects; i++) {
            list[i] = set->objects[i];
            if (!restrict_object(s, value, &list[i]))
                return false;
        }
        set->objects = list;
    }
    if (k->unevaluated_items) {
        const qr_expr value = qr_expr_schema(s, k->unevaluated_items);
        struct qr_array_alt *list = qr_schema_alloc(s, set->n_arrays, sizeof *list);
        if (!list)
            return false;
        for (uint32_t i = 0; i < set->n_arrays; i++) {
            list[i] = set->arrays[i];
            if (!restrict_array(s, k, value, &list[i]))
                return false;
        }
        set->arrays = list;
    }
    return qr_schema_ok(s);
}
