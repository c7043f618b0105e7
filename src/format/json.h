/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - bounded parsing of untrusted JSON, and typed access with messages that name the key. */
#ifndef QR_FORMAT_JSON_H
#define QR_FORMAT_JSON_H
#include <jansson.h>
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Jansson allocates with malloc instead of the host's allocator: its allocation hooks are global to
 * the process and may be in use by the host. Callers therefore bound the size of the text and free
 * the tree before they return. */
enum { QR_JSON_MAX_DEPTH = 64 };

/* Parses an object. `what` names the text in messages, e.g. "config.json". Rejects nesting deeper
 * than QR_JSON_MAX_DEPTH, invalid UTF-8, NUL, lone surrogates, numbers out of range, and text after
 * the object. */
quire_status qr_json_parse(const char *text, size_t size, const char *what, json_t **out,
                           struct quire_error *err);

/* Typed access to obj[key]. A missing key and null leave *out unchanged; *state distinguishes them.
 * Wrong type or out of range: QUIRE_E_FORMAT; the message begins with `what` and names the key. */
enum qr_json_state { QR_JSON_ABSENT, QR_JSON_NULL, QR_JSON_PRESENT };
quire_status qr_json_u32(const json_t *obj, const char *what, const char *key, uint32_t *out,
                         enum qr_json_state *state, struct quire_error *err);
quire_status qr_json_f64(const json_t *obj, const char *what, const char *key,
                         double *out, /* finite; integers are accepted */
                         enum qr_json_state *state, struct quire_error *err);
quire_status qr_json_bool(const json_t *obj, const char *what, const char *key, bool *out,
                          enum qr_json_state *state, struct quire_error *err);
quire_status qr_json_str(const json_t *obj, const char *what, const char *key, const char **out,
                         enum qr_json_state *state, struct quire_error *err);
/* Whether v is an integer in 0 .. UINT32_MAX, or a finite number. If so, *out is set. */
bool qr_json_is_u32(const json_t *v, uint32_t *out);
bool qr_json_is_f64(const json_t *v, double *out);

#endif
