/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_scales.h - reads scales and zero points of quantized matrices. */
#ifndef QR_MODEL_LOAD_QUANTIZED_SCALES_H
#define QR_MODEL_LOAD_QUANTIZED_SCALES_H
#include "model/load/quantized_types.h"
#include "model/load/types.h"

/* Rows [row, row + n) of a matrix that are being read. */
struct qr_quantized_rows {
    const struct qr_weights *w;
    const struct qr_quantized_tensor *t;
    uint64_t row;
    size_t n;
    /* groups of a row, and columns of each: those of a scale, or a part that divides the row */
    size_t n_groups, width;
    uint8_t *codes; /* [n][columns] */
    float *scales;  /* [n][n_groups] */
    int16_t *zeros; /* [n][n_groups] */
    uint8_t *raw;   /* for bytes of the files */
    size_t raw_bytes;
    struct quire_error *err;
};

/* Reads bytes [begin, begin + bytes) of a tensor of the matrix to r->raw, which grows. */
quire_status qr_quantized_raw(struct qr_quantized_rows *r, int64_t tensor, uint64_t begin,
                              uint64_t bytes);

/* Fill r->scales and r->zeros, checked: scales are finite; zero points are 0 .. 15 for codes of
 * four bits, else -128 .. 127. */
quire_status qr_quantized_scales(struct qr_quantized_rows *r);
quire_status qr_quantized_zeros(struct qr_quantized_rows *r);

/* The bits of row i of 8 in a word of AWQ begin here. */
static inline unsigned qr_awq_shift(uint64_t i)
{
    return 4 * (unsigned)(i % 2 ? 4 + i / 2 % 4 : i / 2 % 4);
}

#endif
