/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_fp4.c - matrices of E2M1 codes: MXFP4, with an exponent per 32 values, and NVFP4, with
 * an E4M3 scale per 16 values and an F32 scale per matrix. */
#include "model/load/quantized_fp4.h"
#include "base/error.h"
#include <math.h>
#include <string.h>

/* ---- Stacks: blocks [experts][rows][groups][16], exponents [experts][rows][groups] */

quire_status qr_quantized_mxfp4(struct qr_quantized_build *b, const struct qr_safetensor *blocks)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_safetensor *scales;
    QR_TRY(qr_quantized_need(b, "_scales", QR_DTYPE_BIT(U8), &t->scales, &scales));
    if (blocks->n_dims != 4 || blocks->shape[3] != 16)
        return qr_quantized_bad(b, blocks, "is not experts x rows x blocks x 16");
    if (scales->n_dims != 3 || memcmp(scales->shape, blocks->shape, 3 * sizeof(uint64_t)) != 0)
        return qr_quantized_bad(b, scales, "has not one exponent per block");
    t->experts = blocks->shape[0];
    t->rows = blocks->shape[1];
    t->columns = blocks->shape[2] * 32;
    t->group = 32;
    t->bits = 4;
    t->type = QR_WEIGHT_MXFP4;
    t->codes_layout = QR_CODES_NIBBLES;
    return QUIRE_OK;
}

/* ---- Matrices: codes [rows][columns / 2], the even column in the low bits */

/* Rows, columns, and the type of codes that have a scale per `group` columns. */
static quire_status matrix_of(struct qr_quantized_build *b, const struct qr_safetensor *codes,
                              const struct qr_safetensor *scales, uint32_t type, uint64_t group)
{
    struct qr_quantized_tensor *t = b->out;
    if (codes->n_dims != 2)
        return qr_quantized_bad(b, codes, "is no matrix");
    t->rows = codes->shape[0];
    t->columns = codes->shape[1] * 2; /* twice the bytes of a row */
    t->group = group;
    t->bits = 4;
    t->type = type;
    t->codes_layout = QR_CODES_NIBBLES;
    const uint64_t block = qr_weight_type_info(type)->block_elems;
    if (t->columns % block != 0)
        return qr_fail(b->err, QUIRE_E_UNSUPPORTED,
                       "tensor %.80s: rows of %llu values are not a multiple of %llu", codes->name,
                       (unsigned long long)t->columns, (unsigned long long)block);
    return qr_quantized_shape(b, scales, t->rows, t->columns / group);
}

/* Reads one F32 number. */
static quire_status read_number(struct qr_quantized_build *b, const char *ending, float *out)
{
    const struct qr_safetensor *t;
    int64_t number;
    QR_TRY(qr_quantized_need(b, ending, QR_DTYPE_BIT(F32), &number, &t));
    if (t->bytes != sizeof *out)
        return qr_quantized_bad(b, t, "is not one number");
    QR_TRY(
        qr_safetensors_read_range(b->w->safetensors, (size_t)number, 0, sizeof *out, out, b->err));
    return isfinite(*out) && *out > 0 ? QUIRE_OK
                                      : qr_quantized_bad(b, t, "is not a finite positive number");
}

quire_status qr_quantized_packed_fp4(struct qr_quantized_build *b,
                                     const struct qr_safetensor *packed)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_safetensor *scales;
    QR_TRY(qr_quantized_need(b, ".weight_scale", QR_DTYPE_BIT(F8_E4M3) | QR_DTYPE_BIT(U8),
                             &t->scales, &scales));
    if (scales->dtype == QR_DTYPE_U8)
        return matrix_of(b, packed, scales, QR_WEIGHT_MXFP4, 32);
    float divisor = 1;
    QR_TRY(matrix_of(b, packed, scales, QR_WEIGHT_NVFP4, 16));
    QR_TRY(read_number(b, ".weight_global_scale", &divisor));
    t->tensor_scale = 1 / divisor;
    qr_quantized_hide(b, ".input_global_scale");
    return isfinite(t->tensor_scale)
               ? QUIRE_OK
               : qr_fail(b->err, QUIRE_E_FORMAT, "tensor %.*s.weight_global_scale is too small",
                         (int)b->base_size, b->base);
}

quire_status qr_quantized_modelopt_fp4(struct qr_quantized_build *b,
                                       const struct qr_safetensor *weight)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_safetensor *scales;
    QR_TRY(qr_quantized_need(b, ".weight_scale", QR_DTYPE_BIT(F8_E4M3), &t->scales, &scales));
    QR_TRY(matrix_of(b, weight, scales, QR_WEIGHT_NVFP4, 16));
    qr_quantized_hide(b, ".input_scale");
    return read_number(b, ".weight_scale_2", &t->tensor_scale);
}
