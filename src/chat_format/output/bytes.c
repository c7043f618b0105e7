/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.c - growable byte strings. */
#include "chat_format/output/bytes.h"
#include <string.h>

void qr_bytes_free(const struct quire_allocator *a, struct qr_bytes *b)
{
    qr_free(a, b->data, b->capacity, 1);
    *b = (struct qr_bytes){ 0 };
}

static bool reserve(const struct quire_allocator *a, struct qr_bytes *b, size_t extra)
{
    if (extra > SIZE_MAX / 4 - b->size) /* GCOVR_EXCL_BR_LINE: above 4 EiB */
        return false;
    void *data = b->data;
    if (b->size + extra > b->capacity && !qr_grow(a, &data, &b->capacity, b->size + extra + 32, 1))
        return false;
    b->data = data;
    return true;
}

bool qr_bytes_append(const struct quire_allocator *a, struct qr_bytes *b, const void *text,
                     size_t size)
{
    if (size == 0)
        return true;
    if (!reserve(a, b, size))
        return false;
    memcpy(b->data + b->size, text, size);
    b->size += size;
    return true;
}

bool qr_bytes_append_text(const struct quire_allocator *a, struct qr_bytes *b, const char *text)
{
    return qr_bytes_append(a, b, text, strlen(text));
}

/* Writes the escape of one byte to out[6] and returns its size; 0: the byte stands for itself. */
static size_t escape(unsigned char c, char *out)
{
    static const char hex[] = "0123456789abcdef", from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    const char *const found = c ? strchr(from, c) : NULL;
    if (found) {
        out[0] = '\\';
        out[1] = to[found - from];
        return 2;
    }
    if (c >= 0x20)
        return 0;
    memcpy(out, "\\u00", 4);
    out[4] = hex[c >> 4];
    out[5] = hex[c & 15];
    return 6;
}

bool qr_bytes_append_escaped(const struct quire_allocator *a, struct qr_bytes *b, const char *text,
                             size_t size)
{
    size_t done = 0;
    for (size_t i = 0; i < size; i++) {
        char out[6];
        const size_t n = escape((unsigned char)text[i], out);
        if (n == 0)
            continue;
        if (!qr_bytes_append(a, b, text + done, i - done) || !qr_bytes_append(a, b, out, n))
            return false;
        done = i + 1;
    }
    return done == size || qr_bytes_append(a, b, text + done, size - done);
}

void qr_bytes_drop(struct qr_bytes *b, size_t n)
{
    if (n > 0)
        memmove(b->data, b->data + n, b->size - n);
    b->size -= n;
}

const char *qr_bytes_text(const struct quire_allocator *a, struct qr_bytes *b)
{
    if (!qr_bytes_append(a, b, "", 1))
        return NULL;
    b->size--;
    return b->data;
}
