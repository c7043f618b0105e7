/* SPDX-License-Identifier: Apache-2.0 */
/* emit.h - nodes of a grammar for the values of expressions. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_EMIT_H
#define QR_GRAMMAR_JSON_SCHEMA_EMIT_H
#include "grammar/json_schema/reach.h"

struct qr_emitter {
    struct qr_schema *s;
    struct qr_reach *reach;
    qr_regex space; /* optional white space, or QR_REGEX_EMPTY */
};

/* The node of the root, in the notation of the compilation. False and a failure. */
bool qr_emit(struct qr_schema *s, struct qr_reach *reach, qr_node *out);

/* For emit_object.c and emit_array.c: the node of an expression that has values; in the second form
 * of its arrays and objects alone, 0 if it has none. */
qr_node qr_emit_value(struct qr_emitter *e, qr_expr expr);
qr_node qr_emit_containers(struct qr_emitter *e, qr_expr expr);
/* The null, booleans and numbers of a set, and with_strings its strings, as JSON or as the notation
 * has them. QR_REGEX_NONE if there are none. Strings between control tokens are not included. */
qr_regex qr_emit_scalars(struct qr_emitter *e, const struct qr_value_set *set, bool with_strings);
/* The raw text of the strings of a set, without `close` in it and, where n is not NULL, without the
 * lines that the notation excludes. */
qr_regex qr_emit_raw_string(struct qr_emitter *e, const struct qr_value_set *set, const char *close,
                            const struct qr_object_notation *n);

#endif
