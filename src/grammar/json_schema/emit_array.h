/* SPDX-License-Identifier: Apache-2.0 */
/* emit_array.h - nodes of arrays. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_EMIT_ARRAY_H
#define QR_GRAMMAR_JSON_SCHEMA_EMIT_ARRAY_H
#include "grammar/json_schema/emit.h"

/* The arrays of an entry; 0 if it has none with values. */
qr_node qr_emit_arrays(struct qr_emitter *e, const struct qr_reached *entry);

#endif
