/* SPDX-License-Identifier: Apache-2.0 */
/* emit_object.h - nodes of objects. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_EMIT_OBJECT_H
#define QR_GRAMMAR_JSON_SCHEMA_EMIT_OBJECT_H
#include "grammar/json_schema/emit.h"

/* The objects of an entry in a notation; 0 if it has none with values. */
qr_node qr_emit_objects(struct qr_emitter *e, const struct qr_reached *entry,
                        const struct qr_object_notation *n);

#endif
