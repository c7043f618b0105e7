/* SPDX-License-Identifier: Apache-2.0 */
/* vec_sve.h - SVE vectors of a fixed length under the names shared by all vec_*.h headers: 8 lanes
 * with -msve-vector-bits=256.
 *
 * Templates keep arrays of vectors, which types without a constant size do not allow: the length is
 * that of the compiler option, and the code must run with this vector length only.
 *
 * vf32 holds VF32_N floats, vi32 as many 32-bit integers (or 4 * VF32_N bytes), vm32 one truth
 * value per lane. The _n forms access the memory of the first n lanes only, 0 <= n <= VF32_N; the
 * other lanes read as 0. */
#ifndef QR_SIMD_VEC_H
#define QR_SIMD_VEC_H
#include <arm_sve.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VEC_SVE       1
#define VEC_SVE_FIXED __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)))
typedef svfloat32_t vf32 VEC_SVE_FIXED;
typedef svint32_t vi32 VEC_SVE_FIXED;
typedef svbool_t vm32 VEC_SVE_FIXED;
/* bytes and unsigned lanes, for operators */
typedef svuint32_t vec_u32 VEC_SVE_FIXED;
typedef svuint8_t vec_u8 VEC_SVE_FIXED;
enum { VF32_N = __ARM_FEATURE_SVE_BITS / 32, VF32_REGS = 32 };

#define VEC_ALL svptrue_b32()

static inline svuint8_t vec_bytes(vi32 a) { return svreinterpret_u8_s32(a); }
static inline svint8_t vec_signed_bytes(vi32 a) { return svreinterpret_s8_s32(a); }
static inline svbool_t vec_first(size_t n) { return svwhilelt_b32_u64(0, n); }

/* ---- floats */
static inline vf32 vf32_zero(void) { return svdup_n_f32(0); }
static inline vf32 vf32_set1(float x) { return svdup_n_f32(x); }
static inline vf32 vf32_load(const float *p) { return svld1_f32(VEC_ALL, p); }
static inline vf32 vf32_load_n(const float *p, size_t n) { return svld1_f32(vec_first(n), p); }
static inline void vf32_store(float *p, vf32 v) { svst1_f32(VEC_ALL, p, v); }
static inline void vf32_store_n(float *p, vf32 v, size_t n) { svst1_f32(vec_first(n), p, v); }
static inline vf32 vf32_add(vf32 a, vf32 b) { return a + b; }
static inline vf32 vf32_sub(vf32 a, vf32 b) { return a - b; }
static inline vf32 vf32_mul(vf32 a, vf32 b) { return a * b; }
static inline vf32 vf32_div(vf32 a, vf32 b) { return a / b; }
/* returns b if either is NaN or both are zero, as on x86 */
static inline vf32 vf32_max(vf32 a, vf32 b) { return svsel_f32(svcmpgt_f32(VEC_ALL, a, b), a, b); }
static inline float vf32_top(vf32 a) { return svmaxv_f32(VEC_ALL, a); } /* none is NaN */
static inline vf32 vf32_min(vf32 a, vf32 b) { return svsel_f32(svcmplt_f32(VEC_ALL, a, b), a, b); }
/* a * b + c and c - a * b, rounded once. With VEC_SVE_SUMS the result takes the register of c:
 * else gcc lets some results of a long loop take that of a factor, and copies the factor first. */
static inline vf32 vf32_fma(vf32 a, vf32 b, vf32 c)
{
#if defined(VEC_SVE_SUMS)
    return svmla_f32_m(VEC_ALL, c, a, b);
#else
    return svmla_f32_x(VEC_ALL, c, a, b);
#endif
}
static inline vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) { return svmls_f32_x(VEC_ALL, c, a, b); }
static inline vf32 vf32_load_bf16(const uint16_t *p)
{
    return svreinterpret_f32_u32(svlsl_n_u32_x(VEC_ALL, svld1uh_u32(VEC_ALL, p), 16));
}
static inline vf32 vf32_load_f16(const uint16_t *p) /* the conversion reads the lower halves */
{
    return svcvt_f32_f16_x(VEC_ALL, svreinterpret_f16_u32(svld1uh_u32(VEC_ALL, p)));
}

/* Makes the address of a broadcast a single register. From the sum of two registers gcc loads into
 * a general register first, and one move from there to a vector starts per cycle. */
#define VEC_BROADCAST_AT(p) __asm__("" : "+r"(p))

/* ---- comparison and selection */
static inline vm32 vf32_lt(vf32 a, vf32 b) { return svcmplt_f32(VEC_ALL, a, b); }
static inline vm32 vi32_gt(vi32 a, vi32 b) { return svcmpgt_s32(VEC_ALL, a, b); }
static inline vm32 vi32_eq(vi32 a, vi32 b) { return svcmpeq_s32(VEC_ALL, a, b); }
/* m ? a : b */
static inline vf32 vf32_select(vm32 m, vf32 a, vf32 b) { return svsel_f32(m, a, b); }
static inline vi32 vi32_select(vm32 m, vi32 a, vi32 b) { return svsel_s32(m, a, b); }

/* ---- integers; shr fills with zeros, sar with the sign; shl_each: each lane by its own count;
 * total, top: sum and maximum of all lanes, signed */
static inline vi32 vi32_zero(void) { return svdup_n_s32(0); }
static inline vi32 vi32_set1(int32_t x) { return svdup_n_s32(x); }
static inline vi32 vi32_load(const void *p)
{
    return svreinterpret_s32_u8(svld1_u8(svptrue_b8(), (const uint8_t *)p));
}
static inline void vi32_store(void *p, vi32 v)
{
    svst1_u8(svptrue_b8(), (uint8_t *)p, vec_bytes(v));
}
static inline vi32 vi32_add(vi32 a, vi32 b) { return a + b; }
static inline vi32 vi32_sub(vi32 a, vi32 b) { return a - b; }
static inline vi32 vi32_and(vi32 a, vi32 b) { return a & b; }
static inline vi32 vi32_or(vi32 a, vi32 b) { return a | b; }
static inline vi32 vi32_xor(vi32 a, vi32 b) { return a ^ b; }
static inline vi32 vi32_shl(vi32 a, int n) { return a << n; }
static inline vi32 vi32_shr(vi32 a, int n)
{
    const vec_u32 bits = svreinterpret_u32_s32(a), shifted = bits >> n;
    return svreinterpret_s32_u32(shifted);
}
/* the same for each byte */
#define VI32_SHR_BYTES 1
static inline vi32 vi32_shr_bytes(vi32 a, int n)
{
    const vec_u8 bytes = svreinterpret_u8_s32(a), shifted = bytes >> n;
    return svreinterpret_s32_u8(shifted);
}
static inline vi32 vi32_sar(vi32 a, int n) { return a >> n; }
static inline vi32 vi32_shl_each(vi32 a, vi32 n) { return a << n; }
static inline int32_t vi32_total(vi32 a) { return (int32_t)svaddv_s32(VEC_ALL, a); }
static inline int32_t vi32_top(vi32 a) { return svmaxv_s32(VEC_ALL, a); }
static inline vi32 vi32_max(vi32 a, vi32 b) { return svmax_s32_x(VEC_ALL, a, b); }
/* lane i: the maximum of lanes i % 4, i % 4 + 4, ... */
static inline vi32 vi32_top_16(vi32 a)
{
    for (int i = 4; i < VF32_N; i += 4)
        a = vi32_max(a, svext_s32(a, a, 4));
    return a;
}
static inline vi32 vi32_load_u8(const uint8_t *p)
{
    return svreinterpret_s32_u32(svld1ub_u32(VEC_ALL, p));
}
static inline vi32 vi32_load_s8(const int8_t *p) { return svld1sb_s32(VEC_ALL, p); }
static inline void vi32_store_s8(int8_t *p, vi32 v) /* lanes within int8 range */
{
    svst1b_s32(VEC_ALL, p, v);
}
/* stores the vectors v[0] .. v[3] one after the other; lanes within uint8 range */
static inline void vi32_store4_u8(uint8_t *p, const vi32 v[4])
{
    for (int i = 0; i < 4; i++)
        vi32_store_s8((int8_t *)p + i * VF32_N, v[i]); /* keeps the low byte of each lane */
}
/* byte i of the result is table[byte i of idx]; bytes of idx are 0 .. 15 */
static inline vi32 vi32_lut16(const uint8_t *table, vi32 idx)
{
    return svreinterpret_s32_u8(svtbl_u8(svld1rq_u8(svptrue_b8(), table), vec_bytes(idx)));
}

/* ---- conversions */
static inline vf32 vf32_from_i32(vi32 a) { return svcvt_f32_s32_x(VEC_ALL, a); }
static inline vi32 vi32_round(vf32 a) /* nearest even */
{
    return svcvt_s32_f32_x(VEC_ALL, svrintn_f32_x(VEC_ALL, a));
}
static inline vf32 vf32_bits(vi32 a) { return svreinterpret_f32_s32(a); }
static inline vi32 vi32_bits(vf32 a) { return svreinterpret_s32_f32(a); }
/* table[lane of idx]; lanes of idx are 0 .. 15 */
static inline vf32 vf32_lut16(const float *table, vi32 idx)
{
    vi32 r = vi32_zero();
    for (int i = 0; i < 16; i += VF32_N) { /* a lane that is no index of this part becomes 0 */
        const svuint32_t at = svreinterpret_u32_s32(vi32_sub(idx, vi32_set1(i)));
        r = vi32_or(r, svreinterpret_s32_f32(svtbl_f32(svld1_f32(VEC_ALL, table + i), at)));
    }
    return vf32_bits(r);
}

/* ---- for attention: lane masks from bits, high halves, pairs of bf16 */
/* lane i is true when bit i is set */
static inline vm32 vm32_bits(uint32_t bits)
{
    const svuint32_t lane = svlsl_u32_x(VEC_ALL, svdup_n_u32(1), svindex_u32(0, 1));
    return svcmpne_n_u32(VEC_ALL, svand_n_u32_x(VEC_ALL, lane, bits), 0);
}
static inline int vm32_any(vm32 m) { return svptest_any(VEC_ALL, m); }
/* Instructions zip whole vectors: the first 8 bytes of all 16-byte lanes, then the last ones. */
static inline svuint64_t vec_halves(vi32 a)
{
    const svuint64_t i = svindex_u64(0, 2), wrapped = svindex_u64(1 - VF32_N / 2, 2),
                     v = svreinterpret_u64_s32(a);
    return svtbl_u64(v, svsel_u64(svcmplt_n_u64(svptrue_b64(), i, VF32_N / 2), i, wrapped));
}
static inline svuint16_t vec_halves16(vi32 a) { return svreinterpret_u16_u64(vec_halves(a)); }
static inline svuint32_t vec_halves32(vi32 a) { return svreinterpret_u32_u64(vec_halves(a)); }
/* zero-extends the first (lo) or last (hi) 8 bytes of every 16-byte lane to 16 bits */
static inline vi32 vec_unpack(vi32 a, uint16_t from)
{
    const svuint16_t i = svindex_u16(0, 1);
    const svuint16_t lane = svlsl_n_u16_x(svptrue_b16(), svbic_n_u16_x(svptrue_b16(), i, 7), 1);
    const svuint16_t byte = svorr_u16_x(svptrue_b16(), lane, svand_n_u16_x(svptrue_b16(), i, 7));
    /* upper bytes are no index, for which the result is 0 */
    const svuint16_t at = svorr_n_u16_x(svptrue_b16(), byte, (uint16_t)(0xff00 | from));
    return svreinterpret_s32_u8(svtbl_u8(vec_bytes(a), svreinterpret_u8_u16(at)));
}
static inline vi32 vi32_unpack_lo(vi32 a) { return vec_unpack(a, 0); }
static inline vi32 vi32_unpack_hi(vi32 a) { return vec_unpack(a, 8); }
/* interleaves the first (lo) or last (hi) 16-, 32- or 64-bit elements of a and b per 16 bytes */
static inline vi32 vi32_zip16_lo(vi32 a, vi32 b)
{
    return svreinterpret_s32_u16(svzip1_u16(vec_halves16(a), vec_halves16(b)));
}
static inline vi32 vi32_zip16_hi(vi32 a, vi32 b)
{
    return svreinterpret_s32_u16(svzip2_u16(vec_halves16(a), vec_halves16(b)));
}
static inline vi32 vi32_zip32_lo(vi32 a, vi32 b)
{
    return svreinterpret_s32_u32(svzip1_u32(vec_halves32(a), vec_halves32(b)));
}
static inline vi32 vi32_zip32_hi(vi32 a, vi32 b)
{
    return svreinterpret_s32_u32(svzip2_u32(vec_halves32(a), vec_halves32(b)));
}
static inline vi32 vi32_zip64_lo(vi32 a, vi32 b)
{
    return svreinterpret_s32_s64(svtrn1_s64(svreinterpret_s64_s32(a), svreinterpret_s64_s32(b)));
}
static inline vi32 vi32_zip64_hi(vi32 a, vi32 b)
{
    return svreinterpret_s32_s64(svtrn2_s64(svreinterpret_s64_s32(a), svreinterpret_s64_s32(b)));
}
/* stores the 16-byte lanes of v, `stride` bytes apart */
static inline void vi32_store_lanes(uint8_t *p, size_t stride, vi32 v)
{
    svuint8_t rest = vec_bytes(v);
    for (size_t i = 0; i < VF32_N / 4; i++, rest = svext_u8(rest, rest, 16))
        svst1_u8(svptrue_pat_b8(SV_VL16), p + i * stride, rest);
}
/* the values of pairs of bf16: the lower half of a lane is the even one */
static inline vf32 vf32_even_bf16(vi32 pair) /* one shift starts per cycle, but two trn */
{
    return svreinterpret_f32_u16(svtrn1_u16(svdup_n_u16(0), svreinterpret_u16_s32(pair)));
}
static inline vf32 vf32_odd_bf16(vi32 pair)
{
    return svreinterpret_f32_u16(svtrn2_u16(svdup_n_u16(0), svreinterpret_u16_s32(pair)));
}
/* the upper halves of both: of `even` in the lower half of each lane, of `odd` in the upper */
static inline vi32 vi32_high_halves(vi32 even, vi32 odd)
{
    return svreinterpret_s32_s16(
        svtrn2_s16(svreinterpret_s16_s32(even), svreinterpret_s16_s32(odd)));
}
/* byte i of each lane */
static inline vi32 vi32_byte(vi32 a, int i)
{
    const svuint32_t at = svindex_u32(0xffffff00u | (uint32_t)i, 4); /* 0xff is no index */
    return svreinterpret_s32_u8(svtbl_u8(vec_bytes(a), svreinterpret_u8_u32(at)));
}
/* stores the upper 16 bits of each lane */
static inline void vf32_store_high(uint16_t *p, vf32 v)
{
    svst1h_u32(VEC_ALL, p, svlsr_n_u32_x(VEC_ALL, svreinterpret_u32_f32(v), 16));
}

/* ---- dot products of four bytes per lane: acc + sum of w * a, exact; a holds signed bytes -127 ..
 * 127. u7: w is 0 .. 127. w8: w is any byte, the weight plus VI32_W8_OFFSET: unsigned with offset
 * 128, or signed with offset 0, depending on the instructions. */
enum { VI32_W8_OFFSET = 0 };
/* conversions from integers take twice the time of additions, or more */
#define VI32_SLOW_CONVERT 1
static inline vi32 vi32_dot_w8(vi32 acc, vi32 w, vi32 a)
{
    return svdot_s32(acc, vec_signed_bytes(w), vec_signed_bytes(a));
}
/* here, w is any unsigned byte */
static inline vi32 vi32_dot_u7(vi32 acc, vi32 w, vi32 a)
{
    return svusdot_s32(acc, vec_bytes(w), vec_signed_bytes(a));
}
/* the 16 bytes at p in every 16-byte lane */
static inline vi32 vi32_load_16(const void *p)
{
    return svreinterpret_s32_u8(svld1rq_u8(svptrue_b8(), (const uint8_t *)p));
}
/* dot product with lane `lane` (0 .. 3) of a of vi32_load_16 in every lane */
#define VI32_LANES 1
static inline vi32 vi32_dot_lane(vi32 acc, vi32 w, vi32 a, int lane)
{
    const svint8_t x = vec_signed_bytes(w), y = vec_signed_bytes(a);
    switch (lane) { /* the instruction takes a literal */
    case 0:
        return svdot_lane_s32(acc, x, y, 0);
    case 1:
        return svdot_lane_s32(acc, x, y, 1);
    case 2:
        return svdot_lane_s32(acc, x, y, 2);
    default:
        return svdot_lane_s32(acc, x, y, 3);
    }
}

/* ---- product of byte matrices in every 16-byte lane, 2 x 8 by 8 x 2: lanes (w0, a0) (w0, a1)
 * (w1, a0) (w1, a1) */
#define VI32_MATRIX 1
static inline vi32 vi32_matrix(vi32 acc, vi32 w, vi32 a)
{
    return svmmla_s32(acc, vec_signed_bytes(w), vec_signed_bytes(a));
}
/* lanes a b a b ... Opaque to the compiler: copies of a vector would take the pipes of products, a
 * broadcast from a general register does not. */
static inline vi32 vi32_set1_pair(uint32_t a, uint32_t b)
{
    uint64_t pair = a | (uint64_t)b << 32;
    __asm__ volatile("" : "+r"(pair));
    return svreinterpret_s32_u64(svdup_n_u64(pair));
}
/* 8 bytes at a, then 8 bytes at b, in every 16-byte lane */
static inline vi32 vi32_load_8_8(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return svreinterpret_s32_u64(svtrn1_u64(svdup_n_u64(x), svdup_n_u64(y)));
}
/* lanes a0 b0 a1 b1 ..., the same from the middle on, a0 a2 ... b0 b2 ..., a1 a3 ... b1 b3 ... */
static inline vi32 vi32_zip_lo(vi32 a, vi32 b) { return svzip1_s32(a, b); }
static inline vi32 vi32_zip_hi(vi32 a, vi32 b) { return svzip2_s32(a, b); }
static inline vi32 vi32_even(vi32 a, vi32 b) { return svuzp1_s32(a, b); }
static inline vi32 vi32_odd(vi32 a, vi32 b) { return svuzp2_s32(a, b); }

/* ---- double: from the lower and the upper half of a vector of f32 */
typedef svfloat64_t vf64 VEC_SVE_FIXED;
static inline vf64 vf64_set1(double x) { return svdup_n_f64(x); }
static inline vf64 vf64_add(vf64 a, vf64 b) { return a + b; }
static inline vf64 vf64_sub(vf64 a, vf64 b) { return a - b; }
static inline vf64 vf64_mul(vf64 a, vf64 b) { return a * b; }
static inline vf64 vf64_div(vf64 a, vf64 b) { return a / b; }
/* the conversion reads the even lanes */
static inline vf64 vf64_low(vf32 v) { return svcvt_f64_f32_x(svptrue_b64(), svzip1_f32(v, v)); }
static inline vf64 vf64_high(vf32 v) { return svcvt_f64_f32_x(svptrue_b64(), svzip2_f32(v, v)); }
static inline void vf64_store(double *p, vf64 v) { svst1_f64(svptrue_b64(), p, v); }
/* v, but 0 where x < least */
static inline vf64 vf64_zero_below(vf64 v, vf64 x, vf64 least)
{
    return svsel_f64(svcmpge_f64(svptrue_b64(), x, least), v, svdup_n_f64(0));
}
/* 2^k, where the last 12 bits of each lane are k */
static inline vf64 vf64_power_of_2(vf64 t)
{
    const svuint64_t k = svlsl_n_u64_x(svptrue_b64(), svreinterpret_u64_f64(t), 52),
                     one = svreinterpret_u64_f64(svdup_n_f64(1));
    return svreinterpret_f64_u64(svadd_u64_x(svptrue_b64(), k, one));
}

#endif
