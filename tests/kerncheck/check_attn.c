/* SPDX-License-Identifier: Apache-2.0 */
/* check_attn.c - attention tiles: Q K^T scores and P V against sums in double, transposed
 * tiles element by element.
 *
 * Every level adds in the same order, so its bits are also compared with those of the generic
 * level; avx512_amx, which does not, with a reference of its own order. */
#include "check_attn.h"
#include "amx_order.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void qk_fn(const struct qr_attn_qk_args *a);
typedef void pv_fn(const struct qr_attn_pv_args *a);

enum { KEYS = QR_TILE_KEYS, COLUMN = QR_COLUMN_KEYS, MAX_ROWS = 40 };
static const float poison = NAN;

/* Element type of a kernel, and the layout of its columns. */
struct type {
    const char *name;
    size_t bytes; /* per element */
    int depth;    /* adjacent elements of one step */
    bool native;  /* queries and weights are bf16 */
};

static struct type type_of(const char *kernel)
{
    const char *s = strrchr(kernel, '_') + 1;
    if (strcmp(s, "native") == 0)
        return (struct type){ "bf16", 2, 2, true };
    if (strcmp(s, "bf16") == 0)
        return (struct type){ "bf16", 2, 2, false };
    return strcmp(s, "f16") == 0 ? (struct type){ "f16", 2, 1, false }
                                 : (struct type){ "f32", 4, 1, false };
}

/* Rounds x to the type and stores it at p; returns the stored value. */
static float put(struct type t, uint8_t *p, float x)
{
    uint16_t h = 0;
    if (t.name[0] == 'f' && t.bytes == 4) {
        memcpy(p, &x, sizeof x);
        return x;
    }
    h = t.depth == 2 ? kc_bf16_bits(x) : kc_f16_bits(x);
    memcpy(p, &h, sizeof h);
    return t.depth == 2 ? kc_bf16_value(h) : kc_f16_value(h);
}

/* A column of 16 keys that ends at a guard page: `wide` elements across, `deep` along its steps. */
struct column {
    uint8_t *data;
    size_t stride;
    bool plain;
};

static struct column make_column(struct type t, bool plain, size_t stride, int wide, int deep)
{
    const int steps = plain ? deep : deep / t.depth;
    const size_t step_bytes = (size_t)wide * t.bytes * (size_t)(plain ? 1 : t.depth);
    struct column c = { NULL, stride, plain };
    c.data = kc_buffer_end((size_t)(steps - 1) * stride + step_bytes);
    return c;
}

static uint8_t *column_at(struct type t, const struct column *c, int wide, int deep)
{
    const int depth = c->plain ? 1 : t.depth;
    return c->data + (size_t)(deep / depth) * c->stride +
           (size_t)(wide * depth + deep % depth) * t.bytes;
}

/* Head sizes of packed columns; at the generic level also those of plain rows. */
static int pick_size(struct kc_env *env)
{
    static const int usual[] = { 8, 16, 24, 40, 64, 72, 80, 96, 112, 128, 192, 256, 512, 576 };
    if (strcmp(env->level, "generic") == 0 && kc_int(env, 0, 2) == 0)
        return kc_int(env, 1, 90);
    return usual[kc_int(env, 0, kc_int(env, 0, 9) ? 10 : 13)];
}

/* Rows of queries or weights, rounded to bf16 for native kernels; `values`: as f32. */
static void *make_rows(struct kc_env *env, struct type t, int rows, int n, float amplitude,
                       float *values)
{
    const size_t count = (size_t)rows * (size_t)n;
    float *f = kc_buffer_end(count * sizeof *f);
    uint16_t *h = kc_buffer_end(count * sizeof *h);
    for (size_t i = 0; i < count; i++) {
        f[i] = kc_normal(env) * amplitude;
        h[i] = kc_bf16_bits(f[i]);
        values[i] = t.native ? kc_bf16_value(h[i]) : f[i];
    }
    return t.native ? (void *)h : (void *)f;
}

/* The products of the small amplitude are subnormal. */
static float pick_amplitude(struct kc_env *env) { return kc_int(env, 0, 3) ? 1 : 1e-19f; }

/* At avx512_amx zeros may differ in sign, which depends on the zeros that pad the operands. */
static bool same_bits(const struct kc_env *env, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a) != 0 && !(kc_is_amx(env) && a[i] == 0 && b[i] == 0))
            return false;
    return true;
}

/* |got - want| against the bound of a sum of n products whose magnitudes add up to sum. */
static bool close_enough(struct kc_env *env, double got, double want, double sum, int n)
{
    const double bound = 2.0 * (n + 1) * (0x1p-24 * sum + 0x1p-126),
                 ratio = fabs(got - want) / bound;
    if (ratio > env->worst)
        env->worst = ratio;
    return ratio <= 1;
}

/* ---- scores */

static qk_fn *generic_qk(struct type t)
{
    if (t.native)
        return qr_attn_qk_bf16_native_generic;
    if (t.depth == 2)
        return qr_attn_qk_bf16_generic;
    return t.bytes == 2 ? qr_attn_qk_f16_generic : qr_attn_qk_f32_generic;
}

static void check_qk_once(struct kc_env *env, qk_fn *fn)
{
    const struct type t = type_of(env->kernel);
    const int n = pick_size(env), rows = kc_int(env, 1, MAX_ROWS);
    const bool plain = n % 8 != 0;
    const size_t stride =
        plain ? (size_t)n * t.bytes
              : (size_t)(kc_int(env, 0, 1) ? COLUMN : KEYS) * t.bytes * (size_t)t.depth;
    float *q = malloc((size_t)(rows * n) * sizeof *q), *k = malloc((size_t)(KEYS * n) * sizeof *k);
    float *s = kc_buffer_end((size_t)(rows * KEYS) * sizeof *s),
          *ref = malloc((size_t)(rows * KEYS) * sizeof *ref);
    struct qr_attn_qk_args a = { .k_stride = stride, .s = s, .n_rows = rows, .head_size = n };
    a.next_l2 = kc_int(env, 0, 1);
    const float amplitude = pick_amplitude(env);
    a.q = make_rows(env, t, rows, n, amplitude, q);
    for (int c = 0; c < QR_TILE_COLUMNS; c++) {
        if (kc_int(env, 0, 4) == 0)
            continue;
        const struct column col = plain ? make_column(t, true, stride, n, COLUMN)
                                        : make_column(t, false, stride, COLUMN, n);
        for (int j = 0; j < COLUMN; j++)
            for (int d = 0; d < n; d++)
                k[(c * COLUMN + j) * n + d] =
                    put(t, plain ? column_at(t, &col, d, j) : column_at(t, &col, j, d),
                        kc_normal(env) * amplitude);
        a.k[c] = col.data;
    }
    for (int i = 0; i < rows * KEYS; i++)
        s[i] = ref[i] = 12345;
    fn(&a);
    a.s = ref;
    generic_qk(t)(&a);
    for (int i = 0; i < rows * KEYS && t.native && kc_is_amx(env); i++)
        if (a.k[i % KEYS / COLUMN])
            ref[i] = kc_amx_dot(0, q + i / KEYS * n, 1, k + i % KEYS * n, 1, n, NULL);
    for (int i = 0; i < rows * KEYS && !env->failures; i++) {
        const int r = i / KEYS, j = i % KEYS;
        double want = 0, sum = 0;
        for (int d = 0; d < n && a.k[j / COLUMN]; d++) {
            want += (double)q[r * n + d] * (double)k[j * n + d];
            sum += fabs((double)q[r * n + d] * (double)k[j * n + d]);
        }
        if (a.k[j / COLUMN] ? !close_enough(env, s[i], want, sum, n) : s[i] != 12345)
            kc_fail(env, "rows %d head_size %d: s[%d][%d] = %g, not %g", rows, n, r, j,
                    (double)s[i], want);
    }
    if (!env->failures && (!same_bits(env, s, ref, (size_t)(rows * KEYS)) || !kc_intact(s)))
        kc_fail(env, "rows %d head_size %d: unexpected bits, or wrote outside s", rows, n);
    free(q), free(k), free(ref);
    kc_release();
}

static void check_qk(struct kc_env *env, kc_fn fn)
{
    for (int i = 0; i < env->rounds && !env->failures; i++)
        check_qk_once(env, (qk_fn *)fn);
}

/* ---- P V */

static pv_fn *generic_pv(struct type t)
{
    if (t.native)
        return qr_attn_pv_bf16_native_generic;
    if (t.depth == 2)
        return qr_attn_pv_bf16_generic;
    return t.bytes == 2 ? qr_attn_pv_f16_generic : qr_attn_pv_f32_generic;
}

uint64_t attn_random_visible(struct kc_env *env)
{
    const int lo = kc_int(env, 0, 63), hi = kc_int(env, lo, 64);
    const uint64_t range =
        (hi < 64 ? ((uint64_t)1 << hi) - 1 : ~(uint64_t)0) & (~(uint64_t)0 << lo);
    switch (kc_int(env, 0, 7)) {
    case 0:
        return 0;
    case 1:
        return range;
    case 2: /* holes, as in a tree of draft tokens */
        return (uint64_t)kc_u32(env) << 32 | kc_u32(env);
    case 3:
        return hi < 64 ? ((uint64_t)1 << hi) - 1 : ~(uint64_t)0;
    default:
        return ~(uint64_t)0;
    }
}

/* Columns are separate or, as in blocks of 64 tokens, adjacent. One value may be infinite; it must
 * not affect rows that do not see its key. */
static void make_values(struct kc_env *env, struct type t, struct qr_attn_pv_args *a, bool plain,
                        int width, uint64_t any, float *v)
{
    const float amplitude = pick_amplitude(env);
    const bool together = kc_int(env, 0, 1);
    const int infinite = kc_int(env, 0, 3) ? -1 : kc_int(env, 0, KEYS * width - 1);
    const struct column whole = make_column(t, plain, a->v_stride, width, together ? KEYS : COLUMN);
    for (int c = 0; c < QR_TILE_COLUMNS; c++) {
        if (!(any >> (c * COLUMN) & 0xffff) && kc_int(env, 0, 1))
            continue;
        struct column col = whole;
        col.data += (size_t)(c * COLUMN / (plain ? 1 : t.depth)) * a->v_stride;
        if (!together)
            col = make_column(t, plain, a->v_stride, width, COLUMN);
        for (int j = 0; j < COLUMN; j++)
            for (int d = 0; d < width; d++) {
                const int i = (c * COLUMN + j) * width + d;
                const bool used = any >> (c * COLUMN + j) & 1 && d < a->v_head_size;
                const float x = i == infinite ? INFINITY : kc_normal(env) * amplitude;
                v[i] = put(t, column_at(t, &col, d, j), used ? x : poison);
            }
        a->v[c] = col.data;
    }
}

/* Checks sum i of all rows, which started at `start`: against the sum in double, and its bits. */
static void check_sum(struct kc_env *env, const struct qr_attn_pv_args *a, int i, float got,
                      float start, float bits, const float *p, const float *v)
{
    const int width = (int)a->o_stride, r = i / width, d = i % width;
    double want = start, sum = fabs(want);
    for (int j = 0; j < KEYS; j++)
        if (a->visible[r] >> j & 1) {
            want += (double)p[r * KEYS + j] * (double)v[j * width + d];
            sum += fabs((double)p[r * KEYS + j] * (double)v[j * width + d]);
        }
    if (!isfinite(want) ? isfinite(got) : !close_enough(env, got, want, sum, KEYS))
        kc_fail(env, "rows %d v_head_size %d visible %llx: o[%d][%d] = %g, not %g", a->n_rows,
                a->v_head_size, (unsigned long long)a->visible[r], r, d, (double)got, want);
    else if (isfinite(want) && !same_bits(env, &got, &bits, 1))
        kc_fail(env, "rows %d v_head_size %d: o[%d][%d] = %a, not %a", a->n_rows, a->v_head_size, r,
                d, (double)got, (double)bits);
}

static void check_pv_once(struct kc_env *env, pv_fn *fn)
{
    const struct type t = type_of(env->kernel);
    const int n = pick_size(env), rows = kc_int(env, 1, MAX_ROWS);
    const bool plain = n % 8 != 0;
    const int width = plain ? n : (n + 15) / 16 * 16;
    const size_t count = (size_t)(rows * width);
    float *p = malloc((size_t)(rows * KEYS) * sizeof *p),
          *v = malloc((size_t)(KEYS * width) * sizeof *v);
    float *o = kc_buffer_end(count * sizeof *o), *ref = malloc(count * sizeof *ref),
          *before = malloc(count * sizeof *before);
    uint64_t *visible = kc_buffer_end((size_t)rows * sizeof *visible), any = 0,
             same = attn_random_visible(env);
    struct qr_attn_pv_args a = {
        .o = o, .visible = visible, .o_stride = (size_t)width, .n_rows = rows, .v_head_size = n
    };
    a.next_l2 = kc_int(env, 0, 1);
    a.v_stride = (size_t)width * t.bytes * (size_t)(plain ? 1 : t.depth);
    const bool alike = kc_int(env, 0, 1);
    for (int r = 0; r < rows; r++)
        any |= visible[r] = alike ? same : attn_random_visible(env);
    a.p = make_rows(env, t, rows, KEYS, pick_amplitude(env), p);
    for (int r = 0; r < rows; r++) /* weights of invisible keys must have no effect either */
        for (int j = 0; j < KEYS; j++)
            if (!(visible[r] >> j & 1)) {
                const size_t at = (size_t)(r * KEYS + j) * (t.native ? 2 : 4);
                const uint32_t nan_bits = 0x7fc07fc0;
                memcpy((uint8_t *)(uintptr_t)a.p + at, &nan_bits, t.native ? 2 : 4);
            }
    make_values(env, t, &a, plain, width, any, v);
    kc_fill_normal(env, before, count, pick_amplitude(env) > 0.5f ? 1 : 1e-38f);
    for (size_t i = 0; i < count && t.native && kc_is_amx(env); i++)
        before[i] =
            fabsf(before[i]) < 0x1p-126f ? 0 : before[i]; /* AMX flushes sums of denormals */
    memcpy(o, before, count * sizeof *o);
    memcpy(ref, before, count * sizeof *o);
    fn(&a);
    a.o = ref;
    generic_pv(t)(&a);
    for (int i = 0; i < rows * width && t.native && kc_is_amx(env); i++)
        if (i % width < n)
            ref[i] = kc_amx_dot(before[i], p + i / width * KEYS, 1, v + i % width, (size_t)width,
                                KEYS, &visible[i / width]);
    for (int i = 0; i < rows * width && !env->failures; i++)
        if (i % width < n)
            check_sum(env, &a, i, o[i], before[i], ref[i], p, v);
    if (!env->failures && !kc_intact(o))
        kc_fail(env, "rows %d v_head_size %d: wrote outside o", rows, n);
    free(p), free(v), free(ref), free(before);
    kc_release();
}

static void check_pv(struct kc_env *env, kc_fn fn)
{
    for (int i = 0; i < env->rounds && !env->failures; i++)
        check_pv_once(env, (pv_fn *)fn);
}

/* ---- V out of K */

/* Every element is distinct and is compared at its destination. */
static void check_transpose_once(struct kc_env *env, kc_fn fn)
{
    const struct type t = type_of(env->kernel);
    const int keys = kc_int(env, 1, 4) * COLUMN, n = kc_int(env, 1, 72) * 8;
    const size_t step = (size_t)t.depth, cell = step * t.bytes;
    struct qr_attn_transpose_args a = { .n_keys = keys, .n_values = n };
    a.src_stride = ((size_t)keys + (size_t)kc_int(env, 0, 1) * 48) * cell;
    a.dst_stride = ((size_t)n + (size_t)kc_int(env, 0, 1) * 8) * cell;
    const size_t src_bytes = ((size_t)n / step - 1) * a.src_stride + (size_t)keys * cell,
                 dst_bytes = ((size_t)keys / step - 1) * a.dst_stride + (size_t)n * cell;
    uint8_t *src = kc_buffer_end(src_bytes), *dst = kc_buffer_end(dst_bytes);
    for (size_t i = 0; i < src_bytes; i += t.bytes) {
        const uint32_t number = (uint32_t)(i / t.bytes) * 2654435761u;
        memcpy(src + i, &number, t.bytes);
    }
    a.src = src;
    a.dst = dst;
    ((void (*)(const struct qr_attn_transpose_args *))fn)(&a);
    for (size_t key = 0; key < (size_t)keys && !env->failures; key++)
        for (size_t d = 0; d < (size_t)n && !env->failures; d++)
            if (memcmp(dst + key / step * a.dst_stride + d * cell + key % step * t.bytes,
                       src + d / step * a.src_stride + key * cell + d % step * t.bytes,
                       t.bytes) != 0)
                kc_fail(env, "%d keys of %d: value %zu of key %zu is wrong", keys, n, d, key);
    for (size_t i = 0; i < dst_bytes && !env->failures; i++)
        if (i % a.dst_stride >= (size_t)n * cell && dst[i] != 0xa5)
            kc_fail(env, "%d keys of %d: wrote between the rows", keys, n);
    if (!env->failures && !kc_intact(dst))
        kc_fail(env, "%d keys of %d: wrote outside dst", keys, n);
    kc_release();
}

static void check_transpose(struct kc_env *env, kc_fn fn)
{
    for (int i = 0; i < env->rounds && !env->failures; i++)
        check_transpose_once(env, fn);
}

const struct kc_checker kc_checkers_attn[] = {
    { "attn_qk_f32", check_qk },
    { "attn_qk_f16", check_qk },
    { "attn_qk_bf16", check_qk },
    { "attn_qk_bf16_native", check_qk },
    { "attn_qk_fp8_e4m3", attn_check_qk_codes },
    { "attn_qk_fp8_e5m2", attn_check_qk_codes },
    { "attn_qk_int8", attn_check_qk_codes },
    { "attn_softmax", attn_check_softmax },
    { "attn_pv_f32", check_pv },
    { "attn_pv_f16", check_pv },
    { "attn_pv_bf16", check_pv },
    { "attn_pv_bf16_native", check_pv },
    { "attn_pv_fp8_e4m3", attn_check_pv_codes },
    { "attn_pv_fp8_e5m2", attn_check_pv_codes },
    { "attn_pv_int8", attn_check_pv_codes },
    { "attn_merge", attn_check_merge },
    { "attn_unpack_fp8_e4m3", attn_check_unpack },
    { "attn_unpack_fp8_e5m2", attn_check_unpack },
    { "attn_unpack_int8", attn_check_unpack },
    { "attn_quantize_q_int4", attn_check_quantize_q_int4 },
    { "attn_qk_int4", attn_check_qk_int4 },
    { "attn_pv_int4", attn_check_pv_int4 },
    { "attn_unpack_int4", attn_check_unpack_int4 },
    { "attn_transpose_f32", check_transpose },
    { "attn_transpose_f16", check_transpose },
    { "attn_transpose_bf16", check_transpose },
    { NULL, NULL },
};
