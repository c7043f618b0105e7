/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - the keys of objects as numbers, and strings against regular expressions. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_KEYS_H
#define QR_GRAMMAR_JSON_SCHEMA_KEYS_H
#include "grammar/json_schema/types.h"

/* NULL and a failure without memory. Memory of the arena. */
struct qr_key_table *qr_keys_new(struct qr_schema *s);

/* The number of a key, which is borrowed. UINT32_MAX and a failure without memory. */
uint32_t qr_key_id(struct qr_schema *s, const char *text, size_t size);
const char *qr_key_text(const struct qr_schema *s, uint32_t key, size_t *size);
uint32_t qr_key_count(const struct qr_schema *s);

/* A word of scratch memory per key for lookups; 0 except while a function uses it, which sets it
 * back to 0. */
uint32_t *qr_key_slots(struct qr_schema *s);

/* Whether an expression over the contents of JSON strings matches a string. */
bool qr_string_matches(struct qr_schema *s, qr_regex r, const char *text, size_t size);
/* The contents of the JSON string of this text. */
qr_regex qr_string_literal(struct qr_schema *s, const char *text, size_t size);
/* Whether no string of a JSON text matches. False, too, where that takes more than
 * QR_SCHEMA_MAX_STATES to find out. */
bool qr_string_is_none(struct qr_schema *s, qr_regex r);

#endif
