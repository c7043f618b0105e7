/* SPDX-License-Identifier: Apache-2.0 */
/* attn_softmax.c - softmax with bf16 weights, the longest stage of attention on AMX.
 *
 * A weight is 2^x by a polynomial of degree 3 with an error of 7.5e-5; bf16 itself has up to
 * 3.9e-3. The mantissa is in [1, 2), so half of the last place of bf16 is a constant: it is added
 * to the polynomial, and rounding is truncation. f32 weights and LSE sums are as at every level. */
#include "simd/vec_avx512.h"
/* vec_math.h builds on the vec header */
#include "simd/vec_math.h"
#define QR_ISA               avx512_amx
#define SOFTMAX_BF16_WEIGHTS bf16_weights
#include "template/attn_softmax_tpl.h"

#define HALF_PLACE 0x1p-8f

/* x = 2^x + more * 2^floor(x), 0 below VEC_EXP2_FLUSH. The polynomial is the minimax approximation
 * of 2^f on [0, 1] for the relative error. */
QR_INLINE void exp2_short(vf32 x[SOFTMAX_VECS], float more)
{
    vf32 f[SOFTMAX_VECS], g[SOFTMAX_VECS];
    for (int i = 0; i < SOFTMAX_VECS; i++) {
        f[i] = _mm512_reduce_ps(x[i], _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        g[i] = vf32_fma(vf32_set1(0x1.3f96a4p-4f), f[i], vf32_set1(0x1.cefc4cp-3f));
    }
    for (int i = 0; i < SOFTMAX_VECS; i++)
        g[i] = vf32_fma(g[i], f[i], vf32_set1(0x1.64444cp-1f));
    for (int i = 0; i < SOFTMAX_VECS; i++)
        g[i] = vf32_fma(g[i], f[i], vf32_set1(0x1.fff632p-1f + more));
    for (int i = 0; i < SOFTMAX_VECS; i++) /* scales by 2^floor(x) */
        x[i] = vf32_scale_from(g[i], x[i], x[i], vf32_set1(VEC_EXP2_FLUSH));
}

/* Truncates one row to bf16 and stores it; x becomes the stored values. */
QR_INLINE void store_truncated(uint16_t *p, vf32 x[SOFTMAX_VECS])
{
    static const uint16_t upper[2 * VF32_N] = { 1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                45, 47, 49, 51, 53, 55, 57, 59, 61, 63 };
    for (int i = 0; i < SOFTMAX_VECS; i += 2)
        vi32_store(p + i * VF32_N, _mm512_permutex2var_epi16(vi32_bits(x[i]), vi32_load(upper),
                                                             vi32_bits(x[i + 1])));
    for (int i = 0; i < SOFTMAX_VECS; i++)
        x[i] = vf32_bits(vi32_and(vi32_bits(x[i]), vi32_set1((int32_t)0xffff0000)));
}

/* Adds the unrounded weights to the sums for an LSE. Recomputes the scores: as an argument they
 * would be kept in memory for every row. */
static __attribute__((noinline)) void add_exact(const struct qr_attn_softmax_args *a, size_t r)
{
    vf32 x[SOFTMAX_VECS];
    softmax_scores(a, r, false, x);
    softmax_exp2_row(x, vf32_set1(a->m[r] == -INFINITY ? 0 : a->m[r]));
    softmax_add_lanes(a->l_exact + r * QR_COLUMN_KEYS, x);
}

/* Replaces softmax_weights of the template. */
QR_INLINE void bf16_weights(const struct qr_attn_softmax_args *args,
                            const struct qr_attn_softmax_args *a, size_t r, bool plain, vf32 m,
                            vf32 x[SOFTMAX_VECS])
{
    float *l = a->l + r * QR_COLUMN_KEYS;
    if (a->l_exact)
        add_exact(args, r);
    for (int i = 0; i < SOFTMAX_VECS; i++)
        x[i] = vf32_sub(x[i], m);
    if (!plain && a->v_scale) {
        exp2_short(x, 0);
        softmax_add_lanes(l, x);
        softmax_weigh(a->v_scale, a->visible[r], x);
        softmax_store(a, r, x);
    } else {
        exp2_short(x, HALF_PLACE);
        store_truncated(a->p_bf16 + r * QR_TILE_KEYS, x);
        softmax_add_lanes(l, x);
    }
}
