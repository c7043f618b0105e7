/* SPDX-License-Identifier: Apache-2.0 */
/* linear_unpack_bf16.c - rounds the weights of quantized and f16 panels to bf16, in the layout of
 * bf16 panels, on VCVTNE2PS2BF16 and VPERMB.
 *
 * VPERMB moves the codes of two k of eight rows to the lanes of a vector, in the order of pairs of
 * bf16 in memory, so that two such vectors of f32 are rounded to a line of 16 pairs without another
 * shuffle. It puts a code into byte 1 of its lane, where it is the mantissa of 2^15 + code; upper
 * bytes come from a constant. */
#include "simd/vec_avx512.h"
#define QR_ISA                   avx512_bf16
#define LINEAR_PREFETCH_L1_BYTES WEIGHT_PREFETCH_L1_BYTES_AVX512
#include "template/linear_unpack_f16_tpl.h"
#include "template/linear_unpack_tpl.h"

enum {
    /* From a line of the result to the one prefetched for writing: the panel is in L2. */
    WRITE_AHEAD = 16 * LINEAR_PAIR_STRIDE,
};

/* How VPERMB makes lanes of codes: index[h][p] for rows 8 h to 8 h + 7 and k 2 p and 2 p + 1 of a
 * step. */
struct lanes {
    __m512i index[2][2];
    __m512i base;    /* bytes of a lane that hold no code */
    __mmask64 codes; /* bytes that do */
};

/* A constant vector of lanes 2 r + e: 4 r + e + first, shifted left. */
static inline __m512i lane_indices(int first, int shift)
{
    const __m512i lane = _mm512_set_epi32(29, 28, 25, 24, 21, 20, 17, 16, 13, 12, 9, 8, 5, 4, 1, 0);
    return _mm512_slli_epi32(_mm512_add_epi32(lane, _mm512_set1_epi32(first)), (unsigned)shift);
}

QR_INLINE struct lanes lanes_of(struct qr_panel_format f)
{
    const int byte = qr_panel_is_float(f) ? 0 : 1;
    struct lanes l = { .base = _mm512_set1_epi32(byte ? 0x47000000 : 0),
                       .codes = 0x1111111111111111u << byte };
    for (int h = 0; h < 2; h++)
        for (int p = 0; p < 2; p++)
            l.index[h][p] = lane_indices(32 * h + 2 * p, 8 * byte);
    return l;
}

/* Scales and negative minimums of a sub-block; lanes 2 r and 2 r + 1 of [h] are row 8 h + r. */
struct pair_scales {
    vf32 scale[2], minus_min[2];
};

QR_INLINE struct pair_scales load_scales(struct qr_panel_format f, const struct linear_scales *g,
                                         size_t sub)
{
    struct pair_scales s = { 0 };
    const __m512i low = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    for (int h = 0; h < 2; h++) {
        const __m512i rows = _mm512_add_epi32(low, _mm512_set1_epi32(8 * h));
        s.scale[h] = _mm512_permutexvar_ps(rows, vf32_load(g->scale[sub]));
        if (qr_panel_has_min(f))
            s.minus_min[h] =
                vf32_sub(vf32_zero(), _mm512_permutexvar_ps(rows, vf32_load(g->min[sub])));
    }
    return s;
}

/* The weights of one vector of codes, as linear_step_values computes them. */
QR_INLINE vf32 lane_weights(struct qr_panel_format f, const struct lanes *l, __m512i index,
                            vi32 codes, vf32 scale, vf32 minus_min)
{
    static const float nf4[16] = { QR_NF4_VALUES };
    const vi32 code = _mm512_mask_permutexvar_epi8(l->base, l->codes, index, codes);
    if (f.lut == QR_LUT_E4M3)
        return vf32_mul(scale, linear_e4m3(code));
    if (f.lut == QR_LUT_NF4)
        return vf32_mul(scale, vf32_lut16(nf4, code));
    const vf32 w = vf32_sub(vf32_bits(code), vf32_set1(32768.0f + (float)f.offset));
    if (!qr_panel_has_min(f))
        return vf32_mul(scale, w);
    if (qr_panel_has_zero(f)) /* f32 scales: the product is rounded */
        return vf32_add(vf32_mul(scale, w), minus_min);
    return vf32_fma(scale, w, minus_min); /* f16 scales: it is exact */
}

/* Stores step s: two pairs of k of 16 rows. */
QR_INLINE void unpack_step(struct qr_panel_format f, const struct lanes *l, vi32 codes,
                           const struct pair_scales *scales, uint16_t *out)
{
    for (int p = 0; p < 2; p++, out += LINEAR_PAIR_STRIDE) {
        vf32 rows[2];
        for (int h = 0; h < 2; h++)
            rows[h] =
                lane_weights(f, l, l->index[h][p], codes, scales->scale[h], scales->minus_min[h]);
        vi32_store(out, (__m512i)_mm512_cvtne2ps_pbh(rows[1], rows[0]));
        qr_prefetch_write(out + WRITE_AHEAD);
    }
}

/* Unpacks the group at `group`; returns the end of the result. */
QR_INLINE uint16_t *unpack_group(struct qr_panel_format f, const struct lanes *l, uint16_t *out,
                                 const uint8_t *group, size_t n_blocks)
{
    struct linear_scales g;
    linear_unpack_scales(f, group, n_blocks, &g, 0);
    const uint8_t *block = group + qr_panel_header_bytes(f, n_blocks);
    vi32 delta = linear_load_delta(f, block);
    for (size_t b = 0; b < n_blocks; b++, block += qr_panel_block_bytes(f)) {
        prefetch_weight_bytes(block, qr_panel_block_bytes(f), QR_WEIGHT_PREFETCH_TWICE);
        struct pair_scales scales = load_scales(f, &g, qr_panel_sub16(f) ? 2 * b : b);
        QR_UNROLL_16 (int s = 0; s < 8; s++, out += 2 * LINEAR_PAIR_STRIDE) {
            if (s == 4 && qr_panel_sub16(f))
                scales = load_scales(f, &g, 2 * b + 1);
            unpack_step(f, l, linear_code(f, false, block, delta, s), &scales, out);
        }
        delta = vi32_shr(delta, 4); /* four entries per block */
    }
    return out;
}

QR_INLINE void unpack_panel(struct qr_panel_format f, uint16_t *out, const uint8_t *panel, size_t k)
{
    const struct lanes l = lanes_of(f);
    for (size_t k0 = 0; k0 < k; k0 += QR_GROUP_K) {
        const size_t n_blocks = (k - k0 < QR_GROUP_K ? k - k0 : QR_GROUP_K) / QR_BLOCK_K;
        out = unpack_group(f, &l, out, panel, n_blocks);
        panel += qr_panel_group_bytes(f, n_blocks);
    }
}

#define X(name, NAME, ...)                                                                         \
    void QR_KERNEL(unpack_bf16_##name)(uint16_t * out, const uint8_t *panel, size_t k)             \
    {                                                                                              \
        unpack_panel((struct qr_panel_format)QR_PANEL_FORMAT(__VA_ARGS__), out, panel, k);         \
    }
QR_QUANT_TYPES(X)
#undef X
