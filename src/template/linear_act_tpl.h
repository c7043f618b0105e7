/* SPDX-License-Identifier: Apache-2.0 */
/* linear_act_tpl.h - quantization of activations to int8. Needs a vec_*.h and QR_ISA. */
#include "base/half.h"
#include "template/linear_common_tpl.h"

/* Largest magnitude as bits, where NaN and Inf compare above all numbers. */
QR_INLINE uint32_t linear_max_magnitude(const float *x)
{
    vi32 max = vi32_zero();
    QR_UNROLL_16 (int i = 0; i < QR_BLOCK_K; i += VF32_N)
        max = vi32_max(max, vi32_and(vi32_bits(vf32_load(x + i)), vi32_set1(0x7fffffff)));
    return (uint32_t)vi32_top(max);
}

/* Rounds 16 products x * inv to q; returns their sum. */
QR_INLINE int32_t linear_round16(int8_t *q, const float *x, vf32 inv)
{
    vi32 sum = vi32_zero();
    QR_UNROLL_16 (int i = 0; i < 16; i += VF32_N) {
        const vi32 v = vi32_round(vf32_mul(vf32_load(x + i), inv));
        vi32_store_s8(q + i, v);
        sum = vi32_add(sum, v);
    }
    return vi32_total(sum);
}

void QR_KERNEL(quantize_act_q8)(struct qr_q8_block *q, float *half_sums, const float *x,
                                size_t n_blocks)
{
    for (size_t b = 0; b < n_blocks; b++, q++, half_sums += 2, x += QR_BLOCK_K) {
        const uint32_t max = linear_max_magnitude(x);
        const float amax = qr_bits_to_f32(max);
        if (max >= 0x7f800000 || amax < 0x1p-100f) {
            memset(q, 0, sizeof *q);
            q->d = q->d_sum = max >= 0x7f800000 ? qr_bits_to_f32(0x7fc00000) : 0;
            half_sums[0] = half_sums[1] = q->d;
            continue;
        }
        const vf32 inv = vf32_set1(127 / amax);
        const int32_t half = linear_round16(q->q, x, inv),
                      other = linear_round16(q->q + 16, x + 16, inv), sum = half + other;
        q->d = amax / 127;
        q->d_sum = q->d * (float)sum;
        q->neg_half_sum = -half;
        q->neg_sum = -sum;
        half_sums[0] = q->d * (float)half;
        half_sums[1] = q->d * (float)other;
    }
}
