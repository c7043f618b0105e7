/* SPDX-License-Identifier: Apache-2.0 */
/* linear_float_tpl.h - f32 and bf16 activations times 64-row panels of f32, f16 and bf16 weights.
 *
 * Needs a vec_*.h, QR_ISA and the register tile: LINEAR_FLOAT_ROWS activation rows by
 * LINEAR_FLOAT_VECS vectors of outputs, as many as the registers hold. Every element of a tile is
 * one chain over k, so the bits do not depend on the tile shape. A level without products of bf16
 * defines LINEAR_NATIVE_F32 and sets native_bf16_reads_f32; LINEAR_WIDEN_ROWS: see
 * linear_widen_tpl.h. */
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

#if defined(LINEAR_NATIVE_F32)
typedef float linear_native_x;
enum { LINEAR_READS_BF16 = 0 };
#else
typedef uint16_t linear_native_x;
enum { LINEAR_READS_BF16 = 1 };
#endif

/* Operands of a register tile or of a chunk of k. Meanwhile the tile prefetches weights from `next`
 * to `next_end`: for a chunk, next_lines cache lines per step if it were a single tile; for a tile,
 * next_lines per step. A step is one k, of bf16 weights a pair. */
struct linear_float_args {
    const uint8_t *w; /* at the first step and output */
    const void *x;    /* at the first k: f32, or linear_native_x for NATIVE */
    float *acc;       /* [rows][acc_ld] */
    size_t w_ld;      /* outputs of one k in the panel */
    size_t x_stride;  /* elements */
    size_t acc_ld;    /* floats */
    size_t k;         /* without padding */
    const uint8_t *next, *next_end;
    size_t next_lines;
    bool stream; /* weights are read once; next is WEIGHT_PREFETCH_L2_BYTES ahead of them */
    enum qr_weight_prefetch prefetch; /* of a stream */
};

QR_INLINE vi32 linear_broadcast_pair(const uint16_t *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return vi32_set1(pair);
}

/* Adds one bf16 pair of weights: in the order of k (N4) for f32 activations, the odd one first (N3)
 * for bf16 activations. */
QR_INLINE vf32 linear_pair(enum linear_float_kind kind, vf32 acc, vi32 w, const void *x)
{
    if (kind == LINEAR_BF16) {
        const float *f = x;
        acc = vf32_fma(vf32_set1(f[0]), vf32_even_bf16(w), acc);
        return vf32_fma(vf32_set1(f[1]), vf32_odd_bf16(w), acc);
    }
#if defined(LINEAR_NATIVE_F32)
    const float *f = x;
    acc = vf32_fma(vf32_set1(f[1]), vf32_odd_bf16(w), acc);
    return vf32_fma(vf32_set1(f[0]), vf32_even_bf16(w), acc);
#elif defined(__AVX512BF16__)
    return vf32_dot_bf16(acc, w, linear_broadcast_pair(x));
#else
    const vi32 pair = linear_broadcast_pair(x);
    acc = vf32_fma(vf32_odd_bf16(pair), vf32_odd_bf16(w), acc);
    return vf32_fma(vf32_even_bf16(pair), vf32_even_bf16(w), acc);
#endif
}

/* Step k of f32 and f16 weights: loads the weights of all vectors, then broadcasts one activation
 * at a time, which takes the fewest registers. */
QR_INLINE void linear_step(enum linear_float_kind kind, int rows, int vecs,
                           const struct linear_float_args *p, size_t k, vf32 (*acc)[64 / VF32_N])
{
    vf32 w[64 / VF32_N];
    QR_UNROLL_16 (int v = 0; v < vecs; v++) {
        const size_t at = k * p->w_ld + (size_t)(v * VF32_N);
        w[v] = kind == LINEAR_F32 ? vf32_load((const float *)(const void *)p->w + at)
                                  : vf32_load_f16((const uint16_t *)(const void *)p->w + at);
    }
    QR_UNROLL_16 (int r = 0; r < rows; r++) {
        const vf32 x = vf32_set1(((const float *)p->x)[(size_t)r * p->x_stride + k]);
        QR_UNROLL_16 (int v = 0; v < vecs; v++)
            acc[r][v] = vf32_fma(x, w[v], acc[r][v]);
    }
}

/* Steps k and k + 1 of bf16 weights, for row r and vector v; half: k only, the last element of a
 * row of f32 activations of odd length. */
QR_INLINE vf32 linear_pair_at(enum linear_float_kind kind, const struct linear_float_args *p,
                              size_t k, int r, int v, bool half, vf32 acc)
{
    const size_t x_size = kind == LINEAR_BF16 ? sizeof(float) : sizeof(linear_native_x);
    const vi32 w = vi32_load(p->w + (k / 2 * p->w_ld + (size_t)(v * VF32_N)) * 4);
    const uint8_t *x = (const uint8_t *)p->x + ((size_t)r * p->x_stride + k) * x_size;
    if (half)
        return vf32_fma(vf32_set1(*(const float *)(const void *)x), vf32_even_bf16(w), acc);
    return linear_pair(kind, acc, w, x);
}

/* The even or the odd elements of steps k and k + 1 of bf16 weights times f32 activations. Weights
 * are loaded for each: kept pairs take registers. */
QR_INLINE void linear_half_step(bool odd, int rows, int vecs, const struct linear_float_args *p,
                                size_t k, vf32 (*acc)[64 / VF32_N])
{
    vf32 w[64 / VF32_N];
    LINEAR_LOAD_BARRIER;
    QR_UNROLL_16 (int v = 0; v < vecs; v++) {
        const vi32 pair = vi32_load(p->w + (k / 2 * p->w_ld + (size_t)(v * VF32_N)) * 4);
        w[v] = odd ? vf32_odd_bf16(pair) : vf32_even_bf16(pair);
    }
    QR_UNROLL_16 (int r = 0; r < rows; r++) {
        const vf32 x = vf32_set1(((const float *)p->x)[(size_t)r * p->x_stride + k + odd]);
        QR_UNROLL_16 (int v = 0; v < vecs; v++)
            acc[r][v] = vf32_fma(x, w[v], acc[r][v]);
    }
}

/* Splits bf16 pairs into values and keeps those of rows or vectors, whichever are fewer. */
QR_INLINE void linear_pair_step(enum linear_float_kind kind, int rows, int vecs,
                                const struct linear_float_args *p, size_t k, bool half,
                                vf32 (*acc)[64 / VF32_N])
{
    if (rows < vecs)
        QR_UNROLL_16 (int v = 0; v < vecs; v++)
            QR_UNROLL_16 (int r = 0; r < rows; r++)
                acc[r][v] = linear_pair_at(kind, p, k, r, v, half, acc[r][v]);
    else if (kind == LINEAR_NATIVE && LINEAR_READS_BF16)
        QR_UNROLL_16 (int r = 0; r < rows; r++)
            QR_UNROLL_16 (int v = 0; v < vecs; v++)
                acc[r][v] = linear_pair_at(kind, p, k, r, v, half, acc[r][v]);
    else {
        linear_half_step(kind == LINEAR_NATIVE, rows, vecs, p, k, acc);
        if (!half)
            linear_half_step(kind != LINEAR_NATIVE, rows, vecs, p, k, acc);
    }
}

/* Prefetches the lines of one step; returns the next address. */
QR_INLINE const uint8_t *linear_float_prefetch(const struct linear_float_args *p,
                                               const uint8_t *next)
{
    for (size_t i = 0; i < p->next_lines; i++, next += QR_CACHE_LINE_BYTES) {
        if (p->stream)
            prefetch_weights(next, p->prefetch);
        else
            qr_prefetch_l2(next);
    }
    return next;
}

QR_INLINE void linear_float_tile(enum linear_float_kind kind, int rows, int vecs,
                                 const struct linear_float_args *p)
{
    vf32 acc[LINEAR_FLOAT_ROWS][64 / VF32_N];
    QR_UNROLL_16 (int r = 0; r < rows; r++)
        QR_UNROLL_16 (int v = 0; v < vecs; v++)
            acc[r][v] = vf32_load(p->acc + (size_t)r * p->acc_ld + v * VF32_N);
    size_t k = 0;
    const uint8_t *next = p->next;
    if (kind == LINEAR_F32 || kind == LINEAR_F16)
        for (; k < p->k; k++) {
            next = linear_float_prefetch(p, next);
            linear_step(kind, rows, vecs, p, k, acc);
        }
    else {
        for (; k + 2 <= p->k; k += 2) {
            next = linear_float_prefetch(p, next);
            linear_pair_step(kind, rows, vecs, p, k, false, acc);
        }
        if (k < p->k) /* bf16 activations are padded, f32 activations are not */
            linear_pair_step(kind, rows, vecs, p, k, kind == LINEAR_BF16, acc);
    }
    QR_UNROLL_16 (int r = 0; r < rows; r++)
        QR_UNROLL_16 (int v = 0; v < vecs; v++)
            vf32_store(p->acc + (size_t)r * p->acc_ld + v * VF32_N, acc[r][v]);
}

/* Rows of the largest tile. Splitting pairs of activations takes registers. */
QR_INLINE size_t linear_float_tile_rows(enum linear_float_kind kind)
{
    const bool pairs = kind == LINEAR_NATIVE && LINEAR_READS_BF16;
    return pairs && VF32_REGS < 32 && LINEAR_FLOAT_ROWS > 4 ? 4 : LINEAR_FLOAT_ROWS;
}

/* rows <= most <= LINEAR_FLOAT_ROWS <= 6 */
QR_INLINE void linear_float_rows(enum linear_float_kind kind, size_t most, size_t rows, int vecs,
                                 const struct linear_float_args *p)
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

/* m rows by n outputs of one panel (n is rounded up to whole tiles) in tiles of up to `most` rows,
 * divided evenly, by `vecs` vectors. */
QR_INLINE void linear_float_block(enum linear_float_kind kind, size_t most, int vecs,
                                  struct linear_float_args p, size_t m, size_t n)
{
    const size_t x_size = kind == LINEAR_NATIVE ? sizeof(linear_native_x) : sizeof(float);
    const size_t w_size = kind == LINEAR_F16 ? sizeof(uint16_t) : sizeof(float); /* bf16: a pair */
    const size_t steps = kind == LINEAR_F32 || kind == LINEAR_F16 ? p.k : p.k / 2;
    const size_t row_tiles = (m + most - 1) / most, width = (size_t)vecs * VF32_N,
                 tiles = row_tiles * ((n + width - 1) / width);
    const struct linear_float_args first = p;
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
                p.next += steps * p.next_lines * QR_CACHE_LINE_BYTES;
                p.next_lines = p.next < p.next_end ? p.next_lines : 0;
            }
            left -= rows;
        }
    }
}

/* linear_widened_chunk_<kind>: linear_chunk_<kind> of LINEAR_WIDEN_ROWS rows and more. A function
 * of its own, as its memory and registers would slow the tiles of few rows down. */
#if defined(LINEAR_WIDEN_ROWS)
#include "template/linear_widen_tpl.h"
#define LINEAR_WIDENED_CHUNK(kind, KIND)                                                           \
    static __attribute__((noinline)) void linear_widened_chunk_##kind(                             \
        const struct linear_float_args *p, size_t m, size_t n)                                     \
    {                                                                                              \
        linear_widened_block(KIND, *p, m, n);                                                      \
    }
#else
#define LINEAR_WIDEN_ROWS SIZE_MAX
#define LINEAR_WIDENED_CHUNK(kind, KIND)                                                           \
    static inline void linear_widened_chunk_##kind(const struct linear_float_args *p, size_t m,    \
                                                   size_t n)                                       \
    {                                                                                              \
        (void)p, (void)m, (void)n; /* not called */                                                \
    }
#endif

/* linear_chunk_<kind>: m rows by n outputs over one chunk of k. One row streams the panel front to
 * back with all outputs in registers. Up to wide_m rows use tiles of half a panel where the
 * register tile is narrower. More rows use the register tile. */
#define LINEAR_FLOAT_CHUNK(kind, KIND, wide_m)                                                     \
    LINEAR_WIDENED_CHUNK(kind, KIND)                                                               \
    static __attribute__((noinline)) void linear_chunk_##kind(const struct linear_float_args *p,   \
                                                              size_t m, size_t n)                  \
    {                                                                                              \
        if (m == 1 && n == QR_FLOAT_PANEL_ROWS)                                                    \
            linear_float_tile(KIND, 1, 64 / VF32_N, p);                                            \
        else if (LINEAR_FLOAT_VECS == 2 && m <= wide_m && n > 2 * VF32_N)                          \
            linear_float_block(KIND, 2, 4, *p, m, n);                                              \
        else if (KIND != LINEAR_F32 && m >= LINEAR_WIDEN_ROWS)                                     \
            linear_widened_chunk_##kind(p, m, n);                                                  \
        else                                                                                       \
            linear_float_block(KIND, linear_float_tile_rows(KIND), LINEAR_FLOAT_VECS, *p, m, n);   \
    }

typedef void linear_chunk_fn(const struct linear_float_args *p, size_t m, size_t n);

/* Size of a chunk of k: all of k if one tile holds all rows; else so much that its weights stay in
 * L1 for all rows. */
static inline size_t linear_float_k(enum linear_float_kind kind, size_t k, size_t k_bytes, size_t m,
                                    size_t n)
{
    const size_t most = linear_float_tile_rows(kind),
                 tiles = (m + most - 1) / most *
                         ((n + LINEAR_FLOAT_VECS * VF32_N - 1) / (LINEAR_FLOAT_VECS * VF32_N));
    if (tiles == 1 || m == 1)
        return k;
    /* few rows finish a chunk soon: smaller chunks leave L1 room for the next one */
    return (m <= 32 ? 16384 : 32768) / k_bytes;
}

/* All panels and rows, in chunks of k. While a chunk is multiplied, the following weights are
 * prefetched: tiles do not read a panel in one stream, as the hardware prefetcher requires. */
static __attribute__((noinline)) void linear_float_run(const struct qr_linear_kernel_args *a,
                                                       enum linear_float_kind kind,
                                                       linear_chunk_fn *chunk)
{
    enum { ROWS = QR_FLOAT_PANEL_ROWS };
    _Alignas(64) float acc[LINEAR_FLOAT_M * ROWS];
    const bool reads_bf16 = kind == LINEAR_NATIVE && LINEAR_READS_BF16;
    /* a step of bf16 is a pair */
    const size_t k_bytes = ROWS * (kind == LINEAR_F32 ? 4 : 2),
                 step_bytes = kind == LINEAR_F16 ? k_bytes : ROWS * 4,
                 row_chunks = (a->m + LINEAR_FLOAT_M - 1) / LINEAR_FLOAT_M;
    for (size_t i = 0; i < row_chunks; i++)
        for (size_t j0 = 0; j0 < a->n; j0 += ROWS) {
            const size_t i0 = i * a->m / row_chunks, m = (i + 1) * a->m / row_chunks - i0,
                         n = a->n - j0 < ROWS ? a->n - j0 : ROWS,
                         k_step = linear_float_k(kind, a->k, k_bytes, m, n);
            const bool one_stream =
                m == 1 && kind == LINEAR_F32; /* the hardware prefetcher suffices */
            const uint8_t *panel = (const uint8_t *)a->w + j0 / ROWS * a->panel_bytes;
            struct linear_float_args p = { .acc = acc, .w_ld = ROWS, .acc_ld = ROWS };
            p.prefetch = linear_is_light(m, 4) ? a->prefetch : QR_WEIGHT_PREFETCH_TWICE;
            p.x_stride = reads_bf16 ? a->x_bf16_stride : a->x_stride;
            memset(acc, 0, m * ROWS * sizeof *acc);
            for (size_t k0 = 0; k0 < a->k; k0 += k_step) {
                p.w = panel + k0 * k_bytes;
                p.k = a->k - k0 < k_step ? a->k - k0 : k_step;
                p.x = reads_bf16 ? (const void *)(a->x_bf16 + i0 * p.x_stride + k0)
                                 : (const void *)(a->x + i0 * p.x_stride + k0);
                p.next = p.w + (k_step == a->k ? WEIGHT_PREFETCH_L2_BYTES : k_step * k_bytes);
                p.next_end = p.next + p.k * k_bytes;
                p.stream = k_step == a->k;
                p.next_lines = one_stream ? 0 : step_bytes / QR_CACHE_LINE_BYTES;
                chunk(&p, m, n);
            }
            linear_store(a, i0, m, j0, ROWS, acc, ROWS);
        }
}

#endif
