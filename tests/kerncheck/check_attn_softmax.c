/* SPDX-License-Identifier: Apache-2.0 */
/* check_attn_softmax.c - online softmax and span merge against their definition in double. */
#include "amx_order.h"
#include "check_attn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void softmax_fn(const struct qr_attn_softmax_args *a);
typedef void merge_fn(const struct qr_attn_merge_args *a);

enum { KEYS = QR_TILE_KEYS, LANES = QR_COLUMN_KEYS, MAX_ROWS = 9, WIDTH = 48 };

/* All data that a call reads and writes, copied to run the generic kernel on the same input. */
struct state {
    float s[MAX_ROWS * KEYS], m[MAX_ROWS], l[MAX_ROWS * LANES], l_exact[MAX_ROWS * LANES],
        o[MAX_ROWS * WIDTH];
    uint16_t p[MAX_ROWS * KEYS];
};

static void fill_state(struct kc_env *env, struct state *x, const uint64_t *visible, int rows,
                       float spread)
{
    for (int i = 0; i < MAX_ROWS * KEYS; i++) {
        const bool seen = i / KEYS < rows && visible[i / KEYS] >> i % KEYS & 1;
        x->s[i] = seen ? kc_normal(env) * spread : NAN;
        x->p[i] = 0x7fc1;
    }
    for (int r = 0; r < MAX_ROWS; r++) {
        const bool fresh = kc_int(env, 0, 2) == 0;
        x->m[r] = fresh ? -INFINITY : kc_normal(env) * 3;
        for (int i = 0; i < LANES; i++)
            x->l_exact[r * LANES + i] = x->l[r * LANES + i] = fresh ? 0 : kc_uniform(env, 0, 9);
        for (int i = 0; i < WIDTH; i++)
            x->o[r * WIDTH + i] = fresh ? 0 : kc_normal(env);
    }
}

static struct qr_attn_softmax_args args_of(struct state *x, const uint64_t *visible, int rows,
                                           bool bf16)
{
    return (struct qr_attn_softmax_args){ .s = x->s,
                                          .p_bf16 = bf16 ? x->p : NULL,
                                          .visible = visible,
                                          .m = x->m,
                                          .l = x->l,
                                          .o = x->o,
                                          .o_stride = WIDTH,
                                          .n_rows = rows,
                                          .o_width = 32 };
}

/* Score in units of log2(e) by the formula; *slack: bound of its rounding error. */
static double score(const struct qr_attn_softmax_args *a, const float *s, int r, int j,
                    double *slack)
{
    const double c = 1.4426950408889634;
    const double raw = (double)s[r * KEYS + j] * (a->k_scale ? a->k_scale[j] : 1) *
                       (a->row_scale ? a->row_scale[r] : 1);
    double x = raw * a->scale * c;
    *slack = fabs(x) * 6 * 0x1p-24;
    if (a->soft_cap > 0) {
        x = a->soft_cap * c * tanh(raw * a->scale / a->soft_cap);
        *slack = (fabs(x) * 10 + a->soft_cap) * 0x1p-23;
    }
    if (a->slope) {
        const double add = (double)a->slope[r] * c * ((double)a->distance[r] + j);
        x += add;
        *slack += (fabs(add) + fabs(x)) * 2 * 0x1p-24;
    }
    if (a->bias) {
        const double add = (double)a->bias[r][j] * c;
        x += add;
        *slack += (fabs(add) + fabs(x)) * 2 * 0x1p-24;
    }
    return x;
}

/* Checks one row of the result against the definition. Returns the mismatch, or NULL. */
static const char *check_row(struct kc_env *env, const struct qr_attn_softmax_args *a,
                             const struct state *was, const struct state *now, int r)
{
    const uint64_t visible = a->visible[r];
    if (!visible) {
        const bool same = now->m[r] == was->m[r] &&
                          !memcmp(now->l + r * LANES, was->l + r * LANES, LANES * sizeof(float)) &&
                          !memcmp(now->o + r * WIDTH, was->o + r * WIDTH, WIDTH * sizeof(float));
        return same ? NULL : "a row that sees nothing changed";
    }
    double top = -INFINITY, slack = 0, top_slack = 0;
    for (int j = 0; j < KEYS; j++)
        if (visible >> j & 1) {
            const double x = score(a, was->s, r, j, &slack);
            top = x > top ? x : top;
            top_slack = slack > top_slack ? slack : top_slack;
        }
    const bool moved = now->m[r] != was->m[r];
    if (moved ? fabs(now->m[r] - top) > top_slack || top < was->m[r] + 8.0 - top_slack
              : top > was->m[r] + 8.0 + top_slack)
        return "the reference maximum violates the rule";
    const double c =
        moved ? exp2((double)was->m[r] - now->m[r]) : 1; /* its exponent was rounded to f32 */
    double exact_slack = 0;
    const double coarse = a->p_bf16 && kc_is_amx(env) ? 8e-5 : 0; /* of the shorter polynomial */
    const double c_slack = 4e-7 + (c > 0 ? fabs((double)was->m[r] - now->m[r]) * 0x1p-24 : 0);
    double sums[LANES], exact[LANES];
    for (int i = 0; i < LANES; i++)
        sums[i] = exact[i] = was->l[r * LANES + i] * c;
    for (int j = 0; j < KEYS; j++) {
        const double p = a->p_bf16 ? kc_bf16_value(now->p[r * KEYS + j]) : now->s[r * KEYS + j];
        const double e = visible >> j & 1 ? score(a, was->s, r, j, &slack) - now->m[r] : -INFINITY;
        /* beyond the precision of f32, a score is equal to the maximum or far below it */
        const double want = slack > 1 && fabs(e) <= slack ? 1 : exp2(e);
        const double off = slack > 1 ? 0 : slack + (isinf(e) ? 0 : fabs(e)) * 0x1p-24 + 2e-7;
        const double factor = a->v_scale && visible >> j & 1 ? a->v_scale[j] : 1;
        const double bound = factor * want * (off + coarse + 0x1p-23 + (a->p_bf16 ? 0x1p-8 : 0)) +
                             3e-38,
                     ratio = fabs(p - want * factor) / bound;
        env->worst = ratio > env->worst ? ratio : env->worst;
        if (!(ratio <= 1))
            return "a weight is off";
        sums[j % LANES] += a->v_scale ? want : p;
        exact[j % LANES] += want;
        exact_slack += want * off;
    }
    for (int i = 0; i < LANES; i++)
        if (fabs(now->l[r * LANES + i] - sums[i]) >
            sums[i] * (8 * 0x1p-23 + c_slack) + (a->v_scale ? exact_slack + exact[i] * coarse : 0) +
                1e-36)
            return "a lane sum is not the sum of the rounded weights";
    for (int i = 0; i < LANES; i++) {
        const double bound = exact[i] * (8 * 0x1p-23 + c_slack) + exact_slack + 1e-36;
        if (a->l_exact ? fabs(now->l_exact[r * LANES + i] - exact[i]) > bound
                       : now->l_exact[r * LANES + i] != was->l_exact[r * LANES + i])
            return "an exact lane sum is off";
    }
    for (int d = 0; d < WIDTH; d++) {
        const double want = was->o[r * WIDTH + d] * (d < a->o_width ? c : 1);
        if (fabs(now->o[r * WIDTH + d] - want) > fabs(want) * c_slack + 1e-36)
            return "an accumulator was scaled wrongly";
    }
    return NULL;
}

static bool same_row(const struct qr_attn_softmax_args *a, const struct state *x,
                     const struct state *y, int r)
{
    return !memcmp(x->m + r, y->m + r, sizeof(float)) &&
           !memcmp(x->l + r * LANES, y->l + r * LANES, LANES * sizeof(float)) &&
           !memcmp(x->l_exact + r * LANES, y->l_exact + r * LANES, LANES * sizeof(float)) &&
           !memcmp(x->o + r * WIDTH, y->o + r * WIDTH, WIDTH * sizeof(float)) &&
           (a->p_bf16 ? !memcmp(x->p + r * KEYS, y->p + r * KEYS, KEYS * 2)
                      : !memcmp(x->s + r * KEYS, y->s + r * KEYS, KEYS * 4));
}

static void softmax_once(struct kc_env *env, softmax_fn *fn, struct state *was, struct state *now,
                         struct state *ref)
{
    const int rows = kc_int(env, 1, MAX_ROWS);
    uint64_t *visible = kc_buffer_end((size_t)rows * sizeof *visible);
    float *slope = kc_buffer_end((size_t)rows * sizeof *slope);
    int64_t *distance = kc_buffer_end((size_t)rows * sizeof *distance);
    float *row_scale = kc_buffer_end((size_t)rows * sizeof *row_scale);
    float *k_scale = kc_buffer_end(KEYS * sizeof *k_scale);
    float *v_scale = kc_buffer_end(KEYS * sizeof *v_scale);
    float *addends = kc_buffer_end((size_t)rows * KEYS * sizeof *addends);
    const float *bias[MAX_ROWS];
    uint64_t seen = 0;
    static const float spreads[] = { 1, 30, 1000, 1e38f };
    const float spread = spreads[kc_int(env, 0, 3)];
    for (int r = 0; r < rows; r++) {
        visible[r] = attn_random_visible(env);
        slope[r] = kc_uniform(env, 0, 1);
        distance[r] = -kc_int(env, 0, 100000);
        row_scale[r] = kc_uniform(env, 0.1f, 1);
        bias[r] = addends + r * KEYS;
        seen |= visible[r];
        for (int j = 0; j < KEYS; j++)
            addends[r * KEYS + j] = visible[r] >> j & 1 ? kc_normal(env) * 4 : NAN;
    }
    for (int j = 0; j < KEYS; j++) { /* slots of keys that no row sees hold NaN */
        k_scale[j] = seen >> j & 1 ? kc_uniform(env, 0.01f, 1) : NAN;
        v_scale[j] = seen >> j & 1 ? kc_uniform(env, 0.01f, 1) : NAN;
    }
    fill_state(env, was, visible, rows, spread < 1e30f ? spread : 0);
    if (spread > 1e30f) /* far apart, but finite */
        for (int i = 0; i < rows * KEYS; i++)
            was->s[i] =
                visible[i / KEYS] >> i % KEYS & 1 ? (kc_int(env, 0, 1) ? 1e38f : -1e38f) : NAN;
    struct qr_attn_softmax_args a = args_of(was, visible, rows, kc_int(env, 0, 1));
    a.scale = kc_int(env, 0, 3) ? 0.125f : 1;
    a.soft_cap = kc_int(env, 0, 2) ? 0 : kc_uniform(env, 1, 60);
    a.slope = kc_int(env, 0, 2) ? NULL : slope;
    a.distance = distance;
    a.row_scale = kc_int(env, 0, 2) ? NULL : row_scale;
    a.k_scale = kc_int(env, 0, 2) ? NULL : k_scale;
    a.v_scale = kc_int(env, 0, 2) ? NULL : v_scale;
    a.bias = kc_int(env, 0, 2) ? NULL : bias;
    a.l_exact = a.p_bf16 && kc_int(env, 0, 1) ? was->l_exact : NULL;
    *now = *ref = *was;
    struct qr_attn_softmax_args b = a, g = a;
    b.l_exact = a.l_exact ? now->l_exact : NULL, g.l_exact = a.l_exact ? ref->l_exact : NULL;
    b.s = now->s, b.m = now->m, b.l = now->l, b.o = now->o, b.p_bf16 = a.p_bf16 ? now->p : NULL;
    g.s = ref->s, g.m = ref->m, g.l = ref->l, g.o = ref->o, g.p_bf16 = a.p_bf16 ? ref->p : NULL;
    fn(&b);
    if (a.p_bf16 && kc_is_amx(env))
        kc_amx_softmax(&g);
    else
        qr_attn_softmax_generic(&g);
    for (int r = 0; r < rows && !env->failures; r++) {
        const char *wrong = check_row(env, &a, was, now, r);
        if (wrong)
            kc_fail(env, "row %d of %d, cap %g, alibi %d, bf16 %d, spread %g: %s", r, rows,
                    (double)a.soft_cap, a.slope != NULL, a.p_bf16 != NULL, (double)spread, wrong);
        else if (visible[r] && !same_row(&a, now, ref, r))
            kc_fail(env,
                    "row %d, cap %g, alibi %d, bf16 %d, spread %g: bits differ from the reference",
                    r, (double)a.soft_cap, a.slope != NULL, a.p_bf16 != NULL, (double)spread);
    }
    kc_release();
}

void attn_check_softmax(struct kc_env *env, kc_fn fn)
{
    struct state *x = malloc(3 * sizeof *x);
    for (int i = 0; i < env->rounds * 4 && !env->failures; i++)
        softmax_once(env, (softmax_fn *)fn, x, x + 1, x + 2);
    free(x);
}

static void merge_once(struct kc_env *env, merge_fn *fn)
{
    const int rows = kc_int(env, 1, MAX_ROWS), width = 16 * kc_int(env, 1, 5);
    const size_t stride = (size_t)width, n = (size_t)rows * stride;
    float *was_o = malloc(n * sizeof *was_o), *part_o = kc_buffer_end(n * sizeof *part_o);
    float *o = kc_buffer_end(n * sizeof *o), *m = kc_buffer_end((size_t)rows * sizeof *m);
    float *l = kc_buffer_end((size_t)rows * sizeof *l),
          *l_exact = kc_buffer_end((size_t)rows * sizeof *l);
    float was_m[MAX_ROWS], was_l[MAX_ROWS], part_m[MAX_ROWS], part_l[MAX_ROWS];
    const bool exact = kc_int(env, 0, 1);
    kc_fill_normal(env, part_o, n, 1);
    for (int r = 0; r < rows; r++) {
        const bool empty = kc_int(env, 0, 3) == 0, part_empty = kc_int(env, 0, 3) == 0;
        m[r] = was_m[r] = empty ? -INFINITY : kc_normal(env) * 20;
        l[r] = l_exact[r] = was_l[r] = empty ? 0 : kc_uniform(env, 1, 500);
        part_m[r] = part_empty ? -INFINITY : kc_normal(env) * 20;
        part_l[r] = part_empty ? 0 : kc_uniform(env, 1, 500);
        for (size_t d = 0; d < stride; d++)
            o[(size_t)r * stride + d] = was_o[(size_t)r * stride + d] = empty ? 0 : kc_normal(env);
    }
    fn(&(struct qr_attn_merge_args){ m, l, exact ? l_exact : NULL, o, part_m, part_l, part_l,
                                     part_o, stride, rows, width });
    for (int r = 0; r < rows && !env->failures; r++) {
        const double top = fmax(was_m[r], part_m[r]);
        const double ca = was_m[r] == -INFINITY ? 0 : exp2(was_m[r] - top),
                     cp = part_m[r] == -INFINITY ? 0 : exp2(part_m[r] - top);
        const double apart = fmin(fabs((double)was_m[r] - part_m[r]), 200),
                     slack = 4e-7 + apart * 0x1p-24;
        const double want_l = was_l[r] * ca + part_l[r] * cp;
        if (l_exact[r] != (exact ? l[r] : was_l[r]))
            kc_fail(env, "row %d: l_exact %g, l %g", r, (double)l_exact[r], (double)l[r]);
        if (m[r] != (float)top || fabs(l[r] - want_l) > want_l * slack + 1e-34)
            kc_fail(env, "row %d: m %g l %g, not %g %g", r, (double)m[r], (double)l[r], top,
                    want_l);
        for (size_t d = 0; d < stride && !env->failures; d++) {
            const double x = was_o[(size_t)r * stride + d] * ca,
                         y = (double)part_o[(size_t)r * stride + d] * cp;
            const double bound = (fabs(x) + fabs(y)) * slack + 1e-36,
                         ratio = fabs(o[(size_t)r * stride + d] - x - y) / bound;
            env->worst = ratio > env->worst ? ratio : env->worst;
            if (!(ratio <= 1))
                kc_fail(env, "row %d: o[%zu] = %g, not %g", r, d, (double)o[(size_t)r * stride + d],
                        x + y);
        }
    }
    if (!env->failures && !(kc_intact(o) && kc_intact(m) && kc_intact(l) && kc_intact(l_exact)))
        kc_fail(env, "wrote outside its buffers");
    free(was_o);
    kc_release();
}

void attn_check_merge(struct kc_env *env, kc_fn fn)
{
    for (int i = 0; i < env->rounds * 4 && !env->failures; i++)
        merge_once(env, (merge_fn *)fn);
}
