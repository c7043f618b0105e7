/* SPDX-License-Identifier: Apache-2.0 */
/* weight_type.c - names and block sizes of the weight types. */
#include "base/weight_type.h"
#include "base/checked.h"

static const struct qr_weight_type_info types[] = {
    [QR_WEIGHT_F32] = { "F32", 1, 4, true },
    [QR_WEIGHT_F16] = { "F16", 1, 2, true },
    [QR_WEIGHT_Q4_0] = { "Q4_0", 32, 18, true },
    [QR_WEIGHT_Q4_1] = { "Q4_1", 32, 20, true },
    [QR_WEIGHT_Q5_0] = { "Q5_0", 32, 22, true },
    [QR_WEIGHT_Q5_1] = { "Q5_1", 32, 24, true },
    [QR_WEIGHT_Q8_0] = { "Q8_0", 32, 34, true },
    [9] = { "Q8_1", 32, 36, false },
    [QR_WEIGHT_Q2_K] = { "Q2_K", 256, 84, true },
    [QR_WEIGHT_Q3_K] = { "Q3_K", 256, 110, true },
    [QR_WEIGHT_Q4_K] = { "Q4_K", 256, 144, true },
    [QR_WEIGHT_Q5_K] = { "Q5_K", 256, 176, true },
    [QR_WEIGHT_Q6_K] = { "Q6_K", 256, 210, true },
    [15] = { "Q8_K", 256, 292, false },
    [16] = { "IQ2_XXS", 256, 66, false },
    [17] = { "IQ2_XS", 256, 74, false },
    [QR_WEIGHT_IQ3_XXS] = { "IQ3_XXS", 256, 98, true },
    [19] = { "IQ1_S", 256, 50, false },
    [QR_WEIGHT_IQ4_NL] = { "IQ4_NL", 32, 18, true },
    [QR_WEIGHT_IQ3_S] = { "IQ3_S", 256, 110, true },
    [22] = { "IQ2_S", 256, 82, false },
    [QR_WEIGHT_IQ4_XS] = { "IQ4_XS", 256, 136, true },
    [24] = { "I8", 1, 1, false },
    [25] = { "I16", 1, 2, false },
    [26] = { "I32", 1, 4, false },
    [27] = { "I64", 1, 8, false },
    [28] = { "F64", 1, 8, false },
    [29] = { "IQ1_M", 256, 56, false },
    [QR_WEIGHT_BF16] = { "BF16", 1, 2, true },
    [34] = { "TQ1_0", 256, 54, false },
    [35] = { "TQ2_0", 256, 66, false },
    [QR_WEIGHT_MXFP4] = { "MXFP4", 32, 17, true },
    [40] = { "NVFP4", 64, 36, false },
    [41] = { "Q1_0", 128, 18, false },
};

const struct qr_weight_type_info *qr_weight_type_info(uint32_t type)
{
    if (type >= sizeof types / sizeof types[0] || !types[type].name)
        return NULL;
    return &types[type];
}

bool qr_weight_row_bytes(uint32_t type, uint64_t k, size_t *out)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    if (!info || k > SIZE_MAX || k % info->block_elems != 0)
        return false;
    return qr_mul_size((size_t)k / info->block_elems, info->block_bytes, out);
}
