/* SPDX-License-Identifier: Apache-2.0 */
/* lora_tpl.h - products of low-rank adapters over vec_*.h. Needs a vec_*.h and QR_ISA. The order of
 * the sums is that of generic/lora.c, bit for bit. */
#include "template/common_tpl.h"

enum {
    LORA_VECS = 16 / VF32_N, /* of a panel */
    LORA_CHAINS = 4,
    /* Rows that share the loads of a panel, and the accumulators that fit the registers. */
    LORA_ROWS = 4,
    LORA_ACCS = VF32_N == 8 ? 8 : 16,
};

/* Row i of the call. */
static inline size_t lora_row(const struct qr_lora_kernel_args *a, size_t i)
{
    return a->rows ? a->rows[i] : a->first_row + i;
}

/* 16 / LORA_VECS weights at element i of a panel. */
QR_INLINE vf32 lora_load(const void *panel, size_t i, bool bf16)
{
    return bf16 ? vf32_load_bf16((const uint16_t *)panel + i) : vf32_load((const float *)panel + i);
}

/* Adds one k to `chains` chains of n_rows rows, as far as it is below the end. */
QR_INLINE void lora_step(vf32 acc[LORA_CHAINS][LORA_ROWS][LORA_VECS], const void *panel, bool bf16,
                         const float *const *x, size_t k, int chains, int n_rows)
{
    QR_UNROLL_8 (int c = 0; c < chains; c++)
        QR_UNROLL_8 (int v = 0; v < LORA_VECS; v++) {
            const vf32 w = lora_load(panel, (k + (size_t)c) * 16 + (size_t)v * VF32_N, bf16);
            QR_UNROLL_8 (int r = 0; r < n_rows; r++)
                acc[c][r][v] = vf32_fma(vf32_set1(x[r][k + (size_t)c]), w, acc[c][r][v]);
        }
}

/* Dot products t of n_rows rows with a panel. n_rows is a constant; as many chains run at once as
 * the registers hold. */
QR_INLINE void lora_tile(const void *panel, bool bf16, const float *const *x, size_t k, int n_rows,
                         vf32 t[LORA_ROWS][LORA_VECS])
{
    vf32 sum[LORA_CHAINS][LORA_ROWS][LORA_VECS];
    const int fit = LORA_ACCS / (n_rows * LORA_VECS), chains = fit > 4 ? 4 : fit > 0 ? fit : 1;
    for (int first = 0; first < LORA_CHAINS; first += chains) {
        vf32 acc[LORA_CHAINS][LORA_ROWS][LORA_VECS];
        QR_UNROLL_8 (int c = 0; c < chains; c++)
            QR_UNROLL_8 (int r = 0; r < n_rows; r++)
                QR_UNROLL_8 (int v = 0; v < LORA_VECS; v++)
                    acc[c][r][v] = vf32_zero();
        size_t i = (size_t)first;
        for (; i + (size_t)chains <= k; i += LORA_CHAINS)
            lora_step(acc, panel, bf16, x, i, chains, n_rows);
        QR_UNROLL_8 (int c = 0; c < chains - 1; c++) /* the last chains may have one k less */
            if (i + (size_t)c < k)
                lora_step(acc + c, panel, bf16, x, i + (size_t)c, 1, n_rows);
        QR_UNROLL_8 (int c = 0; c < chains; c++)
            QR_UNROLL_8 (int r = 0; r < n_rows; r++)
                QR_UNROLL_8 (int v = 0; v < LORA_VECS; v++)
                    sum[first + c][r][v] = acc[c][r][v];
    }
    QR_UNROLL_8 (int r = 0; r < n_rows; r++)
        QR_UNROLL_8 (int v = 0; v < LORA_VECS; v++)
            t[r][v] = vf32_add(vf32_add(sum[0][r][v], sum[1][r][v]),
                               vf32_add(sum[2][r][v], sum[3][r][v]));
}

/* Stores the results of row r for outputs [j0, j0 + 16). */
QR_INLINE void lora_store(const struct qr_lora_kernel_args *a, size_t row, size_t j0,
                          const vf32 t[LORA_VECS])
{
    float *out = a->out + (row - a->first_row) * a->out_stride + j0;
    const size_t left = a->n - j0;
    const vf32 scale = vf32_set1(a->scales ? a->scale * a->scales[row] : 1);
    QR_UNROLL_8 (int v = 0; v < LORA_VECS; v++) {
        const size_t at = (size_t)v * VF32_N;
        if (at >= left)
            break;
        const size_t n = left - at < VF32_N ? left - at : VF32_N;
        if (a->scales)
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
    lora_tile(panel, bf16, x, a->k, n_rows, t);
    QR_UNROLL_8 (int r = 0; r < n_rows; r++)
        lora_store(a, lora_row(a, i + (size_t)r), j0, t[r]);
}

/* All rows and panels; bf16 is a constant. */
QR_INLINE void lora_panels(const struct qr_lora_kernel_args *a, bool bf16)
{
    for (size_t j0 = 0; j0 < a->n; j0 += 16) {
        const void *panel = bf16 ? (const void *)((const uint16_t *)a->w + j0 * a->k)
                                 : (const void *)((const float *)a->w + j0 * a->k);
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
