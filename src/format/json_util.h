/* SPDX-License-Identifier: Apache-2.0 */
/* json_util.h - parsing untrusted JSON with limits, and typed access with messages that name the key. */
#ifndef QR_FORMAT_JSON_UTIL_H
#define QR_FORMAT_JSON_UTIL_H
#include <jansson.h>
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The JSON library takes its memory from malloc, not from the host's allocator hooks: its own hooks are
 * global to the process and would belong to somebody else. Callers therefore bound the size of the text
 * and free the tree before they return. */
enum { QR_JSON_MAX_DEPTH = 64 };

/* Parses an object. `what` names the text in messages, e.g. "config.json". Rejects nesting deeper than
 * QR_JSON_MAX_DEPTH, invalid UTF-8, NUL, lone surrogates, numbers out of range, text behind the object. */
quire_status qr_json_parse(const char *text, size_t size, const char *what, json_t **out,
                           struct quire_error *err);

/* Typed access to obj[key]. Absent keys and null leave *out alone and are told apart in *state. A value of
 * another type or out of range: QUIRE_E_FORMAT, the message begins with `what` and names the key. */
enum qr_json_state { QR_JSON_ABSENT, QR_JSON_NULL, QR_JSON_PRESENT };
quire_status qr_json_u32(const json_t *obj, const char *what, const char *key, uint32_t *out,
                         enum qr_json_state *state, struct quire_error *err);
quire_status qr_json_f64(const json_t *obj, const char *what, const char *key,
                         double *out, /* integers too; finite */
                         enum qr_json_state *state, struct quire_error *err);
quire_status qr_json_bool(const json_t *obj, const char *what, const char *key, bool *out,
                          enum qr_json_state *state, struct quire_error *err);
quire_status qr_json_str(const json_t *obj, const char *what, const char *key, const char **out,
                         enum qr_json_state *state, struct quire_error *err);
/* One element or the value of a key: an integer in 0 .. UINT32_MAX, a finite number. */
bool qr_json_is_u32(const json_t *v, uint32_t *out);
bool qr_json_is_f64(const json_t *v, double *out);

#endif
