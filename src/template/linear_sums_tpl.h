/* SPDX-License-Identifier: Apache-2.0 */
/* linear_sums_tpl.h - one row of int8 activations times panels of one-bit codes, by tables of the
 * sums of a few activations (simd/sum_tables_*.h). The sums of a block are the integers that
 * products give, so the bits are those of linear_q8_tpl.h. Needs what that needs. */
#ifndef QR_TEMPLATE_LINEAR_SUMS_TPL_H
#define QR_TEMPLATE_LINEAR_SUMS_TPL_H
#include "template/linear_unpack_tpl.h"

enum {
    LINEAR_SUMS_OUTPUTS = 2 * QR_PANEL_ROWS,
    LINEAR_SUMS_VECS = LINEAR_SUMS_OUTPUTS / VF32_N,
    LINEAR_SUMS_PAIRS = 4, /* of panels that share tables in L1 */
};

/* Prefetches a line of weights that is read now and, for L2, the one `ahead` bytes later. */
QR_INLINE void linear_sums_prefetch(const uint8_t *line, size_t ahead, size_t near)
{
    qr_prefetch_l2((const void *)((uintptr_t)line + ahead));
    qr_prefetch_l1((const void *)((uintptr_t)line + near));
}

/* Adds the nb blocks of the group at `group` in two panels to out. */
QR_INLINE void linear_sums_group(struct qr_panel_format f, const uint8_t *group, size_t panel_bytes,
                                 size_t ahead, size_t near, const struct qr_q8_block *q,
                                 const uint8_t *tables, size_t nb, float *out)
{
    struct linear_scales scales;
    vf32 acc[LINEAR_SUMS_VECS];
    const size_t header = qr_panel_header_bytes(f, nb);
    const uint8_t *a = group + header, *b = a + panel_bytes;
    for (size_t i = 0; i < 2; i++) {
        for (size_t x = 0; x < header; x += QR_CACHE_LINE_BYTES)
            linear_sums_prefetch(group + i * panel_bytes + x, ahead, near);
        linear_unpack_scales(f, group + i * panel_bytes, nb, &scales, i * QR_PANEL_ROWS);
    }
    QR_UNROLL_16 (size_t v = 0; v < LINEAR_SUMS_VECS; v++)
        acc[v] = vf32_load(out + v * VF32_N);
    for (size_t t = 0; t < nb; t++, q++, tables += SUM_TABLES_BYTES) {
        vf32 sum[LINEAR_SUMS_VECS];
        const vf32 d = vf32_set1(q->d);
        linear_sums_prefetch(a, ahead, near);
        linear_sums_prefetch(b, ahead, near);
        sum_tables_multiply(sum, a, b, tables);
        QR_UNROLL_16 (size_t v = 0; v < LINEAR_SUMS_VECS; v++)
            acc[v] = vf32_fma(sum[v], vf32_mul(vf32_load(&scales.scale[t][v * VF32_N]), d), acc[v]);
        a += QR_CACHE_LINE_BYTES;
        b += QR_CACHE_LINE_BYTES;
    }
    QR_UNROLL_16 (size_t v = 0; v < LINEAR_SUMS_VECS; v++)
        vf32_store(out + v * VF32_N, acc[v]);
}

QR_INLINE void linear_sums_fill(uint8_t *tables, const struct qr_q8_block *q, size_t n_blocks)
{
    for (size_t b = 0; b < n_blocks; b++, q++, tables += SUM_TABLES_BYTES)
        sum_tables_fill(tables, q->q);
}

/* Enters the function that fills the tables in the table of kernels. */
QR_INLINE void linear_sums_set(struct qr_kernels *k)
{
    k->sum_tables = linear_sums_fill;
    k->sum_table_bytes = SUM_TABLES_BYTES;
    k->sum_tables_min_outputs = 64; /* where sums take half to two thirds of the time of products */
}

/* The row of a times n pairs of panels from output j0 on. The tables of a group stay in L1 for all
 * of them. */
QR_INLINE void linear_sums_pairs(struct qr_panel_format f, const struct qr_linear_kernel_args *a,
                                 size_t j0, size_t n)
{
    _Alignas(64) float out[LINEAR_SUMS_PAIRS][LINEAR_SUMS_OUTPUTS] = { { 0 } };
    const size_t blocks = a->k / QR_BLOCK_K, most = QR_GROUP_K / QR_BLOCK_K;
    const uint8_t *group = (const uint8_t *)a->w + j0 / QR_PANEL_ROWS * a->panel_bytes;
    size_t left = a->panel_bytes; /* of each panel */
    for (size_t b = 0; b < blocks; b += most) {
        const size_t nb = blocks - b < most ? blocks - b : most;
        /* 2 n panels are read side by side, at twice the distances of one panel in all, which is up
         * to 6 % faster on a Xeon; behind their ends those of the next call follow */
        size_t ahead = WEIGHT_PREFETCH_L2_BYTES / n;
        ahead += ahead < left ? 0 : (2 * n - 1) * a->panel_bytes;
        for (size_t i = 0; i < n; i++)
            linear_sums_group(f, group + 2 * i * a->panel_bytes, a->panel_bytes, ahead,
                              LINEAR_PREFETCH_L1_BYTES / n, a->q + b,
                              a->sum_tables + b * SUM_TABLES_BYTES, nb, out[i]);
        group += qr_panel_group_bytes(f, nb);
        left -= qr_panel_group_bytes(f, nb);
    }
    linear_store(a, 0, 1, j0, n * LINEAR_SUMS_OUTPUTS, out[0], 0);
}

#endif
