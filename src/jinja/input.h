/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_input.h - the caller's data as values of the Jinja interpreter. */
#ifndef QR_JINJA_INPUT_H
#define QR_JINJA_INPUT_H
#include "jinja/value.h"

enum { QR_J_MAX_JSON_DEPTH = 64 };

/* Parses JSON text (`what` names the argument in messages). user: its strings are the caller's
 * data, else they count as template text. Everything is copied into the arena. */
quire_status qr_j_from_json(struct qr_j *j, const char *json, const char *what, bool user,
                            struct qr_j_value *out);

/* A string of the caller: borrowed when it is valid UTF-8, else copied with U+FFFD for each wrong
 * byte. */
quire_status qr_j_from_text(struct qr_j *j, const char *p, size_t n, bool user,
                            struct qr_j_value *out);

/* A role as template text if it is a plain name (letters, digits, - and _, at most 64 of them),
 * so that templates can build markers such as <|user|> from it; anything else stays the caller's
 * data. */
quire_status qr_j_role(struct qr_j *j, struct qr_j_value role, struct qr_j_value *out);

#endif
