/* SPDX-License-Identifier: Apache-2.0 */
/* weight_type.h - storage types of weights: names and block sizes. */
#ifndef QR_BASE_WEIGHT_TYPE_H
#define QR_BASE_WEIGHT_TYPE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values below QR_WEIGHT_FIRST_HF are GGML's type numbers, as stored in GGUF files. Types that
 * quire recognizes but cannot compute with have no enumerator. */
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
    QR_WEIGHT_IQ2_XXS = 16,
    QR_WEIGHT_IQ2_XS = 17,
    QR_WEIGHT_IQ3_XXS = 18,
    QR_WEIGHT_IQ1_S = 19,
    QR_WEIGHT_IQ4_NL = 20,
    QR_WEIGHT_IQ3_S = 21,
    QR_WEIGHT_IQ2_S = 22,
    QR_WEIGHT_IQ4_XS = 23,
    QR_WEIGHT_IQ1_M = 29,
    QR_WEIGHT_BF16 = 30,
    QR_WEIGHT_TQ1_0 = 34,
    QR_WEIGHT_TQ2_0 = 35,
    QR_WEIGHT_MXFP4 = 39,
    QR_WEIGHT_NVFP4 = 40,
    QR_WEIGHT_Q1_0 = 41,
    QR_WEIGHT_Q2_0 = 42,
    /* Of Hugging Face checkpoints with a quantization_config, which no GGUF file has. A block is an
     * f32 scale d, for INT4 and INT8 an s8 zero point z, then the codes in the order of k:
     *   INT4   d * (q - z), two codes to a byte, the first in the low bits
     *   INT8   d * (q - z), q an s8
     *   F8_E4M3   d times the number with these bits
     *   NF4    d * QR_NF4_VALUES[q], packed as INT4
     * The number at the end of a name is the elements of a block. */
    QR_WEIGHT_FIRST_HF = 0x10000,
    QR_WEIGHT_INT4_32 = QR_WEIGHT_FIRST_HF,
    QR_WEIGHT_INT4_64,
    QR_WEIGHT_INT4_128,
    QR_WEIGHT_INT8_32,
    QR_WEIGHT_INT8_128,
    QR_WEIGHT_F8_E4M3_32,
    QR_WEIGHT_F8_E4M3_128,
    QR_WEIGHT_NF4_64,
};

struct qr_weight_type_info {
    const char *name;     /* as printed by GGUF tools, e.g. "Q4_K" */
    uint16_t block_elems; /* values per block */
    uint16_t block_bytes;
    bool supported; /* can be packed and computed with */
};

/* Properties of a type number; NULL for numbers that were never assigned or were withdrawn. */
const struct qr_weight_type_info *qr_weight_type_info(uint32_t type);

/* What is known of a type number without properties: that of another program, or withdrawn. The
 * result is static; false when nothing is known. */
struct qr_weight_type_foreign {
    const char *name; /* e.g. "IQ4_KS" */
    const char *why;  /* "is a type of ...; quantize ...": what it is, and the way out */
};
bool qr_weight_type_foreign(uint32_t type, struct qr_weight_type_foreign *out);

/* Bytes of one row of k values. False when the type is unknown, k is no multiple of its block
 * size, or the product overflows. */
bool qr_weight_row_bytes(uint32_t type, uint64_t k, size_t *out);

#endif
