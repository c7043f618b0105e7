/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - failures, memory and limits of a compilation. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_CONTEXT_H
#define QR_GRAMMAR_JSON_SCHEMA_CONTEXT_H
#include "grammar/json_schema/types.h"

/* Records a failure unless there is one already, and returns false.
 *  at       the schema that the message names; NULL = the whole document
 *  keyword  of `at`; NULL = the schema itself
 * The format takes what printf takes. */
bool qr_schema_fail(struct qr_schema *s, quire_status status, const struct qr_json *at,
                    const char *keyword, const char *fmt, ...)
    __attribute__((format(printf, 5, 6), cold));

/* Zeroed memory of the arena; NULL and a failure without memory or beyond the limit. */
void *qr_schema_alloc(struct qr_schema *s, size_t n, size_t elem_size);

/* False and a failure after the deadline, or when the regular expressions or the builder failed. To
 * be called in every loop that can be long. */
bool qr_schema_check(struct qr_schema *s);

/* Whether the compilation has not failed. */
static inline bool qr_schema_ok(const struct qr_schema *s) { return s->failure.status == QUIRE_OK; }

/* Where a failure to express something is an answer, not an error: removes a failure with
 * QUIRE_E_UNSUPPORTED or QUIRE_E_LIMIT. Returns whether the compilation can go on: it is not out of
 * time or memory. */
bool qr_schema_recover(struct qr_schema *s);

#endif
