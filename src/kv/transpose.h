/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.h - interleaves rows of keys or values as blocks of the KV cache hold them. */
#ifndef QR_KV_TRANSPOSE_H
#define QR_KV_TRANSPOSE_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t qr_u8x16 __attribute__((vector_size(16)));
typedef uint16_t qr_u16x8 __attribute__((vector_size(16)));
typedef uint32_t qr_u32x4 __attribute__((vector_size(16)));

/* Elements of the lower or upper halves of a and b in turn. */
#define QR_LOW_U8(a, b)                                                                            \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define QR_HIGH_U8(a, b)                                                                           \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define QR_LOW_U16(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define QR_HIGH_U16(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define QR_LOW_U32(a, b)  __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define QR_HIGH_U32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)

/* Writes 8 rows of n elements of 2 bytes (n a multiple of 8) as n columns of 8, `stride` bytes
 * apart. Three rounds that interleave vector i with vector i + 4 transpose 8 x 8 elements. */
static inline void qr_transpose_8_u16(uint8_t *to, size_t stride, const uint8_t *rows,
                                      size_t row_bytes, size_t n)
{
    for (size_t d = 0; d < n; d += 8) {
        qr_u16x8 a[8], b[8];
        for (size_t i = 0; i < 8; i++)
            memcpy(&a[i], rows + i * row_bytes + d * 2, 16);
        for (int round = 0; round < 3; round++) {
            for (size_t i = 0; i < 4; i++) {
                b[2 * i] = QR_LOW_U16(a[i], a[i + 4]);
                b[2 * i + 1] = QR_HIGH_U16(a[i], a[i + 4]);
            }
            memcpy(a, b, sizeof a);
        }
        for (size_t i = 0; i < 8; i++)
            memcpy(to + (d + i) * stride, &a[i], 16);
    }
}

/* The same for 4 rows of n elements of 4 bytes, n a multiple of 4. */
static inline void qr_transpose_4_u32(uint8_t *to, size_t stride, const uint8_t *rows,
                                      size_t row_bytes, size_t n)
{
    for (size_t d = 0; d < n; d += 4) {
        qr_u32x4 r[4];
        for (size_t i = 0; i < 4; i++)
            memcpy(&r[i], rows + i * row_bytes + d * 4, 16);
        const qr_u32x4 a = QR_LOW_U32(r[0], r[2]), b = QR_HIGH_U32(r[0], r[2]);
        const qr_u32x4 c = QR_LOW_U32(r[1], r[3]), e = QR_HIGH_U32(r[1], r[3]);
        const qr_u32x4 out[4] = { QR_LOW_U32(a, c), QR_HIGH_U32(a, c), QR_LOW_U32(b, e),
                                  QR_HIGH_U32(b, e) };
        for (size_t i = 0; i < 4; i++)
            memcpy(to + (d + i) * stride, &out[i], 16);
    }
}

/* Interleaves 2 rows of n elements of 2 bytes, n a multiple of 8. */
static inline void qr_interleave_2_u16(uint8_t *to, const uint8_t *rows, size_t row_bytes, size_t n)
{
    for (size_t d = 0; d < n; d += 8) {
        qr_u16x8 a, b;
        memcpy(&a, rows + d * 2, 16);
        memcpy(&b, rows + row_bytes + d * 2, 16);
        const qr_u16x8 low = QR_LOW_U16(a, b), high = QR_HIGH_U16(a, b);
        memcpy(to + d * 4, &low, 16);
        memcpy(to + d * 4 + 16, &high, 16);
    }
}

/* Interleaves 4 rows of n bytes, n a multiple of 16. */
static inline void qr_interleave_4_u8(uint8_t *to, const uint8_t *rows, size_t row_bytes, size_t n)
{
    for (size_t d = 0; d < n; d += 16) {
        qr_u8x16 r[4];
        for (size_t i = 0; i < 4; i++)
            memcpy(&r[i], rows + i * row_bytes + d, 16);
        const qr_u8x16 a = QR_LOW_U8(r[0], r[2]), b = QR_HIGH_U8(r[0], r[2]);
        const qr_u8x16 c = QR_LOW_U8(r[1], r[3]), e = QR_HIGH_U8(r[1], r[3]);
        const qr_u8x16 out[4] = { QR_LOW_U8(a, c), QR_HIGH_U8(a, c), QR_LOW_U8(b, e),
                                  QR_HIGH_U8(b, e) };
        memcpy(to + d * 4, out, sizeof out);
    }
}

#endif
