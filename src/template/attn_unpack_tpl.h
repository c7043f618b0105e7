/* SPDX-License-Identifier: Apache-2.0 */
/* attn_unpack_tpl.h - fp8 and int8 cells to bf16 over vec_*.h. Needs: a vec_*.h and QUIRE_ISA.
 *
 * fp8: two 16-bit numbers share a 32-bit lane; no step below carries from one into the other. */
#include "base/kernel.h"
#include "template/unpack_fetch.h"

#define UNPACK_PASTE_(name, isa) quire_##name##_##isa
#define UNPACK_PASTE(name, isa)  UNPACK_PASTE_(name, isa)
#define UNPACK_KERNEL(name)      UNPACK_PASTE(name, QUIRE_ISA)

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

static inline void unpack(const struct quire_attn_unpack_args *a, const struct unpack_format *f)
{
    const size_t n_steps = (size_t)a->n_steps, n_bytes = (size_t)a->n_cells * 64,
                 stride = a->dst_stride;
    const uint8_t *src = a->src;
    uint16_t *dst = a->dst;
    for (size_t step = 0; step < n_steps; step++, src += a->src_stride, dst += 2 * stride)
        for (size_t i = 0; i < n_bytes; i += 4 * VF32_N) {
            const vi32 codes = vi32_load(src + i);
            unpack_fetch(src + i);
            vi32_store(dst + i / 2, unpack_halves(vi32_unpack_lo(codes), f));
            vi32_store(dst + stride + i / 2, unpack_halves(vi32_unpack_hi(codes), f));
        }
}

void UNPACK_KERNEL(attn_unpack_fp8_e4m3)(const struct quire_attn_unpack_args *a)
{
    unpack(a, &unpack_e4m3);
}
void UNPACK_KERNEL(attn_unpack_fp8_e5m2)(const struct quire_attn_unpack_args *a)
{
    unpack(a, &unpack_e5m2);
}

/* Byte `deep` of each lane, a signed number, as the bits of its float; the lower half of them is 0. */
static inline vi32 unpack_byte(vi32 lanes, int deep)
{
    const vi32 top = deep < 3 ? vi32_shl(lanes, 24 - 8 * deep) : lanes;
    return vi32_bits(vf32_from_i32(vi32_sar(top, 24)));
}

/* The upper halves of two vectors, `odd` behind `even` in each lane. */
static inline vi32 unpack_pair(vi32 even, vi32 odd) { return vi32_or(vi32_shr(even, 16), odd); }

void UNPACK_KERNEL(attn_unpack_int8)(const struct quire_attn_unpack_args *a)
{
    const size_t n_steps = (size_t)a->n_steps, n_bytes = (size_t)a->n_cells * 64,
                 stride = a->dst_stride;
    const uint8_t *src = a->src;
    uint16_t *dst = a->dst;
    for (size_t step = 0; step < n_steps; step++, src += a->src_stride, dst += 2 * stride)
        for (size_t i = 0; i < n_bytes; i += 4 * VF32_N) {
            const vi32 codes = vi32_load(src + i);
            unpack_fetch(src + i);
            vi32_store(dst + i / 2, unpack_pair(unpack_byte(codes, 0), unpack_byte(codes, 1)));
            vi32_store(dst + stride + i / 2,
                       unpack_pair(unpack_byte(codes, 2), unpack_byte(codes, 3)));
        }
}
