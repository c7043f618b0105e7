/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_kv.h - quantization and dequantization of the elements of the KV cache. */
#ifndef QR_KERNELS_KERNELS_KV_H
#define QR_KERNELS_KERNELS_KV_H
#include <stddef.h>
#include <stdint.h>

/* quantize_*: dst[n] = src[n] / scale (one f32 division, none when scale is 1), rounded to nearest
 * even. fp8 saturates (e4m3 448, e5m2 57344), f16 and bf16 overflow to infinity. Returns the number
 * of values other than NaN whose rounded magnitude exceeds the largest finite one. NaN stays NaN:
 * bf16 0xffff; f16 keeps sign and high bits, quiet; fp8 all ones with the sign. dequantize_*:
 * dst[n] = src[n] * scale (no multiplication when scale is 1); a NaN of f16 or e5m2 becomes quiet.
 * With scale 1 the bits do not depend on rounding mode or denormal flags. Every level computes the
 * same bits.
 *
 * quantize_int8 computes the scale of the row: with amax its largest magnitude, *scale = amax /
 * 127, but at most QR_INT8_SCALE_MAX, and dst[n] = src[n] * (127 / amax), rounded, to nearest even.
 * amax < 2^-100: zeros and scale 0. A row that holds NaN or infinity: zeros and scale NaN, so that
 * it dequantizes to NaN; returns the number of infinities. */
#define QR_INT8_SCALE_MAX 0x1.020406p121f /* the largest whose product with 127 is finite */

/* A row of n int4 values, n a multiple of QR_INT4_GROUP: n / 2 bytes of codes, then the bf16 scales
 * [n / 32], each of a group of 32 values. Byte 16 * g + j holds values 32 * g + j (low half) and
 * 32 * g + 16 + j (high half); value = (QR_INT4_LEVELS[code] - QR_INT4_BIAS) * scale. A scale has
 * five significant bits and a level three, so values are exact in bf16. The levels are those of
 * least squared error for a normal distribution (Lloyd-Max), rounded.
 *
 * quantize_int4 tries eight scales, adjacent numbers of five significant bits, from the fourth
 * below amax / 20, rounded down, and takes the one of least squared error: docs/numerics.md, "int4
 * cache". amax / 20 < 2^-100: scale 0. amax / 20 > QR_INT4_SCALE_MAX: that scale. A group that
 * holds NaN or infinity: scale NaN. Codes are 8 in the first case and the last. Returns the number
 * of infinities and, of groups with QR_INT4_SCALE_MAX, of values beyond 22 of it. dst is aligned to
 * 2 bytes.
 *
 * hadamard: replaces every block of `block` values of x[n] by its Walsh-Hadamard transform, in
 * natural order, times 1 / sqrt(block), so that it is its own inverse. Stages h = 1, 2, 4, ...
 * replace (x[i], x[i + h]) by their sum and difference, each rounded; the factor is rounded and
 * applied last. block is a power of two that divides n. */
enum { QR_INT4_GROUP = 32 };
#define QR_INT4_SCALE_MAX 0x1p100f
/* the levels of the codes 0 .. 15, plus QR_INT4_BIAS; and without */
#define QR_INT4_LEVELS                                                                             \
    {                                                                                              \
        0, 4, 8, 10, 13, 15, 17, 19, 21, 23, 25, 27, 30, 32, 36, 40                                \
    }
enum { QR_INT4_BIAS = 20 };
#define QR_INT4_SIGNED_LEVELS                                                                      \
    {                                                                                              \
        -20, -16, -12, -10, -7, -5, -3, -1, 1, 3, 5, 7, 10, 12, 16, 20                             \
    }

#define QR_KERNELS_KV(X)                                                                           \
    X(size_t, quantize_bf16, (uint16_t * dst, const float *src, float scale, size_t n))            \
    X(size_t, quantize_f16, (uint16_t * dst, const float *src, float scale, size_t n))             \
    X(size_t, quantize_fp8_e4m3, (uint8_t * dst, const float *src, float scale, size_t n))         \
    X(size_t, quantize_fp8_e5m2, (uint8_t * dst, const float *src, float scale, size_t n))         \
    X(size_t, quantize_int8, (int8_t * dst, const float *src, float *scale, size_t n))             \
    X(void, dequantize_bf16, (float *dst, const uint16_t *src, float scale, size_t n))             \
    X(void, dequantize_f16, (float *dst, const uint16_t *src, float scale, size_t n))              \
    X(void, dequantize_fp8_e4m3, (float *dst, const uint8_t *src, float scale, size_t n))          \
    X(void, dequantize_fp8_e5m2, (float *dst, const uint8_t *src, float scale, size_t n))          \
    X(void, dequantize_int8, (float *dst, const int8_t *src, float scale, size_t n))               \
    X(size_t, quantize_int4, (uint8_t * dst, const float *src, size_t n))                          \
    X(void, dequantize_int4, (float *dst, const uint8_t *src, size_t n))                           \
    X(void, hadamard, (float *x, size_t block, size_t n))

#endif
