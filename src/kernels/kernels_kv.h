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
    X(void, dequantize_int8, (float *dst, const int8_t *src, float scale, size_t n))

#endif
