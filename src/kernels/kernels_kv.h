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
 * 32 * g + 16 + j (high half); value = (code - 8) * scale. A scale has five significant bits, so
 * values are exact in bf16. quantize_int4: with P the largest value of the group, at least 0, and N
 * the largest of the negated values, at least 0, scale = max(P / 7.5, N / 8.5), rounded up to five
 * significant bits, but at most QR_INT4_SCALE_MAX, and code = 8 + x * (1 / scale), rounded to
 * nearest even and clamped to 0 .. 15. scale < 2^-100: zeros and scale 0. A group that holds NaN or
 * infinity: zeros and scale NaN. Returns the number of infinities and of values that are clamped by
 * more than half a step. dst is aligned to 2 bytes.
 *
 * hadamard: replaces every block of `block` values of x[n] by its Walsh-Hadamard transform, in
 * natural order, times 1 / sqrt(block), so that it is its own inverse. Stages h = 1, 2, 4, ...
 * replace (x[i], x[i + h]) by their sum and difference, each rounded; the factor is rounded and
 * applied last. block is a power of two that divides n. */
enum { QR_INT4_GROUP = 32 };
#define QR_INT4_SCALE_MAX 0x1p100f

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
