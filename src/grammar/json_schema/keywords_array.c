/* SPDX-License-Identifier: Apache-2.0 */
/* keywords_array.c - the keywords of arrays. */
#include "grammar/json_schema/keywords_array.h"
#include "grammar/json_schema/array_set.h"
#include "grammar/json_schema/context.h"
#include "grammar/json_schema/expr.h"

/* prefixItems, or `items` as an array. */
static bool read_prefix(struct qr_schema *s, const struct qr_json *list, const char *name,
                        const struct qr_keywords *k, struct qr_array_alt *alt)
{
    if (!qr_json_is_array(list))
        return qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, name,
                              "must be an array of schemas");
    qr_expr *prefix = qr_schema_alloc(s, qr_json_size(list), sizeof *prefix);
    if (!prefix)
        return false;
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);) {
        prefix[alt->n_prefix] = qr_expr_schema(s, i.value);
        if (prefix[alt->n_prefix] == QR_EXPR_NONE && alt->max > alt->n_prefix)
            alt->max = alt->n_prefix;
        alt->n_prefix++;
    }
    alt->prefix = prefix;
    return qr_schema_ok(s);
}

static bool read_items(struct qr_schema *s, const struct qr_keywords *k, struct qr_array_alt *alt)
{
    const struct qr_json *rest = k->items;
    if (k->prefix_items && !read_prefix(s, k->prefix_items, "prefixItems", k, alt))
        return false;
    if (qr_json_is_array(k->items)) {
        if (k->prefix_items)
            return qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, "items",
                                  "must be a schema beside prefixItems");
        if (!read_prefix(s, k->items, "items", k, alt))
            return false;
        rest = k->additional_items;
    }
    if (rest)
        alt->rest = qr_expr_schema(s, rest);
    if (alt->rest == QR_EXPR_NONE && alt->max > alt->n_prefix)
        alt->max = alt->n_prefix;
    return qr_schema_ok(s);
}

static bool read_contains(struct qr_schema *s, const struct qr_keywords *k,
                          struct qr_array_alt *alt)
{
    struct qr_contains *c = qr_schema_alloc(s, 1, sizeof *c);
    if (!c || !qr_keyword_count(s, k->schema, "minContains", k->min_contains, 1, &c->min) ||
        !qr_keyword_count(s, k->schema, "maxContains", k->max_contains, QR_UNLIMITED, &c->max))
        return false;
    c->at = k->schema;
    c->item = qr_expr_schema(s, k->contains);
    if (c->item == QR_EXPR_ALL) {
        alt->min = alt->min > c->min ? alt->min : c->min;
        alt->max = alt->max < c->max ? alt->max : c->max;
    } else if (c->min || c->max != QR_UNLIMITED || s->track_evaluated) {
        alt->contains = c;
        alt->n_contains = 1;
    }
    return qr_schema_ok(s);
}

bool qr_keywords_array(struct qr_schema *s, const struct qr_keywords *k, struct qr_value_set *out)
{
    out->arrays = &qr_array_any;
    out->n_arrays = 1;
    if (!k->items && !k->prefix_items && !k->contains && !k->min_items && !k->max_items &&
        !k->unique_items)
        return true;
    struct qr_array_alt *alt = qr_schema_alloc(s, 1, sizeof *alt);
    if (!alt)
        return false;
    alt->rest = QR_EXPR_ALL;
    alt->unique = qr_json_is_true(k->unique_items) ? k->schema : NULL;
    if (k->unique_items && !qr_json_is_bool(k->unique_items))
        return qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, "uniqueItems",
                              "must be a boolean");
    if (!qr_keyword_count(s, k->schema, "minItems", k->min_items, 0, &alt->min) ||
        !qr_keyword_count(s, k->schema, "maxItems", k->max_items, QR_UNLIMITED, &alt->max) ||
        !read_items(s, k, alt) || (k->contains && !read_contains(s, k, alt)))
        return false;
    out->arrays = alt;
    out->n_arrays = alt->min <= alt->max;
    return true;
}
