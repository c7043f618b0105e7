/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - JSON Schema to the nodes of a grammar.
 *
 * Drafts 4 to 2020-12; `$schema` decides, 2020-12 without it (docs/structured-output.md has the
 * table of keywords). The grammar accepts a text if and only if its value satisfies the schema, up
 * to the spellings of numbers and strings (regex/json_string.h, regex/number_range.h). What cannot
 * be compiled exactly is refused with QUIRE_E_UNSUPPORTED and the JSON pointer of the keyword. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_SCHEMA_H
#define QR_GRAMMAR_JSON_SCHEMA_SCHEMA_H
#include "grammar/core/front_end.h"
#include "grammar/json_schema/notation.h"
#include "json/json.h"

/* Builds the grammar of the JSON texts that satisfy a schema.
 *  QUIRE_E_INVALID_ARG the text is no JSON (offset and line) or no schema (JSON pointer);
 *  QUIRE_E_UNSUPPORTED a keyword that cannot be compiled exactly, or no value satisfies the schema,
 *  both with the JSON pointer; QUIRE_E_LIMIT size, nesting, alternatives, deadline;
 *  QUIRE_E_NOMEM. */
quire_status qr_schema_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                             struct quire_error *err) QUIRE_MUST_CHECK;

/* The same in another notation. */
quire_status qr_schema_build_notation(struct qr_front_end *f, const char *text, size_t size,
                                      const struct qr_notation *notation, qr_node *out,
                                      struct quire_error *err) QUIRE_MUST_CHECK;

/* The same of a parsed schema, e.g. a part of a larger document, which must outlive the call.
 *  notation  NULL = JSON
 *  path      JSON pointer of the schema in the caller's document, prefix of those in messages */
quire_status qr_schema_build_value(struct qr_front_end *f, const struct qr_json *schema,
                                   const struct qr_notation *notation, const char *path,
                                   qr_node *out, struct quire_error *err) QUIRE_MUST_CHECK;

#endif
