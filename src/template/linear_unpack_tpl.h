/* SPDX-License-Identifier: Apache-2.0 */
/* linear_unpack_tpl.h - unpacks groups of quantized panels: codes to bytes, scales to f32, and both
 * to weights. */
#ifndef QR_TEMPLATE_LINEAR_UNPACK_TPL_H
#define QR_TEMPLATE_LINEAR_UNPACK_TPL_H
#include "template/linear_common_tpl.h"

enum { LINEAR_SCALES_LD = 2 * QR_PANEL_ROWS };

/* Scales and minimums of a group of up to two adjacent panels, per sub-block of 32 (or 16) k.
 * first: for codes split into magnitudes and signs (linear_q8_signs), which have no minimums, the
 * first values of the integer sums. */
struct linear_scales {
    _Alignas(64) float scale[16][LINEAR_SCALES_LD];
    union {
        float min[16][LINEAR_SCALES_LD];
        int32_t first[16][LINEAR_SCALES_LD];
    };
};

/* Codes of a group of one panel, one byte each, step by step. */
struct linear_codes {
    _Alignas(64) uint8_t step[QR_GROUP_K / 4][QR_CACHE_LINE_BYTES];
};

/* Whether the codes of a type need all eight bits. */
QR_INLINE bool linear_full_bytes(struct qr_panel_format f) { return f.offset == 128; }

QR_INLINE vi32 linear_bytes(int b) { return vi32_set1((int32_t)((uint32_t)b * 0x01010101u)); }

/* Shifts right by n, or left by -n. */
QR_INLINE vi32 linear_shift(vi32 v, int n)
{
    return n > 0 ? vi32_shr(v, n) : n < 0 ? vi32_shl(v, -n) : v;
}

/* table[low four bits] of each byte; the high bits of v may be anything. */
QR_INLINE vi32 linear_lookup(const uint8_t *table, vi32 v)
{
#if defined(VI32_LUT64)
    return vi32_lut64(vi32_repeat16(table), v);
#else
    return vi32_lut16(table, vi32_and(v, linear_bytes(15)));
#endif
}

/* Moves `bits` bits of each byte of v from bit `at` to bit `to` and clears the others. */
QR_INLINE vi32 linear_field(vi32 v, int at, int bits, int to)
{
#if defined(VI32_LUT64)
    if (at + bits <= 6 && at != to)
        return vi32_lut64_field(v, at, bits, to, 0);
    if (bits == 1 && at != to) /* bits 6 and 7 share the shift */
        return vi32_lut64_field(vi32_shr(v, 2), at - 2, bits, to, 0);
#endif
#if defined(VI32_SHR_BYTES)
    if (at + bits == 8 && !to)
        return vi32_shr_bytes(v, at);
#endif
    return vi32_and(linear_shift(v, at - to), linear_bytes(((1 << bits) - 1) << to));
}

/* A vector of a cache line of codes. */
QR_INLINE vi32 linear_line(const uint8_t *p)
{
    vi32 v = vi32_load(p);
#if defined(VI32_KEEP)
    VI32_KEEP(v);
#endif
    return v;
}

/* Bits of step s in the plane at p, moved to bit `to` of each byte. */
QR_INLINE vi32 linear_plane(const uint8_t *p, int bits, int s, int to)
{
    const int per_line = 8 / bits;
    return linear_field(linear_line(p + s / per_line * QR_CACHE_LINE_BYTES), bits * (s % per_line),
                        bits, to);
}

/* The bytes that hold step s of a body with three bits per code, in bits 3 (s % 2) and up. Higher
 * bits of steps 0 to 5 may be anything. */
QR_INLINE vi32 linear_threes_line(const uint8_t *body, int s)
{
    if (s < 6)
        return linear_line(body + s / 2 * QR_CACHE_LINE_BYTES);
    vi32 last = linear_field(linear_line(body), 6, 2, 0);
    last = vi32_or(last, linear_field(linear_line(body + QR_CACHE_LINE_BYTES), 6, 2, 2));
    return vi32_or(last, linear_field(linear_line(body + 2 * QR_CACHE_LINE_BYTES), 6, 2, 4));
}

/* Step s of a body with three bits per code, looked up in the codebook of IQ2. */
QR_INLINE vi32 linear_threes_iq2(const uint8_t *body, int s)
{
    /* twice, so that bit 3 of an index may be anything */
    static const uint8_t iq2[16] = { QR_IQ2_BYTES, QR_IQ2_BYTES };
#if defined(VI32_LUT64)
    /* entry i of the codebook for indices 8 i .. 8 i + 7 */
#define EIGHT(x) x, x, x, x, x, x, x, x
#define EIGHT_EACH(a, b, c, d, e, f, g, h)                                                         \
    EIGHT(a), EIGHT(b), EIGHT(c), EIGHT(d), EIGHT(e), EIGHT(f), EIGHT(g), EIGHT(h)
#define EACH(...) EIGHT_EACH(__VA_ARGS__)
    static const uint8_t iq2_of_bit_3[64] = { EACH(QR_IQ2_BYTES) };
#undef EACH
#undef EIGHT_EACH
#undef EIGHT
#endif
    const vi32 v = linear_threes_line(body, s);
#if defined(VI32_LUT64)
    if (s % 2)
        return vi32_lut64(vi32_load(iq2_of_bit_3), v);
#endif
    return linear_lookup(iq2, linear_shift(v, 3 * (s % 2)));
}

/* Step s of N16_DELTA plus its offset: 8 code + 9, or 8 code + 7 where bit s / 2 of the row's dword
 * in `delta` is set. */
QR_INLINE vi32 linear_delta_code(const uint8_t *body, vi32 delta, int s)
{
#if defined(VI32_LUT64)
    const vi32 line = linear_line(body + s / 4 * QR_CACHE_LINE_BYTES);
    const vi32 plus = s % 4 < 3 ? vi32_lut64_field(line, 2 * (s % 4), 2, 3, 9)
                                : vi32_lut64_field(vi32_shr(line, 6), 0, 2, 3, 9);
    return vi32_sub_if(vi32_bit(delta, s / 2), plus, linear_bytes(2));
#else
    const vm32 minus = vi32_gt(vi32_zero(), linear_shift(delta, s / 2 - 31));
    return vi32_add(linear_plane(body, 2, s, 3),
                    vi32_select(minus, linear_bytes(7), linear_bytes(9)));
#endif
}

/* Step s of a body, one byte per code; of eight bits: signed weights if is_signed, else weights
 * plus 128; floats as stored. delta: with qr_panel_has_delta, the bits of the block from 0 on. */
QR_INLINE vi32 linear_code(struct qr_panel_format f, bool is_signed, const uint8_t *body,
                           vi32 delta, int s)
{
    static const uint8_t iq4[2][16] = {
        { QR_IQ4_BYTES },
        /* the same minus 128 */
        { 129, 152, 173, 191, 207, 221, 234, 246, 1, 13, 25, 38, 53, 69, 89, 113 },
    };
    static const uint8_t mxfp4[16] = { QR_MXFP4_BYTES };
    static const uint8_t iq3_xxs[16] = { QR_IQ3_XXS_BYTES };
    static const uint8_t iq3_s[16] = { QR_IQ3_S_BYTES };
    if (f.low_bits == 8) {
        const vi32 v = vi32_load(body + s * QR_CACHE_LINE_BYTES);
        return is_signed ? vi32_xor(v, linear_bytes(128)) : v;
    }
    if (f.lut != QR_LUT_NONE && f.low_bits == 3)
        return linear_threes_iq2(body, s);
    if (f.lut != QR_LUT_NONE && !qr_panel_is_float(f)) {
        const vi32 v = linear_shift(linear_line(body + s / 2 * QR_CACHE_LINE_BYTES), 4 * (s % 2));
        return linear_lookup(f.lut == QR_LUT_IQ4       ? iq4[is_signed]
                             : f.lut == QR_LUT_MXFP4   ? mxfp4
                             : f.lut == QR_LUT_IQ3_XXS ? iq3_xxs
                                                       : iq3_s,
                             v);
    }
    if (f.low_bits == 3)
        return linear_field(linear_threes_line(body, s), 3 * (s % 2), 3, 0);
    if (qr_panel_has_delta(f))
        return linear_delta_code(body, delta, s);
    vi32 v = linear_plane(body, f.low_bits, s, qr_panel_code_at(f));
    if (f.high_bits)
        v = vi32_or(
            v, linear_plane(body + f.low_bits * QR_CACHE_LINE_BYTES, f.high_bits, s, f.low_bits));
    return v;
}

/* 2^(e - 128) of the E8M0 scales at p. */
QR_INLINE vf32 linear_e8m0_half(const uint8_t *p)
{
    const vi32 e = vi32_load_u8(p), one = vi32_set1(1);
    const vi32 normal = vi32_shl(vi32_sub(e, one), 23), denormal = vi32_shl(vi32_add(e, one), 21);
    return vf32_bits(vi32_select(vi32_gt(e, one), normal, denormal));
}

/* Half of the E4M3 scales at p, from their bits as exponent and mantissa of f32. Codes below 8 are
 * denormal: the value of code 8 less the difference in steps of 2^-10. (Products of denormal f32
 * take Intel CPUs hundreds of cycles.) */
QR_INLINE vf32 linear_e4m3_half(const uint8_t *p)
{
    enum { BIAS = 127 - 7 - 1 };
    const vi32 code = vi32_load_u8(p), normal = vi32_max(code, vi32_set1(8));
    const vf32 value = vf32_bits(vi32_add(vi32_shl(normal, 20), vi32_set1(BIAS << 23)));
    const vf32 steps = vf32_from_i32(vi32_sub(code, normal));
    return vf32_add(vf32_mul(steps, vf32_set1(0x1p-10f)), value);
}

/* Unpacks f32 scales, of 1, 2 or 4 blocks, and zero points. */
QR_INLINE void linear_unpack_f32_scales(struct qr_panel_format f, const uint8_t *h, size_t n_blocks,
                                        size_t r, float *scale, float *min)
{
    enum { R = QR_PANEL_ROWS, LD = LINEAR_SCALES_LD };
    const size_t per_f32 = qr_panel_blocks_per_f32(f);
    const float *d = (const float *)(const void *)h + r;
    const int8_t *z = (const int8_t *)h + n_blocks / per_f32 * R * sizeof *d + r;
    for (size_t b = 0; b < n_blocks; b++) {
        const vf32 s = vf32_load(d + b / per_f32 * R);
        vf32_store(scale + b * LD, s);
        if (qr_panel_has_zero(f))
            vf32_store(min + b * LD, vf32_mul(s, vf32_from_i32(vi32_load_s8(z + b / per_f32 * R))));
    }
}

/* Unpacks scales that are stored per block. */
QR_INLINE void linear_unpack_block_scales(struct qr_panel_format f, const uint8_t *h,
                                          size_t n_blocks, size_t r, float *scale, float *min)
{
    enum { R = QR_PANEL_ROWS, LD = LINEAR_SCALES_LD };
    const uint16_t *d = (const uint16_t *)(const void *)h + r;
    const size_t per_d = qr_panel_blocks_per_d(f);
    for (size_t b = 0; b < n_blocks; b++) {
        if (per_d)
            vf32_store(scale + b * LD, vf32_load_f16(d + b / per_d * R));
        if (f.scales == QR_SCALE_E8M0)
            vf32_store(scale + b * LD, linear_e8m0_half(h + b * R + r));
        if (f.scales == QR_SCALE_E4M3) {
            vf32_store(scale + 2 * b * LD, linear_e4m3_half(h + 2 * b * R + r));
            vf32_store(scale + (2 * b + 1) * LD, linear_e4m3_half(h + (2 * b + 1) * R + r));
        }
        if (f.scales == QR_SCALE_DM) {
            vf32_store(scale + b * LD, vf32_load_f16(d + 2 * b * R));
            vf32_store(min + b * LD, vf32_sub(vf32_zero(), vf32_load_f16(d + (2 * b + 1) * R)));
        }
    }
}

/* The low four bits of each lane. */
QR_INLINE vf32 linear_low_nibble(vi32 lane)
{
#if defined(VF32_FAST_LUT16)
    static const float number[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    return vf32_lut16(number, lane);
#else
    return vf32_from_i32(vi32_and(lane, vi32_set1(15)));
#endif
}

/* 2 n + 1 of the low `bits` bits n of each lane, three or four. */
QR_INLINE vf32 linear_odd(vi32 lane, int bits)
{
#if defined(VF32_FAST_LUT16)
    static const float odd[2][16] = {
        { 1, 3, 5, 7, 9, 11, 13, 15, 1, 3, 5, 7, 9, 11, 13, 15 },
        { 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31 },
    };
    return vf32_lut16(odd[bits - 3], lane);
#else
    const vi32 n = vi32_and(lane, vi32_set1((1 << bits) - 1));
    return vf32_from_i32(vi32_or(vi32_shl(n, 1), vi32_set1(1)));
#endif
}

/* 9/8 where bit 3 of a lane is set, else 7/8. */
QR_INLINE vf32 linear_nine_or_seven(vi32 lane)
{
#if defined(VF32_FAST_LUT16)
    static const float delta[16] = {
        0.875f, 0.875f, 0.875f, 0.875f, 0.875f, 0.875f, 0.875f, 0.875f,
        1.125f, 1.125f, 1.125f, 1.125f, 1.125f, 1.125f, 1.125f, 1.125f
    };
    return vf32_lut16(delta, lane);
#else
    return vf32_select(vi32_gt(vi32_zero(), vi32_shl(lane, 28)), vf32_set1(1.125f),
                       vf32_set1(0.875f));
#endif
}

/* Unpacks sub-block i of N8, N8_DELTA or N16. */
QR_INLINE void linear_unpack_nibble_scale(struct qr_panel_format f, const uint8_t *h, size_t i,
                                          size_t r, float *scale, float *min)
{
    const vf32 d = vf32_load_f16((const uint16_t *)(const void *)h + r);
    const vi32 both = vi32_load_u8(h + 32 + i / 2 * QR_PANEL_ROWS + r);
    const vi32 n = i % 2 ? vi32_shr(both, 4) : both;
    if (f.scales == QR_SCALE_N8_DELTA) {
        const vf32 s = vf32_mul(d, linear_odd(n, 3));
        vf32_store(scale, s);
        vf32_store(min, vf32_mul(s, linear_nine_or_seven(n)));
    } else {
        /* eighths are exact */
        vf32_store(scale, vf32_mul(vf32_mul(d, vf32_set1(0.125f)), linear_odd(n, 4)));
    }
}

/* Unpacks rows r .. r + VF32_N - 1 of the header h to `scale` and `min`. */
QR_INLINE void linear_unpack_rows(struct qr_panel_format f, const uint8_t *h, size_t n_blocks,
                                  size_t r, float *scale, float *min)
{
    enum { R = QR_PANEL_ROWS, LD = LINEAR_SCALES_LD };
    const uint16_t *d = (const uint16_t *)(const void *)h + r;
    const size_t n_sub = qr_panel_sub16(f) ? 16 : 8;
    const uint8_t *s = h + 64 + r;
    if (qr_panel_blocks_per_f32(f)) {
        linear_unpack_f32_scales(f, h, n_blocks, r, scale, min);
        return;
    }
    linear_unpack_block_scales(f, h, n_blocks, r, scale, min);
    for (size_t i = 0; i < n_sub; i++) {
        if (qr_panel_nibble_scales(f))
            linear_unpack_nibble_scale(f, h, i, r, scale + i * LD, min + i * LD);
        if (f.scales == QR_SCALE_K8 || f.scales == QR_SCALE_K16 || f.scales == QR_SCALE_K8_HALF) {
            vf32 factor = vf32_from_i32(vi32_load_s8((const int8_t *)s + i * R));
            if (f.scales == QR_SCALE_K8_HALF)
                factor = vf32_mul(factor, vf32_set1(0.5f));
            vf32_store(scale + i * LD, vf32_mul(vf32_load_f16(d), factor));
        }
        if (f.scales == QR_SCALE_K8_MIN || f.scales == QR_SCALE_K16_MIN) {
            const bool is_nibble = f.scales == QR_SCALE_K16_MIN;
            const vi32 factor = vi32_load_u8(s + i * R),
                       of_min = is_nibble ? vi32_shr(factor, 4) : vi32_load_u8(s + (8 + i) * R);
            vf32_store(scale + i * LD,
                       vf32_mul(vf32_load_f16(d),
                                is_nibble ? linear_low_nibble(factor) : vf32_from_i32(factor)));
            vf32_store(min + i * LD, vf32_mul(vf32_load_f16(d + R), vf32_from_i32(of_min)));
        }
    }
}

/* Unpacks the scales of the group at `header` to column `at` of s. */
QR_INLINE void linear_unpack_scales(struct qr_panel_format f, const uint8_t *header,
                                    size_t n_blocks, struct linear_scales *s, size_t at)
{
    for (size_t r = 0; r < QR_PANEL_ROWS; r += VF32_N)
        linear_unpack_rows(f, header, n_blocks, r, &s->scale[0][at + r], &s->min[0][at + r]);
}

/* The bits of eight values of the group whose first block is at `body`; zero without such bits. */
QR_INLINE vi32 linear_load_delta(struct qr_panel_format f, const uint8_t *body)
{
    return qr_panel_has_delta(f) ? vi32_load(body - QR_CACHE_LINE_BYTES) : vi32_zero();
}

/* Unpacks the codes of the group whose first block is at `body`. */
QR_INLINE void linear_unpack_codes(struct qr_panel_format f, bool is_signed, const uint8_t *body,
                                   size_t n_blocks, struct linear_codes *c)
{
    for (size_t x = 0; x < QR_CACHE_LINE_BYTES; x += 4 * VF32_N) {
        const uint8_t *block = body + x;
        vi32 delta = linear_load_delta(f, block);
        for (size_t b = 0; b < n_blocks; b++, block += qr_panel_block_bytes(f)) {
            QR_UNROLL_16 (int s = 0; s < 8; s++)
                vi32_store(&c->step[8 * b + (size_t)s][x],
                           linear_code(f, is_signed, block, delta, s));
            delta = vi32_shr(delta, 4); /* four entries per block */
        }
    }
}

/* The numbers with the E4M3 bits of the lanes: as exponent and mantissa of f32, times 2^120. */
QR_INLINE vf32 linear_e4m3(vi32 code)
{
    const vi32 sign = vi32_shl(vi32_and(code, vi32_set1(128)), 24),
               magnitude = vi32_shl(vi32_and(code, vi32_set1(127)), 20);
    return vf32_mul(vf32_bits(vi32_or(magnitude, sign)), vf32_set1(0x1p120f));
}

/* Byte i of each lane as f32: minus the offset, or the floating-point weight. */
QR_INLINE vf32 linear_code_f32(struct qr_panel_format f, vi32 codes, int i)
{
    static const float nf4[16] = { QR_NF4_VALUES };
    const vi32 code = vi32_and(vi32_shr(codes, 8 * i), vi32_set1(255));
    if (f.lut == QR_LUT_E4M3)
        return linear_e4m3(code);
    if (f.lut == QR_LUT_NF4)
        return vf32_lut16(nf4, code);
    return vf32_from_i32(vi32_sub(code, vi32_set1(f.offset)));
}

/* The weights of step s, four k, for VF32_N rows from r on. With f16 scales, scale * code is exact
 * in f32, so the only rounding is the one the format has: the subtraction of the minimum. With f32
 * scales products round, too. */
QR_INLINE void linear_step_values(struct qr_panel_format f, const struct linear_codes *c,
                                  const struct linear_scales *g, size_t s, size_t r, vf32 v[4])
{
    const size_t sub = s / (qr_panel_sub16(f) ? 4 : 8);
    const vi32 codes = vi32_load(&c->step[s][4 * r]);
    const vf32 scale = vf32_load(&g->scale[sub][r]);
    QR_UNROLL_16 (int i = 0; i < 4; i++) {
        v[i] = vf32_mul(scale, linear_code_f32(f, codes, i));
        if (qr_panel_has_min(f))
            v[i] = vf32_sub(v[i], vf32_load(&g->min[sub][r]));
    }
}

#endif
