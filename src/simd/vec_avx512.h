/* SPDX-License-Identifier: Apache-2.0 */
/* vec_avx512.h - 16 lanes of AVX-512 (F BW DQ VL) under the names shared by all vec_*.h headers.
 *
 * vf32 holds VF32_N floats, vi32 as many 32-bit integers (or 4 * VF32_N bytes), vm32 one truth
 * value per lane. The _n forms access the memory of the first n lanes only, 0 <= n <= VF32_N; the
 * other lanes read as 0. */
#ifndef QR_SIMD_VEC_H
#define QR_SIMD_VEC_H
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef __m512 vf32;
typedef __m512i vi32;
typedef __mmask16 vm32;
enum { VF32_N = 16, VF32_REGS = 32 };

static inline __mmask16 vf32_first(size_t n) { return (__mmask16)((1u << n) - 1); }

/* ---- floats */
static inline vf32 vf32_zero(void) { return _mm512_setzero_ps(); }
static inline vf32 vf32_set1(float x) { return _mm512_set1_ps(x); }
static inline vf32 vf32_load(const float *p) { return _mm512_loadu_ps(p); }
static inline vf32 vf32_load_n(const float *p, size_t n)
{
    return _mm512_maskz_loadu_ps(vf32_first(n), p);
}
static inline void vf32_store(float *p, vf32 v) { _mm512_storeu_ps(p, v); }
static inline void vf32_store_n(float *p, vf32 v, size_t n)
{
    _mm512_mask_storeu_ps(p, vf32_first(n), v);
}
static inline vf32 vf32_add(vf32 a, vf32 b) { return _mm512_add_ps(a, b); }
static inline vf32 vf32_sub(vf32 a, vf32 b) { return _mm512_sub_ps(a, b); }
static inline vf32 vf32_mul(vf32 a, vf32 b) { return _mm512_mul_ps(a, b); }
static inline vf32 vf32_div(vf32 a, vf32 b) { return _mm512_div_ps(a, b); }
static inline vf32 vf32_max(vf32 a, vf32 b) { return _mm512_max_ps(a, b); }
/* the largest lane; none is NaN */
static inline float vf32_top(vf32 a) { return _mm512_reduce_max_ps(a); }
static inline vf32 vf32_min(vf32 a, vf32 b) { return _mm512_min_ps(a, b); }
/* a * b + c and c - a * b, rounded once */
static inline vf32 vf32_fma(vf32 a, vf32 b, vf32 c) { return _mm512_fmadd_ps(a, b, c); }
static inline vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) { return _mm512_fnmadd_ps(a, b, c); }
static inline vf32 vf32_load_bf16(const uint16_t *p)
{
    const __m512i w = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(w, 16));
}
static inline vf32 vf32_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
/* rounds to the nearest integer, ties to even */
#define VF32_HAS_SCALE 1
static inline vf32 vf32_nearest(vf32 a) { return _mm512_roundscale_ps(a, 8); }
/* a * 2^floor(n); 0 in lanes where x < least */
static inline vf32 vf32_scale_from(vf32 a, vf32 n, vf32 x, vf32 least)
{
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, least, _CMP_NLT_UQ), a, n);
}

/* ---- comparison and selection */
static inline vm32 vf32_lt(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline vm32 vi32_gt(vi32 a, vi32 b) { return _mm512_cmpgt_epi32_mask(a, b); }
static inline vm32 vi32_eq(vi32 a, vi32 b) { return _mm512_cmpeq_epi32_mask(a, b); }
/* m ? a : b */
static inline vf32 vf32_select(vm32 m, vf32 a, vf32 b) { return _mm512_mask_blend_ps(m, b, a); }
static inline vi32 vi32_select(vm32 m, vi32 a, vi32 b) { return _mm512_mask_blend_epi32(m, b, a); }

/* ---- integers; shr fills with zeros, sar with the sign; shl_each: each lane by its own count;
 * total, top: sum and maximum of all lanes, signed */
static inline vi32 vi32_zero(void) { return _mm512_setzero_si512(); }
static inline vi32 vi32_set1(int32_t x) { return _mm512_set1_epi32(x); }
static inline vi32 vi32_load(const void *p) { return _mm512_loadu_si512(p); }
static inline void vi32_store(void *p, vi32 v) { _mm512_storeu_si512(p, v); }
/* Keeps v, which was loaded, in a register. gcc else makes the load an operand of every instruction
 * that uses v, and loads bound the kernels that unpack codes: CPUs do two per cycle. */
#define VI32_KEEP(v) __asm__("" : "+v"(v))
static inline vi32 vi32_add(vi32 a, vi32 b) { return _mm512_add_epi32(a, b); }
static inline vi32 vi32_sub(vi32 a, vi32 b) { return _mm512_sub_epi32(a, b); }
static inline vi32 vi32_and(vi32 a, vi32 b) { return _mm512_and_si512(a, b); }
static inline vi32 vi32_or(vi32 a, vi32 b) { return _mm512_or_si512(a, b); }
static inline vi32 vi32_xor(vi32 a, vi32 b) { return _mm512_xor_si512(a, b); }
static inline vi32 vi32_shl(vi32 a, int n) { return _mm512_slli_epi32(a, (unsigned)n); }
static inline vi32 vi32_shr(vi32 a, int n) { return _mm512_srli_epi32(a, (unsigned)n); }
static inline vi32 vi32_sar(vi32 a, int n) { return _mm512_srai_epi32(a, (unsigned)n); }
static inline vi32 vi32_shl_each(vi32 a, vi32 n) { return _mm512_sllv_epi32(a, n); }
static inline int32_t vi32_total(vi32 a) { return _mm512_reduce_add_epi32(a); }
static inline int32_t vi32_top(vi32 a) { return _mm512_reduce_max_epi32(a); }
static inline vi32 vi32_max(vi32 a, vi32 b) { return _mm512_max_epi32(a, b); }
/* lane i: the maximum of lanes i % 4, i % 4 + 4, ... */
static inline vi32 vi32_top_16(vi32 a)
{
    a = vi32_max(a, _mm512_shuffle_i32x4(a, a, 0x4e));
    return vi32_max(a, _mm512_shuffle_i32x4(a, a, 0xb1));
}
static inline vi32 vi32_load_u8(const uint8_t *p)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
}
static inline vi32 vi32_load_s8(const int8_t *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p));
}
static inline void vi32_store_s8(int8_t *p, vi32 v) /* lanes within int8 range */
{
    _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(v));
}
/* stores the vectors v[0] .. v[3] one after the other; lanes within uint8 range, or INT32_MIN,
 * which is stored as 0 */
static inline void vi32_store4_u8(uint8_t *p, const vi32 v[4])
{
    const __m512i quads =
        _mm512_packus_epi16(_mm512_packus_epi32(v[0], v[1]), _mm512_packus_epi32(v[2], v[3]));
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    _mm512_storeu_si512(p, _mm512_permutexvar_epi32(order, quads));
}
/* byte i of the result is table[byte i of idx]; bytes of idx are 0 .. 15 */
static inline vi32 vi32_lut16(const uint8_t *table, vi32 idx)
{
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)table)),
                               idx);
}
#if defined(__AVX512VBMI__)
/* byte i of the result is table[low six bits of byte i of idx]: shifts and masks a field at once */
#define VI32_LUT64 1
static inline vi32 vi32_lut64(vi32 table, vi32 idx) { return _mm512_permutexvar_epi8(idx, table); }
static inline vi32 vi32_repeat16(const uint8_t *p)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
}
/* lane i of the result is value [low two bits of lane i of idx] of the four at p */
static inline vi32 vi32_lut4(const int32_t *p, vi32 idx)
{
    const __m512i four = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)p));
    return _mm512_castps_si512(_mm512_permutevar_ps(_mm512_castsi512_ps(four), idx));
}
/* bits at .. at + bits - 1 of each byte of v, of the low six, moved to bit `to`, plus `add` */
static inline __attribute__((always_inline)) vi32 vi32_lut64_field(vi32 v, int at, int bits, int to,
                                                                   int add)
{
#define AT(i)    (char)((((i) >> at & ((1 << bits) - 1)) << to) + add)
#define AT_4(i)  AT((i) + 3), AT((i) + 2), AT((i) + 1), AT(i)
#define AT_16(i) AT_4((i) + 12), AT_4((i) + 8), AT_4((i) + 4), AT_4(i)
    return vi32_lut64(_mm512_set_epi8(AT_16(48), AT_16(32), AT_16(16), AT_16(0)), v);
#undef AT_16
#undef AT_4
#undef AT
}
/* lane i is true when bit `bit` of lane i of v is set */
static inline vm32 vi32_bit(vi32 v, int bit)
{
    return _mm512_test_epi32_mask(v, _mm512_set1_epi32((int)(1u << bit)));
}
/* a - b where m is true, else a */
static inline vi32 vi32_sub_if(vm32 m, vi32 a, vi32 b) { return _mm512_mask_sub_epi32(a, m, a, b); }
#endif

/* ---- conversions */
static inline vf32 vf32_from_i32(vi32 a) { return _mm512_cvtepi32_ps(a); }
static inline vi32 vi32_round(vf32 a) { return _mm512_cvtps_epi32(a); } /* nearest even */
static inline vf32 vf32_bits(vi32 a) { return _mm512_castsi512_ps(a); }
static inline vi32 vi32_bits(vf32 a) { return _mm512_castps_si512(a); }
/* table[low four bits of each lane of idx], by one instruction */
#define VF32_FAST_LUT16 1
static inline vf32 vf32_lut16(const float *table, vi32 idx)
{
    return _mm512_permutexvar_ps(idx, _mm512_loadu_ps(table));
}

/* ---- for attention: lane masks from bits, high halves, pairs of bf16 */
/* lane i is true when bit i is set */
static inline vm32 vm32_bits(uint32_t bits) { return (vm32)bits; }
static inline int vm32_any(vm32 m) { return m != 0; }
/* zero-extends the first (lo) or last (hi) 8 bytes of every 16-byte lane to 16 bits */
static inline vi32 vi32_unpack_lo(vi32 a) { return _mm512_unpacklo_epi8(a, vi32_zero()); }
static inline vi32 vi32_unpack_hi(vi32 a) { return _mm512_unpackhi_epi8(a, vi32_zero()); }
/* interleaves the first (lo) or last (hi) 16-, 32- or 64-bit elements of a and b per 16 bytes */
static inline vi32 vi32_zip16_lo(vi32 a, vi32 b) { return _mm512_unpacklo_epi16(a, b); }
static inline vi32 vi32_zip16_hi(vi32 a, vi32 b) { return _mm512_unpackhi_epi16(a, b); }
static inline vi32 vi32_zip32_lo(vi32 a, vi32 b) { return _mm512_unpacklo_epi32(a, b); }
static inline vi32 vi32_zip32_hi(vi32 a, vi32 b) { return _mm512_unpackhi_epi32(a, b); }
static inline vi32 vi32_zip64_lo(vi32 a, vi32 b) { return _mm512_unpacklo_epi64(a, b); }
static inline vi32 vi32_zip64_hi(vi32 a, vi32 b) { return _mm512_unpackhi_epi64(a, b); }
/* stores the 16-byte lanes of v, `stride` bytes apart */
static inline void vi32_store_lanes(uint8_t *p, size_t stride, vi32 v)
{
    _mm_storeu_si128((__m128i *)p, _mm512_castsi512_si128(v));
    _mm_storeu_si128((__m128i *)(p + stride), _mm512_extracti32x4_epi32(v, 1));
    _mm_storeu_si128((__m128i *)(p + 2 * stride), _mm512_extracti32x4_epi32(v, 2));
    _mm_storeu_si128((__m128i *)(p + 3 * stride), _mm512_extracti32x4_epi32(v, 3));
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
    const __m512i w = _mm512_srli_epi32(_mm512_castps_si512(v), 16);
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(w));
}
#ifdef __AVX512BF16__
#define VF32_HAS_BF16 1
/* stores v rounded to bf16 and returns the rounded values */
static inline vf32 vf32_round_store_bf16(uint16_t *p, vf32 v)
{
    const __m256i h = (__m256i)_mm512_cvtneps_pbh(v);
    _mm256_storeu_si256((__m256i *)p, h);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
/* the same for two consecutive vectors */
static inline void vf32_round_store2_bf16(uint16_t *p, vf32 v[2])
{
    const __m512i h = (__m512i)_mm512_cvtne2ps_pbh(v[1], v[0]);
    const __m512i twice = _mm512_set_epi16(15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 9, 9, 8,
                                           8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    const __m512i upper = _mm512_add_epi16(twice, _mm512_set1_epi16(16));
    _mm512_storeu_si512(p, h);
    v[0] = _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(0xaaaaaaaa, twice, h));
    v[1] = _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(0xaaaaaaaa, upper, h));
}
/* pairs of values rounded to bf16: `even` in the low half of each lane, `odd` in the high one.
 * Denormals become zeros. */
static inline vi32 vf32_pairs_bf16(vf32 even, vf32 odd)
{
    const __m512i h = (__m512i)_mm512_cvtne2ps_pbh(odd, even);
    const __m512i zip = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(zip, h);
}
#endif

/* ---- dot products of four bytes per lane: acc + sum of w * a, exact; a holds signed bytes -127 ..
 * 127. u7: w is 0 .. 127. w8: w is any byte, the weight plus VI32_W8_OFFSET: unsigned with offset
 * 128, or signed with offset 0, depending on the instructions. VI32_PAIRS: there is no such
 * instruction, only 16-bit sums of two products. vi32_pairs (w 0 .. 127) are added while no sum can
 * exceed 32767; vi32_pairs_sum then extends them to 32 bits. */
#if defined(__AVX512VNNI__)
enum { VI32_W8_OFFSET = 128 };
/* a dot product takes some five cycles until the next one can add to its sum */
#define VI32_SLOW_DOT 1
static inline vi32 vi32_dot_u7(vi32 acc, vi32 w, vi32 a) { return _mm512_dpbusd_epi32(acc, w, a); }
static inline vi32 vi32_dot_w8(vi32 acc, vi32 w, vi32 a) { return _mm512_dpbusd_epi32(acc, w, a); }
#else
enum { VI32_W8_OFFSET = 0 };
#define VI32_PAIRS 1
static inline vi32 vi32_pairs(vi32 w, vi32 a) { return _mm512_maddubs_epi16(w, a); }
static inline vi32 vi32_pairs_sum(vi32 a) { return _mm512_madd_epi16(a, _mm512_set1_epi16(1)); }
/* Returns `sum`, opaque to the compiler, which would turn a chain of sums into a tree that takes
 * more registers. */
static inline vi32 vi32_chain(vi32 sum)
{
    VI32_KEEP(sum);
    return sum;
}
static inline vi32 vi32_pairs_add(vi32 a, vi32 b) { return vi32_chain(_mm512_add_epi16(a, b)); }
/* magnitude (128 for -128) and sign (0 or -1) of signed bytes */
static inline vi32 vi32_magnitude(vi32 a) { return _mm512_abs_epi8(a); }
static inline vi32 vi32_sign(vi32 a) { return _mm512_movm_epi8(_mm512_movepi8_mask(a)); }
static inline vi32 vi32_dot_u7(vi32 acc, vi32 w, vi32 a)
{
    return vi32_chain(_mm512_add_epi32(acc, vi32_pairs_sum(vi32_pairs(w, a))));
}
static inline vi32 vi32_dot_w8(vi32 acc, vi32 w, vi32 a)
{
    /* |w| * (a with the sign of w): at most 2 * 128 * 127 */
    const __m512i sa = _mm512_mask_sub_epi8(a, _mm512_movepi8_mask(w), _mm512_setzero_si512(), a);
    return vi32_dot_u7(acc, _mm512_abs_epi8(w), sa);
}
#endif

#if defined(__AVX512BF16__)
/* per lane: fma of the odd bf16, then of the even one, denormals zero */
static inline vf32 vf32_dot_bf16(vf32 acc, vi32 w, vi32 a)
{
    return _mm512_dpbf16_ps(acc, (__m512bh)w, (__m512bh)a);
}
#endif

/* ---- double: from the lower and the upper half of a vector of f32 */
typedef __m512d vf64;
static inline vf64 vf64_set1(double x) { return _mm512_set1_pd(x); }
static inline vf64 vf64_add(vf64 a, vf64 b) { return _mm512_add_pd(a, b); }
static inline vf64 vf64_sub(vf64 a, vf64 b) { return _mm512_sub_pd(a, b); }
static inline vf64 vf64_mul(vf64 a, vf64 b) { return _mm512_mul_pd(a, b); }
static inline vf64 vf64_div(vf64 a, vf64 b) { return _mm512_div_pd(a, b); }
static inline vf64 vf64_low(vf32 v) { return _mm512_cvtps_pd(_mm512_castps512_ps256(v)); }
static inline vf64 vf64_high(vf32 v) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)); }
static inline void vf64_store(double *p, vf64 v) { _mm512_storeu_pd(p, v); }
/* v, but 0 where x < least */
static inline vf64 vf64_zero_below(vf64 v, vf64 x, vf64 least)
{
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(x, least, _CMP_GE_OQ), v);
}
/* 2^k, where the last 12 bits of each lane are k */
static inline vf64 vf64_power_of_2(vf64 t)
{
    const __m512i k = _mm512_slli_epi64(_mm512_castpd_si512(t), 52);
    return _mm512_castsi512_pd(_mm512_add_epi64(k, _mm512_castpd_si512(_mm512_set1_pd(1))));
}

#endif
