/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.h - validates one JSON value byte by byte. */
#ifndef QR_CHAT_FORMAT_OUTPUT_JSON_SCAN_H
#define QR_CHAT_FORMAT_OUTPUT_JSON_SCAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QR_JSON_SCAN_DEPTH = 128 };

/* All zeros is the state before a value. */
struct qr_json_scan {
    uint8_t state, depth, literal, hex;
    uint8_t object[QR_JSON_SCAN_DEPTH / 8]; /* bit d: level d is an object, not an array */
};

enum qr_json_scan_result {
    QR_JSON_SCAN_MORE,  /* the byte belongs to the value, which goes on */
    QR_JSON_SCAN_END,   /* the byte is the last of the value */
    QR_JSON_SCAN_AFTER, /* the value, a number, ended before the byte */
    QR_JSON_SCAN_ERROR, /* no JSON, or nested deeper than QR_JSON_SCAN_DEPTH */
};

/* Raw control characters inside strings are accepted: the caller escapes them. */
enum qr_json_scan_result qr_json_scan_byte(struct qr_json_scan *s, unsigned char c);
/* Whether the next byte stands inside a string. */
bool qr_json_scan_in_string(const struct qr_json_scan *s);
/* Whether the value would be complete if the text ended here: numbers have no end of their own. */
bool qr_json_scan_may_end(const struct qr_json_scan *s);

/* Whether text[size] is one JSON value between white space, in strict syntax. */
bool qr_json_scan_valid(const char *text, size_t size);

#endif
