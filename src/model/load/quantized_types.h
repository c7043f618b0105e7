/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_types.h - a quantized matrix of a Hugging Face checkpoint: its tensors and their
 * layouts. */
#ifndef QR_MODEL_LOAD_QUANTIZED_TYPES_H
#define QR_MODEL_LOAD_QUANTIZED_TYPES_H
#include "base/name_index.h"
#include "base/weight_type.h"
#include <stdint.h>

enum { QR_NO_TENSOR = -1 };

/* Where the code of a row and a column is. Words have 32 bits, the first value in the low bits
 * unless the layout says otherwise. */
enum qr_codes_layout {
    QR_CODES_BYTES,        /* [rows][columns] */
    QR_CODES_NIBBLES,      /* [rows][columns / 2]: low bits first */
    QR_CODES_NIBBLES_HIGH, /* the same, high bits first */
    QR_CODES_GPTQ,         /* words [columns * bits / 32][rows] along the columns */
    QR_CODES_AWQ,          /* words [columns][rows / 8], rows 0 2 4 6 1 3 5 7 */
};

enum qr_zeros_layout {
    QR_ZEROS_NONE,
    QR_ZEROS_GPTQ,  /* words [groups][rows * bits / 32] along the rows */
    QR_ZEROS_AWQ,   /* words [groups][rows / 8], rows 0 2 4 6 1 3 5 7 */
    QR_ZEROS_WORDS, /* words [rows * bits / 32][groups] along the rows */
    QR_ZEROS_BYTES, /* s8 [rows][groups] */
};

/* One matrix, or a stack of them. Tensor numbers are those of the safetensors files. */
struct qr_quantized_tensor {
    const char *name;
    uint32_t type; /* QR_WEIGHT_MXFP4, NVFP4 or one of the types from QR_WEIGHT_FIRST_HF on */
    uint64_t rows, columns;
    uint64_t experts; /* matrices of rows x columns; 0: not a stack */
    enum qr_codes_layout codes_layout;
    enum qr_zeros_layout zeros_layout;
    uint8_t bits; /* of a code */
    bool excess;  /* 8-bit codes are unsigned with an excess of 128 */
    int64_t codes, scales, zeros;
    /* the scale of (row, group) is element row / row_block * scale_row + group * scale_group,
     * divided by `divisor` */
    uint64_t group; /* columns per scale */
    uint64_t row_block, scale_row, scale_group;
    float divisor;
    /* multiplies all values besides; the rows do not contain it. 1: none */
    float tensor_scale;
    /* added to stored zero points; the zero point itself with QR_ZEROS_NONE */
    int zero;
    /* [columns] the column of each k of the rows that are read; NULL: ascending */
    const uint32_t *order;
    /* NF4: element `row * columns / group` of the scales; nested: these are codes of map, times
     * nested[index / nested_block], plus nested_offset */
    const float *map; /* [256] or NULL */
    int64_t nested;
    uint64_t nested_block;
    float nested_offset;
};

/* All tensors of a checkpoint: entries are plain tensors, or matrices of several tensors. */
struct qr_quantized {
    struct qr_quantized_tensor *tensors; /* [n_tensors] */
    size_t n_tensors;
    uint32_t *entries; /* [n_entries] tensor of the files, or n_files + number of a matrix */
    size_t n_entries, n_files;
    struct qr_name_index index;
};

#endif
