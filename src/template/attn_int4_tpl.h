/* SPDX-License-Identifier: Apache-2.0 */
/* attn_int4_tpl.h - attention over int4 tiles with integer products, over vec_*.h.
 *
 * Needs a vec_*.h, int4_dot.h and QR_ISA. A group of 32 values is four steps of K, whose lanes are
 * tokens, and a cell of 64 bytes of each token quad of V, whose lanes are values. The low codes of
 * a byte are values 0 .. 15 of the group, the high codes values 16 .. 31. */
#include "simd/prefetch.h"
#include "template/common_tpl.h"
#include "template/int4_level_tpl.h"
#include <math.h>
#include <string.h>

enum {
    I4_GROUP = QR_INT4_GROUP,
    I4_CELL = 64,          /* bytes */
    I4_VECS = 16 / VF32_N, /* vectors of 16 lanes */
    I4_BYTES = 4 * VF32_N, /* of a vector */
    I4_ROWS = QR_INSTRUMENTED || VF32_N < 8 ? 2 : 4,
    /* rows that heed next_l2: more than one tile takes longer than the memory */
    I4_L2_ROWS = QR_INSTRUMENTED || VF32_N < 8 ? 0 : KV_FEW_ROWS,
    I4_AHEAD = 4, /* groups of values whose weights are rounded before their products */
    I4_COLUMNS = QR_INSTRUMENTED || VF32_N < 16 ? 1 : 4, /* of a register tile of K */
};

/* bits of floats: infinity, and the least maximum of a group that is not taken for 0 */
enum { I4_INF = 0x7f800000, I4_TINY = 0x0d800000 };

static const uint8_t I4_LEVELS[16] = QR_INT4_LEVELS;
static const int8_t I4_SIGNED_LEVELS[16] = QR_INT4_SIGNED_LEVELS;

QR_INLINE vi32 i4_quad_at(const void *p)
{
    int32_t x;
    memcpy(&x, p, sizeof x);
    return vi32_set1(x);
}

QR_INLINE float i4_f32_at(const uint8_t *p)
{
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* ---- queries */

void QR_KERNEL(attn_quantize_q_int4)(uint8_t *dst, const float *src, size_t n)
{
    const float round = 0x1.8p23f; /* rounds to nearest even, into the lowest bits of the sum */
    for (size_t g = 0; g < n / I4_GROUP; g++) {
        const float *x = src + g * I4_GROUP;
        uint32_t bits[I4_GROUP], max = 0;
        float amax, scale = NAN, inverse = 0;
        int8_t codes[I4_GROUP];
        int32_t sum = 0;
        memcpy(bits, x, sizeof bits);
        for (int i = 0; i < I4_GROUP; i++)
            max = (bits[i] & 0x7fffffff) > max ? bits[i] & 0x7fffffff : max;
        memcpy(&amax, &max, sizeof amax);
        memset(codes, 0, sizeof codes);
        if (max < 0x7f800000)
            scale = amax < 0x1p-100f ? 0 : amax / 127;
        if (scale > 0) {
            inverse = 127 / amax;
            for (int i = 0; i < I4_GROUP; i++) {
                const float y = x[i] * inverse + round;
                int32_t c;
                memcpy(&c, &y, sizeof c);
                codes[i] = (int8_t)(c & 0xff);
                sum += codes[i];
            }
        }
        const int32_t offset = -QR_INT4_BIAS * sum;
        memcpy(dst + g * I4_GROUP, codes, sizeof codes);
        memcpy(dst + n + g * sizeof scale, &scale, sizeof scale);
        memcpy(dst + n + (n / I4_GROUP + g) * sizeof offset, &offset, sizeof offset);
    }
}

/* ---- scores */

/* Adds the products of step i of a group to the sums of the columns from c on. The group's codes of
 * queries are at `code`, those of a column of keys from byte `at` on. */
QR_INLINE void i4_qk_step(const struct qr_attn_qk_args *a, const uint8_t *code, size_t at, int i,
                          int c, int rows, int columns, struct kv_ahead next,
                          int4_sum sum[I4_ROWS][I4_COLUMNS * I4_VECS])
{
    const size_t q_stride = qr_int4_query_bytes((size_t)a->head_size);
    const int4_table levels = int4_levels(I4_LEVELS);
    code += i * 4;
    QR_UNROLL_8 (int u = 0; u < columns; u++) {
        const uint8_t *k = (const uint8_t *)a->k[c + u] + at + (size_t)i * a->k_stride;
        prefetch_kv_line(next, (i * columns + u) * I4_CELL);
        QR_UNROLL_8 (int v = 0; v < I4_VECS; v++) {
            const vi32 bytes = vi32_load(k + v * I4_BYTES);
            const vi32 low = int4_low(levels, bytes), high = int4_high(levels, bytes);
            QR_UNROLL_8 (int r = 0; r < rows; r++) {
                int4_sum *to = &sum[r][u * I4_VECS + v];
                *to = int4_add_q(*to, low, i4_quad_at(code + (size_t)r * q_stride), high,
                                 i4_quad_at(code + (size_t)r * q_stride + 16));
            }
        }
    }
}

/* Adds the products of group g to the scores of `rows` rows and `columns` columns from c on. */
QR_INLINE void i4_qk_group(const struct qr_attn_qk_args *a, const uint8_t *q, float *s, size_t g,
                           int c, int rows, int columns, struct kv_ahead next)
{
    const size_t n = (size_t)a->head_size, q_stride = qr_int4_query_bytes(n);
    int4_sum sum[I4_ROWS][I4_COLUMNS * I4_VECS];
    QR_UNROLL_8 (int r = 0; r < rows; r++) {
        QR_UNROLL_8 (int v = 0; v < columns * I4_VECS; v++)
            sum[r][v] = int4_zero();
    }
    const uint8_t *code = q + g * I4_GROUP;
    const size_t at = g * 4 * a->k_stride;
    if (I4_COLUMNS > 1) /* unrolled, the sums of several columns would not stay in registers */
        QR_ROLLED (int i = 0; i < 4; i++)
            i4_qk_step(a, code, at, i, c, rows, columns, next, sum);
    else
        QR_UNROLL_8 (int i = 0; i < 4; i++)
            i4_qk_step(a, code, at, i, c, rows, columns, next, sum);
    QR_UNROLL_8 (int u = 0; u < columns; u++) {
        const uint8_t *scales = (const uint8_t *)a->k_scale[c + u] + g * a->k_scale_stride;
        QR_UNROLL_8 (int v = 0; v < I4_VECS; v++) {
            const vf32 k_scale =
                vf32_load_bf16((const uint16_t *)(const void *)scales + v * VF32_N);
            QR_UNROLL_8 (int r = 0; r < rows; r++) {
                const uint8_t *scale = q + (size_t)r * q_stride + n + g * sizeof(float);
                const vi32 offset = i4_quad_at(scale + n / I4_GROUP * sizeof(float));
                const vf32 f = vf32_mul(vf32_set1(i4_f32_at(scale)), k_scale);
                float *to = s + r * QR_TILE_KEYS + (c + u) * QR_COLUMN_KEYS + v * VF32_N;
                const vf32 old = g ? vf32_load(to) : vf32_zero();
                const vi32 total = vi32_add(int4_sum_q(sum[r][u * I4_VECS + v]), offset);
                vf32_store(to, vf32_fma(vf32_from_i32(total), f, old));
            }
        }
    }
}

QR_INLINE void i4_qk_rows(const struct qr_attn_qk_args *a, size_t row, int rows, bool l2)
{
    const size_t n = (size_t)a->head_size, groups = n / I4_GROUP;
    const uint8_t *q = (const uint8_t *)a->q + row * qr_int4_query_bytes(n);
    struct kv_ahead next = { a->next ? a->next : q, l2 };
    const size_t column_bytes = a->next ? 4 * I4_CELL : 0,
                 group_bytes = QR_TILE_COLUMNS * column_bytes;
    float *s = a->s + row * QR_TILE_KEYS;
    const bool all = a->k[0] && a->k[1] && a->k[2] && a->k[3];
    if ((int)I4_COLUMNS == (int)QR_TILE_COLUMNS && all) {
        for (size_t g = 0; g < groups; g++, next.at += group_bytes)
            i4_qk_group(a, q, s, g, 0, rows, I4_COLUMNS, next);
        return;
    }
    for (int c = 0; c < QR_TILE_COLUMNS; c++, next.at += column_bytes) {
        struct kv_ahead column = next;
        for (size_t g = 0; a->k[c] && g < groups; g++, column.at += group_bytes)
            i4_qk_group(a, q, s, g, c, rows, 1, column);
    }
}

/* Rows of the next register tile when `left` rows remain, which are divided evenly. */
QR_INLINE int i4_share(int left)
{
    const int tiles = (left + I4_ROWS - 1) / I4_ROWS;
    return (left + tiles - 1) / tiles;
}

#define I4_CASE(fn, n)                                                                             \
    case n:                                                                                        \
        if (n <= I4_L2_ROWS && a->next_l2 && a->n_rows <= I4_L2_ROWS)                              \
            fn(a, (size_t)row, n, true);                                                           \
        else if (n <= I4_ROWS)                                                                     \
            fn(a, (size_t)row, n, false);                                                          \
        break;
#define I4_ALL(fn)                                                                                 \
    for (int row = 0, rows; row < a->n_rows; row += rows) {                                        \
        rows = i4_share(a->n_rows - row);                                                          \
        switch (rows) {                                                                            \
            I4_CASE(fn, 1)                                                                         \
            I4_CASE(fn, 2)                                                                         \
            I4_CASE(fn, 3)                                                                         \
            I4_CASE(fn, 4)                                                                         \
        }                                                                                          \
    }

/* clang-format off */
void QR_KERNEL(attn_qk_int4)(const struct qr_attn_qk_args *a)
{
    I4_ALL(i4_qk_rows)
}
/* clang-format on */

/* ---- values */

/* Weights of the rows for I4_AHEAD groups of values, rounded to 8 bits. Element 4 * g + r of top,
 * factor and inverse belongs to row r of group g. */
struct i4_weights {
    uint8_t codes[I4_AHEAD][I4_ROWS][QR_TILE_KEYS];
    int32_t top[4 * I4_AHEAD + VF32_N]; /* bits of the largest weight; the last VF32_N are excess */
    float factor[4 * I4_AHEAD];         /* of the sums of products */
    float inverse[4 * I4_AHEAD];
    int32_t offset[I4_AHEAD][I4_ROWS]; /* of the sums, without INT4_SIGNED_W */
};

enum { I4_TILE_VECS = QR_TILE_KEYS / VF32_N };

/* Scales of the 64 values of group g, 0 where the column is NULL. */
QR_INLINE void i4_load_scales(const struct qr_attn_pv_args *a, size_t g, vf32 scales[I4_TILE_VECS])
{
    QR_UNROLL_16 (int i = 0; i < I4_TILE_VECS; i++) {
        const int c = i / I4_VECS;
        scales[i] = vf32_zero();
        if (a->v[c]) {
            const uint8_t *p = (const uint8_t *)a->v_scale[c] + g * a->v_scale_stride;
            scales[i] = vf32_load_bf16((const uint16_t *)(const void *)p + i % I4_VECS * VF32_N);
        }
    }
}

/* Weights of one row, 0 for keys that it does not see. */
QR_INLINE void i4_scale_weights(const struct qr_attn_pv_args *a, size_t row,
                                const vf32 scales[I4_TILE_VECS], vf32 w[I4_TILE_VECS])
{
    const uint64_t visible = a->visible[row];
    const float *p = (const float *)a->p + row * QR_TILE_KEYS;
    QR_UNROLL_16 (int i = 0; i < I4_TILE_VECS; i++)
        w[i] = vf32_mul(vf32_load(p + i * VF32_N), scales[i]);
    if (~visible)
        QR_UNROLL_16 (int i = 0; i < I4_TILE_VECS; i++) {
            const vm32 seen = vm32_bits((uint32_t)(visible >> (i * VF32_N)));
            w[i] = vf32_select(seen, w[i], vf32_zero());
        }
}

/* The largest magnitudes of lanes, as bits: NaN and infinity are above all numbers. */
QR_INLINE vi32 i4_largest(const vf32 w[I4_TILE_VECS])
{
    vi32 most = vi32_zero();
    QR_UNROLL_16 (int i = 0; i < I4_TILE_VECS; i++)
        most = vi32_max(most, vi32_and(vi32_bits(w[i]), vi32_set1(0x7fffffff)));
    return most;
}

/* x / 255, correctly rounded, for x of at least 2^-100: the remainder is exact. */
QR_INLINE vf32 i4_divide_255(vf32 x)
{
    const vf32 reciprocal = vf32_set1(1.0f / 255), q = vf32_mul(x, reciprocal);
    return vf32_fma(vf32_fma(q, vf32_set1(-255), x), reciprocal, q);
}

/* Stores the largest magnitude of each row from those of the lanes. */
QR_INLINE void i4_store_top(int32_t *to, const vi32 most[4])
{
    const vi32 a = vi32_max(vi32_zip32_lo(most[0], most[1]), vi32_zip32_hi(most[0], most[1])),
               b = vi32_max(vi32_zip32_lo(most[2], most[3]), vi32_zip32_hi(most[2], most[3]));
    vi32_store(to, vi32_top_16(vi32_max(vi32_zip64_lo(a, b), vi32_zip64_hi(a, b))));
}

QR_INLINE void i4_make_factors(struct i4_weights *to)
{
    QR_UNROLL_8 (int i = 0; i < 4 * I4_AHEAD; i += VF32_N) {
        const vi32 top = vi32_load(to->top + i);
        const vf32 amax = vf32_bits(top);
        const vm32 tiny = vi32_gt(vi32_set1(I4_TINY), top),
                   finite = vi32_gt(vi32_set1(I4_INF), top);
        const vf32 factor = vf32_select(tiny, vf32_zero(), i4_divide_255(amax)),
                   inverse = vf32_select(tiny, vf32_zero(), vf32_div(vf32_set1(255), amax));
        vf32_store(to->factor + i, vf32_select(finite, factor, vf32_set1(NAN)));
        vf32_store(to->inverse + i, vf32_select(finite, inverse, vf32_zero()));
    }
}

/* Rounds the weights of row r for group g. */
QR_INLINE void i4_round_weights(struct i4_weights *to, size_t g, int r, const vf32 w[I4_TILE_VECS])
{
    const vf32 inverse = vf32_set1(to->inverse[4 * g + (size_t)r]);
    vi32 code[I4_TILE_VECS], sum = vi32_zero();
    QR_UNROLL_16 (int i = 0; i < I4_TILE_VECS; i++) {
        code[i] = vi32_round(vf32_mul(w[i], inverse));
        sum = vi32_add(sum, code[i]);
    }
    QR_UNROLL_16 (int i = 0; i < I4_TILE_VECS; i += 4)
        vi32_store4_u8(to->codes[g][r] + i * VF32_N, code + i);
    if (!INT4_SIGNED_W)
        to->offset[g][r] = -QR_INT4_BIAS * vi32_total(sum);
}

/* Computes the weights for groups [first, first + n), n up to I4_AHEAD, in passes: from products to
 * codes it is a long way, and the groups do not depend on each other. */
QR_INLINE void i4_make_weights(const struct qr_attn_pv_args *a, size_t row, size_t first, size_t n,
                               int rows, struct i4_weights *to)
{
    vf32 scales[I4_TILE_VECS], w[I4_TILE_VECS];
    memset(to->top, 0, sizeof to->top);
    for (size_t g = 0; g < n; g++) {
        vi32 most[4] = { vi32_zero(), vi32_zero(), vi32_zero(), vi32_zero() };
        i4_load_scales(a, first + g, scales);
        QR_UNROLL_8 (int r = 0; r < rows; r++) {
            i4_scale_weights(a, row + (size_t)r, scales, w);
            most[r] = i4_largest(w);
        }
        i4_store_top(to->top + 4 * g, most);
    }
    i4_make_factors(to);
    for (size_t g = 0; g < n; g++) {
        i4_load_scales(a, first + g, scales);
        QR_UNROLL_8 (int r = 0; r < rows; r++) {
            i4_scale_weights(a, row + (size_t)r, scales, w);
            i4_round_weights(to, g, r, w);
        }
    }
}

/* Adds the products of a group of values and a column, c, to the sums of the low and high codes. */
QR_INLINE void i4_pv_column(const struct qr_attn_pv_args *a, size_t g, int c, int rows,
                            const uint8_t codes[I4_ROWS][QR_TILE_KEYS],
                            int4_sum low[I4_ROWS][I4_VECS], int4_sum high[I4_ROWS][I4_VECS],
                            struct kv_ahead next)
{
    const uint8_t *at = (const uint8_t *)a->v[c] + g * I4_CELL;
    const int4_table levels =
        int4_levels(INT4_SIGNED_W ? (const uint8_t *)I4_SIGNED_LEVELS : I4_LEVELS);
    QR_ROLLED (int i = 0; i < 4; i++, at += a->v_stride) {
        prefetch_kv_line(next, (c * 4 + i) * I4_CELL);
        QR_UNROLL_8 (int v = 0; v < I4_VECS; v++) {
            const vi32 bytes = vi32_load(at + v * I4_BYTES);
            const vi32 lo = int4_low(levels, bytes), hi = int4_high(levels, bytes);
            QR_UNROLL_8 (int r = 0; r < rows; r++) {
                const vi32 x = i4_quad_at(codes[r] + c * QR_COLUMN_KEYS + i * 4);
                low[r][v] = int4_add_w(low[r][v], lo, x);
                high[r][v] = int4_add_w(high[r][v], hi, x);
            }
        }
    }
}

/* Products of one group of values with two columns, as 32-bit sums. */
QR_INLINE void i4_pv_half(const struct qr_attn_pv_args *a, size_t g, int half, int rows,
                          const uint8_t codes[I4_ROWS][QR_TILE_KEYS],
                          vi32 sum[I4_ROWS][2 * I4_VECS], struct kv_ahead next)
{
    int4_sum low[I4_ROWS][I4_VECS], high[I4_ROWS][I4_VECS];
    QR_UNROLL_8 (int r = 0; r < rows; r++) {
        QR_UNROLL_8 (int v = 0; v < I4_VECS; v++)
            low[r][v] = high[r][v] = int4_zero();
    }
    QR_UNROLL_8 (int c = 2 * half; c < 2 * half + 2; c++)
        if (a->v[c])
            i4_pv_column(a, g, c, rows, codes, low, high, next);
    QR_UNROLL_8 (int r = 0; r < rows; r++) {
        QR_UNROLL_8 (int v = 0; v < I4_VECS; v++) {
            sum[r][v] = vi32_add(sum[r][v], int4_sum_w(low[r][v]));
            sum[r][I4_VECS + v] = vi32_add(sum[r][I4_VECS + v], int4_sum_w(high[r][v]));
        }
    }
}

QR_INLINE void i4_pv_group(const struct qr_attn_pv_args *a, size_t row, size_t g, int rows,
                           const struct i4_weights *w, struct kv_ahead next)
{
    const size_t i = g % I4_AHEAD;
    vi32 sum[I4_ROWS][2 * I4_VECS];
    QR_UNROLL_8 (int r = 0; r < rows; r++) {
        QR_UNROLL_8 (int v = 0; v < 2 * I4_VECS; v++)
            sum[r][v] = INT4_SIGNED_W ? vi32_zero() : vi32_set1(w->offset[i][r]);
    }
    i4_pv_half(a, g, 0, rows, w->codes[i], sum, next);
    i4_pv_half(a, g, 1, rows, w->codes[i], sum, next);
    QR_UNROLL_8 (int r = 0; r < rows; r++) {
        float *o = a->o + (row + (size_t)r) * a->o_stride + g * I4_GROUP;
        if (a->visible[row + (size_t)r])
            QR_UNROLL_8 (int v = 0; v < 2 * I4_VECS; v++)
                vf32_store(o + v * VF32_N, vf32_fma(vf32_from_i32(sum[r][v]),
                                                    vf32_set1(w->factor[4 * i + (size_t)r]),
                                                    vf32_load(o + v * VF32_N)));
    }
}

QR_INLINE void i4_pv_rows(const struct qr_attn_pv_args *a, size_t row, int rows, bool l2)
{
    struct i4_weights w;
    const size_t groups = (size_t)a->v_head_size / I4_GROUP;
    for (size_t g = 0; g < groups; g++) {
        if (g % I4_AHEAD == 0)
            i4_make_weights(a, row, g, groups - g < I4_AHEAD ? groups - g : I4_AHEAD, rows, &w);
        const struct kv_ahead next = { a->next ? (const uint8_t *)a->next + g * 16 * I4_CELL
                                               : w.codes[0][0],
                                       l2 };
        i4_pv_group(a, row, g, rows, &w, next);
    }
}

/* clang-format off */
void QR_KERNEL(attn_pv_int4)(const struct qr_attn_pv_args *a)
{
    I4_ALL(i4_pv_rows)
}
/* clang-format on */

/* ---- dequantization */

void QR_KERNEL(attn_unpack_int4)(const struct qr_attn_unpack_int4_args *a)
{
    enum { COLUMN = QR_COLUMN_KEYS };
    for (size_t b = 0; b < (size_t)a->n_values / 2; b++) { /* bytes of a token */
        const size_t d = b / 16 * I4_GROUP + b % 16;
        const uint8_t *scales = (const uint8_t *)a->scale + b / 16 * a->scale_stride;
        uint32_t value[2][COLUMN]; /* of d and d + 16 */
        for (size_t t = 0; t < COLUMN; t++) {
            const uint8_t code = a->v ? a->src[t / 4 * a->src_stride + b * 4 + t % 4]
                                      : a->src[b / 4 * a->src_stride + t * 4 + b % 4];
            uint16_t bits;
            memcpy(&bits, scales + t * sizeof bits, sizeof bits);
            const uint32_t wide = (uint32_t)bits << 16;
            float scale, x[2];
            memcpy(&scale, &wide, sizeof scale);
            x[0] = (float)int4_level(code & 15) * scale;
            x[1] = (float)int4_level(code >> 4) * scale;
            memcpy(&value[0][t], &x[0], sizeof x[0]);
            memcpy(&value[1][t], &x[1], sizeof x[1]);
        }
        for (size_t h = 0; h < 2; h++)
            for (size_t t = 0; t < COLUMN; t++) { /* exact; NaN is quiet */
                const size_t at = d + h * 16;
                const size_t to = a->v ? t / 2 * a->dst_stride + at * 2 + t % 2
                                       : at / 2 * a->dst_stride + t * 2 + at % 2;
                a->dst[to] = (uint16_t)(value[h][t] >> 16);
            }
    }
}
