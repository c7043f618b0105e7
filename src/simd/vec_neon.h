/* SPDX-License-Identifier: Apache-2.0 */
/* vec_neon.h - 4 lanes of aarch64 Advanced SIMD under the names shared by all vec_*.h headers.
 *
 * vf32 holds VF32_N floats, vi32 as many 32-bit integers (or 4 * VF32_N bytes), vm32 one truth
 * value per lane. The _n forms access the memory of the first n lanes only, 0 <= n <= VF32_N; the
 * other lanes read as 0. */
#ifndef QR_SIMD_VEC_H
#define QR_SIMD_VEC_H
#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VEC_NEON 1
typedef float32x4_t vf32;
typedef int32x4_t vi32;
typedef uint32x4_t vm32; /* all ones or all zeros per lane */
enum { VF32_N = 4, VF32_REGS = 32 };

/* ---- floats */
static inline vf32 vf32_zero(void) { return vdupq_n_f32(0); }
static inline vf32 vf32_set1(float x) { return vdupq_n_f32(x); }
static inline vf32 vf32_load(const float *p) { return vld1q_f32(p); }
static inline vf32 vf32_load_n(const float *p, size_t n)
{
    float t[4] = { 0 };
    memcpy(t, p, n * sizeof *t);
    return vld1q_f32(t);
}
static inline void vf32_store(float *p, vf32 v) { vst1q_f32(p, v); }
static inline void vf32_store_n(float *p, vf32 v, size_t n)
{
    float t[4];
    vst1q_f32(t, v);
    memcpy(p, t, n * sizeof *t);
}
static inline vf32 vf32_add(vf32 a, vf32 b) { return vaddq_f32(a, b); }
static inline vf32 vf32_sub(vf32 a, vf32 b) { return vsubq_f32(a, b); }
static inline vf32 vf32_mul(vf32 a, vf32 b) { return vmulq_f32(a, b); }
static inline vf32 vf32_div(vf32 a, vf32 b) { return vdivq_f32(a, b); }
/* returns b if either is NaN or both are zero, as on x86 */
static inline vf32 vf32_max(vf32 a, vf32 b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
static inline float vf32_top(vf32 a) { return vmaxvq_f32(a); } /* the largest lane; none is NaN */
static inline vf32 vf32_min(vf32 a, vf32 b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
/* a * b + c and c - a * b, rounded once */
static inline vf32 vf32_fma(vf32 a, vf32 b, vf32 c) { return vfmaq_f32(c, a, b); }
static inline vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) { return vfmsq_f32(c, a, b); }
static inline vf32 vf32_load_bf16(const uint16_t *p)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}
static inline vf32 vf32_load_f16(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

/* ---- comparison and selection */
static inline vm32 vf32_lt(vf32 a, vf32 b) { return vcltq_f32(a, b); }
static inline vm32 vi32_gt(vi32 a, vi32 b) { return vcgtq_s32(a, b); }
static inline vm32 vi32_eq(vi32 a, vi32 b) { return vceqq_s32(a, b); }
/* m ? a : b */
static inline vf32 vf32_select(vm32 m, vf32 a, vf32 b) { return vbslq_f32(m, a, b); }
static inline vi32 vi32_select(vm32 m, vi32 a, vi32 b) { return vbslq_s32(m, a, b); }

/* ---- integers; shr fills with zeros, sar with the sign; shl_each: each lane by its own count;
 * total, top: sum and maximum of all lanes, signed */
static inline vi32 vi32_zero(void) { return vdupq_n_s32(0); }
static inline vi32 vi32_set1(int32_t x) { return vdupq_n_s32(x); }
static inline vi32 vi32_load(const void *p) { return vreinterpretq_s32_u8(vld1q_u8(p)); }
static inline void vi32_store(void *p, vi32 v) { vst1q_u8(p, vreinterpretq_u8_s32(v)); }
static inline vi32 vi32_add(vi32 a, vi32 b) { return vaddq_s32(a, b); }
static inline vi32 vi32_sub(vi32 a, vi32 b) { return vsubq_s32(a, b); }
static inline vi32 vi32_and(vi32 a, vi32 b) { return vandq_s32(a, b); }
static inline vi32 vi32_or(vi32 a, vi32 b) { return vorrq_s32(a, b); }
static inline vi32 vi32_xor(vi32 a, vi32 b) { return veorq_s32(a, b); }
static inline vi32 vi32_shl(vi32 a, int n) { return vshlq_s32(a, vdupq_n_s32(n)); }
static inline vi32 vi32_shr(vi32 a, int n)
{
    return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(a), vdupq_n_s32(-n)));
}
/* the same for each byte */
#define VI32_SHR_BYTES 1
static inline vi32 vi32_shr_bytes(vi32 a, int n)
{
    return vreinterpretq_s32_u8(vshlq_u8(vreinterpretq_u8_s32(a), vdupq_n_s8((int8_t)-n)));
}
static inline vi32 vi32_sar(vi32 a, int n) { return vshlq_s32(a, vdupq_n_s32(-n)); }
static inline vi32 vi32_shl_each(vi32 a, vi32 n) { return vshlq_s32(a, n); }
static inline int32_t vi32_total(vi32 a) { return vaddvq_s32(a); }
static inline int32_t vi32_top(vi32 a) { return vmaxvq_s32(a); }
static inline vi32 vi32_max(vi32 a, vi32 b) { return vmaxq_s32(a, b); }
/* lane i: the maximum of lanes i % 4, i % 4 + 4, ... */
static inline vi32 vi32_top_16(vi32 a) { return a; }
static inline vi32 vi32_load_u8(const uint8_t *p)
{
    uint32_t t;
    memcpy(&t, p, sizeof t);
    const uint16x8_t h = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(t)));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(h)));
}
static inline vi32 vi32_load_s8(const int8_t *p)
{
    int32_t t;
    memcpy(&t, p, sizeof t);
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(t)))));
}
static inline void vi32_store_s8(int8_t *p, vi32 v) /* lanes within int8 range */
{
    const int16x4_t h = vmovn_s32(v);
    const int32_t t = vget_lane_s32(vreinterpret_s32_s8(vmovn_s16(vcombine_s16(h, h))), 0);
    memcpy(p, &t, sizeof t);
}
/* stores the vectors v[0] .. v[3] one after the other; lanes within uint8 range */
static inline void vi32_store4_u8(uint8_t *p, const vi32 v[4])
{
    const int16x8_t lo = vcombine_s16(vmovn_s32(v[0]), vmovn_s32(v[1])),
                    hi = vcombine_s16(vmovn_s32(v[2]), vmovn_s32(v[3]));
    vst1q_s8((int8_t *)p, vcombine_s8(vmovn_s16(lo), vmovn_s16(hi)));
}
/* byte i of the result is table[byte i of idx]; bytes of idx are 0 .. 15 */
static inline vi32 vi32_lut16(const uint8_t *table, vi32 idx)
{
    return vreinterpretq_s32_u8(vqtbl1q_u8(vld1q_u8(table), vreinterpretq_u8_s32(idx)));
}

/* ---- conversions */
static inline vf32 vf32_from_i32(vi32 a) { return vcvtq_f32_s32(a); }
static inline vi32 vi32_round(vf32 a) { return vcvtnq_s32_f32(a); } /* nearest even */
static inline vf32 vf32_bits(vi32 a) { return vreinterpretq_f32_s32(a); }
static inline vi32 vi32_bits(vf32 a) { return vreinterpretq_s32_f32(a); }
/* table[lane of idx]; lanes of idx are 0 .. 15 */
static inline vf32 vf32_lut16(const float *table, vi32 idx)
{
    const uint8_t *bytes = (const uint8_t *)table;
    const uint8x16x4_t t = { { vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32),
                               vld1q_u8(bytes + 48) } };
    /* the four bytes of entry i are 4 i .. 4 i + 3 */
    const int32x4_t at = vmlaq_n_s32(vdupq_n_s32(0x03020100), idx, 0x04040404);
    return vreinterpretq_f32_u8(vqtbl4q_u8(t, vreinterpretq_u8_s32(at)));
}

/* ---- for attention: lane masks from bits, high halves, pairs of bf16 */
/* lane i is true when bit i is set */
static inline vm32 vm32_bits(uint32_t bits)
{
    static const uint32_t lane[4] = { 1, 2, 4, 8 };
    return vtstq_u32(vdupq_n_u32(bits), vld1q_u32(lane));
}
static inline int vm32_any(vm32 m) { return vmaxvq_u32(m) != 0; }
/* zero-extends the first (lo) or last (hi) 8 bytes of every 16-byte lane to 16 bits */
static inline vi32 vi32_unpack_lo(vi32 a)
{
    return vreinterpretq_s32_u8(vzip1q_u8(vreinterpretq_u8_s32(a), vdupq_n_u8(0)));
}
static inline vi32 vi32_unpack_hi(vi32 a)
{
    return vreinterpretq_s32_u8(vzip2q_u8(vreinterpretq_u8_s32(a), vdupq_n_u8(0)));
}
/* interleaves the first (lo) or last (hi) 16-, 32- or 64-bit elements of a and b per 16 bytes */
static inline vi32 vi32_zip16_lo(vi32 a, vi32 b)
{
    return vreinterpretq_s32_s16(vzip1q_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
}
static inline vi32 vi32_zip16_hi(vi32 a, vi32 b)
{
    return vreinterpretq_s32_s16(vzip2q_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
}
static inline vi32 vi32_zip32_lo(vi32 a, vi32 b) { return vzip1q_s32(a, b); }
static inline vi32 vi32_zip32_hi(vi32 a, vi32 b) { return vzip2q_s32(a, b); }
static inline vi32 vi32_zip64_lo(vi32 a, vi32 b)
{
    return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}
static inline vi32 vi32_zip64_hi(vi32 a, vi32 b)
{
    return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}
/* stores the 16-byte lanes of v, `stride` bytes apart */
static inline void vi32_store_lanes(uint8_t *p, size_t stride, vi32 v)
{
    (void)stride; /* there is one lane */
    vst1q_u8(p, vreinterpretq_u8_s32(v));
}
/* the values of pairs of bf16: the lower half of a lane is the even one */
static inline __attribute__((always_inline)) vf32 vf32_even_bf16(vi32 pair)
{
    return vf32_bits(vi32_shl(pair, 16));
}
static inline __attribute__((always_inline)) vf32 vf32_odd_bf16(vi32 pair)
{
    return vf32_bits(vi32_and(pair, vi32_set1((int32_t)0xffff0000)));
}
/* stores the upper 16 bits of each lane */
static inline void vf32_store_high(uint16_t *p, vf32 v)
{
    vst1_u16(p, vshrn_n_u32(vreinterpretq_u32_f32(v), 16));
}

/* ---- dot products of four bytes per lane: acc + sum of w * a, exact; a holds signed bytes -127 ..
 * 127. u7: w is 0 .. 127. w8: w is any byte, the weight plus VI32_W8_OFFSET: unsigned with offset
 * 128, or signed with offset 0, depending on the instructions. */
enum { VI32_W8_OFFSET = 0 };
/* conversions from integers take twice the time of additions, or more */
#define VI32_SLOW_CONVERT 1
static inline vi32 vi32_dot_w8(vi32 acc, vi32 w, vi32 a)
{
    const int8x16_t x = vreinterpretq_s8_s32(w), y = vreinterpretq_s8_s32(a);
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_s32(acc, x, y);
#else
    const int32x4_t lo = vpaddlq_s16(vmull_s8(vget_low_s8(x), vget_low_s8(y)));
    const int32x4_t hi = vpaddlq_s16(vmull_high_s8(x, y));
    return vaddq_s32(acc, vpaddq_s32(lo, hi));
#endif
}
static inline vi32 vi32_dot_u7(vi32 acc, vi32 w, vi32 a) { return vi32_dot_w8(acc, w, a); }
/* the 16 bytes at p in every 16-byte lane */
static inline vi32 vi32_load_16(const void *p) { return vi32_load(p); }
/* dot product with lane `lane` (0 .. 3) of a of vi32_load_16 in every lane */
#define VI32_LANES 1
static inline vi32 vi32_dot_lane(vi32 acc, vi32 w, vi32 a, int lane)
{
#if defined(__ARM_FEATURE_DOTPROD)
    const int8x16_t x = vreinterpretq_s8_s32(w), y = vreinterpretq_s8_s32(a);
    switch (lane) { /* the instruction takes a literal */
    case 0:
        return vdotq_laneq_s32(acc, x, y, 0);
    case 1:
        return vdotq_laneq_s32(acc, x, y, 1);
    case 2:
        return vdotq_laneq_s32(acc, x, y, 2);
    default:
        return vdotq_laneq_s32(acc, x, y, 3);
    }
#else
    return vi32_dot_w8(acc, w, vdupq_n_s32(a[lane]));
#endif
}

/* ---- product of byte matrices, 2 x 8 by 8 x 2: lanes (w0, a0) (w0, a1) (w1, a0) (w1, a1) */
#if defined(__ARM_FEATURE_MATMUL_INT8)
#define VI32_MATRIX 1
static inline vi32 vi32_matrix(vi32 acc, vi32 w, vi32 a)
{
    return vmmlaq_s32(acc, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(a));
}
/* lanes a b a b ... */
static inline vi32 vi32_set1_pair(uint32_t a, uint32_t b)
{
    return vreinterpretq_s32_u64(vdupq_n_u64(a | (uint64_t)b << 32));
}
/* 8 bytes at a, then 8 bytes at b */
static inline vi32 vi32_load_8_8(const void *a, const void *b)
{
    return vreinterpretq_s32_u8(
        vcombine_u8(vld1_u8((const uint8_t *)a), vld1_u8((const uint8_t *)b)));
}
/* lanes a0 b0 a1 b1; a2 b2 a3 b3; a0 a2 b0 b2; a1 a3 b1 b3 */
static inline vi32 vi32_zip_lo(vi32 a, vi32 b) { return vzip1q_s32(a, b); }
static inline vi32 vi32_zip_hi(vi32 a, vi32 b) { return vzip2q_s32(a, b); }
static inline vi32 vi32_even(vi32 a, vi32 b) { return vuzp1q_s32(a, b); }
static inline vi32 vi32_odd(vi32 a, vi32 b) { return vuzp2q_s32(a, b); }
#endif

/* ---- double: from the lower and the upper half of a vector of f32 */
typedef float64x2_t vf64;
static inline vf64 vf64_set1(double x) { return vdupq_n_f64(x); }
static inline vf64 vf64_add(vf64 a, vf64 b) { return vaddq_f64(a, b); }
static inline vf64 vf64_sub(vf64 a, vf64 b) { return vsubq_f64(a, b); }
static inline vf64 vf64_mul(vf64 a, vf64 b) { return vmulq_f64(a, b); }
static inline vf64 vf64_div(vf64 a, vf64 b) { return vdivq_f64(a, b); }
static inline vf64 vf64_low(vf32 v) { return vcvt_f64_f32(vget_low_f32(v)); }
static inline vf64 vf64_high(vf32 v) { return vcvt_high_f64_f32(v); }
static inline void vf64_store(double *p, vf64 v) { vst1q_f64(p, v); }
/* v, but 0 where x < least */
static inline vf64 vf64_zero_below(vf64 v, vf64 x, vf64 least)
{
    return vreinterpretq_f64_u64(vandq_u64(vcgeq_f64(x, least), vreinterpretq_u64_f64(v)));
}
/* 2^k, where the last 12 bits of each lane are k */
static inline vf64 vf64_power_of_2(vf64 t)
{
    const uint64x2_t k = vshlq_n_u64(vreinterpretq_u64_f64(t), 52);
    return vreinterpretq_f64_u64(vaddq_u64(k, vreinterpretq_u64_f64(vdupq_n_f64(1))));
}

#endif
