/* SPDX-License-Identifier: Apache-2.0 */
/* int4_dot.h - sums of products of bytes with levels of 4-bit codes, four per 32-bit lane, over
 * vec_*.h.
 *
 * A vec_*.h must be included first. An int4_sum holds the sums of the products of a lane: with
 * signed bytes (int4_add_q, of two vectors, finished by int4_sum_q) or with unsigned bytes
 * (int4_add_w, int4_sum_w). Levels are 0 .. 40, or -20 .. 20 in int4_add_w with INT4_SIGNED_W:
 * without an instruction for such products some of them are added in 16 bits, 4 * 40 * 127 < 2^15
 * and 2 * 40 * 255 < 2^15. */
#ifndef QR_SIMD_INT4_DOT_H
#define QR_SIMD_INT4_DOT_H

/* A table of the levels of 16 codes, and the levels of the low and of the high codes of bytes. */
#if defined(VI32_LUT64)
typedef vi32 int4_table;

static inline int4_table int4_levels(const uint8_t *levels) { return vi32_repeat16(levels); }
static inline vi32 int4_low(int4_table levels, vi32 bytes) { return vi32_lut64(levels, bytes); }
static inline vi32 int4_high(int4_table levels, vi32 bytes)
{
    return vi32_lut64(levels, vi32_shr(bytes, 4));
}
#else
typedef const uint8_t *int4_table;

static inline int4_table int4_levels(const uint8_t *levels) { return levels; }
static inline vi32 int4_low(int4_table levels, vi32 bytes)
{
    return vi32_lut16(levels, vi32_and(bytes, vi32_set1(0x0f0f0f0f)));
}
static inline vi32 int4_high(int4_table levels, vi32 bytes)
{
#if defined(VI32_SHR_BYTES)
    return vi32_lut16(levels, vi32_shr_bytes(bytes, 4));
#else
    return vi32_lut16(levels, vi32_and(vi32_shr(bytes, 4), vi32_set1(0x0f0f0f0f)));
#endif
}
#endif

#if defined(VEC_NEON)
enum { INT4_SIGNED_W = 0 }; /* no product of unsigned and signed bytes */
typedef struct {
    int32x4_t lo, hi;
} int4_sum;

static inline int4_sum int4_zero(void) { return (int4_sum){ vi32_zero(), vi32_zero() }; }
static inline int4_sum int4_add_q(int4_sum sum, vi32 levels, vi32 q, vi32 levels2, vi32 q2)
{
    const int8x16_t x = vreinterpretq_s8_s32(levels), y = vreinterpretq_s8_s32(q),
                    x2 = vreinterpretq_s8_s32(levels2), y2 = vreinterpretq_s8_s32(q2);
    const int16x8_t lo = vmull_s8(vget_low_s8(x), vget_low_s8(y)), hi = vmull_high_s8(x, y);
    return (int4_sum){ vpadalq_s16(sum.lo, vmlal_s8(lo, vget_low_s8(x2), vget_low_s8(y2))),
                       vpadalq_s16(sum.hi, vmlal_high_s8(hi, x2, y2)) };
}
static inline int4_sum int4_add_w(int4_sum sum, vi32 levels, vi32 w)
{
    const uint8x16_t x = vreinterpretq_u8_s32(levels), y = vreinterpretq_u8_s32(w);
    const uint32x4_t lo = vreinterpretq_u32_s32(sum.lo), hi = vreinterpretq_u32_s32(sum.hi);
    const uint16x8_t xy = vmull_u8(vget_low_u8(x), vget_low_u8(y));
    return (int4_sum){ vreinterpretq_s32_u32(vpadalq_u16(lo, xy)),
                       vreinterpretq_s32_u32(vpadalq_u16(hi, vmull_high_u8(x, y))) };
}
static inline vi32 int4_sum_q(int4_sum sum) { return vpaddq_s32(sum.lo, sum.hi); }
static inline vi32 int4_sum_w(int4_sum sum) { return vpaddq_s32(sum.lo, sum.hi); }
#else
enum { INT4_SIGNED_W = 1 };
typedef vi32 int4_sum;

static inline int4_sum int4_zero(void) { return vi32_zero(); }
static inline int4_sum int4_add_q(int4_sum sum, vi32 levels, vi32 q, vi32 levels2, vi32 q2)
{
#if defined(VI32_PAIRS)
    const vi32 pairs = vi32_pairs_add(vi32_pairs(levels, q), vi32_pairs(levels2, q2));
    return vi32_add(sum, vi32_pairs_sum(pairs));
#else
    return vi32_dot_u7(vi32_dot_u7(sum, levels, q), levels2, q2);
#endif
}
/* w may exceed 127, the bound of vi32_dot_u7, because levels are small */
static inline int4_sum int4_add_w(int4_sum sum, vi32 levels, vi32 w)
{
    return vi32_dot_u7(sum, w, levels);
}
static inline vi32 int4_sum_q(int4_sum sum) { return sum; }
static inline vi32 int4_sum_w(int4_sum sum) { return sum; }
#endif

#endif
