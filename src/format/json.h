/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - JSON objects of files: parsing and typed access with messages that name the key. */
#ifndef QR_FORMAT_JSON_H
#define QR_FORMAT_JSON_H
#include "json/parse.h"
#include <quire/status.h>

/* Parses an object by qr_json_parse with the flags of json/parse.h. Messages begin with `what`, the
 * name of the text such as "config.json", and have the line and the byte. Free *out with
 * qr_json_free. */
quire_status qr_json_parse_object(const char *text, size_t size, const char *what, uint32_t flags,
                                  const struct quire_allocator *a, struct qr_json **out,
                                  struct quire_error *err);

/* Typed access to obj[key]. A missing key and null leave *out unchanged; *state distinguishes them.
 * Wrong type or out of range: QUIRE_E_FORMAT; the message begins with `what` and names the key. */
enum qr_json_state { QR_JSON_ABSENT, QR_JSON_NULL, QR_JSON_PRESENT };
quire_status qr_json_u32(const struct qr_json *obj, const char *what, const char *key,
                         uint32_t *out, enum qr_json_state *state, struct quire_error *err);
quire_status qr_json_f64(const struct qr_json *obj, const char *what, const char *key,
                         double *out, /* finite; integers are accepted */
                         enum qr_json_state *state, struct quire_error *err);
quire_status qr_json_bool(const struct qr_json *obj, const char *what, const char *key, bool *out,
                          enum qr_json_state *state, struct quire_error *err);
quire_status qr_json_str(const struct qr_json *obj, const char *what, const char *key,
                         const char **out, enum qr_json_state *state, struct quire_error *err);
/* Whether v is an integer in 0 .. UINT32_MAX, or a finite number. If so, *out is set. */
bool qr_json_is_u32(const struct qr_json *v, uint32_t *out);
bool qr_json_is_f64(const struct qr_json *v, double *out);

#endif
