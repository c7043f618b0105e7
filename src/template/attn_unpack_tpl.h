/* SPDX-License-Identifier: Apache-2.0 */
/* attn_unpack_tpl.h - fp8 and int8 codes to bf16 over vec_*.h. Needs: attn_common_tpl.h.
 *
 * fp8: two 16-bit numbers share a 32-bit lane; no step below carries from one into the other. */
/* How one fp8 format becomes bf16. */
struct unpack_format {
    int shift;                 /* of exponent and mantissa, to bf16's mantissa */
    int32_t bias;              /* difference of the exponent biases, in both halves */
    int32_t first_normal;      /* 0x80 - smallest magnitude with an exponent */
    int32_t first_special;     /* 0x80 - smallest magnitude that is inf or NaN */
    int32_t special;           /* added to those */
    uint8_t low[16], high[16]; /* bytes of the bf16 of the subnormal magnitudes */
};

static const struct unpack_format unpack_e4m3 = {
    .shift = 4,
    .bias = 0x3c003c00,
    .first_normal = 0x00780078,
    .first_special = 0x00010001, /* 0x7f alone; it becomes 0x7fc0 */
    .special = 0x3bd03bd0,
    .low = { 0, 0x00, 0x80, 0xc0, 0x00, 0x20, 0x40, 0x60 },
    .high = { 0, 0x3b, 0x3b, 0x3b, 0x3c, 0x3c, 0x3c, 0x3c },
};
static const struct unpack_format unpack_e5m2 = {
    .shift = 5,
    .bias = 0x38003800,
    .first_normal = 0x007c007c,
    .first_special = 0x00040004,
    .special = 0x38003800,
    .low = { 0, 0x80, 0x00, 0x40 },
    .high = { 0, 0x37, 0x38, 0x38 },
};

/* All ones in each half whose bit 7 is set. */
static inline vi32 unpack_spread(vi32 x)
{
    const vi32 bit = vi32_and(vi32_shr(x, 7), vi32_set1(0x00010001));
    return vi32_sub(vi32_shl(bit, 16), bit);
}

static inline vi32 unpack_halves(vi32 codes, const struct unpack_format *f)
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

ATTN_INLINE struct codes_pairs unpack_fp8(const uint8_t *p, const struct unpack_format *f)
{
    const vi32 codes = vi32_load(p);
    return (struct codes_pairs){ unpack_halves(vi32_unpack_lo(codes), f),
                                 unpack_halves(vi32_unpack_hi(codes), f) };
}
ATTN_INLINE struct codes_pairs codes_fp8_e4m3(const uint8_t *p)
{
    return unpack_fp8(p, &unpack_e4m3);
}
ATTN_INLINE struct codes_pairs codes_fp8_e5m2(const uint8_t *p)
{
    return unpack_fp8(p, &unpack_e5m2);
}

/* Byte `deep` of each lane, a signed number, as the bits of its float; the lower half of them is 0. */
static inline vi32 unpack_byte(vi32 lanes, int deep)
{
    const vi32 top = deep < 3 ? vi32_shl(lanes, 24 - 8 * deep) : lanes;
    return vi32_bits(vf32_from_i32(vi32_sar(top, 24)));
}

/* The upper halves of two vectors, `odd` behind `even` in each lane. */
static inline vi32 unpack_pair(vi32 even, vi32 odd) { return vi32_or(vi32_shr(even, 16), odd); }

ATTN_INLINE struct codes_pairs codes_int8(const uint8_t *p)
{
    const vi32 codes = vi32_load(p);
    return (struct codes_pairs){ unpack_pair(unpack_byte(codes, 0), unpack_byte(codes, 1)),
                                 unpack_pair(unpack_byte(codes, 2), unpack_byte(codes, 3)) };
}
