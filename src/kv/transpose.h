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
typedef uint64_t qr_u64x2 __attribute__((vector_size(16)));

/* Elements of the lower or upper halves of a and b in turn; elements of a, then of b, with even or
 * odd indices, which undoes that. */
#define QR_LOW_U8(a, b)                                                                            \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define QR_HIGH_U8(a, b)                                                                           \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define QR_EVEN_U8(a, b)                                                                           \
    __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define QR_ODD_U8(a, b)                                                                            \
    __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define QR_LOW_U16(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define QR_HIGH_U16(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define QR_EVEN_U16(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define QR_ODD_U16(a, b)  __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define QR_LOW_U32(a, b)  __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define QR_HIGH_U32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define QR_LOW_U64(a, b)  __builtin_shufflevector(a, b, 0, 2)
#define QR_HIGH_U64(a, b) __builtin_shufflevector(a, b, 1, 3)

/* The functions copy rows of n elements, `row_bytes` apart, into `cells` of a block if `put`, and
 * from there otherwise. They are inlined so that `put` is a constant. */
#define QR_INLINE static inline __attribute__((always_inline)) void

/* Three rounds that interleave vector i with vector i + 4 transpose 8 x 8 elements. */
QR_INLINE qr_tile_8x8_u16(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride)
{
    qr_u16x8 a[8], b[8];
    for (size_t i = 0; i < 8; i++)
        memcpy(&a[i], from + i * from_stride, 16);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 4; i++) {
            b[2 * i] = QR_LOW_U16(a[i], a[i + 4]);
            b[2 * i + 1] = QR_HIGH_U16(a[i], a[i + 4]);
        }
        memcpy(a, b, sizeof a);
    }
    for (size_t i = 0; i < 8; i++)
        memcpy(to + i * to_stride, &a[i], 16);
}

/* 8 rows of n elements of 2 bytes, a multiple of 8, as n columns of 8 that are `stride` bytes
 * apart. */
QR_INLINE qr_transpose_8_u16(int put, uint8_t *cells, size_t stride, uint8_t *rows,
                             size_t row_bytes, size_t n)
{
    for (size_t d = 0; d < n; d += 8)
        if (put)
            qr_tile_8x8_u16(cells + d * stride, stride, rows + d * 2, row_bytes);
        else
            qr_tile_8x8_u16(rows + d * 2, row_bytes, cells + d * stride, stride);
}

QR_INLINE qr_tile_4x4_u32(qr_u32x4 *r)
{
    const qr_u32x4 a = QR_LOW_U32(r[0], r[2]), b = QR_HIGH_U32(r[0], r[2]);
    const qr_u32x4 c = QR_LOW_U32(r[1], r[3]), e = QR_HIGH_U32(r[1], r[3]);
    r[0] = QR_LOW_U32(a, c);
    r[1] = QR_HIGH_U32(a, c);
    r[2] = QR_LOW_U32(b, e);
    r[3] = QR_HIGH_U32(b, e);
}

/* 4 rows of n elements of 4 bytes, a multiple of 4, as n columns of 4. */
QR_INLINE qr_transpose_4_u32(int put, uint8_t *cells, size_t stride, uint8_t *rows,
                             size_t row_bytes, size_t n)
{
    for (size_t d = 0; d < n; d += 4) {
        qr_u32x4 r[4];
        for (size_t i = 0; i < 4; i++)
            memcpy(&r[i], put ? rows + i * row_bytes + d * 4 : cells + (d + i) * stride, 16);
        qr_tile_4x4_u32(r);
        for (size_t i = 0; i < 4; i++)
            memcpy(put ? cells + (d + i) * stride : rows + i * row_bytes + d * 4, &r[i], 16);
    }
}

/* The same, but a column holds the first halves of its 4 elements, then the second halves. */
QR_INLINE qr_transpose_4_halves(int put, uint8_t *cells, size_t stride, uint8_t *rows,
                                size_t row_bytes, size_t n)
{
    for (size_t d = 0; d < n; d += 4) {
        qr_u16x8 r[4], out[4];
        for (size_t i = 0; i < 4; i++)
            memcpy(&r[i], put ? rows + i * row_bytes + d * 4 : cells + (d + i) * stride, 16);
        if (put) {
            const qr_u16x8 a = QR_LOW_U16(r[0], r[2]), b = QR_HIGH_U16(r[0], r[2]);
            const qr_u16x8 c = QR_LOW_U16(r[1], r[3]), e = QR_HIGH_U16(r[1], r[3]);
            out[0] = QR_LOW_U16(a, c);
            out[1] = QR_HIGH_U16(a, c);
            out[2] = QR_LOW_U16(b, e);
            out[3] = QR_HIGH_U16(b, e);
        } else {
            qr_u32x4 whole[4];
            for (size_t i = 0; i < 4; i++) {
                const qr_u64x2 x = (qr_u64x2)r[i];
                whole[i] = (qr_u32x4)QR_LOW_U16(r[i], (qr_u16x8)QR_HIGH_U64(x, x));
            }
            qr_tile_4x4_u32(whole);
            memcpy(out, whole, sizeof out);
        }
        for (size_t i = 0; i < 4; i++)
            memcpy(put ? cells + (d + i) * stride : rows + i * row_bytes + d * 4, &out[i], 16);
    }
}

/* 2 rows of n elements of 2 bytes, a multiple of 8, as n pairs. */
QR_INLINE qr_interleave_2_u16(int put, uint8_t *cells, uint8_t *rows, size_t row_bytes, size_t n)
{
    for (size_t d = 0; d < n; d += 8) {
        uint8_t *row0 = rows + d * 2, *row1 = row0 + row_bytes, *cell = cells + d * 4;
        qr_u16x8 a, b;
        memcpy(&a, put ? row0 : cell, 16);
        memcpy(&b, put ? row1 : cell + 16, 16);
        const qr_u16x8 first = put ? QR_LOW_U16(a, b) : QR_EVEN_U16(a, b);
        const qr_u16x8 second = put ? QR_HIGH_U16(a, b) : QR_ODD_U16(a, b);
        memcpy(put ? cell : row0, &first, 16);
        memcpy(put ? cell + 16 : row1, &second, 16);
    }
}

/* 4 rows of n bytes, a multiple of 16, as n quads. */
QR_INLINE qr_interleave_4_u8(int put, uint8_t *cells, uint8_t *rows, size_t row_bytes, size_t n)
{
    for (size_t d = 0; d < n; d += 16) {
        qr_u8x16 r[4];
        for (size_t i = 0; i < 4; i++)
            memcpy(&r[i], put ? rows + i * row_bytes + d : cells + d * 4 + i * 16, 16);
        if (put) {
            const qr_u8x16 a = QR_LOW_U8(r[0], r[2]), b = QR_HIGH_U8(r[0], r[2]);
            const qr_u8x16 c = QR_LOW_U8(r[1], r[3]), e = QR_HIGH_U8(r[1], r[3]);
            const qr_u8x16 out[4] = { QR_LOW_U8(a, c), QR_HIGH_U8(a, c), QR_LOW_U8(b, e),
                                      QR_HIGH_U8(b, e) };
            memcpy(cells + d * 4, out, sizeof out);
        } else {
            const qr_u8x16 a = QR_EVEN_U8(r[0], r[1]), b = QR_EVEN_U8(r[2], r[3]);
            const qr_u8x16 c = QR_ODD_U8(r[0], r[1]), e = QR_ODD_U8(r[2], r[3]);
            const qr_u8x16 out[4] = { QR_EVEN_U8(a, b), QR_EVEN_U8(c, e), QR_ODD_U8(a, b),
                                      QR_ODD_U8(c, e) };
            for (size_t i = 0; i < 4; i++)
                memcpy(rows + i * row_bytes + d, &out[i], 16);
        }
    }
}

/* 4 rows of n bytes, a multiple of 16, as cells of 64 bytes: of each 4 elements the pairs of rows 0
 * and 1, then those of rows 2 and 3. */
QR_INLINE qr_interleave_pairs_u8(int put, uint8_t *cells, uint8_t *rows, size_t row_bytes, size_t n)
{
    for (size_t d = 0; d < n; d += 16) {
        qr_u64x2 r[4], pairs[4]; /* pairs: of rows 0 and 1, low and high; of rows 2 and 3 */
        for (size_t i = 0; i < 4; i++)
            memcpy(&r[i], put ? rows + i * row_bytes + d : cells + d * 4 + i * 16, 16);
        for (size_t i = 0; i < 2; i++) {
            const qr_u8x16 a = (qr_u8x16)r[2 * i], b = (qr_u8x16)r[2 * i + 1];
            pairs[2 * i] = put ? (qr_u64x2)QR_LOW_U8(a, b) : QR_LOW_U64(r[2 * i], r[2 * i + 1]);
            pairs[2 * i + 1] =
                put ? (qr_u64x2)QR_HIGH_U8(a, b) : QR_HIGH_U64(r[2 * i], r[2 * i + 1]);
        }
        for (size_t i = 0; i < 2; i++) {
            const qr_u64x2 low = pairs[i], high = pairs[i + 2];
            if (put) {
                r[2 * i] = QR_LOW_U64(low, high);
                r[2 * i + 1] = QR_HIGH_U64(low, high);
            } else {
                r[2 * i] = (qr_u64x2)QR_EVEN_U8((qr_u8x16)low, (qr_u8x16)high);
                r[2 * i + 1] = (qr_u64x2)QR_ODD_U8((qr_u8x16)low, (qr_u8x16)high);
            }
        }
        for (size_t i = 0; i < 4; i++)
            memcpy(put ? cells + d * 4 + i * 16 : rows + i * row_bytes + d, &r[i], 16);
    }
}

#endif
