/* SPDX-License-Identifier: Apache-2.0 */
/* attn_transpose_tpl.h - transposition of K into V over vec_*.h. Needs a vec_*.h and QR_ISA.
 *
 * The step is a 4 x 4 transposition in each 16-byte lane: four rows of four 32-bit units become
 * runs of four units of four keys. A unit is an f32, or two 16-bit values of one key. */
#include "template/common_tpl.h"

/* Lane l of r[i], row i at keys 4 l .. 4 l + 3, becomes key 4 l + i at rows 0 .. 3. */
static inline void transpose_units(vi32 r[4])
{
    const vi32 a = vi32_zip32_lo(r[0], r[1]), b = vi32_zip32_hi(r[0], r[1]);
    const vi32 c = vi32_zip32_lo(r[2], r[3]), d = vi32_zip32_hi(r[2], r[3]);
    r[0] = vi32_zip64_lo(a, c);
    r[1] = vi32_zip64_hi(a, c);
    r[2] = vi32_zip64_lo(b, d);
    r[3] = vi32_zip64_hi(b, d);
}

void QR_KERNEL(attn_transpose_f32)(const struct qr_attn_transpose_args *a)
{
    const size_t n = (size_t)a->n_values, stride = a->dst_stride;
    for (size_t key = 0; key < (size_t)a->n_keys; key += VF32_N) {
        const uint8_t *src = (const uint8_t *)a->src + key * 4;
        uint8_t *dst = (uint8_t *)a->dst + key * stride;
        for (size_t d = 0; d < n; d += 4, src += 4 * a->src_stride, dst += 16) {
            vi32 r[4];
            for (size_t i = 0; i < 4; i++)
                r[i] = vi32_load(src + i * a->src_stride);
            transpose_units(r);
            for (size_t i = 0; i < 4; i++)
                vi32_store_lanes(dst + i * stride, 4 * stride, r[i]);
        }
    }
}

/* Units of two rows: the value of `low` in the lower half, that of `high` in the upper half. */
static inline vi32 transpose_join(const uint8_t *low, const uint8_t *high)
{
    const vi32 a = vi32_bits(vf32_load_bf16((const uint16_t *)(const void *)low));
    const vi32 b = vi32_bits(vf32_load_bf16((const uint16_t *)(const void *)high));
    return vi32_or(vi32_shr(a, 16), b);
}

void QR_KERNEL(attn_transpose_f16)(const struct qr_attn_transpose_args *a)
{
    const size_t n = (size_t)a->n_values, stride = a->dst_stride;
    for (size_t key = 0; key < (size_t)a->n_keys; key += VF32_N) {
        const uint8_t *src = (const uint8_t *)a->src + key * 2;
        uint8_t *dst = (uint8_t *)a->dst + key * stride;
        for (size_t d = 0; d < n; d += 8, src += 8 * a->src_stride, dst += 16) {
            vi32 r[4];
            for (size_t i = 0; i < 4; i++)
                r[i] =
                    transpose_join(src + 2 * i * a->src_stride, src + (2 * i + 1) * a->src_stride);
            transpose_units(r);
            for (size_t i = 0; i < 4; i++)
                vi32_store_lanes(dst + i * stride, 4 * stride, r[i]);
        }
    }
}

void QR_KERNEL(attn_transpose_bf16)(const struct qr_attn_transpose_args *a)
{
    const size_t n = (size_t)a->n_values, stride = a->dst_stride;
    for (size_t key = 0; key < (size_t)a->n_keys; key += VF32_N) {
        const uint8_t *src = (const uint8_t *)a->src + key * 4;
        uint8_t *dst = (uint8_t *)a->dst + key / 2 * stride;
        for (size_t d = 0; d < n; d += 8, src += 4 * a->src_stride, dst += 32) {
            vi32 r[4];
            for (size_t i = 0; i < 4; i++)
                r[i] = vi32_load(src + i * a->src_stride);
            transpose_units(r);
            for (size_t i = 0; i < 2; i++) { /* interleaves two keys */
                uint8_t *to = dst + i * stride;
                vi32_store_lanes(to, 2 * stride, vi32_zip16_lo(r[2 * i], r[2 * i + 1]));
                vi32_store_lanes(to + 16, 2 * stride, vi32_zip16_hi(r[2 * i], r[2 * i + 1]));
            }
        }
    }
}
