/* SPDX-License-Identifier: Apache-2.0 */
/* lora_tpl.h - products of low-rank adapters over vec_*.h. Needs a vec_*.h and QR_ISA. The order of
 * the sums is that of generic/lora.c, bit for bit. */
#include "simd/prefetch.h"
#include "template/common_tpl.h"

enum {
    LORA_VECS = QR_LORA_PANEL / VF32_N,
    LORA_CHAINS = QR_LORA_CHAINS,
    /* Rows that share the loads of a panel, and the accumulators that fit the registers. */
    LORA_ROWS = 4,
    LORA_ACCS = VF32_N == 8 ? 8 : 16,
};

/* Row i of the call. */
static inline size_t lora_row(const struct qr_lora_kernel_args *a, size_t i)
{
    return a->rows ? a->rows[i] : a->first_row + i;
}

/* Element i of weights. */
QR_INLINE const void *lora_at(const void *weights, size_t i, bool bf16)
{
    return bf16 ? (const void *)((const uint16_t *)weights + i)
                : (const void *)((const float *)weights + i);
}

/* VF32_N weights at element i. */
QR_INLINE vf32 lora_load(const void *weights, size_t i, bool bf16)
{
    return bf16 ? vf32_load_bf16((const uint16_t *)weights + i)
                : vf32_load((const float *)weights + i);
}

/* Adds element i of each of `chains` chains. `weights`: of the first of them, `size` elements from
 * one to the next; x: at its element 0. */
QR_INLINE void lora_step(vf32 acc[LORA_CHAINS][LORA_ROWS][LORA_VECS], const void *weights,
                         size_t size, bool bf16, const float *const *x, size_t i, int chains,
                         int n_rows)
{
    QR_UNROLL_8 (int c = 0; c < chains; c++) {
        const uintptr_t at =
            (uintptr_t)lora_at(weights, (size_t)c * size + i * QR_LORA_PANEL, bf16);
        qr_prefetch_l2((const void *)(at + ADAPTER_PREFETCH_L2_BYTES));
        qr_prefetch_l1((const void *)(at + ADAPTER_PREFETCH_L1_BYTES));
        QR_UNROLL_8 (int v = 0; v < LORA_VECS; v++) {
            const vf32 w =
                lora_load(weights, (size_t)c * size + i * QR_LORA_PANEL + (size_t)v * VF32_N, bf16);
            QR_UNROLL_8 (int r = 0; r < n_rows; r++)
                acc[c][r][v] =
                    vf32_fma(vf32_set1(x[r][i * LORA_CHAINS + (size_t)c]), w, acc[c][r][v]);
        }
    }
}

/* Sums of chains [first, first + chains) of rows of length k. */
QR_INLINE void lora_chains(vf32 acc[LORA_CHAINS][LORA_ROWS][LORA_VECS], const void *panel,
                           bool bf16, const float *const *x, size_t k, int first, int chains,
                           int n_rows)
{
    const size_t size = qr_lora_panel_size(k) / LORA_CHAINS;
    const void *weights = lora_at(panel, (size_t)first * size, bf16);
    const float *from[LORA_ROWS];
    QR_UNROLL_8 (int r = 0; r < n_rows; r++)
        from[r] = x[r] + first;
    QR_UNROLL_8 (int c = 0; c < chains; c++)
        QR_UNROLL_8 (int r = 0; r < n_rows; r++)
            QR_UNROLL_8 (int v = 0; v < LORA_VECS; v++)
                acc[c][r][v] = vf32_zero();
    size_t i = 0;
    for (; i * LORA_CHAINS + (size_t)(first + chains) <= k; i++)
        lora_step(acc, weights, size, bf16, from, i, chains, n_rows);
    QR_UNROLL_8 (int c = 0; c < chains - 1; c++) { /* the last chains may have one element less */
        const float *one[LORA_ROWS];
        QR_UNROLL_8 (int r = 0; r < n_rows; r++)
            one[r] = from[r] + c;
        if (i * LORA_CHAINS + (size_t)(first + c) < k)
            lora_step(acc + c, lora_at(weights, (size_t)c * size, bf16), size, bf16, one, i, 1,
                      n_rows);
    }
}

/* Dot products t of n_rows rows with a panel. n_rows is a constant; as many chains run at once as
 * the registers hold. */
QR_INLINE void lora_tile(const void *panel, bool bf16, const float *const *x, size_t k, int n_rows,
                         vf32 t[LORA_ROWS][LORA_VECS])
{
    vf32 sum[LORA_CHAINS][LORA_ROWS][LORA_VECS];
    const int fit = LORA_ACCS / (n_rows * LORA_VECS), chains = fit > 4 ? 4 : fit > 0 ? fit : 1;
    for (int first = 0; first < LORA_CHAINS; first += chains)
        lora_chains(sum + first, panel, bf16, x, k, first, chains, n_rows);
    QR_UNROLL_8 (int r = 0; r < n_rows; r++)
        QR_UNROLL_8 (int v = 0; v < LORA_VECS; v++)
            t[r][v] = vf32_add(vf32_add(sum[0][r][v], sum[1][r][v]),
                               vf32_add(sum[2][r][v], sum[3][r][v]));
}

/* The same of one chain alone. */
QR_INLINE void lora_tile_chain(const void *panel, bool bf16, const float *const *x, size_t k,
                               int chain, int n_rows, vf32 t[LORA_ROWS][LORA_VECS])
{
    vf32 sum[LORA_CHAINS][LORA_ROWS][LORA_VECS];
    lora_chains(sum, panel, bf16, x, k, chain, 1, n_rows);
    QR_UNROLL_8 (int r = 0; r < n_rows; r++)
        QR_UNROLL_8 (int v = 0; v < LORA_VECS; v++)
            t[r][v] = sum[0][r][v];
}

/* Stores the results of row r for outputs [j0, j0 + 16). */
QR_INLINE void lora_store(const struct qr_lora_kernel_args *a, size_t row, size_t j0,
                          const vf32 t[LORA_VECS])
{
    float *out = a->out + (row - a->first_row) * a->out_stride + j0;
    const size_t left = a->n - j0;
    const vf32 scale = vf32_set1(a->scales && !a->chain ? a->scale * a->scales[row] : 1);
    QR_UNROLL_8 (int v = 0; v < LORA_VECS; v++) {
        const size_t at = (size_t)v * VF32_N;
        if (at >= left)
            break;
        const size_t n = left - at < VF32_N ? left - at : VF32_N;
        if (a->scales || a->chain)
            vf32_store_n(out + at, vf32_mul(t[v], scale), n);
        else
            vf32_store_n(out + at, vf32_add(vf32_load_n(out + at, n), t[v]), n);
    }
}

/* Rows [i, i + n_rows) of the call. */
QR_INLINE void lora_rows(const struct qr_lora_kernel_args *a, const void *panel, bool bf16,
                         size_t j0, size_t i, int n_rows)
{
    const float *x[LORA_ROWS];
    vf32 t[LORA_ROWS][LORA_VECS];
    QR_UNROLL_8 (int r = 0; r < n_rows; r++)
        x[r] = a->x + lora_row(a, i + (size_t)r) * a->x_stride;
    if (a->chain)
        lora_tile_chain(panel, bf16, x, a->k, (int)a->chain - 1, n_rows, t);
    else
        lora_tile(panel, bf16, x, a->k, n_rows, t);
    QR_UNROLL_8 (int r = 0; r < n_rows; r++)
        lora_store(a, lora_row(a, i + (size_t)r), j0, t[r]);
}

/* All rows and panels; bf16 is a constant. */
QR_INLINE void lora_panels(const struct qr_lora_kernel_args *a, bool bf16)
{
    for (size_t j0 = 0; j0 < a->n; j0 += QR_LORA_PANEL) {
        const void *panel = lora_at(a->w, j0 / QR_LORA_PANEL * qr_lora_panel_size(a->k), bf16);
        size_t i = 0;
        for (; i + LORA_ROWS <= a->n_rows; i += LORA_ROWS)
            lora_rows(a, panel, bf16, j0, i, LORA_ROWS);
        for (; i < a->n_rows; i++)
            lora_rows(a, panel, bf16, j0, i, 1);
    }
}

void QR_KERNEL(lora)(const struct qr_lora_kernel_args *a)
{
    if (a->bf16)
        lora_panels(a, true);
    else
        lora_panels(a, false);
}
