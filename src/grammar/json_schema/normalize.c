/* SPDX-License-Identifier: Apache-2.0 */
/* normalize.c - expressions to value sets. */
#include "grammar/json_schema/normalize.h"
#include "grammar/json_schema/context.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/instance.h"
#include "grammar/json_schema/schema_set.h"
#include "grammar/json_schema/value_set.h"

/* AND and OR of a list; a list of one is the complement. */
static QR_OWN_FRAME bool combine(struct qr_schema *s, const struct qr_expr_node *e,
                                 struct qr_value_set *out)
{
    const struct qr_value_set all = qr_set_of_types(QR_TYPE_ALL);
    for (uint32_t i = 0; i < e->n; i++) {
        const struct qr_value_set *item = qr_normalize(s, e->list[i]);
        const struct qr_value_set before = *out;
        bool ok = item;
        if (!ok)
            return false;
        if (e->kind == QR_EXPR_KIND_NOT)
            ok = qr_set_minus(s, &all, item, out);
        else if (!i)
            *out = *item;
        else if (e->kind == QR_EXPR_KIND_AND)
            ok = qr_set_and(s, &before, item, out);
        else
            ok = qr_set_or(s, &before, item, out);
        if (!ok)
            return false;
    }
    return true;
}

static bool compute(struct qr_schema *s, const struct qr_expr_node *e, struct qr_value_set *out)
{
    switch (e->kind) {
    case QR_EXPR_KIND_NONE:
        return true;
    case QR_EXPR_KIND_ALL:
        *out = qr_set_of_types(QR_TYPE_ALL);
        return true;
    case QR_EXPR_KIND_SCHEMA:
        return qr_set_of_schema(s, e->json, out);
    case QR_EXPR_KIND_VALUE:
        return qr_set_of_value(s, e->json, out);
    default:
        return combine(s, e, out);
    }
}

/* Remembers the outcome: a failure must come again whenever the expression is needed. Failures of
 * the context must not: in a probe (qr_expr_is_none) an expression can depend on one that is being
 * computed further up. */
static QR_OWN_FRAME const struct qr_value_set *finish(struct qr_schema *s, qr_expr id,
                                                      const struct qr_value_set *set)
{
    struct qr_expr_node *e = qr_expr_get(s, id);
    e->state = QR_EXPR_NEW;
    if (!qr_schema_ok(s)) {
        const struct qr_schema_failure failure = s->failure;
        struct qr_schema_failure *copy = qr_schema_alloc(s, 1, sizeof *copy);
        if (copy && failure.status == QUIRE_E_UNSUPPORTED && !failure.of_context) {
            *copy = failure;
            e->failure = copy;
            e->state = QR_EXPR_FAILED;
        }
        return NULL;
    }
    struct qr_value_set *copy = qr_schema_alloc(s, 1, sizeof *copy);
    if (copy) {
        *copy = *set;
        e->set = copy;
        e->state = QR_EXPR_DONE;
    }
    return copy;
}

const struct qr_value_set *qr_normalize(struct qr_schema *s, qr_expr id)
{
    struct qr_expr_node *e = qr_expr_get(s, id);
    struct qr_value_set set = { 0 };
    if (!qr_schema_ok(s) || e->state == QR_EXPR_DONE)
        return qr_schema_ok(s) ? e->set : NULL;
    if (e->state == QR_EXPR_FAILED) {
        s->failure = *e->failure;
        return NULL;
    }
    if (e->state == QR_EXPR_BUSY) {
        qr_schema_fail(s, QUIRE_E_UNSUPPORTED, e->json, NULL,
                       "the schema refers to itself without a property or item between");
        s->failure.of_context = true;
        return NULL;
    }
    if (s->depth >= QR_SCHEMA_MAX_DEPTH) {
        qr_schema_fail(s, QUIRE_E_LIMIT, e->json, NULL,
                       "more than %d references and subschemas within each other",
                       QR_SCHEMA_MAX_DEPTH);
        return NULL;
    }
    const struct qr_expr_node copy = *e; /* the table can move */
    e->state = QR_EXPR_BUSY;
    s->depth++;
    if (qr_schema_check(s))
        compute(s, &copy, &set);
    s->depth--;
    return finish(s, id, &set);
}

bool qr_expr_is_none(struct qr_schema *s, qr_expr id)
{
    if (id == QR_EXPR_NONE || id == QR_EXPR_ALL || !qr_schema_ok(s))
        return id == QR_EXPR_NONE;
    const struct qr_expr_node *e = qr_expr_get(s, id);
    if (e->state == QR_EXPR_BUSY || s->depth >= QR_SCHEMA_MAX_DEPTH / 2)
        return false;
    const struct qr_value_set *set = qr_normalize(s, id);
    if (!set) {
        qr_schema_recover(s);
        return false;
    }
    s->depth++;
    s->probing++;
    const bool none = qr_set_is_none(s, set);
    s->probing--;
    s->depth--;
    return none;
}
