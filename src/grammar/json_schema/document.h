/* SPDX-License-Identifier: Apache-2.0 */
/* document.h - resources, anchors and references of a schema document. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_DOCUMENT_H
#define QR_GRAMMAR_JSON_SCHEMA_DOCUMENT_H
#include "grammar/json_schema/types.h"

/* Finds the draft, $id and the anchors below a root, which is borrowed. NULL and a failure. */
struct qr_schema_document *qr_document_new(struct qr_schema *s, const struct qr_json *root);

enum qr_draft qr_document_draft(const struct qr_schema_document *d);

/* The schema that the keyword $ref, $dynamicRef or $recursiveRef of `schema` names. NULL and a
 * failure: QUIRE_E_UNSUPPORTED other documents, which are never read, and dynamic references with
 * several targets; QUIRE_E_INVALID_ARG a reference to nothing. */
const struct qr_json *qr_document_resolve(struct qr_schema *s, const struct qr_json *schema,
                                          const char *keyword);

/* Writes the JSON pointer of a value below the root, cut to fit `size`: "/properties/a". "" for the
 * root and values that are not below it. */
void qr_document_pointer(const struct qr_json *root, const struct qr_json *value, char *out,
                         size_t size);

#endif
