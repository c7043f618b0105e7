/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8_common_tpl.h - sizes and tile variants of int8 activations times quantized panels.
 * Needs what linear_q8_tpl.h needs. */
#ifndef QR_TEMPLATE_LINEAR_Q8_COMMON_TPL_H
#define QR_TEMPLATE_LINEAR_Q8_COMMON_TPL_H
#include "template/linear_q8_tile_tpl.h"

enum {
    LINEAR_Q8_PANELS = LINEAR_Q8_VECS * VF32_N / QR_PANEL_ROWS,
    LINEAR_Q8_OUTPUTS = LINEAR_Q8_PANELS * QR_PANEL_ROWS,
    LINEAR_Q8_M = 128,
    LINEAR_Q8_GROUP = QR_GROUP_K / QR_BLOCK_K,
    /* Skinny GEMM: whether a panel is two vectors of eight lanes, and the largest number of rows
     * that multiply both at once. */
    LINEAR_Q8_PANEL_IS_PAIR = LINEAR_Q8_PANELS == 1 && LINEAR_Q8_VECS == 2,
    LINEAR_Q8_PAIR_ROWS = 4,
#if defined(VI32_MATRIX)
    LINEAR_Q8_PAIR_IS_EVEN = LINEAR_Q8_PANEL_IS_PAIR,
#else
    LINEAR_Q8_PAIR_IS_EVEN = 0,
#endif
};

/* Bits of the largest unpacked code. */
QR_INLINE int linear_q8_bits(struct qr_panel_format f)
{
    switch ((enum qr_code_lut)f.lut) {
    case QR_LUT_IQ2:
        return 7;
    case QR_LUT_IQ3_XXS:
        return 6;
    case QR_LUT_MXFP4:
    case QR_LUT_IQ3_S:
        return 5;
    default:
        return qr_panel_has_delta(f) ? 5 : f.low_bits + f.high_bits + qr_panel_code_at(f);
    }
}

/* Variant of the tiles of a format: enum linear_q8_kind. */
QR_INLINE int linear_q8_kind(struct qr_panel_format f)
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

QR_INLINE void linear_q8_next_rows(struct linear_q8_tile_args *p, size_t rows)
{
    p->q += rows * p->q_stride;
    p->half_sums += 2 * rows * p->q_stride;
    p->acc += rows * LINEAR_Q8_LD;
}

/* Rows of the next chunk when `left` rows remain: divided evenly, so that no chunk is skinny when m
 * is large, and a multiple of 16. */
static inline size_t linear_q8_chunk_rows(size_t left)
{
    const size_t chunks = (left + LINEAR_Q8_M - 1) / LINEAR_Q8_M,
                 even = (left + chunks - 1) / chunks;
    return chunks == 1 ? left : (even + 15) / 16 * 16;
}

/* Largest number of rows that multiply the two vectors of a panel at once, PAIR_ROWS at a time. */
QR_INLINE size_t linear_q8_pair_max(struct qr_panel_format f)
{
#if defined(VI32_PAIRS) /* splitting eight-bit codes into magnitudes and signs costs more */
    return f.low_bits == 8 ? 2 * LINEAR_Q8_PAIR_ROWS : LINEAR_Q8_PAIR_ROWS;
#else
    (void)f;
    return LINEAR_Q8_PAIR_IS_EVEN ? 2 * LINEAR_Q8_PAIR_ROWS : LINEAR_Q8_PAIR_ROWS;
#endif
}

/* Largest number of rows for which skinny GEMM, which unpacks again for every LINEAR_Q8_SKINNY_ROWS
 * rows, costs less than unpacking to memory. */
QR_INLINE size_t linear_q8_skinny_max(struct qr_panel_format f)
{
    bool twice = VF32_N == 16 && f.low_bits == 4 && f.high_bits == 0;
#if defined(VI32_PAIRS)
    if (LINEAR_Q8_PANEL_IS_PAIR)
        return linear_q8_pair_max(f);
    twice = twice && !linear_full_bytes(f); /* codes of eight bits take more operations */
#endif
    return twice ? 2 * LINEAR_Q8_SKINNY_ROWS : LINEAR_Q8_SKINNY_ROWS;
}

#endif
