/* SPDX-License-Identifier: Apache-2.0 */
/* linear_float_tpl.h - f32 and bf16 activations times 64-row panels of f32, f16 and bf16 weights.
 *
 * Needs a vec_*.h, QR_ISA and the tile: LINEAR_FLOAT_ROWS activation rows by LINEAR_FLOAT_VECS
 * vectors of outputs, as many as the registers hold. Every element of a tile is one chain over k,
 * so tiles do not show in the bits. */
#ifndef QR_TEMPLATE_LINEAR_FLOAT_TPL_H
#define QR_TEMPLATE_LINEAR_FLOAT_TPL_H
#include "simd/flush.h"
#include "template/linear_common_tpl.h"

enum linear_float_kind {
    LINEAR_F32,    /* f32 x f32 */
    LINEAR_F16,    /* f32 x f16 */
    LINEAR_BF16,   /* f32 x bf16 */
    LINEAR_NATIVE, /* bf16 x bf16 */
};

/* A part of the multiplication: k steps, or k pairs for bf16 weights. `next`: weights to ask for
 * meanwhile, up to next_end, next_lines at each step if the part is one tile. */
struct linear_float_part {
    const uint8_t *w; /* at its first step and output */
    const void *x;    /* at its first k: f32, or bf16 for NATIVE */
    float *acc;       /* [rows][acc_ld] */
    size_t w_ld;      /* outputs of one k in the panel */
    size_t x_stride;  /* elements */
    size_t acc_ld;    /* floats */
    size_t k;         /* not padded */
    const uint8_t *next, *next_end;
    size_t next_lines;
    bool stream; /* these weights are read once, and next is LINEAR_AHEAD of them */
};

LINEAR_INLINE vf32 linear_even_bf16(vi32 pair) { return vf32_bits(vi32_shl(pair, 16)); }
LINEAR_INLINE vf32 linear_odd_bf16(vi32 pair)
{
    return vf32_bits(vi32_and(pair, vi32_set1((int32_t)0xffff0000)));
}

LINEAR_INLINE vi32 linear_broadcast_pair(const uint16_t *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return vi32_set1(pair);
}

/* One bf16 pair of weights: in k order (N4) for f32 activations, odd first (N3) for bf16 ones. */
LINEAR_INLINE vf32 linear_pair(enum linear_float_kind kind, vf32 acc, vi32 w, const void *x)
{
    if (kind == LINEAR_BF16) {
        const float *f = x;
        acc = vf32_fma(vf32_set1(f[0]), linear_even_bf16(w), acc);
        return vf32_fma(vf32_set1(f[1]), linear_odd_bf16(w), acc);
    }
    const vi32 pair = linear_broadcast_pair(x);
#if defined(__AVX512BF16__)
    return vf32_dot_bf16(acc, w, pair);
#else
    acc = vf32_fma(linear_odd_bf16(pair), linear_odd_bf16(w), acc);
    return vf32_fma(linear_even_bf16(pair), linear_even_bf16(w), acc);
#endif
}

/* Values k of f32 and f16 weights: those of all vectors, then one activation after the other, which
 * takes the fewest registers. */
LINEAR_INLINE void linear_step(enum linear_float_kind kind, int rows, int vecs,
                               const struct linear_float_part *p, size_t k,
                               vf32 (*acc)[64 / VF32_N])
{
    vf32 w[64 / VF32_N];
    LINEAR_UNROLL for (int v = 0; v < vecs; v++)
    {
        const size_t at = k * p->w_ld + (size_t)(v * VF32_N);
        w[v] = kind == LINEAR_F32 ? vf32_load((const float *)(const void *)p->w + at)
                                  : vf32_load_f16((const uint16_t *)(const void *)p->w + at);
    }
    LINEAR_UNROLL for (int r = 0; r < rows; r++)
    {
        const vf32 x = vf32_set1(((const float *)p->x)[(size_t)r * p->x_stride + k]);
        LINEAR_UNROLL for (int v = 0; v < vecs; v++) acc[r][v] = vf32_fma(x, w[v], acc[r][v]);
    }
}

/* Values k and k + 1 of bf16 weights, for row r and vector v; half: only k, the last one of an odd
 * row of f32 activations. */
LINEAR_INLINE vf32 linear_pair_at(enum linear_float_kind kind, const struct linear_float_part *p,
                                  size_t k, int r, int v, bool half, vf32 acc)
{
    const size_t x_size = kind == LINEAR_BF16 ? sizeof(float) : sizeof(uint16_t);
    const vi32 w = vi32_load(p->w + (k / 2 * p->w_ld + (size_t)(v * VF32_N)) * 4);
    const uint8_t *x = (const uint8_t *)p->x + ((size_t)r * p->x_stride + k) * x_size;
    if (half)
        return vf32_fma(vf32_set1(*(const float *)(const void *)x), linear_even_bf16(w), acc);
    return linear_pair(kind, acc, w, x);
}

/* Pairs are split into values, and those of the fewer, rows or vectors, are kept in registers. */
LINEAR_INLINE void linear_pair_step(enum linear_float_kind kind, int rows, int vecs,
                                    const struct linear_float_part *p, size_t k, bool half,
                                    vf32 (*acc)[64 / VF32_N])
{
    if (rows < vecs)
        LINEAR_UNROLL for (int v = 0; v < vecs; v++) LINEAR_UNROLL for (int r = 0; r < rows; r++)
            acc[r][v] = linear_pair_at(kind, p, k, r, v, half, acc[r][v]);
    else
        LINEAR_UNROLL for (int r = 0; r < rows; r++) LINEAR_UNROLL for (int v = 0; v < vecs; v++)
            acc[r][v] = linear_pair_at(kind, p, k, r, v, half, acc[r][v]);
}

LINEAR_INLINE const uint8_t *linear_float_ask(const struct linear_float_part *p,
                                              const uint8_t *next)
{
    for (size_t i = 0; i < p->next_lines; i++, next += QR_LINE) {
        if (p->stream)
            linear_ask(next);
        else
            __builtin_prefetch(next, 0, 2);
    }
    return next;
}

LINEAR_INLINE void linear_float_tile(enum linear_float_kind kind, int rows, int vecs,
                                     const struct linear_float_part *p)
{
    vf32 acc[LINEAR_FLOAT_ROWS][64 / VF32_N];
    LINEAR_UNROLL for (int r = 0; r < rows; r++) LINEAR_UNROLL for (int v = 0; v < vecs; v++)
        acc[r][v] = vf32_load(p->acc + (size_t)r * p->acc_ld + v * VF32_N);
    size_t k = 0;
    const uint8_t *next = p->next;
    if (kind == LINEAR_F32 || kind == LINEAR_F16)
        for (; k < p->k; k++) {
            next = linear_float_ask(p, next);
            linear_step(kind, rows, vecs, p, k, acc);
        }
    else {
        for (; k + 2 <= p->k; k += 2) {
            next = linear_float_ask(p, next);
            linear_pair_step(kind, rows, vecs, p, k, false, acc);
        }
        if (k < p->k) /* bf16 activations are padded, f32 ones are not */
            linear_pair_step(kind, rows, vecs, p, k, kind == LINEAR_BF16, acc);
    }
    LINEAR_UNROLL for (int r = 0; r < rows; r++) LINEAR_UNROLL for (int v = 0; v < vecs; v++)
        vf32_store(p->acc + (size_t)r * p->acc_ld + v * VF32_N, acc[r][v]);
}

/* Rows of the largest tile: splitting pairs takes registers. */
LINEAR_INLINE size_t linear_float_most(enum linear_float_kind kind)
{
    const bool pairs = kind == LINEAR_BF16 || kind == LINEAR_NATIVE;
    return pairs && VF32_REGS < 32 && LINEAR_FLOAT_ROWS > 4 ? 4 : LINEAR_FLOAT_ROWS;
}

/* rows <= most <= LINEAR_FLOAT_ROWS <= 6 */
LINEAR_INLINE void linear_float_rows(enum linear_float_kind kind, size_t most, size_t rows,
                                     int vecs, const struct linear_float_part *p)
{
    if (rows == 1)
        linear_float_tile(kind, 1, vecs, p);
    else if (rows == 2)
        linear_float_tile(kind, 2, vecs, p);
    else if (rows == 3 && most >= 3)
        linear_float_tile(kind, 3, vecs, p);
    else if (rows == 4 && most >= 4)
        linear_float_tile(kind, 4, vecs, p);
#if LINEAR_FLOAT_ROWS > 4
    else if (rows == 5 && most >= 5)
        linear_float_tile(kind, 5, vecs, p);
    else if (rows == 6 && most >= 6)
        linear_float_tile(kind, 6, vecs, p);
#endif
}

/* m rows by n outputs (n up to the panel's, rounded up to whole tiles), in tiles of up to `most`
 * rows, as equal as possible, by `vecs` vectors. */
LINEAR_INLINE void linear_float_block(enum linear_float_kind kind, size_t most, int vecs,
                                      struct linear_float_part p, size_t m, size_t n)
{
    const size_t x_size = kind == LINEAR_NATIVE ? sizeof(uint16_t) : sizeof(float);
    const size_t w_size = kind == LINEAR_F16 ? sizeof(uint16_t) : sizeof(float); /* bf16: a pair */
    const size_t steps = kind == LINEAR_F32 || kind == LINEAR_F16 ? p.k : p.k / 2;
    const size_t row_tiles = (m + most - 1) / most, width = (size_t)(vecs * VF32_N),
                 tiles = row_tiles * ((n + width - 1) / width);
    const struct linear_float_part first = p;
    p.next_lines = (first.next_lines + tiles - 1) / tiles;
    for (size_t j = 0; j < n; j += width) {
        p.w = first.w + j * w_size;
        p.x = first.x;
        p.acc = first.acc + j;
        size_t left = m;
        for (size_t t = row_tiles; t > 0; t--) {
            const size_t rows = left / t;
            linear_float_rows(kind, most, rows, vecs, &p);
            p.x = (const uint8_t *)p.x + rows * p.x_stride * x_size;
            p.acc += rows * p.acc_ld;
            if (p.next_lines) {
                p.next += steps * p.next_lines * QR_LINE;
                p.next_lines = p.next < p.next_end ? p.next_lines : 0;
            }
            left -= rows;
        }
    }
}

/* One row streams the panel front to back, all its outputs in registers. Up to wide_m rows read
 * half of it at a time, where the tile is narrower. More rows use the tile. */
#define LINEAR_FLOAT_PART(kind, KIND, wide_m)                                                      \
    static __attribute__((noinline)) void linear_part_##kind(const struct linear_float_part *p,    \
                                                             size_t m, size_t n)                   \
    {                                                                                              \
        if (m == 1 && n == QR_FLOAT_PANEL_ROWS)                                                    \
            linear_float_tile(KIND, 1, 64 / VF32_N, p);                                            \
        else if (LINEAR_FLOAT_VECS == 2 && m <= wide_m && n > 2 * VF32_N)                          \
            linear_float_block(KIND, 2, 4, *p, m, n);                                              \
        else                                                                                       \
            linear_float_block(KIND, linear_float_most(KIND), LINEAR_FLOAT_VECS, *p, m, n);        \
    }

typedef void linear_part_fn(const struct linear_float_part *p, size_t m, size_t n);

/* k of one part: all of it where one tile holds all rows; else as much as stays in the first cache
 * while the rows pass. */
static inline size_t linear_float_k(enum linear_float_kind kind, size_t k, size_t k_bytes, size_t m,
                                    size_t n)
{
    const size_t most = linear_float_most(kind),
                 tiles = (m + most - 1) / most *
                         ((n + LINEAR_FLOAT_VECS * VF32_N - 1) / (LINEAR_FLOAT_VECS * VF32_N));
    if (tiles == 1 || m == 1)
        return k;
    return (m <= 32 ? 16384 : 32768) / k_bytes; /* little of it when it has to come soon */
}

/* All panels and rows, in parts of k. While a part is multiplied, weights further on are asked for:
 * tiles do not read a panel in one stream, which the hardware's own prefetch needs. */
static __attribute__((noinline)) void linear_float_run(const struct qr_linear_kernel_args *a,
                                                       enum linear_float_kind kind,
                                                       linear_part_fn *part)
{
    enum { ROWS = QR_FLOAT_PANEL_ROWS };
    _Alignas(64) float acc[LINEAR_FLOAT_M * ROWS];
    /* a step of bf16 is a pair */
    const size_t k_bytes = ROWS * (kind == LINEAR_F32 ? 4 : 2),
                 step_bytes = kind == LINEAR_F16 ? k_bytes : ROWS * 4,
                 pieces = (a->m + LINEAR_FLOAT_M - 1) / LINEAR_FLOAT_M;
    for (size_t i = 0; i < pieces; i++)
        for (size_t j0 = 0; j0 < a->n; j0 += ROWS) {
            const size_t i0 = i * a->m / pieces, m = (i + 1) * a->m / pieces - i0,
                         n = a->n - j0 < ROWS ? a->n - j0 : ROWS,
                         k_step = linear_float_k(kind, a->k, k_bytes, m, n);
            const bool one_stream = m == 1 && kind == LINEAR_F32; /* fast enough by itself */
            const uint8_t *panel = (const uint8_t *)a->w + j0 / ROWS * a->panel_bytes;
            struct linear_float_part p = { .acc = acc, .w_ld = ROWS, .acc_ld = ROWS };
            p.x_stride = kind == LINEAR_NATIVE ? a->x_bf16_stride : a->x_stride;
            memset(acc, 0, m * ROWS * sizeof *acc);
            for (size_t k0 = 0; k0 < a->k; k0 += k_step) {
                p.w = panel + k0 * k_bytes;
                p.k = a->k - k0 < k_step ? a->k - k0 : k_step;
                p.x = kind == LINEAR_NATIVE ? (const void *)(a->x_bf16 + i0 * p.x_stride + k0)
                                            : (const void *)(a->x + i0 * p.x_stride + k0);
                p.next = p.w + (k_step == a->k ? LINEAR_AHEAD : k_step * k_bytes);
                p.next_end = p.next + p.k * k_bytes;
                p.stream = k_step == a->k;
                p.next_lines = one_stream ? 0 : step_bytes / QR_LINE;
                part(&p, m, n);
            }
            linear_store(a, i0, m, j0, ROWS, acc, ROWS);
        }
}

#endif
