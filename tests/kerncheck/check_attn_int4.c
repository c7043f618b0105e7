/* SPDX-License-Identifier: Apache-2.0 */
/* check_attn_int4.c - attention over int4 tiles: queries, scores, weighted values and dequantized
 * columns against the formulas of docs/numerics.md in double, and their bits against those of the
 * generic level. */
#include "check_attn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = QR_TILE_KEYS, COLUMN = QR_COLUMN_KEYS, GROUP = QR_INT4_GROUP, MAX_ROWS = 10 };

typedef void quantize_fn(uint8_t *dst, const float *src, size_t n);
typedef void qk_fn(const struct qr_attn_qk_args *a);
typedef void pv_fn(const struct qr_attn_pv_args *a);
typedef void unpack_fn(const struct qr_attn_unpack_int4_args *a);

static const int LEVELS[] = { -20, -16, -12, -10, -7, -5, -3, -1, 1, 3, 5, 7, 10, 12, 16, 20 };

/* A tile: columns of codes and scales that end at guard pages, and the values they stand for. */
struct tile {
    const void *data[QR_TILE_COLUMNS];
    const uint16_t *scale[QR_TILE_COLUMNS];
    size_t stride, scale_stride; /* bytes */
    int levels[KEYS * 192];      /* levels, [key][value] */
    float scales[KEYS * 6];      /* [key][group] */
    int n;                       /* values of a key */
};

static float random_scale(struct kc_env *env)
{
    const float m = 1 + (float)kc_int(env, 0, 15) / 16; /* five significant bits */
    return kc_int(env, 0, 15) ? ldexpf(m, kc_int(env, -6, 3)) : 0;
}

/* Byte of value d in the row of codes of a token. */
static size_t byte_of(int d) { return (size_t)(d / GROUP * 16 + d % 16); }

static void make_column(struct kc_env *env, struct tile *t, int c, bool v)
{
    const size_t groups = (size_t)(t->n / GROUP), n_bytes = (size_t)t->n / 2;
    const size_t steps = v ? COLUMN / 4 : n_bytes / 4, last = v ? n_bytes * 4 : COLUMN * 4;
    uint8_t *data = kc_buffer_end((steps - 1) * t->stride + last);
    uint8_t *scales = kc_buffer_end((groups - 1) * t->scale_stride + COLUMN * 2);
    for (int key = 0; key < COLUMN; key++)
        for (int d = 0; d < t->n; d++) {
            const size_t b = byte_of(d), token = (size_t)key;
            const size_t at = v ? token / 4 * t->stride + b * 4 + token % 4
                                : b / 4 * t->stride + token * 4 + b % 4;
            const int code = kc_int(env, 0, 15), shift = d % GROUP >= 16 ? 4 : 0;
            data[at] = (uint8_t)((data[at] & (0xf0 >> shift)) | code << shift);
            t->levels[(c * COLUMN + key) * t->n + d] = LEVELS[code];
        }
    for (size_t g = 0; g < groups; g++)
        for (int key = 0; key < COLUMN; key++) {
            const float scale = random_scale(env);
            const uint16_t bits = kc_bf16_bits(scale);
            memcpy(scales + g * t->scale_stride + (size_t)key * 2, &bits, sizeof bits);
            t->scales[(size_t)(c * COLUMN + key) * groups + g] = scale;
        }
    t->data[c] = data;
    t->scale[c] = (const uint16_t *)(const void *)scales;
}

static struct tile *make_tile(struct kc_env *env, bool v)
{
    struct tile *t = calloc(1, sizeof *t);
    t->n = GROUP * kc_int(env, 1, 6);
    t->stride = v ? (size_t)t->n * 2 : (size_t)(kc_int(env, 0, 1) ? COLUMN : KEYS) * 4;
    t->scale_stride = (size_t)(kc_int(env, 0, 1) ? COLUMN : KEYS) * 2;
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        make_column(env, t, c, v);
    return t;
}

static double value_at(const struct tile *t, int key, int d)
{
    return (double)t->levels[key * t->n + d] * (double)t->scales[key * (t->n / GROUP) + d / GROUP];
}

static float f32_at(const uint8_t *p)
{
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* ---- queries */

void attn_check_quantize_q_int4(struct kc_env *env, kc_fn fn)
{
    for (int round = 0; round < env->rounds && !env->failures; round++) {
        const int n = GROUP * kc_int(env, 1, 6), groups = n / GROUP;
        const size_t bytes = (size_t)(n + groups * 8);
        float *x = kc_buffer_end((size_t)n * sizeof *x);
        uint8_t *q = kc_buffer_end(bytes), *ref = malloc(bytes);
        kc_fill_normal(env, x, (size_t)n, kc_int(env, 0, 3) ? 1 : 1e-37f);
        if (!kc_int(env, 0, 3))
            x[kc_int(env, 0, n - 1)] = kc_int(env, 0, 1) ? NAN : -INFINITY;
        if (!kc_int(env, 0, 3))
            memset(x, 0, GROUP * sizeof *x);
        ((quantize_fn *)fn)(q, x, (size_t)n);
        qr_attn_quantize_q_int4_generic(ref, x, (size_t)n);
        for (int g = 0; g < groups && !env->failures; g++) {
            const float scale = f32_at(q + n + g * 4);
            double amax = 0;
            bool finite = true;
            int sum = 0, offset;
            for (int i = g * GROUP; i < (g + 1) * GROUP; i++) {
                finite = finite && isfinite(x[i]);
                amax = fmax(amax, fabs((double)x[i]));
                sum += (int8_t)q[i];
            }
            memcpy(&offset, q + n + groups * 4 + g * 4, sizeof offset);
            for (int i = g * GROUP; i < (g + 1) * GROUP && finite && !env->failures; i++)
                if (fabs((int8_t)q[i] * (double)scale - (double)x[i]) > 0.5001 * amax / 127 + 1e-30)
                    kc_fail(env, "x[%d] = %a: code %d, scale %a", i, (double)x[i], (int8_t)q[i],
                            (double)scale);
            if (!env->failures && (offset != -20 * sum || isnan(scale) == finite))
                kc_fail(env, "group %d: offset %d, scale %a", g, offset, (double)scale);
        }
        for (size_t i = 0; i < bytes && !env->failures; i++)
            if (q[i] != ref[i])
                kc_fail(env, "byte %zu of %zu differs from generic", i, bytes);
        if (!env->failures && !kc_intact(q))
            kc_fail(env, "wrote outside its range");
        free(ref);
        kc_release();
    }
}

/* ---- scores */

static void check_qk_once(struct kc_env *env, qk_fn *fn)
{
    struct tile *t = make_tile(env, false);
    const int n = t->n, rows = kc_int(env, 1, MAX_ROWS), count = rows * KEYS;
    const size_t q_bytes = (size_t)(n + n / 4);
    const int missing = kc_int(env, 0, 2) ? 0 : kc_int(env, 0, 15);
    float *x = malloc((size_t)(rows * n) * sizeof *x);
    uint8_t *q = kc_buffer_end((size_t)rows * q_bytes);
    float *s = kc_buffer_end((size_t)count * sizeof *s), *ref = malloc((size_t)count * sizeof *ref);
    struct qr_attn_qk_args a = { .q = q,
                                 .k_stride = t->stride,
                                 .s = s,
                                 .n_rows = rows,
                                 .head_size = n,
                                 .next_l2 = kc_int(env, 0, 1),
                                 .k_scale_stride = t->scale_stride };
    kc_fill_normal(env, x, (size_t)(rows * n), 1);
    for (int r = 0; r < rows; r++)
        qr_attn_quantize_q_int4_generic(q + (size_t)r * q_bytes, x + r * n, (size_t)n);
    for (int c = 0; c < QR_TILE_COLUMNS; c++) {
        a.k[c] = missing >> c & 1 ? NULL : t->data[c];
        a.k_scale[c] = missing >> c & 1 ? NULL : t->scale[c];
    }
    fn(&a);
    a.s = ref;
    qr_attn_qk_int4_generic(&a);
    for (int i = 0; i < count && !env->failures; i++) {
        const int r = i / KEYS, key = i % KEYS;
        double want = 0, sum = 0;
        if (missing >> (key / COLUMN) & 1)
            continue;
        for (int d = 0; d < n; d++) {
            const uint8_t *row = q + (size_t)r * q_bytes;
            const double y =
                (int8_t)row[d] * (double)f32_at(row + n + d / GROUP * 4) * value_at(t, key, d);
            want += y;
            sum += fabs(y);
        }
        const double ratio = fabs(s[i] - want) / (8 * 0x1p-24 * sum + 1e-37);
        env->worst = ratio > env->worst ? ratio : env->worst;
        if (ratio > 1 || memcmp(&s[i], &ref[i], sizeof *s) != 0)
            kc_fail(env, "rows %d head_size %d: s[%d][%d] = %a, not %a (generic %a)", rows, n, r,
                    key, (double)s[i], want, (double)ref[i]);
    }
    if (!env->failures && !kc_intact(s))
        kc_fail(env, "rows %d head_size %d: wrote outside s", rows, n);
    free(x), free(ref), free(t);
    kc_release();
}

void attn_check_qk_int4(struct kc_env *env, kc_fn fn)
{
    for (int i = 0; i < env->rounds && !env->failures; i++)
        check_qk_once(env, (qk_fn *)fn);
}

/* ---- weighted values */

/* What row r adds to value d: the weights of a group are rounded to multiples of a 255th of the
 * largest. *bound: of the error of f32. */
static double weighted(const struct tile *t, const float *p, uint64_t visible, int d, double *bound)
{
    double w[KEYS], most = 0, sum = 0;
    for (int key = 0; key < KEYS; key++) {
        const float x = p[key] * t->scales[key * (t->n / GROUP) + d / GROUP];
        w[key] = visible >> key & 1 ? (double)x : 0;
        most = fmax(most, w[key]);
    }
    for (int key = 0; key < KEYS && most > 0; key++) {
        const float code = rintf((float)w[key] * (255 / (float)most));
        sum += (double)code * t->levels[key * t->n + d];
    }
    *bound = 4 * 0x1p-24 * fabs(sum * most / 255);
    return sum * most / 255;
}

static void check_pv_once(struct kc_env *env, pv_fn *fn)
{
    struct tile *t = make_tile(env, true);
    const int n = t->n, rows = kc_int(env, 1, MAX_ROWS), count = rows * n;
    float *p = kc_buffer_end((size_t)(rows * KEYS) * sizeof *p);
    float *o = kc_buffer_end((size_t)count * sizeof *o),
          *start = malloc((size_t)count * sizeof *start),
          *ref = malloc((size_t)count * sizeof *ref);
    uint64_t visible[MAX_ROWS], any = 0;
    struct qr_attn_pv_args a = { .p = p,
                                 .v_stride = t->stride,
                                 .o = o,
                                 .visible = visible,
                                 .o_stride = (size_t)n,
                                 .n_rows = rows,
                                 .v_head_size = n,
                                 .next_l2 = kc_int(env, 0, 1),
                                 .v_scale_stride = t->scale_stride };
    for (int r = 0; r < rows; r++)
        any |= visible[r] = kc_int(env, 0, 1) ? UINT64_MAX : attn_random_visible(env);
    for (int i = 0; i < rows * KEYS; i++)
        p[i] = visible[i / KEYS] >> (i % KEYS) & 1 ? expf(4 * kc_normal(env)) : NAN;
    for (int c = 0; c < QR_TILE_COLUMNS; c++) {
        const bool seen = any >> (c * COLUMN) & 0xffff;
        a.v[c] = seen ? t->data[c] : NULL;
        a.v_scale[c] = seen ? t->scale[c] : NULL;
    }
    kc_fill_normal(env, start, (size_t)count, 1);
    memcpy(o, start, (size_t)count * sizeof *o);
    memcpy(ref, start, (size_t)count * sizeof *o);
    fn(&a);
    a.o = ref;
    qr_attn_pv_int4_generic(&a);
    for (int i = 0; i < count && !env->failures; i++) {
        const int r = i / n, d = i % n;
        double bound;
        const double add = weighted(t, p + r * KEYS, visible[r], d, &bound);
        const double want = (double)start[i] + add,
                     ratio = fabs((double)o[i] - want) / (bound + 0x1p-23 * fabs(want));
        env->worst = ratio > env->worst ? ratio : env->worst;
        if (!(ratio <= 1 || o[i] == start[i]) || memcmp(&o[i], &ref[i], sizeof *o) != 0)
            kc_fail(env, "rows %d v_head_size %d: o[%d][%d] = %a, not %a (generic %a)", rows, n, r,
                    d, (double)o[i], want, (double)ref[i]);
        if (!visible[r] && memcmp(&o[i], &start[i], sizeof *o) != 0)
            kc_fail(env, "row %d sees no key and changed", r);
    }
    if (!env->failures && !kc_intact(o))
        kc_fail(env, "rows %d v_head_size %d: wrote outside o", rows, n);
    free(start), free(ref), free(t);
    kc_release();
}

/* A scale of NaN makes the values of its group NaN, for the rows that see its key only. */
static void check_pv_nan(struct kc_env *env, pv_fn *fn)
{
    struct tile *t = make_tile(env, true);
    const int n = t->n, key = kc_int(env, 0, KEYS - 1), group = kc_int(env, 0, n / GROUP - 1);
    const uint64_t visible[2] = { UINT64_MAX, ~(1ull << key) };
    float p[2 * KEYS], o[2 * 192] = { 0 };
    const uint16_t nan_bits = 0x7fc0;
    struct qr_attn_pv_args a = { .p = p,
                                 .v_stride = t->stride,
                                 .o = o,
                                 .visible = visible,
                                 .o_stride = (size_t)n,
                                 .n_rows = 2,
                                 .v_head_size = n,
                                 .v_scale_stride = t->scale_stride };
    for (int i = 0; i < 2 * KEYS; i++)
        p[i] = 1;
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        a.v[c] = t->data[c], a.v_scale[c] = t->scale[c];
    memcpy((uint8_t *)(uintptr_t)t->scale[key / COLUMN] + (size_t)group * t->scale_stride +
               (size_t)(key % COLUMN) * 2,
           &nan_bits, sizeof nan_bits);
    fn(&a);
    for (int i = 0; i < 2 * n && !env->failures; i++)
        if ((isnan(o[i]) != 0) != (i < n && i / GROUP == group))
            kc_fail(env, "NaN of group %d: o[%d][%d] = %a", group, i / n, i % n, (double)o[i]);
    free(t);
    kc_release();
}

void attn_check_pv_int4(struct kc_env *env, kc_fn fn)
{
    for (int i = 0; i < env->rounds && !env->failures; i++) {
        check_pv_once(env, (pv_fn *)fn);
        if (!env->failures)
            check_pv_nan(env, (pv_fn *)fn);
    }
}

/* ---- dequantization */

void attn_check_unpack_int4(struct kc_env *env, kc_fn fn)
{
    for (int round = 0; round < env->rounds && !env->failures; round++) {
        const bool v = round % 2;
        struct tile *t = make_tile(env, v);
        const int n = t->n, lines = v ? COLUMN / 2 : n / 2, width = v ? n * 2 : COLUMN * 2;
        const size_t stride = (size_t)width + (kc_int(env, 0, 1) ? 96 : 0);
        uint16_t *dst = kc_buffer_end(((size_t)(lines - 1) * stride + (size_t)width) * sizeof *dst);
        const struct qr_attn_unpack_int4_args a = { .src = t->data[0],
                                                    .scale = t->scale[0],
                                                    .dst = dst,
                                                    .src_stride = t->stride,
                                                    .scale_stride = t->scale_stride,
                                                    .dst_stride = stride,
                                                    .n_values = n,
                                                    .v = v };
        ((unpack_fn *)fn)(&a);
        for (int i = 0; i < COLUMN * n && !env->failures; i++) {
            const int key = i / n, d = i % n, line = v ? key / 2 : d / 2;
            const int at = v ? d * 2 + key % 2 : key * 2 + d % 2;
            const double got = (double)kc_bf16_value(dst[(size_t)line * stride + (size_t)at]);
            if (got != value_at(t, key, d))
                kc_fail(env, "value %d of key %d became %a, not %a", d, key, got,
                        value_at(t, key, d));
        }
        if (!env->failures && !kc_intact(dst))
            kc_fail(env, "wrote outside dst");
        free(t);
        kc_release();
    }
}
