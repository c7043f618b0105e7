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
    [QR_WEIGHT_IQ2_XXS] = { "IQ2_XXS", 256, 66, true },
    [QR_WEIGHT_IQ2_XS] = { "IQ2_XS", 256, 74, true },
    [QR_WEIGHT_IQ3_XXS] = { "IQ3_XXS", 256, 98, true },
    [QR_WEIGHT_IQ1_S] = { "IQ1_S", 256, 50, true },
    [QR_WEIGHT_IQ4_NL] = { "IQ4_NL", 32, 18, true },
    [QR_WEIGHT_IQ3_S] = { "IQ3_S", 256, 110, true },
    [QR_WEIGHT_IQ2_S] = { "IQ2_S", 256, 82, true },
    [QR_WEIGHT_IQ4_XS] = { "IQ4_XS", 256, 136, true },
    [24] = { "I8", 1, 1, false },
    [25] = { "I16", 1, 2, false },
    [26] = { "I32", 1, 4, false },
    [27] = { "I64", 1, 8, false },
    [28] = { "F64", 1, 8, false },
    [QR_WEIGHT_IQ1_M] = { "IQ1_M", 256, 56, true },
    [QR_WEIGHT_BF16] = { "BF16", 1, 2, true },
    [QR_WEIGHT_TQ1_0] = { "TQ1_0", 256, 54, true },
    [QR_WEIGHT_TQ2_0] = { "TQ2_0", 256, 66, true },
    [QR_WEIGHT_MXFP4] = { "MXFP4", 32, 17, true },
    [QR_WEIGHT_NVFP4] = { "NVFP4", 64, 36, true },
    [QR_WEIGHT_Q1_0] = { "Q1_0", 128, 18, true },
    [QR_WEIGHT_Q2_0] = { "Q2_0", 64, 18, true },
};

static const struct qr_weight_type_info hf_types[] = {
#define HF(name, elems, bytes)                                                                     \
    [QR_WEIGHT_##name - QR_WEIGHT_FIRST_HF] = { #name, elems, bytes, true }
    HF(INT4_32, 32, 4 + 1 + 16),   HF(INT4_64, 64, 4 + 1 + 32),    HF(INT4_128, 128, 4 + 1 + 64),
    HF(INT8_32, 32, 4 + 1 + 32),   HF(INT8_128, 128, 4 + 1 + 128), HF(F8_E4M3_32, 32, 4 + 32),
    HF(F8_E4M3_128, 128, 4 + 128), HF(NF4_64, 64, 4 + 32),
#undef HF
};

const struct qr_weight_type_info *qr_weight_type_info(uint32_t type)
{
    if (type >= QR_WEIGHT_FIRST_HF)
        return type - QR_WEIGHT_FIRST_HF < sizeof hf_types / sizeof hf_types[0]
                   ? &hf_types[type - QR_WEIGHT_FIRST_HF]
                   : NULL;
    if (type >= sizeof types / sizeof types[0] || !types[type].name)
        return NULL;
    return &types[type];
}

/* Type numbers of other programs and withdrawn ones. */
enum { IK, IK_REPACKED, ARM_REPACKED, I2_S, Q4_2 };
static const char *const why[] = {
    [IK] = "is a type of ik_llama.cpp; quantize the original model to a type that quire has, as "
           "Q4_K, IQ4_XS or IQ2_S",
    [IK_REPACKED] = "has rows repacked by ik_llama.cpp; use the file it was repacked from, or "
                    "quantize the original model without repacking",
    [ARM_REPACKED] = "has rows repacked for one kind of CPU and was withdrawn; use a Q4_0 or "
                     "IQ4_NL file, which quire packs for the CPU itself",
    [I2_S] = "is a type of bitnet.cpp; convert the original model to TQ1_0 or TQ2_0",
    [Q4_2] = "was withdrawn from the format; quantize the original model again",
};
static const struct {
    uint16_t type;
    uint8_t why;
    char name[13];
} foreign[] = {
    { 4, Q4_2, "Q4_2" },
    { 5, Q4_2, "Q4_3" },
    { 31, ARM_REPACKED, "Q4_0_4_4" },
    { 32, ARM_REPACKED, "Q4_0_4_8" },
    { 33, ARM_REPACKED, "Q4_0_8_8" },
    { 36, I2_S, "I2_S" },
    { 37, ARM_REPACKED, "IQ4_NL_4_8" },
    { 38, ARM_REPACKED, "IQ4_NL_8_8" },
    { 97, IK_REPACKED, "Q8_0_X4" },
    { 98, IK_REPACKED, "Q8_1_X4" },
    { 99, IK_REPACKED, "Q8_2_X4" },
    { 133, IK, "Q6_0" },
    { 134, IK, "IQ1_BN" },
    { 135, IK, "IQ2_BN" },
    { 136, IK, "Q8_K64" },
    { 137, IK, "IQ2_K" },
    { 138, IK, "IQ3_K" },
    { 139, IK, "IQ4_K" },
    { 140, IK, "IQ5_K" },
    { 141, IK, "IQ6_K" },
    { 142, IK, "IQ2_TN" },
    { 143, IK, "IQ1_TN" },
    { 144, IK, "IQ4_KS" },
    { 145, IK, "IQ2_KS" },
    { 146, IK, "IQ4_KSS" },
    { 147, IK, "Q8_K16" },
    { 148, IK, "Q8_K32" },
    { 149, IK_REPACKED, "Q8_KR8" },
    { 150, IK, "Q8_K128" },
    { 151, IK, "Q8_KV" },
    { 152, IK, "IQ5_KS" },
    { 153, IK, "IQ2_KT" },
    { 154, IK, "IQ3_KT" },
    { 155, IK, "IQ4_KT" },
    { 156, IK, "IQ3_KS" },
    { 157, IK, "IQ2_KL" },
    { 158, IK, "IQ1_KT" },
    { 202, IK_REPACKED, "Q4_0_R8" },
    { 206, IK_REPACKED, "Q5_0_R4" },
    { 208, IK_REPACKED, "Q8_0_R8" },
    { 210, IK_REPACKED, "Q2_K_R4" },
    { 211, IK_REPACKED, "Q3_K_R4" },
    { 212, IK_REPACKED, "Q4_K_R4" },
    { 213, IK_REPACKED, "Q5_K_R4" },
    { 214, IK_REPACKED, "Q6_K_R4" },
    { 216, IK_REPACKED, "IQ2_XXS_R4" },
    { 217, IK_REPACKED, "IQ2_XS_R4" },
    { 218, IK_REPACKED, "IQ3_XXS_R4" },
    { 219, IK_REPACKED, "IQ1_S_R4" },
    { 220, IK_REPACKED, "IQ4_NL_R4" },
    { 221, IK_REPACKED, "IQ3_S_R4" },
    { 222, IK_REPACKED, "IQ2_S_R4" },
    { 223, IK_REPACKED, "IQ4_XS_R8" },
    { 229, IK_REPACKED, "IQ1_M_R4" },
    { 230, IK_REPACKED, "BF16_R16" },
    { 233, IK_REPACKED, "Q6_0_R4" },
    { 335, IK_REPACKED, "IQ2_BN_R4" },
    { 337, IK_REPACKED, "IQ2_K_R4" },
    { 338, IK_REPACKED, "IQ3_K_R4" },
    { 339, IK_REPACKED, "IQ4_K_R4" },
    { 340, IK_REPACKED, "IQ5_K_R4" },
    { 344, IK_REPACKED, "IQ4_KS_R4" },
    { 352, IK_REPACKED, "IQ5_KS_R4" },
    { 353, IK_REPACKED, "MXFP4_R8" },
    { 397, IK_REPACKED, "Q8_K_R16" },
    { 398, IK_REPACKED, "Q8_KV_R8" },
    { 399, IK_REPACKED, "Q8_K_R8" },
};

bool qr_weight_type_foreign(uint32_t type, struct qr_weight_type_foreign *out)
{
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (foreign[i].type == type) {
            *out = (struct qr_weight_type_foreign){ foreign[i].name, why[foreign[i].why] };
            return true;
        }
    return false;
}

bool qr_weight_row_bytes(uint32_t type, uint64_t k, size_t *out)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    if (!info || k > SIZE_MAX || k % info->block_elems != 0)
        return false;
    return qr_mul_size((size_t)k / info->block_elems, info->block_bytes, out);
}
