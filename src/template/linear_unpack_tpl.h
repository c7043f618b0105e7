/* SPDX-License-Identifier: Apache-2.0 */
/* linear_unpack_tpl.h - reads groups of quantised panels: codes as bytes, scales as f32. */
#ifndef QUIRE_TEMPLATE_LINEAR_UNPACK_TPL_H
#define QUIRE_TEMPLATE_LINEAR_UNPACK_TPL_H
#include "template/linear_common_tpl.h"

enum { LINEAR_SCALES_LD = 2 * QUIRE_PANEL_ROWS };

/* Scales and minimums of a group of up to two panels side by side, per sub-block of 32 (or 16) k. */
struct linear_scales {
    _Alignas(64) float scale[16][LINEAR_SCALES_LD];
    float min[16][LINEAR_SCALES_LD];
};

/* Codes of a panel's group: step after step. */
struct linear_codes {
    _Alignas(64) uint8_t step[QUIRE_GROUP_K / 4][QUIRE_LINE];
};

/* Types whose codes need all eight bits. */
LINEAR_INLINE bool linear_full_bytes(struct quire_panel_format f) { return f.offset == 128; }

LINEAR_INLINE vi32 linear_bytes(int b) { return vi32_set1((int32_t)((uint32_t)b * 0x01010101u)); }

/* n > 0: right */
LINEAR_INLINE vi32 linear_shift(vi32 v, int n)
{
    return n > 0 ? vi32_shr(v, n) : n < 0 ? vi32_shl(v, -n) : v;
}

/* Bits of step s in the plane at p, moved to bit `to` of each byte. */
LINEAR_INLINE vi32 linear_plane(const uint8_t *p, int bits, int s, int to)
{
    const int per_line = 8 / bits;
    const vi32 v =
        linear_shift(vi32_load(p + s / per_line * QUIRE_LINE), bits * (s % per_line) - to);
    return vi32_and(v, linear_bytes(((1 << bits) - 1) << to));
}

/* is_signed: codes that need eight bits come out as signed weights, else plus 128. */
LINEAR_INLINE vi32 linear_code(struct quire_panel_format f, bool is_signed, const uint8_t *body,
                               int s)
{
    static const uint8_t iq4[2][16] = {
        { QUIRE_IQ4_BYTES },
        { 129, 152, 173, 191, 207, 221, 234, 246, 1, 13, 25, 38, 53, 69, 89,
          113 }, /* the same minus 128 */
    };
    static const uint8_t mxfp4[16] = { QUIRE_MXFP4_BYTES };
    static const uint8_t iq3_xxs[16] = { QUIRE_IQ3_XXS_BYTES };
    static const uint8_t iq3_s[16] = { QUIRE_IQ3_S_BYTES };
    if (f.low_bits == 8) {
        const vi32 v = vi32_load(body + s * QUIRE_LINE);
        return is_signed ? vi32_xor(v, linear_bytes(128)) : v;
    }
    vi32 v = linear_plane(body, f.low_bits, s, 0);
    if (f.high_bits)
        v = vi32_or(v, linear_plane(body + f.low_bits * QUIRE_LINE, f.high_bits, s, f.low_bits));
    if (f.lut == QUIRE_LUT_IQ4)
        v = vi32_lut16(iq4[is_signed], v);
    if (f.lut == QUIRE_LUT_MXFP4)
        v = vi32_lut16(mxfp4, v);
    if (f.lut == QUIRE_LUT_IQ3_XXS)
        v = vi32_lut16(iq3_xxs, v);
    if (f.lut == QUIRE_LUT_IQ3_S)
        v = vi32_lut16(iq3_s, v);
    return v;
}

LINEAR_INLINE vf32 linear_e8m0_half(const uint8_t *p)
{
    const vi32 e = vi32_load_u8(p), one = vi32_set1(1);
    const vi32 normal = vi32_shl(vi32_sub(e, one), 23), denormal = vi32_shl(vi32_add(e, one), 21);
    return vf32_bits(vi32_select(vi32_gt(e, one), normal, denormal));
}

/* Rows r .. r + VF32_N - 1 of the scales of a header, to the same place of `scale` and `min`. */
LINEAR_INLINE void linear_unpack_rows(struct quire_panel_format f, const uint8_t *h,
                                      size_t n_blocks, size_t r, float *scale, float *min)
{
    enum { R = QUIRE_PANEL_ROWS, LD = LINEAR_SCALES_LD };
    const uint16_t *d = (const uint16_t *)(const void *)h + r;
    for (size_t b = 0; b < n_blocks; b++) {
        if (f.scales == QUIRE_SCALE_D)
            vf32_store(scale + b * LD, vf32_load_f16(d + b * R));
        if (f.scales == QUIRE_SCALE_E8M0)
            vf32_store(scale + b * LD, linear_e8m0_half(h + b * R + r));
        if (f.scales == QUIRE_SCALE_DM) {
            vf32_store(scale + b * LD, vf32_load_f16(d + 2 * b * R));
            vf32_store(min + b * LD, vf32_sub(vf32_zero(), vf32_load_f16(d + (2 * b + 1) * R)));
        }
    }
    const size_t n_sub = quire_panel_sub16(f) ? 16 : 8;
    const uint8_t *s = h + 64 + r;
    for (size_t i = 0; i < n_sub; i++) {
        if (f.scales == QUIRE_SCALE_K8 || f.scales == QUIRE_SCALE_K16 ||
            f.scales == QUIRE_SCALE_K8_HALF) {
            vf32 factor = vf32_from_i32(vi32_load_s8((const int8_t *)s + i * R));
            if (f.scales == QUIRE_SCALE_K8_HALF)
                factor = vf32_mul(factor, vf32_set1(0.5f));
            vf32_store(scale + i * LD, vf32_mul(vf32_load_f16(d), factor));
        }
        if (f.scales == QUIRE_SCALE_K8_MIN || f.scales == QUIRE_SCALE_K16_MIN) {
            vi32 factor = vi32_load_u8(s + i * R), of_min = factor;
            if (f.scales == QUIRE_SCALE_K8_MIN) {
                of_min = vi32_load_u8(s + (8 + i) * R);
            } else {
                factor = vi32_and(factor, vi32_set1(15));
                of_min = vi32_shr(of_min, 4);
            }
            vf32_store(scale + i * LD, vf32_mul(vf32_load_f16(d), vf32_from_i32(factor)));
            vf32_store(min + i * LD, vf32_mul(vf32_load_f16(d + R), vf32_from_i32(of_min)));
        }
    }
}

/* Scales of the group at `header` to column `at` of s. */
LINEAR_INLINE void linear_unpack_scales(struct quire_panel_format f, const uint8_t *header,
                                        size_t n_blocks, struct linear_scales *s, size_t at)
{
    for (size_t r = 0; r < QUIRE_PANEL_ROWS; r += VF32_N)
        linear_unpack_rows(f, header, n_blocks, r, &s->scale[0][at + r], &s->min[0][at + r]);
}

/* Codes of the blocks at `body`. */
LINEAR_INLINE void linear_unpack_codes(struct quire_panel_format f, bool is_signed,
                                       const uint8_t *body, size_t n_blocks, struct linear_codes *c)
{
    for (size_t b = 0; b < n_blocks; b++, body += quire_panel_block_bytes(f))
        for (size_t x = 0; x < QUIRE_LINE; x += 4 * VF32_N)
            LINEAR_UNROLL for (int s = 0; s < 8; s++)
                vi32_store(&c->step[8 * b + (size_t)s][x], linear_code(f, is_signed, body + x, s));
}

#endif
