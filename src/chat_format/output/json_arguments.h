/* SPDX-License-Identifier: Apache-2.0 */
/* json_arguments.h - arguments that are written as JSON. */
#ifndef QR_CHAT_FORMAT_OUTPUT_JSON_ARGUMENTS_H
#define QR_CHAT_FORMAT_OUTPUT_JSON_ARGUMENTS_H
#include "chat_format/output/parser.h"

/* Sends the JSON value at the cursor, up to its end, as arguments of the current call. A string
 * that holds a JSON object is that object, null is {}. Text that is no JSON is sent as it is, up to
 * a marker of o->end_set or the end. Uses o->reader.json, zero at the start. */
enum qr_step qr_read_json_arguments(struct quire_chat_output *o);

/* The JSON string at the cursor, which is before the end of the text: its characters to o->value.
 * QR_STEP_FAIL: none, or it has no end. MORE: its end may still come. */
enum qr_step qr_read_json_string(struct quire_chat_output *o);

/* Skips the JSON value at the cursor. */
enum qr_step qr_skip_json_value(struct quire_chat_output *o);

/* Appends the characters of the contents text[size] of a JSON string; false: out of memory.
 * Malformed escapes stay as they are. */
bool qr_append_unescaped(const struct quire_allocator *a, struct qr_bytes *out, const char *text,
                         size_t size);

#endif
