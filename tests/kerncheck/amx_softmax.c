/* SPDX-License-Identifier: Apache-2.0 */
/* amx_softmax.c - reference of the softmax with bf16 weights of avx512_amx, value by value.
 *
 * Scores and the rescale of the state are those of every level, so the generic kernel computes
 * them: the score of a single key is the reference maximum that it leaves. */
#include "amx_order.h"
#include "check_attn.h"
#include <math.h>
#include <string.h>

enum { KEYS = QR_TILE_KEYS, LANES = QR_COLUMN_KEYS };

/* Row r alone, with an empty state. */
struct row {
    struct qr_attn_softmax_args a;
    float s[KEYS], m, l[LANES];
    uint16_t p[KEYS];
    uint64_t visible;
};

static void one_row(const struct qr_attn_softmax_args *all, int r, uint64_t visible, struct row *x)
{
    memcpy(x->s, all->s + r * KEYS, sizeof x->s);
    memset(x->l, 0, sizeof x->l);
    x->m = -INFINITY;
    x->visible = visible;
    x->a = *all;
    x->a.s = x->s, x->a.p_bf16 = x->p, x->a.visible = &x->visible, x->a.m = &x->m, x->a.l = x->l;
    x->a.o = NULL, x->a.o_width = 0, x->a.l_exact = NULL, x->a.n_rows = 1;
    x->a.slope = all->slope ? all->slope + r : NULL;
    x->a.distance = all->distance ? all->distance + r : NULL;
    x->a.row_scale = all->row_scale ? all->row_scale + r : NULL;
    x->a.bias = all->bias ? all->bias + r : NULL;
}

static float score_of(const struct qr_attn_softmax_args *all, int r, int key)
{
    struct row x;
    one_row(all, r, (uint64_t)1 << key, &x);
    qr_attn_softmax_generic(&x.a);
    return x.m;
}

/* Rescales n sums by 2^(old - new) if the reference maximum of the row is raised; returns it. */
static float scale_sums(const struct qr_attn_softmax_args *all, int r, float *sums, int n)
{
    struct row x;
    one_row(all, r, all->visible[r], &x);
    x.m = all->m[r];
    x.a.o = sums, x.a.o_width = n;
    qr_attn_softmax_generic(&x.a);
    return x.m;
}

/* 2^x as every level computes it; x may be far below 0. */
static float exp2_exact(float x)
{
    static const float c[] = { 0x1.3f906cp-13f,
                               0x1.5f0a66p-10f,
                               0x1.3b30b0p-7f,
                               0x1.c6af78p-5f,
                               0x1.ebfbd8p-3f,
                               0x1.62e430p-1f,
                               1 };
    const float n = rintf(x), f = x - n;
    float g = 0;
    for (int i = 0; i < 7; i++)
        g = fmaf(g, f, c[i]);
    return x < -125 ? 0 : ldexpf(g, (int)n);
}

/* 2^x + more * 2^floor(x) by a polynomial of degree 3 */
static float exp2_short(float x, float more)
{
    const float n = floorf(x);
    float f = x - n; /* VREDUCEPS rounds down */
    if ((double)f > (double)x - (double)n)
        f = nextafterf(f, 0);
    float g = fmaf(0x1.3f96a4p-4f, f, 0x1.cefc4cp-3f);
    g = fmaf(g, f, 0x1.64444cp-1f);
    g = fmaf(g, f, 0x1.fff632p-1f + more);
    return x < -125 ? 0 : ldexpf(g, (int)n);
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint16_t upper_half(float x) { return (uint16_t)(bits_of(x) >> 16); }

static uint16_t nearest_bf16(float x)
{
    return (uint16_t)((bits_of(x) + 0x7fff + (bits_of(x) >> 16 & 1)) >> 16);
}

static void softmax_row(const struct qr_attn_softmax_args *a, int r)
{
    const float raised = scale_sums(a, r, a->o + (size_t)r * a->o_stride, a->o_width);
    scale_sums(a, r, a->l + r * LANES, LANES);
    if (a->l_exact)
        scale_sums(a, r, a->l_exact + r * LANES, LANES);
    a->m[r] = raised;
    for (int j = 0; j < KEYS; j++) {
        const bool seen = a->visible[r] >> j & 1;
        const float x = seen ? score_of(a, r, j) - (raised == -INFINITY ? 0 : raised) : -INFINITY;
        float p = exp2_short(x, a->v_scale ? 0 : 0x1p-8f), *l = a->l + r * LANES + j % LANES;
        uint16_t *stored = a->p_bf16 + r * KEYS + j;
        if (a->l_exact)
            a->l_exact[r * LANES + j % LANES] += exp2_exact(x);
        if (a->v_scale) {
            *l += p;
            p *= seen ? a->v_scale[j] : 0;
            *stored = nearest_bf16(p < 0x1p-126f ? 0 : p);
        } else {
            *stored = upper_half(p);
            *l += kc_bf16_value(*stored);
        }
    }
}

void kc_amx_softmax(const struct qr_attn_softmax_args *a)
{
    for (int r = 0; r < a->n_rows; r++)
        if (a->visible[r])
            softmax_row(a, r);
}
