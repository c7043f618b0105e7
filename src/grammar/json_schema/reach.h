/* SPDX-License-Identifier: Apache-2.0 */
/* reach.h - the expressions that a root needs, and which of them have values. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_REACH_H
#define QR_GRAMMAR_JSON_SCHEMA_REACH_H
#include "grammar/json_schema/list.h"
#include "grammar/json_schema/shapes.h"

struct qr_reached {
    qr_expr expr;
    struct qr_shape shape;
    bool productive; /* some value of finite size is in the set */
    /* emit.c: nodes of the values, and of arrays and objects alone; 0 = not built */
    qr_node value, containers;
    bool value_is_rule, containers_is_rule; /* used before they are defined */
};

/* In the order in which they were found: an expression mostly before the ones it needs. */
struct qr_reach {
    struct qr_list list; /* struct qr_reached; item 0 is the root */
};

/* False and a failure. */
bool qr_reach(struct qr_schema *s, qr_expr root, struct qr_reach *out);

/* The entry of an expression other than QR_EXPR_NONE that is needed. */
struct qr_reached *qr_reached_get(const struct qr_schema *s, const struct qr_reach *reach,
                                  qr_expr e);
bool qr_is_productive(const struct qr_schema *s, const struct qr_reach *reach, qr_expr e);
bool qr_object_is_productive(const struct qr_schema *s, const struct qr_reach *reach,
                             const struct qr_object_shape *shape);
bool qr_array_is_productive(const struct qr_schema *s, const struct qr_reach *reach,
                            const struct qr_array_shape *shape);
/* The largest number of items that an array can have. */
uint32_t qr_array_max(const struct qr_schema *s, const struct qr_reach *reach,
                      const struct qr_array_shape *shape);

#endif
