/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.h - alternatives of objects and arrays in the form that the grammar needs: lists of kinds
 * of members, without conditions such as "some item". */
#ifndef QR_GRAMMAR_JSON_SCHEMA_SHAPES_H
#define QR_GRAMMAR_JSON_SCHEMA_SHAPES_H
#include "grammar/json_schema/types.h"

/* A key other than the properties that must occur, once. */
struct qr_object_shape {
    const struct qr_object_alt *alt; /* its `exists` stand here, one key for each */
    const qr_regex *exists;
    uint32_t n_exists;
};

/* Items 0 .. n_prefix - 1, then items of `rest` and those of `once`, in any order: the first
 * n_required of `once` occur, the others may, each at most once. */
struct qr_array_shape {
    const qr_expr *prefix, *once;
    uint32_t n_prefix, n_once, n_required;
    qr_expr rest;
    uint32_t min, max; /* items in all */
};

/* An expression in this form. */
struct qr_shape {
    const struct qr_value_set *set; /* scalars, numbers, strings */
    const struct qr_object_shape *objects;
    const struct qr_array_shape *arrays;
    uint32_t n_objects, n_arrays;
};

/* QUIRE_E_UNSUPPORTED for conditions that cannot be expressed. */
bool qr_shape_of(struct qr_schema *s, const struct qr_value_set *set, struct qr_shape *out);

#endif
