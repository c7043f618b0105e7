/* SPDX-License-Identifier: Apache-2.0 */
/* check_attn_codes.c - attention over 8-bit codes: dequantized cells against the values of the
 * codes, scores and weighted values against sums in double, and their bits against those of the
 * generic level or, for avx512_amx, a reference of its own order. */
#include "amx_order.h"
#include "check_attn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void qk_fn(const struct qr_attn_qk_args *a);
typedef void pv_fn(const struct qr_attn_pv_args *a);
typedef void unpack_fn(const struct qr_attn_unpack_args *a);

enum { KEYS = QR_TILE_KEYS, COLUMN = QR_COLUMN_KEYS, MAX_ROWS = 2 * QR_CODES_ROWS + 2 };

/* Offset of element (wide, deep) in a step of cells. */
static size_t in_cells(bool int8, int wide, int deep)
{
    return (size_t)(int8 ? wide * 4 + deep
                         : wide / 16 * 64 + wide % 16 / 4 * 16 + deep / 2 * 8 + wide % 4 * 2 +
                               deep % 2);
}

void attn_check_unpack(struct kc_env *env, kc_fn fn)
{
    const bool e5m2 = strstr(env->kernel, "e5m2") != NULL;
    const bool int8 = strstr(env->kernel, "int8") != NULL;
    for (int round = 0; round < env->rounds && !env->failures; round++) {
        const int steps = kc_int(env, 1, 9), cells = kc_int(env, 1, 9);
        const size_t src_stride = (size_t)cells * 64 + (size_t)kc_int(env, 0, 1) * 192,
                     dst_stride = (size_t)cells * 32;
        uint8_t *src = kc_buffer_end((size_t)(steps - 1) * src_stride + (size_t)cells * 64);
        uint16_t *dst = kc_buffer_end((size_t)steps * 2 * dst_stride * sizeof *dst);
        for (size_t i = 0; i < (size_t)(steps - 1) * src_stride + (size_t)cells * 64; i++)
            src[i] = (uint8_t)(i + kc_u32(env) % 3); /* all codes occur */
        ((unpack_fn *)fn)(
            &(struct qr_attn_unpack_args){ src, dst, src_stride, dst_stride, steps, cells });
        for (int i = 0; i < steps * cells * 64 && !env->failures; i++) {
            const int step = i / (cells * 64), wide = i % (cells * 64) / 4,
                      deep = i % 4; /* element of the cell row */
            const uint8_t code = src[(size_t)step * src_stride + in_cells(int8, wide, deep)];
            const float got = kc_bf16_value(
                dst[(size_t)(2 * step + deep / 2) * dst_stride + (size_t)(wide * 2 + deep % 2)]);
            const float want = int8 ? (float)(int8_t)code : kc_fp8_value(code, e5m2);
            if (isnan(want) ? !isnan(got) : memcmp(&got, &want, sizeof got) != 0)
                kc_fail(env, "code %02x became %a, not %a", code, (double)got, (double)want);
        }
        if (!env->failures && !kc_intact(dst))
            kc_fail(env, "wrote outside dst");
        kc_release();
    }
}

/* ---- scores and weighted values of whole tiles */

struct type {
    bool int8, e5m2;
};

static struct type type_of(const char *kernel)
{
    return (struct type){ strstr(kernel, "int8") != NULL, strstr(kernel, "e5m2") != NULL };
}

static float value_of(struct type t, uint8_t code)
{
    return t.int8 ? (float)(int8_t)code : kc_fp8_value(code, t.e5m2);
}

static uint8_t finite_code(struct kc_env *env, struct type t)
{
    uint8_t code;
    do
        code = (uint8_t)kc_u32(env);
    while (!isfinite(value_of(t, code)));
    return code;
}

/* Codes of a column, `wide` elements across and `deep` along its steps, that ends at a guard page.
 * Their values are stored at values[deep * value_stride + wide]. */
static uint8_t *make_column(struct kc_env *env, struct type t, size_t stride, int wide, int deep,
                            float *values, size_t value_stride)
{
    const size_t step_bytes = (size_t)wide * 4;
    uint8_t *data = kc_buffer_end((size_t)(deep / 4 - 1) * stride + step_bytes);
    for (int d = 0; d < deep; d++)
        for (int w = 0; w < wide; w++) {
            const uint8_t code = finite_code(env, t);
            data[(size_t)(d / 4) * stride + in_cells(t.int8, w, d % 4)] = code;
            values[(size_t)d * value_stride + (size_t)w] = value_of(t, code);
        }
    return data;
}

/* bf16 rows that end at a guard page, and their values. */
static uint16_t *make_rows(struct kc_env *env, int count, float *values)
{
    uint16_t *rows = kc_buffer_end((size_t)count * sizeof *rows);
    const float amplitude = kc_int(env, 0, 3) ? 1 : 1e-37f; /* subnormals count as zero */
    for (int i = 0; i < count; i++) {
        rows[i] = kc_bf16_bits(kc_normal(env) * amplitude);
        values[i] = kc_bf16_value(rows[i]);
    }
    return rows;
}

/* Whether `got` is `start` plus the sum of a[i] * b[i * b_step], and has the bits of `generic`, the
 * result of the generic kernel or of the reference. */
static bool is_sum(struct kc_env *env, float got, float generic, float start, const float *a,
                   const float *b, size_t b_step, int n)
{
    double want = start, sum = fabs(want), flushed = 0;
    for (int i = 0; i < n; i++) {
        const double product = (double)a[i] * (double)b[(size_t)i * b_step];
        want += product;
        sum += fabs(product);
        flushed += fabs((double)b[(size_t)i * b_step]);
    }
    /* denormal factors and partial sums are flushed */
    const double bound = 2.0 * (n + 1) * (0x1p-24 * sum + 0x1p-126) + 0x1p-126 * flushed;
    const double ratio = fabs(got - want) / bound;
    env->worst = ratio > env->worst ? ratio : env->worst;
    return ratio <= 1 && memcmp(&got, &generic, sizeof got) == 0;
}

static void check_qk_once(struct kc_env *env, qk_fn *fn)
{
    const struct type t = type_of(env->kernel);
    const int n = 8 * kc_int(env, 1, 24), rows = kc_int(env, 1, MAX_ROWS), count = rows * KEYS;
    float *q = malloc((size_t)(rows * n) * sizeof *q), *k = malloc((size_t)(n * KEYS) * sizeof *k);
    float *s = kc_buffer_end((size_t)count * sizeof *s), *ref = malloc((size_t)count * sizeof *ref);
    struct qr_attn_qk_args a = { .s = s, .n_rows = rows, .head_size = n };
    a.q = make_rows(env, rows * n, q);
    a.k_stride = kc_int(env, 0, 1) ? COLUMN * 4 : KEYS * 4;
    a.next_l2 = kc_int(env, 0, 1);
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        a.k[c] = make_column(env, t, a.k_stride, COLUMN, n, k + c * COLUMN, KEYS);
    fn(&a);
    a.s = ref;
    (t.int8   ? qr_attn_qk_int8_generic
     : t.e5m2 ? qr_attn_qk_fp8_e5m2_generic
              : qr_attn_qk_fp8_e4m3_generic)(&a);
    for (int i = 0; i < count && kc_is_amx(env); i++)
        ref[i] = kc_amx_dot(0, q + i / KEYS * n, 1, k + i % KEYS, KEYS, n, NULL);
    for (int i = 0; i < count && !env->failures; i++)
        if (!is_sum(env, s[i], ref[i], 0, q + i / KEYS * n, k + i % KEYS, KEYS, n))
            kc_fail(env, "rows %d head_size %d: s[%d][%d] = %a, not %a", rows, n, i / KEYS,
                    i % KEYS, (double)s[i], (double)ref[i]);
    if (!env->failures && !kc_intact(s))
        kc_fail(env, "rows %d head_size %d: wrote outside s", rows, n);
    free(q), free(k), free(ref);
    kc_release();
}

void attn_check_qk_codes(struct kc_env *env, kc_fn fn)
{
    for (int i = 0; i < env->rounds && !env->failures; i++)
        check_qk_once(env, (qk_fn *)fn);
}

static void check_pv_once(struct kc_env *env, pv_fn *fn)
{
    const struct type t = type_of(env->kernel);
    const int n = 8 * kc_int(env, 1, 24), width = (n + 15) / 16 * 16,
              rows = kc_int(env, 1, MAX_ROWS), count = rows * width;
    float *p = malloc((size_t)(rows * KEYS) * sizeof *p),
          *v = malloc((size_t)(KEYS * width) * sizeof *v);
    float *o = kc_buffer_end((size_t)count * sizeof *o),
          *start = malloc((size_t)count * sizeof *start),
          *ref = malloc((size_t)count * sizeof *ref);
    uint64_t visible[MAX_ROWS];
    struct qr_attn_pv_args a = {
        .o = o, .visible = visible, .o_stride = (size_t)width, .n_rows = rows, .v_head_size = n
    };
    memset(visible, 0xff, sizeof visible);
    a.p = make_rows(env, rows * KEYS, p);
    a.v_stride = (size_t)width * 4;
    a.next_l2 = kc_int(env, 0, 1);
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        a.v[c] =
            make_column(env, t, a.v_stride, width, COLUMN, v + c * COLUMN * width, (size_t)width);
    kc_fill_normal(env, start, (size_t)count, 1);
    memcpy(o, start, (size_t)count * sizeof *o);
    memcpy(ref, start, (size_t)count * sizeof *o);
    fn(&a);
    a.o = ref;
    (t.int8   ? qr_attn_pv_int8_generic
     : t.e5m2 ? qr_attn_pv_fp8_e5m2_generic
              : qr_attn_pv_fp8_e4m3_generic)(&a);
    for (int i = 0; i < count && kc_is_amx(env); i++)
        if (i % width < n)
            ref[i] = kc_amx_dot(start[i], p + i / width * KEYS, 1, v + i % width, (size_t)width,
                                KEYS, NULL);
    for (int i = 0; i < count && !env->failures; i++) {
        const int r = i / width, d = i % width;
        if (d < n && !is_sum(env, o[i], ref[i], start[i], p + r * KEYS, v + d, (size_t)width, KEYS))
            kc_fail(env, "rows %d v_head_size %d: o[%d][%d] = %a, not %a", rows, n, r, d,
                    (double)o[i], (double)ref[i]);
    }
    if (!env->failures && !kc_intact(o))
        kc_fail(env, "rows %d v_head_size %d: wrote outside o", rows, n);
    free(p), free(v), free(start), free(ref);
    kc_release();
}

void attn_check_pv_codes(struct kc_env *env, kc_fn fn)
{
    for (int i = 0; i < env->rounds && !env->failures; i++)
        check_pv_once(env, (pv_fn *)fn);
}
