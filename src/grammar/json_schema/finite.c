/* SPDX-License-Identifier: Apache-2.0 */
/* finite.c - expressions with finitely many values. */
#include "grammar/json_schema/finite.h"
#include "grammar/json_schema/document.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/instance.h"
#include "grammar/json_schema/keywords.h"
#include "grammar/json_schema/normalize.h"

enum { MAX_DEPTH = 8, MAX_COMPARED = 64 };

/* A list that contains all values of the expression: an enum or const on the way to it. */
static bool candidates(struct qr_schema *s, qr_expr e, int depth, struct qr_list *out);

static bool add_candidate(struct qr_schema *s, const struct qr_json *value, struct qr_list *out)
{
    for (uint32_t i = 0; i < out->n; i++)
        if (qr_json_equal(((const struct qr_json *const *)out->items)[i], value))
            return true;
    return qr_list_push(s, out, &value, sizeof value);
}

/* The first of a list of subschemas that has finitely many values, or all of them together. */
static bool of_list(struct qr_schema *s, const struct qr_json *list, bool all, int depth,
                    struct qr_list *out)
{
    bool any = false;
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);) {
        const bool ok = candidates(s, qr_expr_schema(s, i.value), depth, out);
        if (ok != all)
            return ok;
        any = true;
    }
    return any && all;
}

static bool of_schema(struct qr_schema *s, const struct qr_json *schema, int depth,
                      struct qr_list *out)
{
    struct qr_keywords k;
    if (!qr_keywords_read(s, schema, &k))
        return false;
    if (k.constant)
        return add_candidate(s, k.constant, out);
    if (k.enumeration) {
        for (struct qr_json_iter i = qr_json_iterate(k.enumeration); qr_json_next(&i);)
            if (out->n > 4096 || !add_candidate(s, i.value, out))
                return false;
        return true;
    }
    const struct qr_json *target = k.ref ? qr_document_resolve(s, schema, "$ref") : NULL;
    if (target && candidates(s, qr_expr_schema(s, target), depth, out))
        return true;
    return (k.all_of && of_list(s, k.all_of, false, depth, out)) ||
           (k.any_of && of_list(s, k.any_of, true, depth, out)) ||
           (k.one_of && of_list(s, k.one_of, true, depth, out));
}

static bool candidates(struct qr_schema *s, qr_expr e, int depth, struct qr_list *out)
{
    const struct qr_expr_node node = *qr_expr_get(s, e);
    if (depth >= MAX_DEPTH || !qr_schema_ok(s))
        return false;
    switch (node.kind) {
    case QR_EXPR_KIND_NONE:
        return true;
    case QR_EXPR_KIND_VALUE:
        return add_candidate(s, node.json, out);
    case QR_EXPR_KIND_SCHEMA:
        return of_schema(s, node.json, depth + 1, out);
    case QR_EXPR_KIND_AND:
        for (uint32_t i = 0; i < node.n; i++)
            if (candidates(s, node.list[i], depth + 1, out))
                return true;
        return false;
    case QR_EXPR_KIND_OR:
        for (uint32_t i = 0; i < node.n; i++)
            if (!candidates(s, node.list[i], depth + 1, out))
                return false;
        return true;
    default:
        return false;
    }
}

bool qr_finite_values(struct qr_schema *s, qr_expr e, uint32_t max, struct qr_list *out)
{
    struct qr_list list = { 0 };
    const struct qr_value_set *set = qr_normalize(s, e);
    bool has;
    if (!set || !candidates(s, e, 0, &list))
        return false;
    for (uint32_t i = 0; i < list.n; i++) {
        const struct qr_json *value = ((const struct qr_json *const *)list.items)[i];
        if (!qr_set_has(s, set, value, &has))
            return false;
        const qr_expr one = has ? qr_expr_value(s, value) : QR_EXPR_NONE;
        if (has && (out->n >= max || !qr_list_push(s, out, &one, sizeof one)))
            return false;
    }
    return qr_schema_ok(s);
}

/* The list of enum, or the value of const; NULL without them. */
static const struct qr_json *given_values(const struct qr_schema *s, qr_expr e, bool *list)
{
    const struct qr_expr_node *node = qr_expr_get(s, e);
    *list = false;
    if (node->kind == QR_EXPR_KIND_VALUE)
        return node->json;
    if (node->kind != QR_EXPR_KIND_SCHEMA ||
        (qr_document_draft(s->document) <= QR_DRAFT_7 && qr_json_get(node->json, "$ref")))
        return NULL;
    const struct qr_json *values = qr_json_get(node->json, "const");
    if (values && qr_document_draft(s->document) >= QR_DRAFT_6)
        return values;
    values = qr_json_get(node->json, "enum");
    *list = true;
    return qr_json_is_array(values) && qr_json_size(values) <= MAX_COMPARED ? values : NULL;
}

static bool in_values(const struct qr_json *value, const struct qr_json *values, bool list)
{
    if (!list)
        return qr_json_equal(value, values);
    for (struct qr_json_iter i = qr_json_iterate(values); qr_json_next(&i);)
        if (qr_json_equal(value, i.value))
            return true;
    return false;
}

bool qr_exprs_differ(const struct qr_schema *s, qr_expr a, qr_expr b)
{
    bool list_a, list_b;
    const struct qr_json *of_a = given_values(s, a, &list_a);
    const struct qr_json *of_b = given_values(s, b, &list_b);
    if (!of_a || !of_b)
        return false;
    if (!list_a)
        return !in_values(of_a, of_b, list_b);
    for (struct qr_json_iter i = qr_json_iterate(of_a); qr_json_next(&i);)
        if (in_values(i.value, of_b, list_b))
            return false;
    return true;
}
