/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_kv.h - conversions on the way into and out of the paged cache. */
#ifndef QR_KERNELS_KERNELS_KV_H
#define QR_KERNELS_KERNELS_KV_H
#include <stddef.h>
#include <stdint.h>

/* narrow_*: dst[n] = src[n] / scale (one f32 division, none when scale is 1), to nearest even. fp8
 * saturates (e4m3 448, e5m2 57344), f16 and bf16 overflow to infinity. Returns how many values,
 * NaN apart, had a rounded magnitude beyond the largest finite one. NaN stays NaN: bf16 0xffff;
 * f16 keeps sign and high bits, quiet; fp8 all ones with the sign.
 * widen_*: dst[n] = src[n] * scale (no multiplication when scale is 1); a NaN of f16 or e5m2 comes
 * out quiet. With scale 1 the bits do not depend on rounding mode or denormal flags. Every level
 * gives the same bits.
 *
 * narrow_int8 makes the row's scale: with amax its largest magnitude, *scale = amax / 127, but at
 * most QR_INT8_SCALE_MAX, and dst[n] = src[n] * (127 / amax), rounded, to nearest even. amax <
 * 2^-100: zeros and scale 0. A row that holds NaN or infinity: zeros and scale NaN, so that it reads
 * back as NaN; returns how many infinities. */
#define QR_INT8_SCALE_MAX 0x1.020406p121f /* the largest whose product with 127 is finite */

#define QR_KERNELS_KV(X)                                                                           \
    X(size_t, narrow_bf16, (uint16_t * dst, const float *src, float scale, size_t n))              \
    X(size_t, narrow_f16, (uint16_t * dst, const float *src, float scale, size_t n))               \
    X(size_t, narrow_fp8_e4m3, (uint8_t * dst, const float *src, float scale, size_t n))           \
    X(size_t, narrow_fp8_e5m2, (uint8_t * dst, const float *src, float scale, size_t n))           \
    X(size_t, narrow_int8, (int8_t * dst, const float *src, float *scale, size_t n))               \
    X(void, widen_bf16, (float *dst, const uint16_t *src, float scale, size_t n))                  \
    X(void, widen_f16, (float *dst, const uint16_t *src, float scale, size_t n))                   \
    X(void, widen_fp8_e4m3, (float *dst, const uint8_t *src, float scale, size_t n))               \
    X(void, widen_fp8_e5m2, (float *dst, const uint8_t *src, float scale, size_t n))               \
    X(void, widen_int8, (float *dst, const int8_t *src, float scale, size_t n))

#endif
