/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8_tpl.h - int8 activations times quantized panels: skinny GEMM, and the driver of all
 * shapes.
 *
 * Needs a vec_*.h, QR_ISA and the register tile: LINEAR_Q8_ROWS activation rows by LINEAR_Q8_VECS
 * vectors of outputs, which are one or two panels. Up to linear_q8_skinny_max rows stream a panel
 * and unpack it in registers, LINEAR_Q8_SKINNY_ROWS at a time; for more rows linear_q8_gemm unpacks
 * a group of weights once for up to LINEAR_Q8_M rows. Accumulators are in memory between groups. */
#include "template/linear_q8_gemm_tpl.h"
#if defined(SUM_TABLES)
#include "template/linear_sums_tpl.h"
#endif

/* ---- skinny GEMM */

/* Few rows multiply two vectors of weights at once, which share the loads of activations: two
 * panels where a panel is one vector, else a panel of two vectors. */
#if defined(VI32_PAIRS)
enum { LINEAR_Q8_PANEL_IS_VECTOR = 0 };
#else
enum { LINEAR_Q8_PANEL_IS_VECTOR = (int)VF32_N == (int)QR_PANEL_ROWS };
#endif
/* Whether two panels of m rows fit the registers: up to six rows (seven run as six and one) where a
 * code takes a shift and a mask, else four. */
QR_INLINE bool linear_q8_pairs_panels(struct qr_panel_format f, size_t m)
{
    const bool simple = f.low_bits >= 4 && !f.high_bits && f.lut != QR_LUT_IQ4;
    return LINEAR_Q8_PANEL_IS_VECTOR && m > 1 && m <= (simple ? 7 : 5);
}

/* Whether m rows multiply the two vectors of a panel at once. */
QR_INLINE bool linear_q8_pairs_vectors(struct qr_panel_format f, size_t m)
{
    return LINEAR_Q8_PANEL_IS_PAIR && m <= linear_q8_pair_max(f);
}

/* Whether skinny GEMM always multiplies the two vectors of a panel at once. */
QR_INLINE bool linear_q8_pairs_only(struct qr_panel_format f)
{
    return LINEAR_Q8_PANEL_IS_PAIR && linear_q8_pair_max(f) == linear_q8_skinny_max(f);
}

/* m rows of one packed group, 8, 6, 4, 2 or 1 at a time. */
QR_INLINE void linear_q8_skinny_rows(struct qr_panel_format f, struct linear_q8_tile_args p,
                                     size_t m)
{
    const int kind = linear_q8_kind(f) | LINEAR_Q8_PACKED;
    while (m > 0) {
        const size_t rows = m > 7 ? 8 : m > 1 ? m & ~(size_t)1 : 1;
        switch (rows) {
        case 8:
            linear_q8_tile(kind, f, 8, 1, &p);
            break;
        case 6:
            linear_q8_tile(kind, f, 6, 1, &p);
            break;
        case 4:
            linear_q8_tile(kind, f, 4, 1, &p);
            break;
        case 2:
            linear_q8_tile(kind, f, 2, 1, &p);
            break;
        default:
            linear_q8_tile(kind, f, 1, 1, &p);
            break;
        }
        linear_q8_next_rows(&p, rows);
        p.next_lines = 0;
        m -= rows;
    }
}

/* The same for two vectors. If they are one panel, up to four rows are multiplied at once, by
 * matrix products up to eight. A separate function: with the number of vectors as an argument gcc
 * no longer splits p into scalars, and every group waits for a copy of it. */
QR_INLINE void linear_q8_pair_rows(struct qr_panel_format f, struct linear_q8_tile_args p, size_t m)
{
    const int kind = linear_q8_kind(f) | LINEAR_Q8_PACKED;
    while (m > 0) {
        const size_t rows = LINEAR_Q8_PAIR_IS_EVEN ? (m > LINEAR_Q8_PAIR_ROWS ? m & ~(size_t)1 : m)
                            : LINEAR_Q8_PANEL_IS_PAIR ? (m > LINEAR_Q8_PAIR_ROWS ? (m + 1) / 2 : m)
                            : m > 1                   ? m & ~(size_t)1
                                                      : 1;
        switch (rows) {
#if defined(VI32_MATRIX)
        case 8:
            if (LINEAR_Q8_PANEL_IS_PAIR)
                linear_q8_tile(kind, f, 8, 2, &p);
            break;
#endif
        case 6:
            if (LINEAR_Q8_PAIR_IS_EVEN || linear_q8_pairs_panels(f, 6))
                linear_q8_tile(kind, f, 6, 2, &p);
            break;
        case 4:
            linear_q8_tile(kind, f, 4, 2, &p);
            break;
        case 3:
            if (LINEAR_Q8_PANEL_IS_PAIR)
                linear_q8_tile(kind, f, 3, 2, &p);
            break;
        case 2:
            linear_q8_tile(kind, f, 2, 2, &p);
            break;
        default: /* the last of an odd number; linear_q8_one_row takes a single one */
            if (LINEAR_Q8_PAIR_IS_EVEN || !LINEAR_Q8_PANEL_IS_PAIR)
                linear_q8_tile(kind, f, 1, 2, &p);
            break;
        }
        linear_q8_next_rows(&p, rows);
        p.next_lines = 0;
        m -= rows;
    }
}

typedef void linear_q8_skinny_fn(struct linear_q8_tile_args p, size_t m);
/* p by pointer: copying so many fields would stall on the stores that have just written them. */
typedef void linear_q8_pair_fn(const struct linear_q8_tile_args *p, size_t m);

typedef void linear_q8_one_row_fn(const struct qr_linear_kernel_args *a, size_t i, size_t j0);

/* Whether one row multiplies a panel, of one or two vectors, by linear_q8_one_row. */
enum { LINEAR_Q8_HAS_ONE_ROW = LINEAR_Q8_PANEL_IS_VECTOR || LINEAR_Q8_PANEL_IS_PAIR };

/* Row i times the panels from output j0 on. The sums of a panel are in registers from its first
 * group to its last: in memory they may lie a multiple of 4 KB from the scales, which are stored
 * just before a group loads its sums, and such a load waits for such a store. AMD Zen 5, weights in
 * L1: TQ1_0 takes 23 % less time than with sums in memory, Q5_K 21, Q6_K 13, Q4_0 2. */
QR_INLINE void linear_q8_one_row(struct qr_panel_format f, const struct qr_linear_kernel_args *a,
                                 size_t i, size_t j0)
{
    enum { VECS = LINEAR_Q8_PANEL_IS_PAIR ? LINEAR_Q8_VECS : 1 };
    const int kind = linear_q8_kind(f) | LINEAR_Q8_PACKED;
    const size_t blocks = a->k / QR_BLOCK_K;
    const enum qr_weight_prefetch how = linear_q8_prefetch(f, 1, a->prefetch);
    struct linear_scales scales;
    for (size_t j = j0; j < a->n; j += QR_PANEL_ROWS) {
        _Alignas(64) float acc[QR_PANEL_ROWS] = { 0 };
        const uint8_t *group = (const uint8_t *)a->w + j / QR_PANEL_ROWS * a->panel_bytes;
        for (size_t b = 0; b < blocks; b += LINEAR_Q8_GROUP) {
            const size_t nb = blocks - b < LINEAR_Q8_GROUP ? blocks - b : LINEAR_Q8_GROUP,
                         header = qr_panel_header_bytes(f, nb);
            struct linear_q8_tile_args p = {
                .next = group + header + WEIGHT_PREFETCH_L2_BYTES,
                .prefetch = a->prefetch,
                .next_lines = qr_panel_block_bytes(f) / QR_CACHE_LINE_BYTES,
                .scale = scales.scale[0],
                .q = a->q + i * a->q_stride + b,
                .half_sums = a->half_sums + 2 * (i * a->q_stride + b),
                .q_stride = a->q_stride,
                .acc = acc,
                .n_blocks = nb,
                .offset_shift = linear_q8_offset_shift(f),
            };
            prefetch_weight_bytes(group, header, how);
            linear_unpack_scales(f, group, nb, &scales, 0);
            QR_UNROLL_16 (int v = 0; v < VECS; v++)
                p.w[v] = group + header + (size_t)v * 4 * VF32_N;
#if defined(DELTA_SUMS)
            if (qr_panel_has_delta(f) && a->delta_sums) {
                p.delta_sums = a->delta_sums + b * QR_DELTA_SUMS;
                linear_q8_tile(kind | LINEAR_Q8_SUMMED, f, 1, VECS, &p);
            } else
#endif
                linear_q8_tile(kind, f, 1, VECS, &p);
            group += qr_panel_group_bytes(f, nb);
        }
        linear_store(a, i, 1, j, QR_PANEL_ROWS, acc, QR_PANEL_ROWS);
    }
}

/* Rows [i0, i0 + m) times the panel from output j0 on. */
QR_INLINE void linear_q8_skinny(struct qr_panel_format f, const struct qr_linear_kernel_args *a,
                                size_t i0, size_t m, size_t j0, linear_q8_skinny_fn *rows,
                                linear_q8_pair_fn *pair)
{
    _Alignas(64) float acc[LINEAR_Q8_M * LINEAR_Q8_LD];
    struct linear_scales scales;
    const size_t blocks = a->k / QR_BLOCK_K;
    const uint8_t *group = (const uint8_t *)a->w + j0 / QR_PANEL_ROWS * a->panel_bytes;
    const enum qr_weight_prefetch how = linear_q8_prefetch(f, m, a->prefetch);
    memset(acc, 0, m * LINEAR_Q8_LD * sizeof *acc);
    for (size_t b = 0; b < blocks; b += LINEAR_Q8_GROUP) {
        const size_t nb = blocks - b < LINEAR_Q8_GROUP ? blocks - b : LINEAR_Q8_GROUP;
        const uint8_t *body = group + qr_panel_header_bytes(f, nb);
        prefetch_weight_bytes(group, qr_panel_header_bytes(f, nb), how);
        linear_unpack_scales(f, group, nb, &scales, 0);
        const bool both = linear_q8_pairs_only(f) || linear_q8_pairs_vectors(f, m);
        for (size_t r = 0; r < QR_PANEL_ROWS; r += both ? QR_PANEL_ROWS : VF32_N) {
            struct linear_q8_tile_args p = {
                .next = body + WEIGHT_PREFETCH_L2_BYTES,
                .prefetch = a->prefetch,
                .next_lines = r ? 0 : qr_panel_block_bytes(f) / QR_CACHE_LINE_BYTES,
                .w = { body + 4 * r },
                .scale = scales.scale[0] + r,
                .q = a->q + i0 * a->q_stride + b,
                .half_sums = a->half_sums + 2 * (i0 * a->q_stride + b),
                .q_stride = a->q_stride,
                .acc = acc + r,
                .n_blocks = nb,
                .offset_shift = linear_q8_offset_shift(f),
            };
            if (both) {
                p.w[LINEAR_Q8_VECS - 1] = p.w[0] + 4 * VF32_N;
                pair(&p, m);
            } else
                rows(p, m);
        }
        group += qr_panel_group_bytes(f, nb);
    }
    linear_store(a, i0, m, j0, QR_PANEL_ROWS, acc, LINEAR_Q8_LD);
}

/* The same for the two panels from output j0 on. */
QR_INLINE void linear_q8_skinny_pair(struct qr_panel_format f,
                                     const struct qr_linear_kernel_args *a, size_t i0, size_t m,
                                     size_t j0, linear_q8_pair_fn *rows)
{
    _Alignas(64) float acc[LINEAR_Q8_SKINNY_ROWS * LINEAR_Q8_LD] = { 0 };
    struct linear_scales scales;
    const size_t blocks = a->k / QR_BLOCK_K;
    const uint8_t *group = (const uint8_t *)a->w + j0 / QR_PANEL_ROWS * a->panel_bytes;
    const enum qr_weight_prefetch how = linear_q8_prefetch(f, m, a->prefetch);
    for (size_t b = 0; b < blocks; b += LINEAR_Q8_GROUP) {
        const size_t nb = blocks - b < LINEAR_Q8_GROUP ? blocks - b : LINEAR_Q8_GROUP,
                     header = qr_panel_header_bytes(f, nb);
        for (size_t i = 0; i < 2; i++) {
            prefetch_weight_bytes(group + i * a->panel_bytes, header, how);
            linear_unpack_scales(f, group + i * a->panel_bytes, nb, &scales, i * QR_PANEL_ROWS);
        }
        const struct linear_q8_tile_args p = {
            .next = group + header + WEIGHT_PREFETCH_L2_BYTES,
            .prefetch = a->prefetch,
            .next_lines = qr_panel_block_bytes(f) / QR_CACHE_LINE_BYTES,
            .next_panel = a->panel_bytes,
            .w = { group + header, group + header + a->panel_bytes },
            .scale = scales.scale[0],
            .q = a->q + i0 * a->q_stride + b,
            .half_sums = a->half_sums + 2 * (i0 * a->q_stride + b),
            .q_stride = a->q_stride,
            .acc = acc,
            .n_blocks = nb,
            .offset_shift = linear_q8_offset_shift(f),
        };
        rows(&p, m);
        group += qr_panel_group_bytes(f, nb);
    }
    linear_store(a, i0, m, j0, 2 * QR_PANEL_ROWS, acc, LINEAR_Q8_LD);
}

/* ---- all rows and panels */

/* Rows [i0, i0 + m) times all panels. */
QR_INLINE void linear_q8_chunk(struct qr_panel_format f, const struct qr_linear_kernel_args *a,
                               size_t i0, size_t m, linear_q8_one_row_fn *one,
                               linear_q8_skinny_fn *skinny, linear_q8_pair_fn *pair)
{
    const size_t panels = (a->n + QR_PANEL_ROWS - 1) / QR_PANEL_ROWS;
    size_t j = 0;
#if defined(SUM_TABLES)
    if (f.low_bits == 1 && a->m == 1 && a->sum_tables)
        for (size_t n; (n = (panels - j) / 2) > 0; j += 2 * n) {
            n = n < LINEAR_SUMS_PAIRS ? n : LINEAR_SUMS_PAIRS;
            linear_sums_pairs(f, a, j * QR_PANEL_ROWS, n);
        }
#endif
    if (m > linear_q8_skinny_max(f))
        for (; j + LINEAR_Q8_PANELS <= panels; j += LINEAR_Q8_PANELS)
            linear_q8_gemm(f, a, i0, m, j * QR_PANEL_ROWS);
    if (linear_q8_pairs_panels(f, m))
        for (; j + 2 <= panels; j += 2)
            linear_q8_skinny_pair(f, a, i0, m, j * QR_PANEL_ROWS, pair);
    if (LINEAR_Q8_HAS_ONE_ROW && m == 1) {
        one(a, i0, j * QR_PANEL_ROWS);
        return;
    }
    for (; j < panels; j++)
        linear_q8_skinny(f, a, i0, m, j * QR_PANEL_ROWS, skinny, pair);
}

#define X(name, NAME, ...)                                                                         \
    static __attribute__((noinline)) void linear_q8_one_row_##name(                                \
        const struct qr_linear_kernel_args *a, size_t i, size_t j0)                                \
    {                                                                                              \
        if (LINEAR_Q8_HAS_ONE_ROW)                                                                 \
            linear_q8_one_row((struct qr_panel_format)QR_PANEL_FORMAT(__VA_ARGS__), a, i, j0);     \
    }                                                                                              \
    static __attribute__((noinline)) void linear_q8_skinny_##name(struct linear_q8_tile_args p,    \
                                                                  size_t m)                        \
    {                                                                                              \
        const struct qr_panel_format f = QR_PANEL_FORMAT(__VA_ARGS__);                             \
        if (!linear_q8_pairs_only(f))                                                              \
            linear_q8_skinny_rows(f, p, m);                                                        \
    }                                                                                              \
    static __attribute__((noinline)) void linear_q8_pair_##name(                                   \
        const struct linear_q8_tile_args *p, size_t m)                                             \
    {                                                                                              \
        const struct qr_panel_format f = QR_PANEL_FORMAT(__VA_ARGS__);                             \
        if (LINEAR_Q8_PANEL_IS_VECTOR || LINEAR_Q8_PANEL_IS_PAIR)                                  \
            linear_q8_pair_rows(f, *p, m);                                                         \
    }                                                                                              \
    void QR_KERNEL(linear_q8_##name)(const struct qr_linear_kernel_args *a)                        \
    {                                                                                              \
        const struct qr_panel_format f = QR_PANEL_FORMAT(__VA_ARGS__);                             \
        for (size_t i0 = 0, m; i0 < a->m; i0 += m) {                                               \
            m = linear_q8_chunk_rows(a->m - i0);                                                   \
            linear_q8_chunk(f, a, i0, m, linear_q8_one_row_##name, linear_q8_skinny_##name,        \
                            linear_q8_pair_##name);                                                \
        }                                                                                          \
    }
QR_INTEGER_TYPES(X)
#undef X
