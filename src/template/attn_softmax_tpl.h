/* SPDX-License-Identifier: Apache-2.0 */
/* attn_softmax_tpl.h - online softmax of a tile, and the merge of spans, over vec_*.h.
 *
 * Needs a vec_*.h, vec_math.h and QR_ISA. SOFTMAX_BF16_WEIGHTS (optional) names a function that
 * replaces softmax_weights for bf16 weights; the includer defines it afterwards. */
#include "template/common_tpl.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { SOFTMAX_VECS = QR_TILE_KEYS / VF32_N, SOFTMAX_LANE_VECS = QR_COLUMN_KEYS / VF32_N };

/* a: a local copy of `args`. Its address must not leave inlined code. */
typedef void softmax_weights_fn(const struct qr_attn_softmax_args *args,
                                const struct qr_attn_softmax_args *a, size_t r, bool plain, vf32 m,
                                vf32 x[SOFTMAX_VECS]);
#ifdef SOFTMAX_BF16_WEIGHTS
QR_INLINE softmax_weights_fn SOFTMAX_BF16_WEIGHTS;
#endif

static const float softmax_key[QR_COLUMN_KEYS] = { 0, 1, 2,  3,  4,  5,  6,  7,
                                                   8, 9, 10, 11, 12, 13, 14, 15 };

static inline float softmax_exp2(float x)
{
    float lanes[VF32_N];
    vf32_store(lanes, vf32_exp2(vf32_set1(x)));
    return lanes[0];
}

/* Sets the lanes of invisible keys, which may hold anything, to `other`. */
QR_INLINE void softmax_mask(uint64_t visible, vf32 x[SOFTMAX_VECS], float other)
{
    if (visible == ~(uint64_t)0)
        return;
    for (int i = 0; i < SOFTMAX_VECS; i++)
        x[i] = vf32_select(vm32_bits((uint32_t)(visible >> (i * VF32_N))), x[i], vf32_set1(other));
}

QR_INLINE void softmax_slope(const struct qr_attn_softmax_args *a, size_t r, vf32 x[SOFTMAX_VECS])
{
    const vf32 slope = vf32_set1(a->slope[r] * VEC_LOG2E), first = vf32_set1((float)a->distance[r]);
    for (int i = 0; i < SOFTMAX_VECS; i++) {
        const int column = i * VF32_N / QR_COLUMN_KEYS * QR_COLUMN_KEYS;
        const vf32 key = vf32_add(vf32_load(softmax_key + i * VF32_N % QR_COLUMN_KEYS),
                                  vf32_set1((float)column));
        x[i] = vf32_fma(slope, vf32_add(first, key), x[i]);
    }
}

/* Scores of one row in units of log2(e), -inf for invisible keys. plain: only the scale applies. */
QR_INLINE void softmax_scores(const struct qr_attn_softmax_args *a, size_t r, bool plain,
                              vf32 x[SOFTMAX_VECS])
{
    const float *s = a->s + r * QR_TILE_KEYS;
    const float f = !plain && a->row_scale ? a->scale * a->row_scale[r] : a->scale;
    for (int i = 0; i < SOFTMAX_VECS; i++)
        x[i] = vf32_load(s + i * VF32_N);
    for (int i = 0; !plain && a->k_scale && i < SOFTMAX_VECS; i++)
        x[i] = vf32_mul(x[i], vf32_load(a->k_scale + i * VF32_N));
    if (!plain && a->soft_cap > 0) {
        const vf32 in = vf32_set1(f / a->soft_cap), out = vf32_set1(a->soft_cap * VEC_LOG2E);
        for (int i = 0; i < SOFTMAX_VECS; i++)
            x[i] = vf32_mul(vf32_tanh(vf32_mul(x[i], in)), out);
    } else {
        const vf32 scale = vf32_set1(f * VEC_LOG2E);
        for (int i = 0; i < SOFTMAX_VECS; i++)
            x[i] = vf32_mul(x[i], scale);
    }
    if (!plain && a->slope)
        softmax_slope(a, r, x);
    for (int i = 0; !plain && a->bias && i < SOFTMAX_VECS; i++)
        x[i] = vf32_fma(vf32_load(a->bias[r] + i * VF32_N), vf32_set1(VEC_LOG2E), x[i]);
    softmax_mask(a->visible[r], x, -INFINITY);
}

/* Raises the reference maximum to the largest lane; rescales the state by 2^(old - new). */
static __attribute__((noinline)) void softmax_raise(const struct qr_attn_softmax_args *a, size_t r,
                                                    vf32 top)
{
    const float old = a->m[r], max = vf32_top(vf32_max(top, vf32_set1(-INFINITY))); /* not NaN */
    a->m[r] = max;
    if (old == -INFINITY) /* the first keys: all sums are 0 */
        return;
    const vf32 c = vf32_exp2(vf32_set1(old - max));
    float *const sums[] = { a->l, a->l_exact };
    for (int n = 0; n < 2 && sums[n]; n++)
        for (int i = 0; i < QR_COLUMN_KEYS; i += VF32_N) {
            float *l = sums[n] + r * QR_COLUMN_KEYS + i;
            vf32_store(l, vf32_mul(vf32_load(l), c));
        }
    float *o = a->o + r * a->o_stride;
    for (int d = 0; d < a->o_width; d += VF32_N)
        vf32_store(o + d, vf32_mul(vf32_load(o + d), c));
}

/* Raises the reference maximum of the row if a score exceeds it by more than QR_RESCALE_STEP. */
QR_INLINE void softmax_follow(const struct qr_attn_softmax_args *a, size_t r,
                              const vf32 x[SOFTMAX_VECS])
{
    vf32 top = x[0];
    for (int i = 1; i < SOFTMAX_VECS; i++)
        top = vf32_max(top, x[i]);
    /* comparing every lane avoids reducing them to their maximum */
    if (vm32_any(vf32_lt(vf32_set1(a->m[r] + QR_RESCALE_STEP), top)))
        softmax_raise(a, r, top);
}

/* sums[16] += p, keys ascending in each lane */
QR_INLINE void softmax_add_lanes(float *sums, const vf32 p[SOFTMAX_VECS])
{
    vf32 l[SOFTMAX_LANE_VECS];
    for (int i = 0; i < SOFTMAX_LANE_VECS; i++)
        l[i] = vf32_load(sums + i * VF32_N);
    for (int i = 0; i < SOFTMAX_VECS; i++)
        l[i % SOFTMAX_LANE_VECS] = vf32_add(l[i % SOFTMAX_LANE_VECS], p[i]);
    for (int i = 0; i < SOFTMAX_LANE_VECS; i++)
        vf32_store(sums + i * VF32_N, l[i]);
}

/* x = 2^(x - m), the bits of vf32_exp2. Interleaved vectors hide the latency of a chain. */
QR_INLINE void softmax_exp2_row(vf32 x[SOFTMAX_VECS], vf32 m)
{
    static const float c[] = { 0x1.5f0a66p-10f, 0x1.3b30b0p-7f, 0x1.c6af78p-5f, 0x1.ebfbd8p-3f,
                               0x1.62e430p-1f };
    vf32 t[SOFTMAX_VECS], f[SOFTMAX_VECS], g[SOFTMAX_VECS];
    for (int i = 0; i < SOFTMAX_VECS; i++) {
        x[i] = vf32_sub(x[i], m);
#ifdef VF32_HAS_SCALE
        t[i] = vf32_nearest(x[i]);
        f[i] = vf32_sub(x[i], t[i]);
#else
        t[i] = vf32_add(x[i], vf32_set1(VEC_ROUND_MAGIC));
        f[i] = vf32_sub(x[i], vf32_sub(t[i], vf32_set1(VEC_ROUND_MAGIC)));
#endif
        g[i] = vf32_set1(0x1.3f906cp-13f);
    }
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < SOFTMAX_VECS; i++)
            g[i] = vf32_fma(g[i], f[i], vf32_set1(c[k]));
    for (int i = 0; i < SOFTMAX_VECS; i++) {
        const vf32 r = vf32_fma(f[i], g[i], vf32_set1(1)), least = vf32_set1(VEC_EXP2_FLUSH);
#ifdef VF32_HAS_SCALE
        x[i] = vf32_scale_from(r, t[i], x[i], least);
#else
        const vi32 y = vi32_add(vi32_bits(r), vi32_shl(vi32_bits(t[i]), 23));
        x[i] = vf32_select(vf32_lt(x[i], least), vf32_zero(), vf32_bits(y));
#endif
    }
}

/* Multiplies the weights by the factors of their keys. */
QR_INLINE void softmax_weigh(const float *v_scale, uint64_t visible, vf32 x[SOFTMAX_VECS])
{
    const vf32 least = vf32_set1(0x1p-126f);
    for (int i = 0; i < SOFTMAX_VECS; i++) {
        x[i] = vf32_mul(x[i], vf32_load(v_scale + i * VF32_N));
        x[i] = vf32_select(vf32_lt(x[i], least), vf32_set1(0), x[i]);
    }
    softmax_mask(visible, x, 0);
}

/* Stores the weights of one row; x becomes the stored values as f32. */
QR_INLINE void softmax_store(const struct qr_attn_softmax_args *a, size_t r, vf32 x[SOFTMAX_VECS])
{
    for (int i = 0; a->p_bf16 && i < SOFTMAX_VECS; i += 2)
        vf32_round_store2_bf16(a->p_bf16 + r * QR_TILE_KEYS + i * VF32_N, x + i);
    for (int i = 0; !a->p_bf16 && i < SOFTMAX_VECS; i++)
        vf32_store(a->s + r * QR_TILE_KEYS + i * VF32_N, x[i]);
}

/* Computes the weights of one row from x and the reference maximum m, stores them, and adds them to
 * the sums. */
QR_INLINE void softmax_weights(const struct qr_attn_softmax_args *args,
                               const struct qr_attn_softmax_args *a, size_t r, bool plain, vf32 m,
                               vf32 x[SOFTMAX_VECS])
{
    (void)args;
    float *l = a->l + r * QR_COLUMN_KEYS;
    softmax_exp2_row(x, m);
    if (a->l_exact)
        softmax_add_lanes(a->l_exact + r * QR_COLUMN_KEYS, x);
    if (!plain && a->v_scale) {
        softmax_add_lanes(l, x);
        softmax_weigh(a->v_scale, a->visible[r], x);
        softmax_store(a, r, x);
    } else {
        softmax_store(a, r, x);
        softmax_add_lanes(l, x);
    }
}

/* All rows, with a local copy of `args`: for the compiler any store may change *args. */
QR_INLINE void softmax_rows(const struct qr_attn_softmax_args *args, bool plain,
                            softmax_weights_fn *weights)
{
    const struct qr_attn_softmax_args a = *args;
    for (size_t r = 0; r < (size_t)a.n_rows; r++) {
        vf32 x[SOFTMAX_VECS];
        if (!a.visible[r])
            continue;
        softmax_scores(&a, r, plain, x);
        softmax_follow(args, r, x);
        weights(args, &a, r, plain, vf32_set1(a.m[r] == -INFINITY ? 0 : a.m[r]), x);
    }
}

void QR_KERNEL(attn_softmax)(const struct qr_attn_softmax_args *a)
{
    const bool plain =
        !a->row_scale && !a->k_scale && !a->v_scale && !a->slope && !a->bias && !(a->soft_cap > 0);
#ifdef SOFTMAX_BF16_WEIGHTS
    if (a->p_bf16) {
        if (plain)
            softmax_rows(a, true, SOFTMAX_BF16_WEIGHTS);
        else
            softmax_rows(a, false, SOFTMAX_BF16_WEIGHTS);
        return;
    }
#endif
    if (plain)
        softmax_rows(a, true, softmax_weights);
    else
        softmax_rows(a, false, softmax_weights);
}

void QR_KERNEL(attn_merge)(const struct qr_attn_merge_args *a)
{
    for (size_t r = 0; r < (size_t)a->n_rows; r++) {
        float *acc = a->acc_o + r * a->stride;
        const float *part = a->part_o + r * a->stride;
        if (a->part_l[r] == 0)
            continue;
        if (a->acc_l[r] == 0) {
            a->acc_m[r] = a->part_m[r];
            a->acc_l[r] = a->part_l[r];
            if (a->acc_l_exact)
                a->acc_l_exact[r] = a->part_l_exact[r];
            memcpy(acc, part, (size_t)a->width * sizeof *acc);
            continue;
        }
        const float am = a->acc_m[r], pm = a->part_m[r], m = am > pm ? am : pm;
        const float ca = softmax_exp2(am - m), cp = softmax_exp2(pm - m);
        a->acc_m[r] = m;
        a->acc_l[r] = fmaf(a->part_l[r], cp, a->acc_l[r] * ca);
        if (a->acc_l_exact)
            a->acc_l_exact[r] = fmaf(a->part_l_exact[r], cp, a->acc_l_exact[r] * ca);
        const vf32 va = vf32_set1(ca), vp = vf32_set1(cp);
        for (int d = 0; d < a->width; d += VF32_N)
            vf32_store(acc + d,
                       vf32_fma(vf32_load(part + d), vp, vf32_mul(vf32_load(acc + d), va)));
    }
}
