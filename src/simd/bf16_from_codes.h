/* SPDX-License-Identifier: Apache-2.0 */
/* bf16_from_codes.h - fp8 and int8 codes to bf16, exactly, over vec_*.h.
 *
 * A vec_*.h must be included first. bf16_from_<type> converts the 4 * VF32_N codes at its argument.
 * fp8: two 16-bit numbers share a 32-bit lane; no operation carries from one into the other. */
#ifndef QR_SIMD_BF16_FROM_CODES_H
#define QR_SIMD_BF16_FROM_CODES_H
#include "simd/bf16_pairs.h"

/* Conversion of one fp8 format. */
struct fp8_format {
    int shift;                 /* of exponent and mantissa, to align them with those of bf16 */
    int32_t bias;              /* difference of the exponent biases, in both halves */
    int32_t first_normal;      /* 0x80 - smallest normal magnitude */
    int32_t first_special;     /* 0x80 - smallest magnitude that is infinite or NaN */
    int32_t special;           /* added to those */
    uint8_t low[16], high[16]; /* bytes of the bf16 of the denormal magnitudes */
};

static const struct fp8_format format_e4m3 = {
    .shift = 4,
    .bias = 0x3c003c00,
    .first_normal = 0x00780078,
    .first_special = 0x00010001, /* 0x7f alone; it becomes 0x7fc0 */
    .special = 0x3bd03bd0,
    .low = { 0, 0x00, 0x80, 0xc0, 0x00, 0x20, 0x40, 0x60 },
    .high = { 0, 0x3b, 0x3b, 0x3b, 0x3c, 0x3c, 0x3c, 0x3c },
};
static const struct fp8_format format_e5m2 = {
    .shift = 5,
    .bias = 0x38003800,
    .first_normal = 0x007c007c,
    .first_special = 0x00040004,
    .special = 0x38003800,
    .low = { 0, 0x80, 0x00, 0x40 },
    .high = { 0, 0x37, 0x38, 0x38 },
};

/* All ones in each 16-bit half whose bit 7 is set. */
static inline vi32 unpack_spread(vi32 x)
{
    const vi32 bit = vi32_and(vi32_shr(x, 7), vi32_set1(0x00010001));
    return vi32_sub(vi32_shl(bit, 16), bit);
}

static inline vi32 bf16_from_halves(vi32 codes, const struct fp8_format *f)
{
    const vi32 magnitude = vi32_and(codes, vi32_set1(0x007f007f));
    const vi32 sign = vi32_shl(vi32_and(codes, vi32_set1(0x00800080)), 8);
    const vi32 normal = vi32_add(vi32_shl(magnitude, f->shift), vi32_set1(f->bias));
    const vi32 index = vi32_and(magnitude, vi32_set1(0x00070007));
    const vi32 small = vi32_or(vi32_lut16(f->low, index), vi32_lut16(f->high, vi32_shl(index, 8)));
    const vi32 is_normal = unpack_spread(vi32_add(magnitude, vi32_set1(f->first_normal)));
    const vi32 is_special = unpack_spread(vi32_add(magnitude, vi32_set1(f->first_special)));
    const vi32 value = vi32_xor(small, vi32_and(vi32_xor(small, normal), is_normal));
    return vi32_or(vi32_add(value, vi32_and(is_special, vi32_set1(f->special))), sign);
}

BF16_INLINE struct bf16_pairs bf16_from_fp8(const uint8_t *p, const struct fp8_format *f)
{
    const vi32 codes = vi32_load(p);
    return (struct bf16_pairs){ bf16_from_halves(vi32_unpack_lo(codes), f),
                                bf16_from_halves(vi32_unpack_hi(codes), f) };
}
BF16_INLINE struct bf16_pairs bf16_from_fp8_e4m3(const uint8_t *p)
{
    return bf16_from_fp8(p, &format_e4m3);
}
BF16_INLINE struct bf16_pairs bf16_from_fp8_e5m2(const uint8_t *p)
{
    return bf16_from_fp8(p, &format_e5m2);
}

#if defined(VEC_SVE)
/* Signed byte `deep` of each lane as the bits of an f32, whose lower half is 0. The conversion from
 * integers takes two operations of one pipe: b + 128 in the last byte of 2^23 is 2^23 + 128 + b. */
static inline vi32 unpack_byte(vi32 lanes, int deep)
{
    const vi32 magic = vi32_bits(vf32_set1(0x1p23f));
    const vi32 bits =
        vi32_or(vi32_byte(vi32_xor(lanes, vi32_set1((int32_t)0x80808080)), deep), magic);
    return vi32_bits(vf32_sub(vf32_bits(bits), vf32_set1(0x1p23f + 128)));
}
static inline vi32 unpack_pair(vi32 even, vi32 odd) { return vi32_high_halves(even, odd); }
#else
/* Signed byte `deep` of each lane as the bits of an f32, whose lower half is 0. */
static inline vi32 unpack_byte(vi32 lanes, int deep)
{
    const vi32 top = deep < 3 ? vi32_shl(lanes, 24 - 8 * deep) : lanes;
    return vi32_bits(vf32_from_i32(vi32_sar(top, 24)));
}

/* The upper halves of two vectors: `even` in the lower half of each lane, `odd` in the upper. */
static inline vi32 unpack_pair(vi32 even, vi32 odd) { return vi32_or(vi32_shr(even, 16), odd); }
#endif

BF16_INLINE struct bf16_pairs bf16_from_int8(const uint8_t *p)
{
    const vi32 codes = vi32_load(p);
    return (struct bf16_pairs){ unpack_pair(unpack_byte(codes, 0), unpack_byte(codes, 1)),
                                unpack_pair(unpack_byte(codes, 2), unpack_byte(codes, 3)) };
}

#endif
