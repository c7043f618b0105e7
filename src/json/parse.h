/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - parses untrusted JSON into an index over its text. */
#ifndef QR_JSON_PARSE_H
#define QR_JSON_PARSE_H
#include "json/json.h"
#include <quire/status.h>

enum {
    QR_JSON_MAX_DEPTH = 64,
    QR_JSON_MAX_BYTES = 1 << 30, /* of text: offsets have 32 bits */
};

enum qr_json_flags {
    /* of keys, and integers beyond 64 bits, which are then numbers; both are rejected otherwise */
    QR_JSON_ALLOW_DUPLICATES = 1,
    QR_JSON_ALLOW_BIG_INTEGERS = 2,
};

struct qr_json_error {
    quire_status code; /* QUIRE_E_FORMAT, _RANGE: a number; _LIMIT: size or values; _NOMEM */
    const char *text;  /* static */
    size_t offset;     /* bytes */
    unsigned line;     /* from 1; 0 for a duplicate key */
    char key[64];      /* the duplicate key, cut if it is long; otherwise "" */
};

/* Parses one value of any type: RFC 8259, nested at most QR_JSON_MAX_DEPTH deep. Rejects invalid
 * UTF-8, U+0000, lone surrogates, integers beyond 64 bits with sign, numbers of 1e309 and more,
 * duplicate keys, and anything after the value.
 *
 * The document copies the text; the index takes at most 2 bytes per byte of text and 4 MiB, and
 * texts with more values are refused. While the text is copied, heap memory is at most
 * 3 * size + 4 MiB, and the check of the keys of an object temporarily needs 8 to 16 bytes per key.
 * Time is linear. Returns NULL and fills *error on failure. */
struct qr_json *qr_json_parse(const char *text, size_t size, uint32_t flags,
                              const struct quire_allocator *a, struct qr_json_error *error);

/* Frees a document by its root. NULL is a no-op. */
void qr_json_free(struct qr_json *root);

/* ---- For json.c */

/* Replace the bracket of a container without contents. */
enum { QR_JSON_EMPTY_OBJECT = '}', QR_JSON_EMPTY_ARRAY = ']' };

static inline const char *qr_json_text(const struct qr_json *v) { return (const char *)v + v->at; }

/* Reads n characters: an optional minus and digits. False beyond 64 bits with sign. */
bool qr_json_read_integer(const char *p, size_t n, int64_t *out);

#endif
