/* SPDX-License-Identifier: Apache-2.0 */
/* int4_dot.h - sums of products of bytes with 4-bit codes, four per 32-bit lane, over vec_*.h.
 *
 * A vec_*.h must be included first. An int4_sum holds the sums of up to INT4_STEPS additions of
 * four products of one lane: of signed bytes (int4_add_q, finished by int4_sum_q) or of unsigned
 * bytes (int4_add_w, int4_sum_w). Without an instruction for such products the partial sums have 16
 * bits: 8 * 2 * 15 * 127 < 2^15 and 8 * 2 * 15 * 255 < 2^16. */
#ifndef QR_SIMD_INT4_DOT_H
#define QR_SIMD_INT4_DOT_H

enum { INT4_STEPS = 8 };

/* The low and the high codes of bytes. */
static inline vi32 int4_low(vi32 bytes) { return vi32_and(bytes, vi32_set1(0x0f0f0f0f)); }
static inline vi32 int4_high(vi32 bytes)
{
    return vi32_and(vi32_shr(bytes, 4), vi32_set1(0x0f0f0f0f));
}

#if defined(VEC_NEON)
typedef struct {
    int16x8_t lo, hi;
} int4_sum;

static inline int4_sum int4_zero(void) { return (int4_sum){ vdupq_n_s16(0), vdupq_n_s16(0) }; }
static inline int4_sum int4_add_q(int4_sum sum, vi32 codes, vi32 q)
{
    const int8x16_t x = vreinterpretq_s8_s32(codes), y = vreinterpretq_s8_s32(q);
    return (int4_sum){ vmlal_s8(sum.lo, vget_low_s8(x), vget_low_s8(y)),
                       vmlal_high_s8(sum.hi, x, y) };
}
static inline int4_sum int4_add_w(int4_sum sum, vi32 codes, vi32 w)
{
    const uint8x16_t x = vreinterpretq_u8_s32(codes), y = vreinterpretq_u8_s32(w);
    const uint16x8_t lo = vreinterpretq_u16_s16(sum.lo), hi = vreinterpretq_u16_s16(sum.hi);
    return (int4_sum){ vreinterpretq_s16_u16(vmlal_u8(lo, vget_low_u8(x), vget_low_u8(y))),
                       vreinterpretq_s16_u16(vmlal_high_u8(hi, x, y)) };
}
static inline vi32 int4_sum_q(int4_sum sum)
{
    return vpaddq_s32(vpaddlq_s16(sum.lo), vpaddlq_s16(sum.hi));
}
static inline vi32 int4_sum_w(int4_sum sum)
{
    const uint32x4_t lo = vpaddlq_u16(vreinterpretq_u16_s16(sum.lo)),
                     hi = vpaddlq_u16(vreinterpretq_u16_s16(sum.hi));
    return vreinterpretq_s32_u32(vpaddq_u32(lo, hi));
}
#elif defined(VI32_PAIRS)
typedef vi32 int4_sum;

static inline int4_sum int4_zero(void) { return vi32_zero(); }
static inline int4_sum int4_add_q(int4_sum sum, vi32 codes, vi32 q)
{
    return vi32_pairs_add(sum, vi32_pairs(codes, q));
}
static inline int4_sum int4_add_w(int4_sum sum, vi32 codes, vi32 w)
{
    return vi32_pairs_add(sum, vi32_pairs(w, codes));
}
static inline vi32 int4_sum_q(int4_sum sum) { return vi32_pairs_sum(sum); }
static inline vi32 int4_sum_w(int4_sum sum)
{
    return vi32_add(vi32_and(sum, vi32_set1(0xffff)), vi32_shr(sum, 16));
}
#else
typedef vi32 int4_sum;

static inline int4_sum int4_zero(void) { return vi32_zero(); }
static inline int4_sum int4_add_q(int4_sum sum, vi32 codes, vi32 q)
{
    return vi32_dot_w8(sum, codes, q);
}
static inline int4_sum int4_add_w(int4_sum sum, vi32 codes, vi32 w)
{
    return vi32_dot_w8(sum, w, codes);
}
static inline vi32 int4_sum_q(int4_sum sum) { return sum; }
static inline vi32 int4_sum_w(int4_sum sum) { return sum; }
#endif

#endif
