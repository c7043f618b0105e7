/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8_tile_tpl.h - micro-kernel of int8 activations times quantized panels: a register tile
 * of activation rows by vectors of outputs, over the blocks of one group.
 *
 * Weights are codes: unpacked to bytes before the call (GEMM, where many rows share them), or
 * packed and unpacked in registers (skinny GEMM, which streams them). */
#ifndef QR_TEMPLATE_LINEAR_Q8_TILE_TPL_H
#define QR_TEMPLATE_LINEAR_Q8_TILE_TPL_H
#include "template/linear_unpack_tpl.h"

/* Variant of a tile, as flags. With VI32_PAIRS, the value from bit PAIRS on is the number of steps
 * whose 16-bit products can be added without overflow. */
enum linear_q8_kind {
    LINEAR_Q8_SUB16 = 1,   /* a scale per 16 values, else per 32 */
    LINEAR_Q8_MIN = 2,     /* minimums; codes have no offset unless FULL */
    LINEAR_Q8_FULL = 4,    /* codes need eight bits */
    LINEAR_Q8_PACKED = 8,  /* codes are packed, as in the panel */
    LINEAR_Q8_SUMMED = 16, /* N16_DELTA, one row: integer sums start from delta_sums */
    LINEAR_Q8_PAIRS = 32,
};

/* Whether the codes of a tile are magnitudes and signs: 128 bytes per step, the magnitudes of 64
 * weights and then their signs, 0 or -1. Instructions that multiply unsigned weights only then need
 * one operation on the activations of each row, on any port, instead of two:
 *
 *   w * a = |w| * (a ^ sign) - sign * |w|, because -a = ~a + 1
 *
 * The second term does not depend on the activations; its sums over a block are the first values of
 * the integer sums. */
QR_INLINE bool linear_q8_signs(int kind)
{
#if defined(VI32_PAIRS)
    /* the first values take the place of minimums */
    return (kind & LINEAR_Q8_FULL) && !(kind & (LINEAR_Q8_PACKED | LINEAR_Q8_MIN));
#else
    (void)kind;
    return false;
#endif
}

QR_INLINE size_t linear_q8_step_bytes(int kind)
{
    return linear_q8_signs(kind) ? 2 * QR_CACHE_LINE_BYTES : QR_CACHE_LINE_BYTES;
}

enum {
    LINEAR_Q8_SKINNY_ROWS = 8, /* skinny GEMM: rows that are multiplied with packed codes at once */
    LINEAR_Q8_LD = LINEAR_Q8_VECS * VF32_N, /* row stride of the accumulators: whole panels */
    LINEAR_Q8_MAX_ROWS =
        LINEAR_Q8_ROWS > LINEAR_Q8_SKINNY_ROWS ? LINEAR_Q8_ROWS : LINEAR_Q8_SKINNY_ROWS,
};

struct linear_q8_tile_args {
    const uint8_t *w[LINEAR_Q8_VECS]; /* codes of the first block of the group, per vector */
    const float *scale;               /* column of the first vector in a struct linear_scales */
    const struct qr_q8_block *q;      /* at the first k of the group */
    const float *half_sums;           /* two per block of q */
    size_t q_stride;                  /* blocks */
    float *acc;                       /* [rows][LINEAR_Q8_LD] */
    size_t n_blocks;                  /* of the group */
    int offset_shift;                 /* linear_q8_offset_shift */
    const int32_t *delta_sums;        /* with SUMMED: QR_DELTA_SUMS per block of q */
    /* weights to prefetch: next_lines cache lines per block, from `next` on and, for a second
     * panel, next_panel bytes later */
    const uint8_t *next;
    size_t next_lines, next_panel;
    enum qr_weight_prefetch prefetch; /* of light streams */
};

/* Whether the accumulators fit in registers, or stay in memory. */
QR_INLINE bool linear_q8_acc_in_regs(int rows, int vecs)
{
    return 2 * rows * vecs + vecs + 3 <= VF32_REGS;
}

/* Integer sums of a tile, in registers: every index is a constant. */
struct linear_q8_sums {
    vi32 v[LINEAR_Q8_MAX_ROWS][LINEAR_Q8_VECS];
};

QR_INLINE vi32 linear_broadcast4(const int8_t *q)
{
    int32_t four;
    memcpy(&four, q, sizeof four);
    return vi32_set1(four);
}

/* Weights of one block, per vector: codes and, with qr_panel_has_delta, bits of eight values. */
struct linear_q8_weights {
    const uint8_t *at[LINEAR_Q8_VECS];
    vi32 delta[LINEAR_Q8_VECS];
    const int32_t *delta_sums; /* of the block, with SUMMED */
};

QR_INLINE vi32 linear_q8_codes(int kind, struct qr_panel_format f,
                               const struct linear_q8_weights *w, int v, int s)
{
    if (kind & LINEAR_Q8_SUMMED)
        return linear_plane(w->at[v], f.low_bits, s, 3);
    if (kind & LINEAR_Q8_PACKED)
        return linear_code(f, VI32_W8_OFFSET == 0, w->at[v], w->delta[v], s);
    return vi32_load(w->at[v] + (size_t)s * linear_q8_step_bytes(kind));
}

/* Whether integer dot products count an offset of the codes. */
QR_INLINE bool linear_q8_has_offset(int kind)
{
    return kind & LINEAR_Q8_FULL ? VI32_W8_OFFSET != 0 : !(kind & LINEAR_Q8_MIN);
}

/* log2 of the offset of the codes, if it counts. */
QR_INLINE int linear_q8_offset_shift(struct qr_panel_format f)
{
    return f.offset ? __builtin_ctz(f.offset) : 0;
}

#if defined(VI32_SLOW_CONVERT)
/* Sums start from the bits of 1.5 * 2^23: as they are below 2^22, the float with the bits of the
 * result is 1.5 * 2^23 plus the sum, exactly. */
enum { LINEAR_Q8_FLOAT_BITS = 0x4b400000 };
QR_INLINE vf32 linear_q8_sum_f32(vi32 sum)
{
    return vf32_sub(vf32_bits(sum), vf32_set1(0x1.8p23f));
}

/* Initial value of an integer dot product: minus the offset, 2^shift, times the sum of the
 * activations. */
QR_INLINE uint32_t linear_q8_start_bits(int kind, const struct qr_q8_block *a, int half, int shift)
{
    if (!linear_q8_has_offset(kind))
        return LINEAR_Q8_FLOAT_BITS;
    uint32_t minus = (uint32_t)(kind & LINEAR_Q8_SUB16 && !half ? a->neg_half_sum : a->neg_sum);
    if (half)
        minus -= (uint32_t)a->neg_half_sum;
    return (minus << shift) + LINEAR_Q8_FLOAT_BITS;
}
QR_INLINE vi32 linear_q8_start(int kind, struct qr_panel_format f, const struct qr_q8_block *a,
                               int half, int shift)
{
    (void)f;
    return vi32_set1((int32_t)linear_q8_start_bits(kind, a, half, shift));
}
typedef int linear_q8_shift;
#else
QR_INLINE vf32 linear_q8_sum_f32(vi32 sum) { return vf32_from_i32(sum); }

/* Initial value of an integer dot product: minus the offset times the sum of the activations. Tiles
 * of packed codes are compiled for one format, whose offset is known. */
QR_INLINE vi32 linear_q8_start(int kind, struct qr_panel_format f, const struct qr_q8_block *a,
                               int half, vi32 shift)
{
    if (!linear_q8_has_offset(kind))
        return vi32_zero();
    vi32 minus = vi32_set1(kind & LINEAR_Q8_SUB16 && !half ? a->neg_half_sum : a->neg_sum);
    if (half)
        minus = vi32_sub(minus, vi32_set1(a->neg_half_sum));
    return kind & LINEAR_Q8_PACKED ? linear_shift(minus, -linear_q8_offset_shift(f))
                                   : vi32_shl_each(minus, shift);
}
typedef vi32 linear_q8_shift;
#endif

#if defined(VI32_PAIRS)
/* Steps s0 .. s0 + n - 1 of vectors v0 .. v0 + nv - 1, whose 16-bit products fit one sum. */
QR_INLINE void linear_q8_dot_pairs(int kind, struct qr_panel_format f, int rows, int v0, int nv,
                                   const struct linear_q8_weights *w, const struct qr_q8_block *a,
                                   size_t stride, int s0, int n, bool first,
                                   struct linear_q8_sums *sum)
{
    struct linear_q8_sums pairs;
    QR_UNROLL_16 (int s = s0; s < s0 + n; s++) {
        vi32 codes[LINEAR_Q8_VECS];
        QR_UNROLL_16 (int v = v0; v < v0 + nv; v++)
            codes[v] = linear_q8_codes(kind, f, w, v, s);
        QR_UNROLL_16 (int r = 0; r < rows; r++) {
            const vi32 four = linear_broadcast4(a[(size_t)r * stride].q + 4 * s);
            QR_UNROLL_16 (int v = v0; v < v0 + nv; v++) {
                const vi32 both = vi32_pairs(codes[v], four);
                pairs.v[r][v] = s == s0 ? both : vi32_pairs_add(pairs.v[r][v], both);
            }
        }
    }
    QR_UNROLL_16 (int r = 0; r < rows; r++)
        QR_UNROLL_16 (int v = v0; v < v0 + nv; v++) {
            const vi32 whole = vi32_pairs_sum(pairs.v[r][v]);
            sum->v[r][v] = first ? whole : vi32_chain(vi32_add(sum->v[r][v], whole));
        }
}

/* Steps s0 .. s0 + n - 1 of a block, as many at a time as fit 16 bits. If that takes several sums,
 * these and the 32-bit sums fill the registers: the vectors are processed one by one, and
 * activations are loaded again for each. */
QR_INLINE void linear_q8_dot_all_pairs(int kind, struct qr_panel_format f, int rows, int vecs,
                                       const struct linear_q8_weights *w,
                                       const struct qr_q8_block *a, size_t stride, int s0, int n,
                                       struct linear_q8_sums *sum)
{
    const int most = kind / LINEAR_Q8_PAIRS;
    if (most >= n) {
        linear_q8_dot_pairs(kind, f, rows, 0, vecs, w, a, stride, s0, n, true, sum);
        return;
    }
    QR_UNROLL_16 (int s = 0; s < n; s += most)
        QR_UNROLL_16 (int v = 0; v < vecs; v++) {
            linear_q8_dot_pairs(kind, f, rows, v, 1, w, a, stride, s0 + s, most, s == 0, sum);
            LINEAR_LOAD_BARRIER;
        }
}
#endif

/* Integer dot products over steps s0 .. s0 + n - 1 of a block. */
QR_INLINE void linear_q8_dot(int kind, struct qr_panel_format f, int rows, int vecs,
                             const struct linear_q8_weights *w, const struct qr_q8_block *a,
                             size_t stride, int s0, int n, struct linear_q8_sums *sum)
{
    QR_UNROLL_16 (int s = s0; s < s0 + n; s++) {
        vi32 codes[LINEAR_Q8_VECS];
        QR_UNROLL_16 (int v = 0; v < vecs; v++)
            codes[v] = linear_q8_codes(kind, f, w, v, s);
        QR_UNROLL_16 (int r = 0; r < rows; r++) {
            const vi32 four = linear_broadcast4(a[(size_t)r * stride].q + 4 * s);
            QR_UNROLL_16 (int v = 0; v < vecs; v++)
                sum->v[r][v] = kind & LINEAR_Q8_FULL ? vi32_dot_w8(sum->v[r][v], codes[v], four)
                                                     : vi32_dot_u7(sum->v[r][v], codes[v], four);
        }
    }
}

/* The same with magnitudes and signs. */
QR_INLINE void linear_q8_dot_signs(int kind, int rows, int vecs, const struct linear_q8_weights *w,
                                   const struct qr_q8_block *a, size_t stride, int s0, int n,
                                   struct linear_q8_sums *sum)
{
    QR_UNROLL_16 (int s = s0; s < s0 + n; s++) {
        const size_t at = (size_t)s * linear_q8_step_bytes(kind);
        vi32 magnitude[LINEAR_Q8_VECS], sign[LINEAR_Q8_VECS];
        QR_UNROLL_16 (int v = 0; v < vecs; v++) {
            magnitude[v] = vi32_load(w->at[v] + at);
            sign[v] = vi32_load(w->at[v] + at + QR_CACHE_LINE_BYTES);
        }
        QR_UNROLL_16 (int r = 0; r < rows; r++) {
            const vi32 four = linear_broadcast4(a[(size_t)r * stride].q + 4 * s);
            QR_UNROLL_16 (int v = 0; v < vecs; v++)
                sum->v[r][v] = vi32_dot_u7(sum->v[r][v], magnitude[v], vi32_xor(four, sign[v]));
        }
    }
}

#if defined(VI32_LANES)
/* The same with four steps of activations in one vector. */
QR_INLINE void linear_q8_dot_lanes(int kind, struct qr_panel_format f, int rows, int vecs,
                                   const struct linear_q8_weights *w, const struct qr_q8_block *a,
                                   size_t stride, int s0, int n, struct linear_q8_sums *sum)
{
    QR_UNROLL_16 (int s = s0; s < s0 + n; s += 4) {
        vi32 q[LINEAR_Q8_MAX_ROWS];
        QR_UNROLL_16 (int r = 0; r < rows; r++)
            q[r] = vi32_load_16(a[(size_t)r * stride].q + 4 * s);
        QR_UNROLL_16 (int lane = 0; lane < 4; lane++)
            QR_UNROLL_16 (int v = 0; v < vecs; v++) {
                const vi32 codes = linear_q8_codes(kind, f, w, v, s + lane);
                QR_UNROLL_16 (int r = 0; r < rows; r++)
                    sum->v[r][v] = vi32_dot_lane(sum->v[r][v], codes, q[r], lane);
            }
        LINEAR_LOAD_BARRIER;
    }
}
#define linear_q8_dot linear_q8_dot_lanes
#endif

#if defined(VI32_MATRIX)
/* Codes of steps s and s + 1 as operands of matrix products. Unpacked codes are in this order. */
QR_INLINE void linear_q8_matrix_codes(int kind, struct qr_panel_format f,
                                      const struct linear_q8_weights *w, int v, int s, vi32 code[2])
{
    const vi32 a = linear_q8_codes(kind, f, w, v, s), b = linear_q8_codes(kind, f, w, v, s + 1);
    code[0] = kind & LINEAR_Q8_PACKED ? vi32_zip_lo(a, b) : a;
    code[1] = kind & LINEAR_Q8_PACKED ? vi32_zip_hi(a, b) : b;
}

/* Integer dot products of sub-block `half` by matrix products: two rows of activations, two of
 * weights, eight k. An odd last row is paired with itself. */
QR_INLINE void linear_q8_dot_matrix(int kind, struct qr_panel_format f, int rows, int vecs,
                                    const struct linear_q8_weights *w, const struct qr_q8_block *a,
                                    size_t stride, int half, int shift, struct linear_q8_sums *sum)
{
    const int steps = kind & LINEAR_Q8_SUB16 ? 4 : 8;
    vi32 lo[LINEAR_Q8_MAX_ROWS][LINEAR_Q8_VECS], hi[LINEAR_Q8_MAX_ROWS][LINEAR_Q8_VECS];
    QR_UNROLL_16 (int r = 0; r < rows; r += 2) {
        const struct qr_q8_block *b = a + (size_t)r * stride, *c = r + 1 < rows ? b + stride : b;
        const uint32_t first = linear_q8_start_bits(kind, b, half, shift),
                       second = linear_q8_start_bits(kind, c, half, shift);
        QR_UNROLL_16 (int v = 0; v < vecs; v++) {
            lo[r][v] = vi32_set1_pair(first, second);
            hi[r][v] = vi32_set1_pair(first, second);
        }
    }
    QR_UNROLL_16 (int s = half * steps; s < (half + 1) * steps; s += 2) {
        vi32 q[LINEAR_Q8_MAX_ROWS];
        QR_UNROLL_16 (int r = 0; r < rows; r += 2) {
            const struct qr_q8_block *b = a + (size_t)r * stride,
                                     *c = r + 1 < rows ? b + stride : b;
            q[r] = vi32_load_8_8(b->q + 4 * s, c->q + 4 * s);
        }
        QR_UNROLL_16 (int v = 0; v < vecs; v++) {
            vi32 code[2];
            linear_q8_matrix_codes(kind, f, w, v, s, code);
            QR_UNROLL_16 (int r = 0; r < rows; r += 2) {
                lo[r][v] = vi32_matrix(lo[r][v], code[0], q[r]);
                hi[r][v] = vi32_matrix(hi[r][v], code[1], q[r]);
            }
        }
        LINEAR_LOAD_BARRIER;
    }
    QR_UNROLL_16 (int v = 0; v < vecs; v++)
        QR_UNROLL_16 (int r = 0; r < rows; r += 2) {
            sum->v[r][v] = vi32_even(lo[r][v], hi[r][v]);
            if (r + 1 < rows)
                sum->v[r + 1][v] = vi32_odd(lo[r][v], hi[r][v]);
        }
}
#endif

enum { LINEAR_Q8_MIN_AT = 16 * LINEAR_SCALES_LD }; /* from a scale to its minimum, in floats */

/* Adds integer sums to the accumulators: the two float operations of N2. sum16: of half_sums, the
 * entry of the first row for these 16 k; read with SUB16 and MIN only. */
QR_INLINE void linear_q8_accumulate(int kind, int rows, int vecs,
                                    const struct linear_q8_tile_args *p,
                                    const struct qr_q8_block *a, const float *sum16,
                                    const float *scale, const struct linear_q8_sums *sum,
                                    vf32 (*acc)[LINEAR_Q8_VECS])
{
    const bool in_regs = linear_q8_acc_in_regs(rows, vecs);
    QR_UNROLL_16 (int r = 0; r < rows; r++) {
        const struct qr_q8_block *b = a + (size_t)r * p->q_stride;
        const vf32 d = vf32_set1(b->d); /* before the stores, which might change b->d */
        QR_UNROLL_16 (int v = 0; v < vecs; v++) {
            const vf32 dw = vf32_load(scale + v * VF32_N);
            float *at = p->acc + r * LINEAR_Q8_LD + v * VF32_N;
            vf32 out = in_regs ? acc[r][v] : vf32_load(at);
            out = vf32_fma(linear_q8_sum_f32(sum->v[r][v]), vf32_mul(dw, d), out);
            if (kind & LINEAR_Q8_MIN)
                out = vf32_fnma(
                    vf32_load(scale + LINEAR_Q8_MIN_AT + v * VF32_N),
                    vf32_set1(kind & LINEAR_Q8_SUB16 ? sum16[2 * r * p->q_stride] : b->d_sum), out);
            if (in_regs)
                acc[r][v] = out;
            else
                vf32_store(at, out);
        }
    }
}

/* Whether the only vector of a tile adds its products in two sums. Each of eight products in one
 * sum would wait for the one before. */
QR_INLINE bool linear_q8_two_sums(int kind, int rows, int vecs)
{
#if defined(VI32_SLOW_DOT)
    return rows * vecs == 1 && !(kind & LINEAR_Q8_SUB16);
#else
    (void)kind, (void)rows, (void)vecs;
    return false;
#endif
}

/* Sub-block `half` of a block: integer dot products, and their use. */
QR_INLINE void linear_q8_sub(int kind, struct qr_panel_format f, int rows, int vecs,
                             const struct linear_q8_tile_args *p, const struct linear_q8_weights *w,
                             const struct qr_q8_block *a, const float *half_sums, int half,
                             const float *scale, linear_q8_shift shift, vf32 (*acc)[LINEAR_Q8_VECS])
{
    const int steps = kind & LINEAR_Q8_SUB16 ? 4 : 8;
    const bool signs = linear_q8_signs(kind);
    struct linear_q8_sums sum;
#if defined(VI32_PAIRS)
    const bool pairs = !(kind & LINEAR_Q8_FULL);
#else
    const bool pairs = false;
#endif
    if (signs) {
        QR_UNROLL_16 (int r = 0; r < rows; r++) {
            QR_UNROLL_16 (int v = 0; v < vecs; v++)
                sum.v[r][v] = vi32_load(scale + LINEAR_Q8_MIN_AT + v * VF32_N);
        }
        linear_q8_dot_signs(kind, rows, vecs, w, a, p->q_stride, half * steps, steps, &sum);
    }
#if defined(VI32_MATRIX)
    const bool matrix = rows > 1;
    if (matrix)
        linear_q8_dot_matrix(kind, f, rows, vecs, w, a, p->q_stride, half, shift, &sum);
#else
    const bool matrix = false;
#endif
    if (!pairs && !signs && !matrix) {
        QR_UNROLL_16 (int r = 0; r < rows; r++) {
            vi32 start = linear_q8_start(kind, f, a + (size_t)r * p->q_stride, half, shift);
#if defined(DELTA_SUMS)
            if (kind & LINEAR_Q8_SUMMED)
                start = vi32_lut4(w->delta_sums + 4 * half, linear_shift(w->delta[0], 2 * half));
#endif
            QR_UNROLL_16 (int v = 0; v < vecs; v++)
                sum.v[r][v] = start;
        }
        const int n = linear_q8_two_sums(kind, rows, vecs) ? steps / 2 : steps;
        linear_q8_dot(kind, f, rows, vecs, w, a, p->q_stride, half * steps, n, &sum);
        if (n < steps) {
            struct linear_q8_sums second = { { { vi32_zero() } } };
            linear_q8_dot(kind, f, 1, 1, w, a, p->q_stride, half * steps + n, n, &second);
            sum.v[0][0] = vi32_add(sum.v[0][0], second.v[0][0]);
        }
    }
#if defined(VI32_PAIRS)
    if (pairs) {
        linear_q8_dot_all_pairs(kind, f, rows, vecs, w, a, p->q_stride, half * steps, steps, &sum);
        QR_UNROLL_16 (int r = 0; r < rows; r++) {
            const vi32 start = linear_q8_start(kind, f, a + (size_t)r * p->q_stride, half, shift);
            QR_UNROLL_16 (int v = 0; v < vecs; v++)
                sum.v[r][v] = vi32_add(sum.v[r][v], start);
        }
    }
#endif
    linear_q8_accumulate(kind, rows, vecs, p, a, half_sums + half, scale, &sum, acc);
}

/* Prefetches of m rows of a format; `light`: those of a light stream, which codes in one piece are.
 */
QR_INLINE enum qr_weight_prefetch linear_q8_prefetch(struct qr_panel_format f, size_t m,
                                                     enum qr_weight_prefetch light)
{
    const bool is_light =
        f.low_bits >= 4 && !f.high_bits && linear_is_light(m, f.low_bits == 8 ? 8 : 16);
    return is_light ? light : QR_WEIGHT_PREFETCH_TWICE;
}

/* A tile of `rows` rows by `vecs` vectors over all blocks of the group. */
QR_INLINE void linear_q8_tile(int kind, struct qr_panel_format f, int rows, int vecs,
                              const struct linear_q8_tile_args *p)
{
    const size_t block =
        kind & LINEAR_Q8_PACKED ? qr_panel_block_bytes(f) : 8 * linear_q8_step_bytes(kind);
#if defined(VI32_SLOW_CONVERT)
    const int shift = p->offset_shift;
#else
    const vi32 shift = vi32_set1(p->offset_shift);
#endif
    const struct qr_q8_block *a = p->q;
    const float *half_sums = p->half_sums;
    const enum qr_weight_prefetch how = linear_q8_prefetch(f, (size_t)rows, p->prefetch);
    const uint8_t *next = p->next;
    struct linear_q8_weights w = { .delta_sums = p->delta_sums };
    const float *scale = p->scale;
    vf32 acc[LINEAR_Q8_MAX_ROWS][LINEAR_Q8_VECS];
    QR_UNROLL_16 (int v = 0; v < vecs; v++)
        w.at[v] = p->w[v], w.delta[v] = linear_load_delta(f, p->w[v]);
    if (linear_q8_acc_in_regs(rows, vecs))
        QR_UNROLL_16 (int r = 0; r < rows; r++)
            QR_UNROLL_16 (int v = 0; v < vecs; v++)
                acc[r][v] = vf32_load(p->acc + r * LINEAR_Q8_LD + v * VF32_N);
    for (size_t b = 0; b < p->n_blocks; b++, a++, half_sums += 2) {
        for (size_t i = 0; i < p->next_lines; i++, next += QR_CACHE_LINE_BYTES) {
            const bool two = vecs * VF32_N > QR_PANEL_ROWS;
            if (kind & LINEAR_Q8_PACKED) {
                prefetch_weights(next, how);
                if (two)
                    prefetch_weights(next + p->next_panel, how);
            } else {
                qr_prefetch_l1(next);
                if (two)
                    qr_prefetch_l1(next + p->next_panel);
            }
        }
        linear_q8_sub(kind, f, rows, vecs, p, &w, a, half_sums, 0, scale, shift, acc);
        scale += LINEAR_SCALES_LD;
        if (kind & LINEAR_Q8_SUB16) {
            LINEAR_LOAD_BARRIER;
            linear_q8_sub(kind, f, rows, vecs, p, &w, a, half_sums, 1, scale, shift, acc);
            scale += LINEAR_SCALES_LD;
        }
        QR_UNROLL_16 (int v = 0; v < vecs; v++)
            w.at[v] += block, w.delta[v] = vi32_shr(w.delta[v], 4); /* four entries per block */
        if (kind & LINEAR_Q8_SUMMED)
            w.delta_sums += QR_DELTA_SUMS;
        if (!linear_q8_acc_in_regs(rows, vecs))
            LINEAR_LOAD_BARRIER; /* else gcc keeps a second copy of the accumulators on the stack */
    }
    if (linear_q8_acc_in_regs(rows, vecs))
        QR_UNROLL_16 (int r = 0; r < rows; r++)
            QR_UNROLL_16 (int v = 0; v < vecs; v++)
                vf32_store(p->acc + r * LINEAR_Q8_LD + v * VF32_N, acc[r][v]);
}

#endif
