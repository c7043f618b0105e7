/* SPDX-License-Identifier: Apache-2.0 */
/* vec_avx2.h - 8 lanes of AVX2 + FMA + F16C under the names shared by all vec_*.h headers.
 *
 * vf32 holds VF32_N floats, vi32 as many 32-bit integers (or 4 * VF32_N bytes), vm32 one truth
 * value per lane. The _n forms access the memory of the first n lanes only, 0 <= n <= VF32_N; the
 * other lanes read as 0. */
#ifndef QR_SIMD_VEC_H
#define QR_SIMD_VEC_H
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef __m256 vf32;
typedef __m256i vi32;
typedef __m256i vm32; /* all ones or all zeros per lane */
enum { VF32_N = 8, VF32_REGS = 16 };

static inline __m256i vf32_first(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* ---- floats */
static inline vf32 vf32_zero(void) { return _mm256_setzero_ps(); }
static inline vf32 vf32_set1(float x) { return _mm256_set1_ps(x); }
static inline vf32 vf32_load(const float *p) { return _mm256_loadu_ps(p); }
static inline vf32 vf32_load_n(const float *p, size_t n)
{
    return _mm256_maskload_ps(p, vf32_first(n));
}
static inline void vf32_store(float *p, vf32 v) { _mm256_storeu_ps(p, v); }
static inline void vf32_store_n(float *p, vf32 v, size_t n)
{
    _mm256_maskstore_ps(p, vf32_first(n), v);
}
static inline vf32 vf32_add(vf32 a, vf32 b) { return _mm256_add_ps(a, b); }
static inline vf32 vf32_sub(vf32 a, vf32 b) { return _mm256_sub_ps(a, b); }
static inline vf32 vf32_mul(vf32 a, vf32 b) { return _mm256_mul_ps(a, b); }
static inline vf32 vf32_div(vf32 a, vf32 b) { return _mm256_div_ps(a, b); }
static inline vf32 vf32_max(vf32 a, vf32 b) { return _mm256_max_ps(a, b); }
static inline float vf32_top(vf32 a) /* the largest lane; none is NaN */
{
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
static inline vf32 vf32_min(vf32 a, vf32 b) { return _mm256_min_ps(a, b); }
/* a * b + c and c - a * b, rounded once */
static inline vf32 vf32_fma(vf32 a, vf32 b, vf32 c) { return _mm256_fmadd_ps(a, b, c); }
static inline vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) { return _mm256_fnmadd_ps(a, b, c); }
static inline vf32 vf32_load_bf16(const uint16_t *p)
{
    const __m256i w = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(w, 16));
}
static inline vf32 vf32_load_f16(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

/* ---- comparison and selection */
static inline vm32 vf32_lt(vf32 a, vf32 b)
{
    return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
static inline vm32 vi32_gt(vi32 a, vi32 b) { return _mm256_cmpgt_epi32(a, b); }
static inline vm32 vi32_eq(vi32 a, vi32 b) { return _mm256_cmpeq_epi32(a, b); }
/* m ? a : b */
static inline vf32 vf32_select(vm32 m, vf32 a, vf32 b)
{
    return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(m));
}
static inline vi32 vi32_select(vm32 m, vi32 a, vi32 b) { return _mm256_blendv_epi8(b, a, m); }

/* ---- integers; shr fills with zeros, sar with the sign; shl_each: each lane by its own count;
 * total, top: sum and maximum of all lanes, signed */
static inline vi32 vi32_zero(void) { return _mm256_setzero_si256(); }
static inline vi32 vi32_set1(int32_t x) { return _mm256_set1_epi32(x); }
static inline vi32 vi32_load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline void vi32_store(void *p, vi32 v) { _mm256_storeu_si256((__m256i *)p, v); }
static inline vi32 vi32_add(vi32 a, vi32 b) { return _mm256_add_epi32(a, b); }
static inline vi32 vi32_sub(vi32 a, vi32 b) { return _mm256_sub_epi32(a, b); }
static inline vi32 vi32_and(vi32 a, vi32 b) { return _mm256_and_si256(a, b); }
static inline vi32 vi32_or(vi32 a, vi32 b) { return _mm256_or_si256(a, b); }
static inline vi32 vi32_xor(vi32 a, vi32 b) { return _mm256_xor_si256(a, b); }
static inline vi32 vi32_shl(vi32 a, int n) { return _mm256_slli_epi32(a, n); }
static inline vi32 vi32_shr(vi32 a, int n) { return _mm256_srli_epi32(a, n); }
static inline vi32 vi32_sar(vi32 a, int n) { return _mm256_srai_epi32(a, n); }
static inline vi32 vi32_shl_each(vi32 a, vi32 n) { return _mm256_sllv_epi32(a, n); }
static inline int32_t vi32_total(vi32 a)
{
    __m128i v = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 0xb1)));
}
static inline int32_t vi32_top(vi32 a)
{
    __m128i v = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    v = _mm_max_epi32(v, _mm_shuffle_epi32(v, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(v, _mm_shuffle_epi32(v, 0xb1)));
}
static inline vi32 vi32_max(vi32 a, vi32 b) { return _mm256_max_epi32(a, b); }
/* lane i: the maximum of lanes i % 4, i % 4 + 4, ... */
static inline vi32 vi32_top_16(vi32 a) { return vi32_max(a, _mm256_permute2x128_si256(a, a, 1)); }
static inline vi32 vi32_load_u8(const uint8_t *p)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
static inline vi32 vi32_load_s8(const int8_t *p)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
static inline void vi32_store_s8(int8_t *p, vi32 v) /* lanes within int8 range */
{
    const __m128i w = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storel_epi64((__m128i *)p, _mm_packs_epi16(w, w));
}
/* stores the vectors v[0] .. v[3] one after the other; lanes within uint8 range, or INT32_MIN,
 * which is stored as 0 */
static inline void vi32_store4_u8(uint8_t *p, const vi32 v[4])
{
    const __m256i quads =
        _mm256_packus_epi16(_mm256_packus_epi32(v[0], v[1]), _mm256_packus_epi32(v[2], v[3]));
    const __m256i order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
    _mm256_storeu_si256((__m256i *)p, _mm256_permutevar8x32_epi32(quads, order));
}
/* byte i of the result is table[byte i of idx]; bytes of idx are 0 .. 15 */
static inline vi32 vi32_lut16(const uint8_t *table, vi32 idx)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table)),
                               idx);
}

/* ---- conversions */
static inline vf32 vf32_from_i32(vi32 a) { return _mm256_cvtepi32_ps(a); }
static inline vi32 vi32_round(vf32 a) { return _mm256_cvtps_epi32(a); } /* nearest even */
static inline vf32 vf32_bits(vi32 a) { return _mm256_castsi256_ps(a); }
static inline vi32 vi32_bits(vf32 a) { return _mm256_castps_si256(a); }
/* table[lane of idx]; lanes of idx are 0 .. 15 */
static inline vf32 vf32_lut16(const float *table, vi32 idx)
{
    const vf32 lo = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), idx),
               hi = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), idx);
    return _mm256_blendv_ps(lo, hi, vf32_bits(_mm256_slli_epi32(idx, 28)));
}

/* ---- for attention: lane masks from bits, high halves, pairs of bf16 */
/* lane i is true when bit i is set */
static inline vm32 vm32_bits(uint32_t bits)
{
    const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), lane), lane);
}
static inline int vm32_any(vm32 m) { return _mm256_movemask_epi8(m) != 0; }
/* zero-extends the first (lo) or last (hi) 8 bytes of every 16-byte lane to 16 bits */
static inline vi32 vi32_unpack_lo(vi32 a) { return _mm256_unpacklo_epi8(a, vi32_zero()); }
static inline vi32 vi32_unpack_hi(vi32 a) { return _mm256_unpackhi_epi8(a, vi32_zero()); }
/* interleaves the first (lo) or last (hi) 16-, 32- or 64-bit elements of a and b per 16 bytes */
static inline vi32 vi32_zip16_lo(vi32 a, vi32 b) { return _mm256_unpacklo_epi16(a, b); }
static inline vi32 vi32_zip16_hi(vi32 a, vi32 b) { return _mm256_unpackhi_epi16(a, b); }
static inline vi32 vi32_zip32_lo(vi32 a, vi32 b) { return _mm256_unpacklo_epi32(a, b); }
static inline vi32 vi32_zip32_hi(vi32 a, vi32 b) { return _mm256_unpackhi_epi32(a, b); }
static inline vi32 vi32_zip64_lo(vi32 a, vi32 b) { return _mm256_unpacklo_epi64(a, b); }
static inline vi32 vi32_zip64_hi(vi32 a, vi32 b) { return _mm256_unpackhi_epi64(a, b); }
/* stores the 16-byte lanes of v, `stride` bytes apart */
static inline void vi32_store_lanes(uint8_t *p, size_t stride, vi32 v)
{
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(v));
    _mm_storeu_si128((__m128i *)(p + stride), _mm256_extracti128_si256(v, 1));
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
    const __m256i w = _mm256_srli_epi32(_mm256_castps_si256(v), 16);
    const __m256i h = _mm256_permute4x64_epi64(_mm256_packus_epi32(w, w), 0x08);
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(h));
}

/* ---- dot products of four bytes per lane: acc + sum of w * a, exact; a holds signed bytes -127 ..
 * 127. u7: w is 0 .. 127. w8: w is any byte, the weight plus VI32_W8_OFFSET: unsigned with offset
 * 128, or signed with offset 0, depending on the instructions. VI32_PAIRS: there is no such
 * instruction, only 16-bit sums of two products. vi32_pairs (w 0 .. 127) are added while no sum can
 * exceed 32767; vi32_pairs_sum then extends them to 32 bits. */
#if defined(__AVXVNNI__)
enum { VI32_W8_OFFSET = 128 };
static inline vi32 vi32_dot_u7(vi32 acc, vi32 w, vi32 a)
{
    return _mm256_dpbusd_avx_epi32(acc, w, a);
}
static inline vi32 vi32_dot_w8(vi32 acc, vi32 w, vi32 a)
{
    return _mm256_dpbusd_avx_epi32(acc, w, a);
}
#else
enum { VI32_W8_OFFSET = 0 };
#define VI32_PAIRS 1
static inline vi32 vi32_pairs(vi32 w, vi32 a) { return _mm256_maddubs_epi16(w, a); }
static inline vi32 vi32_pairs_sum(vi32 a) { return _mm256_madd_epi16(a, _mm256_set1_epi16(1)); }
/* Returns `sum`, opaque to the compiler, which would turn a chain of sums into a tree that takes
 * more registers. */
static inline vi32 vi32_chain(vi32 sum)
{
    __asm__("" : "+x"(sum));
    return sum;
}
static inline vi32 vi32_pairs_add(vi32 a, vi32 b) { return vi32_chain(_mm256_add_epi16(a, b)); }
/* magnitude (128 for -128) and sign (0 or -1) of signed bytes */
static inline vi32 vi32_magnitude(vi32 a) { return _mm256_abs_epi8(a); }
static inline vi32 vi32_sign(vi32 a) { return _mm256_cmpgt_epi8(vi32_zero(), a); }
static inline vi32 vi32_dot_u7(vi32 acc, vi32 w, vi32 a)
{
    return vi32_chain(_mm256_add_epi32(acc, vi32_pairs_sum(vi32_pairs(w, a))));
}
static inline vi32 vi32_dot_w8(vi32 acc, vi32 w, vi32 a)
{
    /* |w| * (a with the sign of w): at most 2 * 128 * 127 */
    return vi32_dot_u7(acc, _mm256_abs_epi8(w), _mm256_sign_epi8(a, w));
}
#endif

/* ---- double: from the lower and the upper half of a vector of f32 */
typedef __m256d vf64;
static inline vf64 vf64_set1(double x) { return _mm256_set1_pd(x); }
static inline vf64 vf64_add(vf64 a, vf64 b) { return _mm256_add_pd(a, b); }
static inline vf64 vf64_sub(vf64 a, vf64 b) { return _mm256_sub_pd(a, b); }
static inline vf64 vf64_mul(vf64 a, vf64 b) { return _mm256_mul_pd(a, b); }
static inline vf64 vf64_div(vf64 a, vf64 b) { return _mm256_div_pd(a, b); }
static inline vf64 vf64_low(vf32 v) { return _mm256_cvtps_pd(_mm256_castps256_ps128(v)); }
static inline vf64 vf64_high(vf32 v) { return _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)); }
static inline void vf64_store(double *p, vf64 v) { _mm256_storeu_pd(p, v); }
/* v, but 0 where x < least */
static inline vf64 vf64_zero_below(vf64 v, vf64 x, vf64 least)
{
    return _mm256_and_pd(_mm256_cmp_pd(x, least, _CMP_GE_OQ), v);
}
/* 2^k, where the last 12 bits of each lane are k */
static inline vf64 vf64_power_of_2(vf64 t)
{
    const __m256i k = _mm256_slli_epi64(_mm256_castpd_si256(t), 52);
    return _mm256_castsi256_pd(_mm256_add_epi64(k, _mm256_castpd_si256(_mm256_set1_pd(1))));
}

#endif
