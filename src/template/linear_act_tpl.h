/* SPDX-License-Identifier: Apache-2.0 */
/* linear_act_tpl.h - activations to int8 per 32 values. Needs a vec_*.h and QUIRE_ISA. */
#include "simd/half.h"
#include "template/linear_common_tpl.h"

/* The largest magnitude as bits: there NaN and Inf compare above every number. */
static inline uint32_t linear_max_magnitude(const float *x)
{
    vi32 max = vi32_zero();
    int32_t lanes[VF32_N], m = 0;
    for (size_t i = 0; i < QUIRE_BLOCK_K; i += VF32_N)
        max = vi32_max(max, vi32_and(vi32_bits(vf32_load(x + i)), vi32_set1(0x7fffffff)));
    vi32_store(lanes, max);
    for (int i = 0; i < VF32_N; i++)
        m = lanes[i] > m ? lanes[i] : m;
    return (uint32_t)m;
}

static inline int32_t linear_sum16(const int8_t *q)
{
    int32_t sum = 0;
    for (int i = 0; i < 16; i++)
        sum += q[i];
    return sum;
}

void LINEAR_KERNEL(quant_act_q8)(int8_t *q, float *d, int32_t *sum, const float *x, size_t n_blocks)
{
    for (size_t b = 0; b < n_blocks; b++, q += QUIRE_BLOCK_K, x += QUIRE_BLOCK_K) {
        const uint32_t max = linear_max_magnitude(x);
        const float amax = qr_bits_to_f32(max);
        if (max >= 0x7f800000 || amax < 0x1p-100f) {
            d[b] = max >= 0x7f800000 ? qr_bits_to_f32(0x7fc00000) : 0;
            sum[2 * b] = sum[2 * b + 1] = 0;
            memset(q, 0, QUIRE_BLOCK_K);
            continue;
        }
        d[b] = amax / 127;
        const vf32 inv = vf32_set1(127 / amax);
        for (size_t i = 0; i < QUIRE_BLOCK_K; i += VF32_N)
            vi32_store_s8(q + i, vi32_round(vf32_mul(vf32_load(x + i), inv)));
        sum[2 * b] = linear_sum16(q);
        sum[2 * b + 1] = linear_sum16(q + 16);
    }
}
