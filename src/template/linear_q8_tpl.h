/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8_tpl.h - int8 activations times quantised panels.
 *
 * Needs a vec_*.h, QR_ISA and the register tile: LINEAR_Q8_ROWS activation rows by
 * LINEAR_Q8_VECS vectors of outputs, which make one or two panels. Up to LINEAR_Q8_FEW rows stream
 * a panel, unpacking it in registers; for more rows a group of weights is unpacked once for up to
 * LINEAR_Q8_M rows. Accumulators lie in memory between groups. */
#include "template/linear_q8_tile_tpl.h"

enum {
    LINEAR_Q8_PANELS = LINEAR_Q8_VECS * VF32_N / QR_PANEL_ROWS,
    LINEAR_Q8_OUTPUTS = LINEAR_Q8_PANELS * QR_PANEL_ROWS,
    LINEAR_Q8_M = 128,
    LINEAR_Q8_GROUP = QR_GROUP_K / QR_BLOCK_K,
};

/* Bits of the largest byte that a code becomes. */
LINEAR_INLINE int linear_q8_bits(struct qr_panel_format f)
{
    return f.lut == QR_LUT_IQ3_XXS                          ? 6
           : f.lut == QR_LUT_MXFP4 || f.lut == QR_LUT_IQ3_S ? 5
                                                            : f.low_bits + f.high_bits;
}

LINEAR_INLINE int linear_q8_kind(struct qr_panel_format f)
{
    int kind = (qr_panel_sub16(f) ? LINEAR_Q8_SUB16 : 0) |
               (qr_panel_has_min(f) ? LINEAR_Q8_MIN : 0) |
               (linear_full_bytes(f) ? LINEAR_Q8_FULL : 0);
#if defined(VI32_PAIRS)
    /* 2 * 127 * largest code * steps <= 32767 */
    const int bits = linear_q8_bits(f);
    if (!linear_full_bytes(f))
        kind |= LINEAR_Q8_PAIRS * (bits <= 4 ? 8 : bits == 5 ? 4 : bits == 6 ? 2 : 1);
#endif
    return kind;
}

LINEAR_INLINE int linear_q8_offset_shift(struct qr_panel_format f)
{
    return f.offset ? __builtin_ctz(f.offset) : 0;
}

LINEAR_INLINE void linear_q8_next_rows(struct linear_q8_part *p, size_t rows)
{
    p->q += rows * p->q_stride;
    p->acc += rows * LINEAR_Q8_LD;
}

/* Rows up to which unpacking in registers, again for every LINEAR_Q8_FEW rows, costs less than
 * unpacking to memory. */
LINEAR_INLINE size_t linear_q8_most_few(struct qr_panel_format f)
{
    bool twice = VF32_N == 16 && f.low_bits == 4 && f.high_bits == 0;
#if defined(VI32_PAIRS) /* bytes that need all bits are split for two products, which costs more */
    twice = twice && !linear_full_bytes(f);
#endif
    return twice ? 2 * LINEAR_Q8_FEW : LINEAR_Q8_FEW;
}

#include "template/linear_q8_many_tpl.h"
/* A level may have a unit for products of matrices: linear_q8_many_tiles instead of linear_q8_many where
 * linear_q8_in_tiles says so. */
#ifdef LINEAR_Q8_MATRIX
#include LINEAR_Q8_MATRIX
#else
#define linear_q8_in_tiles(f, m) false
#define linear_q8_many_tiles     linear_q8_many
#endif

/* ---- a few rows */

/* Where one row of a group takes some 40 ns, a call for each is felt; and where a panel is one vector, few rows of two
 * panels share the loads of activations. */
#if defined(VI32_PAIRS)
enum { LINEAR_Q8_WIDE = 0 };
#else
enum { LINEAR_Q8_WIDE = (int)VF32_N == (int)QR_PANEL_ROWS };
#endif
/* Whether the two panels of m rows leave registers: six rows do where a code is a shift and a mask, else four. */
LINEAR_INLINE bool linear_q8_two_panels(struct qr_panel_format f, size_t m)
{
    const bool simple = f.low_bits >= 4 && !f.high_bits && f.lut != QR_LUT_IQ4;
    return LINEAR_Q8_WIDE && m > 1 && m <= (simple ? 7 : 5);
}

/* Rows of one packed panel's group, 8, 6, 4, 2 or 1 at a time. */
LINEAR_INLINE void linear_q8_few_rows(struct qr_panel_format f, struct linear_q8_part p, size_t m)
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

/* The same of two panels that are one vector each. A function of its own: with the number of panels for an argument, gcc no
 * longer takes p apart, and every group waits for the copy of it. */
LINEAR_INLINE void linear_q8_two_rows(struct qr_panel_format f, struct linear_q8_part p, size_t m)
{
    const int kind = linear_q8_kind(f) | LINEAR_Q8_PACKED;
    while (m > 0) {
        const size_t rows = m > 1 ? m & ~(size_t)1 : 1;
        switch (rows) {
        case 6:
            if (linear_q8_two_panels(f, 6))
                linear_q8_tile(kind, f, 6, 2, &p);
            break;
        case 4:
            linear_q8_tile(kind, f, 4, 2, &p);
            break;
        case 2:
            linear_q8_tile(kind, f, 2, 2, &p);
            break;
        default:
            linear_q8_tile(kind, f, 1, 2, &p);
            break;
        }
        linear_q8_next_rows(&p, rows);
        p.next_lines = 0;
        m -= rows;
    }
}

typedef void linear_q8_few_fn(struct linear_q8_part p, size_t m);

/* Rows [i0, i0 + m) times the panel from output j0 on. */
LINEAR_INLINE void linear_q8_few(struct qr_panel_format f, const struct qr_linear_kernel_args *a,
                                 size_t i0, size_t m, size_t j0, linear_q8_few_fn *rows)
{
    _Alignas(64) float acc[LINEAR_Q8_M * LINEAR_Q8_LD];
    struct linear_scales scales;
    const size_t blocks = a->k / QR_BLOCK_K;
    const uint8_t *group = (const uint8_t *)a->w + j0 / QR_PANEL_ROWS * a->panel_bytes;
    memset(acc, 0, m * LINEAR_Q8_LD * sizeof *acc);
    for (size_t b = 0; b < blocks; b += LINEAR_Q8_GROUP) {
        const size_t nb = blocks - b < LINEAR_Q8_GROUP ? blocks - b : LINEAR_Q8_GROUP;
        const uint8_t *body = group + qr_panel_header_bytes(f, nb);
        linear_ask_bytes(group, qr_panel_header_bytes(f, nb));
        linear_unpack_scales(f, group, nb, &scales, 0);
        for (size_t r = 0; r < QR_PANEL_ROWS; r += VF32_N) {
            const struct linear_q8_part p = {
                .next = body + LINEAR_AHEAD,
                .next_lines = r ? 0 : qr_panel_block_bytes(f) / QR_LINE,
                .w = { body + 4 * r },
                .scale = scales.scale[0] + r,
                .q = a->q + i0 * a->q_stride + b,
                .q_stride = a->q_stride,
                .acc = acc + r,
                .n_blocks = nb,
                .offset_shift = linear_q8_offset_shift(f),
            };
            if (m == 1 && LINEAR_Q8_WIDE)
                linear_q8_tile(linear_q8_kind(f) | LINEAR_Q8_PACKED, f, 1, 1, &p);
            else
                rows(p, m);
        }
        group += qr_panel_group_bytes(f, nb);
    }
    linear_store(a, i0, m, j0, QR_PANEL_ROWS, acc, LINEAR_Q8_LD);
}

/* By pointer: a copy of so many fields would wait for the stores that have just made them. */
typedef void linear_q8_two_fn(const struct linear_q8_part *p, size_t m);

/* The same of the two panels from output j0 on. */
LINEAR_INLINE void linear_q8_few_of_two(struct qr_panel_format f,
                                        const struct qr_linear_kernel_args *a, size_t i0, size_t m,
                                        size_t j0, linear_q8_two_fn *rows)
{
    _Alignas(64) float acc[LINEAR_Q8_FEW * LINEAR_Q8_LD] = { 0 };
    struct linear_scales scales;
    const size_t blocks = a->k / QR_BLOCK_K;
    const uint8_t *group = (const uint8_t *)a->w + j0 / QR_PANEL_ROWS * a->panel_bytes;
    for (size_t b = 0; b < blocks; b += LINEAR_Q8_GROUP) {
        const size_t nb = blocks - b < LINEAR_Q8_GROUP ? blocks - b : LINEAR_Q8_GROUP,
                     header = qr_panel_header_bytes(f, nb);
        for (size_t i = 0; i < 2; i++) {
            linear_ask_bytes(group + i * a->panel_bytes, header);
            linear_unpack_scales(f, group + i * a->panel_bytes, nb, &scales, i * QR_PANEL_ROWS);
        }
        const struct linear_q8_part p = {
            .next = group + header + LINEAR_AHEAD,
            .next_lines = qr_panel_block_bytes(f) / QR_LINE,
            .next_panel = a->panel_bytes,
            .w = { group + header, group + header + a->panel_bytes },
            .scale = scales.scale[0],
            .q = a->q + i0 * a->q_stride + b,
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

/* ---- the whole product */

/* The next of `left` rows that go together: equal numbers, so that none are a few when all are many, of whole tiles. */
static inline size_t linear_q8_piece(size_t left)
{
    const size_t pieces = (left + LINEAR_Q8_M - 1) / LINEAR_Q8_M,
                 even = (left + pieces - 1) / pieces;
    return pieces == 1 ? left : (even + 15) / 16 * 16;
}

LINEAR_INLINE void linear_q8_run(struct qr_panel_format f, const struct qr_linear_kernel_args *a,
                                 linear_q8_few_fn *few, linear_q8_two_fn *two)
{
    const size_t panels = (a->n + QR_PANEL_ROWS - 1) / QR_PANEL_ROWS;
    for (size_t i0 = 0, m; i0 < a->m; i0 += m) {
        m = linear_q8_piece(a->m - i0);
        size_t j = 0;
        if (m > linear_q8_most_few(f) || linear_q8_in_tiles(f, m))
            for (; j + LINEAR_Q8_PANELS <= panels; j += LINEAR_Q8_PANELS) {
                if (linear_q8_in_tiles(f, m))
                    linear_q8_many_tiles(f, a, i0, m, j * QR_PANEL_ROWS);
                else
                    linear_q8_many(f, a, i0, m, j * QR_PANEL_ROWS);
            }
        if (linear_q8_two_panels(f, m))
            for (; j + 2 <= panels; j += 2)
                linear_q8_few_of_two(f, a, i0, m, j * QR_PANEL_ROWS, two);
        for (; j < panels; j++)
            linear_q8_few(f, a, i0, m, j * QR_PANEL_ROWS, few);
    }
}

#define X(name, NAME, ...)                                                                         \
    static __attribute__((noinline)) void linear_q8_few_##name(struct linear_q8_part p, size_t m)  \
    {                                                                                              \
        const struct qr_panel_format f = QR_PANEL_FORMAT(__VA_ARGS__);                             \
        linear_q8_few_rows(f, p, m);                                                               \
    }                                                                                              \
    static __attribute__((noinline)) void linear_q8_two_##name(const struct linear_q8_part *p,     \
                                                               size_t m)                           \
    {                                                                                              \
        const struct qr_panel_format f = QR_PANEL_FORMAT(__VA_ARGS__);                             \
        if (LINEAR_Q8_WIDE)                                                                        \
            linear_q8_two_rows(f, *p, m);                                                          \
    }                                                                                              \
    void LINEAR_KERNEL(linear_q8_##name)(const struct qr_linear_kernel_args *a)                    \
    {                                                                                              \
        linear_q8_run((struct qr_panel_format)QR_PANEL_FORMAT(__VA_ARGS__), a,                     \
                      linear_q8_few_##name, linear_q8_two_##name);                                 \
    }
QR_QUANT_TYPES(X)
#undef X
