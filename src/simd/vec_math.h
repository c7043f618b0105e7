/* SPDX-License-Identifier: Apache-2.0 */
/* vec_math.h - elementary functions on the vectors of a vec_*.h, which must be included first.
 *
 * Every function is a fixed sequence of correctly rounded operations, so its bits are the same at
 * every level. 2^f = 1 + f * g(f) on [-1/2, 1/2], with g of degree 5 fitted by weighted least
 * squares: an error of 3.6e-9 before rounding. */
#ifndef QR_SIMD_VEC_MATH_H
#define QR_SIMD_VEC_MATH_H

/* 2^x is 0 below VEC_EXP2_FLUSH, so that no level produces a denormal. x + VEC_ROUND_MAGIC rounds
 * x to an integer, which is in the low bits of the sum. */
#define VEC_EXP2_FLUSH  (-125.0f)
#define VEC_ROUND_MAGIC 0x1.8p23f
#define VEC_LOG2E       0x1.715476p0f

/* g(f) = (2^f - 1) / f */
static inline vf32 vf32_exp2_slope(vf32 f)
{
    vf32 g = vf32_set1(0x1.3f906cp-13f);
    g = vf32_fma(g, f, vf32_set1(0x1.5f0a66p-10f));
    g = vf32_fma(g, f, vf32_set1(0x1.3b30b0p-7f));
    g = vf32_fma(g, f, vf32_set1(0x1.c6af78p-5f));
    g = vf32_fma(g, f, vf32_set1(0x1.ebfbd8p-3f));
    return vf32_fma(g, f, vf32_set1(0x1.62e430p-1f));
}

/* 2^x for x < 127, within 7e-8; 0 below VEC_EXP2_FLUSH (so also for -inf), NaN for NaN. */
static inline vf32 vf32_exp2(vf32 x)
{
    const vf32 magic = vf32_set1(VEC_ROUND_MAGIC), t = vf32_add(x, magic);
    const vf32 f = vf32_sub(x, vf32_sub(t, magic));
    const vf32 r = vf32_fma(f, vf32_exp2_slope(f), vf32_set1(1));
    const vf32 y = vf32_bits(vi32_add(vi32_bits(r), vi32_shl(vi32_bits(t), 23)));
    return vf32_select(vf32_lt(x, vf32_set1(VEC_EXP2_FLUSH)), vf32_zero(), y);
}

/* e^x for x < 88, within 3.4e-7 * max(1, |x|/4); 0 below -86. */
static inline vf32 vf32_exp(vf32 x) { return vf32_exp2(vf32_mul(x, vf32_set1(VEC_LOG2E))); }

/* tanh(x) within 2.5e-7 relative: e^2|x| - 1 = u gives u / (u + 2). */
static inline vf32 vf32_tanh(vf32 x)
{
    const vi32 sign = vi32_and(vi32_bits(x), vi32_set1(INT32_MIN));
    const vf32 a = vf32_bits(vi32_xor(vi32_bits(x), sign));
    /* tanh(10) rounds to 1; min returns its right operand if that is NaN */
    const vf32 y = vf32_mul(vf32_min(vf32_set1(10), a), vf32_set1(2 * VEC_LOG2E));
    const vf32 magic = vf32_set1(VEC_ROUND_MAGIC), t = vf32_add(y, magic);
    const vf32 f = vf32_sub(y, vf32_sub(t, magic));
    const vf32 q = vf32_mul(f, vf32_exp2_slope(f));
    const vf32 s = vf32_bits(vi32_add(vi32_set1(0x3f800000), vi32_shl(vi32_bits(t), 23)));
    const vf32 u = vf32_fma(s, q, vf32_sub(s, vf32_set1(1)));
    const vf32 r = vf32_div(u, vf32_add(u, vf32_set1(2)));
    return vf32_bits(vi32_or(vi32_bits(r), sign));
}

#ifndef VF32_HAS_BF16
/* acc + a.odd * b.odd, then + a.even * b.even: the low half of a lane is the even bf16 */
static inline vf32 vf32_dot_bf16(vf32 acc, vi32 a, vi32 b)
{
    acc = vf32_fma(vf32_odd_bf16(a), vf32_odd_bf16(b), acc);
    return vf32_fma(vf32_even_bf16(a), vf32_even_bf16(b), acc);
}

/* stores v rounded to bf16 (nearest even) and returns the rounded values */
static inline vf32 vf32_round_store_bf16(uint16_t *p, vf32 v)
{
    const vi32 bits = vi32_bits(v), odd = vi32_and(vi32_shr(bits, 16), vi32_set1(1));
    const vi32 up = vi32_add(bits, vi32_add(odd, vi32_set1(0x7fff)));
    const vf32 r = vf32_bits(vi32_and(up, vi32_set1((int32_t)0xffff0000)));
    vf32_store_high(p, r);
    return r;
}

/* the same for two consecutive vectors */
static inline void vf32_round_store2_bf16(uint16_t *p, vf32 v[2])
{
    v[0] = vf32_round_store_bf16(p, v[0]);
    v[1] = vf32_round_store_bf16(p + VF32_N, v[1]);
}

/* v rounded to bf16 (nearest even), in the upper half of each lane. Denormals become zeros. */
static inline vi32 vec_round_bf16(vf32 v)
{
    const vi32 bits = vi32_bits(v), sign = vi32_and(bits, vi32_set1(INT32_MIN)),
               magnitude = vi32_xor(bits, sign), odd = vi32_and(vi32_shr(bits, 16), vi32_set1(1));
    vi32 r = vi32_add(bits, vi32_add(odd, vi32_set1(0x7fff)));
    r = vi32_select(vi32_gt(magnitude, vi32_set1(0x7f800000)), vi32_set1(0x7fc00000), r);
    return vi32_select(vi32_gt(vi32_set1(0x00800000), magnitude), sign, r);
}

/* pairs of values rounded to bf16: `even` in the low half of each lane, `odd` in the high one */
static inline vi32 vf32_pairs_bf16(vf32 even, vf32 odd)
{
    return vi32_or(vi32_shr(vec_round_bf16(even), 16),
                   vi32_and(vec_round_bf16(odd), vi32_set1((int32_t)0xffff0000)));
}
#endif

#endif
