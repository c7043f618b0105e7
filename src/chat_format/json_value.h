/* SPDX-License-Identifier: Apache-2.0 */
/* json_value.h - conversion of JSON and host strings to values of the template language. */
#ifndef QR_CHAT_FORMAT_JSON_VALUE_H
#define QR_CHAT_FORMAT_JSON_VALUE_H
#include "jinja/types.h"

/* Parses JSON text, copying everything into the arena. `what` names the argument in messages.
 * tainted: its strings are the caller's data. */
quire_status qr_chat_value_from_json(struct qr_jinja *j, const char *json, const char *what,
                                     bool tainted, struct qr_jinja_value *out);
/* The object that the text is, or none if it is anything else, malformed or beyond the limits of
 * the JSON parser. */
quire_status qr_chat_object_from_text(struct qr_jinja *j, const char *p, size_t n, bool tainted,
                                      struct qr_jinja_value *out);
/* Makes a string of n bytes: borrowed if they are valid UTF-8, else copied with U+FFFD in place of
 * each invalid byte. */
quire_status qr_chat_value_from_text(struct qr_jinja *j, const char *p, size_t n, bool tainted,
                                     struct qr_jinja_value *out);

#endif
