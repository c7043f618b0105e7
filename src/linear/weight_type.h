/* SPDX-License-Identifier: Apache-2.0 */
/* weight_type.h - storage types of weights: names and block sizes. */
#ifndef QR_LINEAR_WEIGHT_TYPE_H
#define QR_LINEAR_WEIGHT_TYPE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers are GGML's type numbers, which GGUF files store. Unsupported types have no
 * enumerator. */
enum qr_weight_type {
    QR_WEIGHT_F32 = 0,
    QR_WEIGHT_F16 = 1,
    QR_WEIGHT_Q4_0 = 2,
    QR_WEIGHT_Q4_1 = 3,
    QR_WEIGHT_Q5_0 = 6,
    QR_WEIGHT_Q5_1 = 7,
    QR_WEIGHT_Q8_0 = 8,
    QR_WEIGHT_Q2_K = 10,
    QR_WEIGHT_Q3_K = 11,
    QR_WEIGHT_Q4_K = 12,
    QR_WEIGHT_Q5_K = 13,
    QR_WEIGHT_Q6_K = 14,
    QR_WEIGHT_IQ3_XXS = 18,
    QR_WEIGHT_IQ4_NL = 20,
    QR_WEIGHT_IQ3_S = 21,
    QR_WEIGHT_IQ4_XS = 23,
    QR_WEIGHT_BF16 = 30,
    QR_WEIGHT_MXFP4 = 39,
};

struct qr_weight_type_info {
    const char *name;     /* as GGUF tools print it, e.g. "Q4_K" */
    uint16_t block_elems; /* values in one block */
    uint16_t block_bytes;
    bool supported; /* can be packed and multiplied */
};

/* Looks up a type number; NULL for numbers that GGML never assigned or withdrew. */
const struct qr_weight_type_info *qr_weight_type_info(uint32_t type);

/* Computes the bytes of one row of k values. False when the type is unknown, k is not a multiple of
 * its block, or on overflow. */
bool qr_weight_row_bytes(uint32_t type, uint64_t k, size_t *out);

#endif
