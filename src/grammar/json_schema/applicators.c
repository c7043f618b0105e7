/* SPDX-License-Identifier: Apache-2.0 */
/* applicators.c - keywords that apply subschemas to the same value. */
#include "grammar/json_schema/applicators.h"
#include "grammar/json_schema/context.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/normalize.h"
#include "grammar/json_schema/value_set.h"

enum { MAX_OPTIONS = 1024 }; /* of oneOf, which are compared in pairs */

/* Names the place of a failure of set operations, which do not know it. */
static bool at_keyword(struct qr_schema *s, const struct qr_keywords *k, const char *keyword,
                       bool ok)
{
    if (!ok && !s->failure.at) {
        s->failure.at = k->schema;
        s->failure.keyword = keyword;
    }
    return ok;
}

static bool is_list(struct qr_schema *s, const struct qr_keywords *k, const struct qr_json *list,
                    const char *keyword)
{
    return (qr_json_is_array(list) && qr_json_size(list)) ||
           qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, keyword,
                          "must be a non-empty array of schemas");
}

static QR_OWN_FRAME bool and_schema(struct qr_schema *s, const struct qr_value_set *set,
                                    const struct qr_json *schema, struct qr_value_set *out)
{
    const struct qr_value_set *other = qr_normalize(s, qr_expr_schema(s, schema));
    return other && qr_set_and(s, set, other, out);
}

static QR_OWN_FRAME bool all_of(struct qr_schema *s, const struct qr_keywords *k,
                                struct qr_value_set *set)
{
    if (!is_list(s, k, k->all_of, "allOf"))
        return false;
    for (struct qr_json_iter i = qr_json_iterate(k->all_of); qr_json_next(&i);) {
        const struct qr_value_set before = *set;
        if (!and_schema(s, &before, i.value, set))
            return false;
    }
    return true;
}

/* Adds the values that satisfy both, for which the annotations of both count. */
static QR_OWN_FRAME bool add_both(struct qr_schema *s, const struct qr_value_set *a,
                                  const struct qr_value_set *b, struct qr_value_set *out)
{
    struct qr_value_set both;
    const struct qr_value_set before = *out;
    return qr_set_and(s, a, b, &both) && qr_set_or(s, &before, &both, out);
}

static QR_OWN_FRAME bool any_of(struct qr_schema *s, const struct qr_keywords *k,
                                struct qr_value_set *set)
{
    const struct qr_value_set base = *set;
    struct qr_value_set found = { 0 };
    if (!is_list(s, k, k->any_of, "anyOf"))
        return false;
    for (struct qr_json_iter i = qr_json_iterate(k->any_of); qr_json_next(&i);) {
        const struct qr_value_set before = found;
        struct qr_value_set option;
        if (!and_schema(s, &base, i.value, &option) || !qr_set_or(s, &before, &option, &found))
            return false;
        if (s->track_evaluated && !add_both(s, &before, &option, &found))
            return false;
    }
    *set = found;
    return true;
}

/* [n][n] whether two options can have values in common. */
static QR_OWN_FRAME uint8_t *overlaps(struct qr_schema *s, const struct qr_value_set *options,
                                      size_t n)
{
    if (n > MAX_OPTIONS) {
        qr_schema_fail(s, QUIRE_E_LIMIT, NULL, NULL, "more than %d subschemas", MAX_OPTIONS);
        return NULL;
    }
    uint8_t *list = qr_schema_alloc(s, n, n);
    for (size_t i = 0; list && i < n; i++)
        for (size_t j = 0; j < i; j++) {
            list[i * n + j] = list[j * n + i] = qr_set_overlap(s, &options[i], &options[j]) != 0;
            if (!qr_schema_check(s))
                return NULL;
        }
    return list;
}

/* The values that satisfy exactly one subschema: those of each one without those of the others that
 * are not certainly disjoint. */
static QR_OWN_FRAME bool one_of(struct qr_schema *s, const struct qr_keywords *k,
                                struct qr_value_set *set)
{
    if (!is_list(s, k, k->one_of, "oneOf"))
        return false;
    const size_t n = qr_json_size(k->one_of);
    const struct qr_value_set base = *set;
    struct qr_value_set *options = qr_schema_alloc(s, n, sizeof *options), found = { 0 };
    if (!options)
        return false;
    for (struct qr_json_iter i = qr_json_iterate(k->one_of); qr_json_next(&i);)
        if (!and_schema(s, &base, i.value, &options[i.index]))
            return false;
    uint8_t *overlap = overlaps(s, options, n);
    if (!overlap)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct qr_value_set only = options[i], next;
        for (size_t j = 0; j < n; j++) {
            if (j == i || !overlap[i * n + j])
                continue;
            if (!qr_set_minus(s, &only, &options[j], &next) || !qr_schema_check(s))
                return false;
            only = next;
        }
        next = found;
        if (!qr_set_or(s, &next, &only, &found))
            return false;
    }
    *set = found;
    return true;
}

static QR_OWN_FRAME bool not_schema(struct qr_schema *s, const struct qr_value_set *set,
                                    const struct qr_json *schema, struct qr_value_set *out)
{
    const struct qr_value_set *other = qr_normalize(s, qr_expr_schema(s, schema));
    return other && qr_set_minus(s, set, other, out);
}

/* (if and then) or (not if and else) */
static QR_OWN_FRAME bool conditional(struct qr_schema *s, const struct qr_keywords *k,
                                     struct qr_value_set *set)
{
    const struct qr_value_set base = *set;
    struct qr_value_set yes, no, option;
    if (!k->then && !k->otherwise && !s->track_evaluated)
        return true;
    if (!and_schema(s, &base, k->condition, &yes) || !not_schema(s, &base, k->condition, &no))
        return false;
    if (k->then) {
        option = yes;
        if (!and_schema(s, &option, k->then, &yes))
            return false;
    }
    if (k->otherwise) {
        option = no;
        if (!and_schema(s, &option, k->otherwise, &no))
            return false;
    }
    return qr_set_or(s, &yes, &no, set);
}

static QR_OWN_FRAME bool negation(struct qr_schema *s, const struct qr_keywords *k,
                                  struct qr_value_set *set)
{
    const struct qr_value_set before = *set;
    return not_schema(s, &before, k->negation, set);
}

bool qr_apply_subschemas(struct qr_schema *s, const struct qr_keywords *k, struct qr_value_set *set)
{
    if (k->all_of && !at_keyword(s, k, "allOf", all_of(s, k, set)))
        return false;
    if (k->any_of && !at_keyword(s, k, "anyOf", any_of(s, k, set)))
        return false;
    if (k->one_of && !at_keyword(s, k, "oneOf", one_of(s, k, set)))
        return false;
    if (k->condition && !at_keyword(s, k, "if", conditional(s, k, set)))
        return false;
    return !k->negation || at_keyword(s, k, "not", negation(s, k, set));
}
