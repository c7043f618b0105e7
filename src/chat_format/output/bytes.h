/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - growable byte strings. */
#ifndef QR_CHAT_FORMAT_OUTPUT_BYTES_H
#define QR_CHAT_FORMAT_OUTPUT_BYTES_H
#include "base/alloc.h"
#include <stdbool.h>
#include <stddef.h>

/* All zeros is the empty string. The allocator is passed to every call and must stay the same. */
struct qr_bytes {
    char *data;
    size_t size, capacity;
};

void qr_bytes_free(const struct quire_allocator *a, struct qr_bytes *b);
/* False: out of memory, b is unchanged. */
bool qr_bytes_append(const struct quire_allocator *a, struct qr_bytes *b, const void *text,
                     size_t size);
bool qr_bytes_append_text(const struct quire_allocator *a, struct qr_bytes *b, const char *text);
/* The text as the contents of a JSON string, without quotes. Characters stay as they are but for
 * `"`, `\` and control characters. */
bool qr_bytes_append_escaped(const struct quire_allocator *a, struct qr_bytes *b, const char *text,
                             size_t size);
/* Removes n bytes at the start. */
void qr_bytes_drop(struct qr_bytes *b, size_t n);
/* The NUL-terminated text, also of an empty string; NULL: out of memory. */
const char *qr_bytes_text(const struct quire_allocator *a, struct qr_bytes *b);

#endif
