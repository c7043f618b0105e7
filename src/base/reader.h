/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - bounded little-endian reader of untrusted bytes. */
#ifndef QR_BASE_READER_H
#define QR_BASE_READER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A read beyond the end returns false and does not advance. */
struct qr_reader {
    const uint8_t *data;
    size_t size, pos; /* bytes; error messages report pos as the offset */
};

static inline size_t qr_reader_left(const struct qr_reader *r) { return r->size - r->pos; }

static inline bool qr_read_bytes(struct qr_reader *r, size_t n, const uint8_t **out)
{
    if (n > qr_reader_left(r))
        return false;
    *out = r->data + r->pos;
    r->pos += n;
    return true;
}

#define QR_READER_SCALAR(name, type)                                                               \
    static inline bool qr_read_##name(struct qr_reader *r, type *out)                              \
    {                                                                                              \
        const uint8_t *p;                                                                          \
        if (!qr_read_bytes(r, sizeof *out, &p))                                                    \
            return false;                                                                          \
        memcpy(out, p, sizeof *out);                                                               \
        return true;                                                                               \
    }
QR_READER_SCALAR(u8, uint8_t)
QR_READER_SCALAR(u16, uint16_t)
QR_READER_SCALAR(u32, uint32_t)
QR_READER_SCALAR(u64, uint64_t)
QR_READER_SCALAR(i32, int32_t)
QR_READER_SCALAR(f32, float)
QR_READER_SCALAR(f64, double)
#undef QR_READER_SCALAR

#endif
