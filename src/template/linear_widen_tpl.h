/* SPDX-License-Identifier: Apache-2.0 */
/* linear_widen_tpl.h - weights of 16 bits times many rows of f32 activations, for levels with 16
 * registers. A tile of them has none for weights that are converted, and its weights, 64 outputs
 * apart, do not stay in L1. So the weights of a tile are widened to f32 first, once for all rows.
 *
 * Included by linear_float_tpl.h. The level defines LINEAR_WIDEN_ROWS, the least number of rows. */
#ifndef QR_TEMPLATE_LINEAR_WIDEN_TPL_H
#define QR_TEMPLATE_LINEAR_WIDEN_TPL_H

enum {
    LINEAR_WIDEN_K = 256, /* the longest chunk of linear_float_k */
    LINEAR_WIDEN_N = LINEAR_FLOAT_VECS * VF32_N,
};

/* With so many rows, divided evenly, tiles have at least LINEAR_FLOAT_ROWS - 2. */
_Static_assert(LINEAR_WIDEN_ROWS >= 2 * LINEAR_FLOAT_ROWS && LINEAR_FLOAT_ROWS <= 7,
               "tiles of fewer rows");

/* Converts p->k weights of each output of a tile to [k][LINEAR_WIDEN_N]; completes an odd k of bf16
 * pairs. */
QR_INLINE void linear_widen(enum linear_float_kind kind, const struct linear_float_args *p,
                            float *out)
{
    enum { N = LINEAR_WIDEN_N };
    if (kind == LINEAR_F16) {
        const uint16_t *w = (const uint16_t *)(const void *)p->w;
        for (size_t k = 0; k < p->k; k++, w += p->w_ld, out += N)
            QR_UNROLL_16 (int v = 0; v < N; v += VF32_N)
                vf32_store(out + v, vf32_load_f16(w + v));
        return;
    }
    const uint8_t *w = p->w;
    for (size_t k = 0; k < p->k; k += 2, w += p->w_ld * 4, out += 2 * N)
        QR_UNROLL_16 (int v = 0; v < N; v += VF32_N) {
            const vi32 pair = vi32_load(w + (size_t)v * 4);
            vf32_store(out + v, vf32_even_bf16(pair));
            vf32_store(out + N + v, vf32_odd_bf16(pair));
        }
}

QR_INLINE void linear_widened_step(int rows, const float *w, const float *const *x, size_t k,
                                   vf32 (*acc)[LINEAR_FLOAT_VECS])
{
    vf32 weights[LINEAR_FLOAT_VECS];
    QR_UNROLL_16 (int v = 0; v < LINEAR_FLOAT_VECS; v++)
        weights[v] = vf32_load(w + k * LINEAR_WIDEN_N + v * VF32_N);
    QR_UNROLL_16 (int r = 0; r < rows; r++) {
        const vf32 value = vf32_set1(x[r][k]);
        QR_UNROLL_16 (int v = 0; v < LINEAR_FLOAT_VECS; v++)
            acc[r][v] = vf32_fma(value, weights[v], acc[r][v]);
    }
}

/* `rows` rows by LINEAR_WIDEN_N outputs; w: widened. NATIVE adds the odd element of a pair first
 * (N3), and completes an odd k. */
QR_INLINE void linear_widened_tile(bool native, int rows, const float *w,
                                   const struct linear_float_args *p)
{
    const float *x[LINEAR_FLOAT_ROWS];
    vf32 acc[LINEAR_FLOAT_ROWS][LINEAR_FLOAT_VECS];
    QR_UNROLL_16 (int r = 0; r < rows; r++) {
        x[r] = (const float *)p->x + (size_t)r * p->x_stride;
        QR_UNROLL_16 (int v = 0; v < LINEAR_FLOAT_VECS; v++)
            acc[r][v] = vf32_load(p->acc + (size_t)r * p->acc_ld + v * VF32_N);
    }
    size_t k = 0;
    for (; k + !native < p->k; k += 2) {
        linear_widened_step(rows, w, x, k + native, acc);
        linear_widened_step(rows, w, x, k + !native, acc);
    }
    if (k < p->k)
        linear_widened_step(rows, w, x, k, acc);
    QR_UNROLL_16 (int r = 0; r < rows; r++)
        QR_UNROLL_16 (int v = 0; v < LINEAR_FLOAT_VECS; v++)
            vf32_store(p->acc + (size_t)r * p->acc_ld + v * VF32_N, acc[r][v]);
}

#define LINEAR_WIDENED_ROWS(name, native)                                                          \
    static __attribute__((noinline)) void name(size_t rows, const float *w,                        \
                                               const struct linear_float_args *p)                  \
    {                                                                                              \
        if (rows == LINEAR_FLOAT_ROWS)                                                             \
            linear_widened_tile(native, LINEAR_FLOAT_ROWS, w, p);                                  \
        else if (rows == LINEAR_FLOAT_ROWS - 1)                                                    \
            linear_widened_tile(native, LINEAR_FLOAT_ROWS - 1, w, p);                              \
        else                                                                                       \
            linear_widened_tile(native, LINEAR_FLOAT_ROWS - 2, w, p);                              \
    }
LINEAR_WIDENED_ROWS(linear_widened_native, true)
LINEAR_WIDENED_ROWS(linear_widened_f32, false)

/* As linear_float_block. Each tile prefetches its part of the lines before its loop, where the
 * addresses would take registers of those of the rows. */
QR_INLINE void linear_widened_block(enum linear_float_kind kind, struct linear_float_args p,
                                    size_t m, size_t n)
{
    _Alignas(64) float w[LINEAR_WIDEN_K * LINEAR_WIDEN_N];
    const size_t w_size = kind == LINEAR_F16 ? sizeof(uint16_t) : 2 * sizeof(uint16_t),
                 row_tiles = (m + LINEAR_FLOAT_ROWS - 1) / LINEAR_FLOAT_ROWS,
                 tiles = row_tiles * ((n + LINEAR_WIDEN_N - 1) / LINEAR_WIDEN_N),
                 lines = (size_t)(p.next_end - p.next) / QR_CACHE_LINE_BYTES / tiles + 1;
    const struct linear_float_args first = p;
    for (size_t j = 0; j < n; j += LINEAR_WIDEN_N) {
        p.w = first.w + j * w_size;
        p.x = first.x;
        p.acc = first.acc + j;
        linear_widen(kind, &p, w);
        size_t left = m;
        for (size_t t = row_tiles; t > 0; t--) {
            const size_t rows = left / t;
            for (size_t i = 0; i < lines && p.next < p.next_end; i++, p.next += QR_CACHE_LINE_BYTES)
                qr_prefetch_l2(p.next);
            (kind == LINEAR_NATIVE ? linear_widened_native : linear_widened_f32)(rows, w, &p);
            p.x = (const float *)p.x + rows * p.x_stride;
            p.acc += rows * p.acc_ld;
            left -= rows;
        }
    }
}

#endif
