/* SPDX-License-Identifier: Apache-2.0 */
/* expr.h - expressions over schemas, hash-consed. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_EXPR_H
#define QR_GRAMMAR_JSON_SCHEMA_EXPR_H
#include "grammar/json_schema/types.h"

enum qr_expr_kind {
    QR_EXPR_KIND_NONE,
    QR_EXPR_KIND_ALL,
    QR_EXPR_KIND_SCHEMA, /* the values that satisfy a schema of the document */
    QR_EXPR_KIND_VALUE,  /* one value of the document */
    QR_EXPR_KIND_AND,
    QR_EXPR_KIND_OR,
    QR_EXPR_KIND_NOT,
};

enum qr_expr_state { QR_EXPR_NEW, QR_EXPR_BUSY, QR_EXPR_DONE, QR_EXPR_FAILED };

struct qr_expr_node {
    enum qr_expr_kind kind;
    const struct qr_json *json; /* SCHEMA, VALUE */
    const qr_expr *list;        /* AND, OR, NOT: ascending ids */
    uint32_t n;
    /* the value set, computed by qr_normalize */
    enum qr_expr_state state;
    const struct qr_value_set *set;          /* DONE */
    const struct qr_schema_failure *failure; /* FAILED */
    /* step 3 and 4: place in the order of reach.h + 1 */
    uint32_t reached;
};

/* NULL and a failure without memory. Memory of the arena. */
struct qr_expr_table *qr_exprs_new(struct qr_schema *s);
/* The node is valid until the next expression is made. */
struct qr_expr_node *qr_expr_get(const struct qr_schema *s, qr_expr e);

/* These return QR_EXPR_NONE after a failure. */
qr_expr qr_expr_schema(struct qr_schema *s, const struct qr_json *schema);
qr_expr qr_expr_value(struct qr_schema *s, const struct qr_json *value);
qr_expr qr_expr_and(struct qr_schema *s, qr_expr a, qr_expr b);
qr_expr qr_expr_or(struct qr_schema *s, qr_expr a, qr_expr b);
qr_expr qr_expr_not(struct qr_schema *s, qr_expr a);

#endif
