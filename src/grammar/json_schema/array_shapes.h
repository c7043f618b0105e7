/* SPDX-License-Identifier: Apache-2.0 */
/* array_shapes.h - alternatives of arrays without `contains` and uniqueItems. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_ARRAY_SHAPES_H
#define QR_GRAMMAR_JSON_SCHEMA_ARRAY_SHAPES_H
#include "grammar/json_schema/list.h"
#include "grammar/json_schema/shapes.h"

/* Appends the shapes (struct qr_array_shape) of an alternative to *out. QUIRE_E_UNSUPPORTED for
 * conditions that cannot be expressed. */
bool qr_shape_array(struct qr_schema *s, const struct qr_array_alt *alt, struct qr_list *out);

#endif
