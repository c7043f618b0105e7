/* SPDX-License-Identifier: Apache-2.0 */
/* python_literal.h - Python literals to JSON: strings, numbers, lists, tuples, sets, dicts, None,
 * True, False, and the JSON spelling of these three. */
#ifndef QR_CHAT_FORMAT_OUTPUT_PYTHON_LITERAL_H
#define QR_CHAT_FORMAT_OUTPUT_PYTHON_LITERAL_H
#include "chat_format/output/bytes.h"

/* What surrounds a string: it decides which quote ends it, because models write quotes inside
 * strings without escapes ('sed -n '1,2p''). */
enum qr_python_context {
    QR_PYTHON_ARGUMENT, /* a value of f(a='x', ...) */
    QR_PYTHON_ITEM,     /* of a list, tuple, set or dict */
};

/* Whether the quote at text[at] ends the string that it could end: something that may stand after a
 * value follows. 1 yes, 0 no, -1: text[size], which is not the end of the text, is too short. */
int qr_python_quote_ends(const char *text, size_t at, size_t size, bool final,
                         enum qr_python_context context);

/* Appends text[size], one literal between white space, as JSON. Returns false if it is none: bytes,
 * numbers that JSON cannot hold, names, operators; out may have grown then. *memory is set to false
 * when memory ran out. */
bool qr_python_literal(const struct quire_allocator *a, struct qr_bytes *out, const char *text,
                       size_t size, bool *memory);

/* Appends the arguments text[size] = `k=v, k=v` as the members of a JSON object with braces. */
bool qr_python_arguments(const struct quire_allocator *a, struct qr_bytes *out, const char *text,
                         size_t size, bool *memory);

#endif
