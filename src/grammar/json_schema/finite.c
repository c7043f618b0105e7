/* SPDX-License-Identifier: Apache-2.0 */
/* finite.c - expressions with finitely many values. */
#include "grammar/json_schema/finite.h"
#include "grammar/json_schema/document.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/instance.h"
#include "grammar/json_schema/keywords.h"
#include "grammar/json_schema/normalize.h"

enum { MAX_DEPTH = 8 };

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
