/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_integer.c - matrices of 4-bit and 8-bit integers: GPTQ, AWQ, compressed-tensors,
 * LLM.int8. */
#include "model/load/quantized_integer.h"
#include "base/error.h"

/* ---- GPTQ and AWQ: words, scales [groups][rows] */

/* Bits of a code of GPTQ: those of the configuration, or what the row of zero points says. */
static quire_status bits_of(struct qr_quantized_build *b, const struct qr_safetensor *qweight,
                            unsigned *bits)
{
    const struct qr_quantization_config *q = &b->w->config.quantization;
    const struct qr_safetensor *zeros;
    *bits = q->bits;
    if (!q->mixed)
        return QUIRE_OK;
    QR_TRY(qr_quantized_need(b, ".qzeros", QR_DTYPE_BIT(I32), &b->out->zeros, &zeros));
    const uint64_t rows = qweight->n_dims == 2 ? qweight->shape[1] : 0,
                   words = zeros->n_dims == 2 ? zeros->shape[1] : 0;
    *bits = words * 4 == rows ? 8 : 4;
    return words * 4 == rows || words * 8 == rows
               ? QUIRE_OK
               : qr_quantized_bad(b, zeros,
                                  "has not as many zero points of 4 or 8 bits as its "
                                  "matrix has rows");
}

/* Columns per scale, which divide the columns, and the type. */
static quire_status column_groups(struct qr_quantized_build *b, unsigned bits)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_quantization_config *q = &b->w->config.quantization;
    const struct qr_safetensor *scales;
    t->group = q->group ? q->group : t->columns;
    if (q->mixed) {
        QR_TRY(qr_quantized_need(b, ".scales", QR_DTYPE_FLOATS, &t->scales, &scales));
        QR_INVARIANT(scales->n_dims == 0 || scales->shape[0]); /* no dimension is 0 */
        t->group = scales->n_dims == 2 ? t->columns / scales->shape[0] : 0;
    }
    return qr_quantized_integer_type(b, bits);
}

/* Scales [groups][rows] and zero points of as many. */
static quire_status column_scales(struct qr_quantized_build *b, uint64_t values_per_word)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_safetensor *scales, *zeros;
    const uint64_t groups = t->columns / t->group;
    QR_TRY(qr_quantized_need(b, ".scales", QR_DTYPE_FLOATS, &t->scales, &scales));
    QR_TRY(qr_quantized_shape(b, scales, groups, t->rows));
    t->scale_row = 1;
    t->scale_group = t->rows;
    QR_TRY(qr_quantized_need(b, ".qzeros", QR_DTYPE_BIT(I32), &t->zeros, &zeros));
    return qr_quantized_shape(b, zeros, groups, t->rows / values_per_word);
}

quire_status qr_quantized_gptq(struct qr_quantized_build *b, const struct qr_safetensor *qweight)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_quantization_config *q = &b->w->config.quantization;
    unsigned bits;
    QR_TRY(bits_of(b, qweight, &bits));
    const uint64_t per_word = 32 / bits;
    if (qweight->n_dims != 2 || qweight->shape[1] % per_word != 0)
        return qr_quantized_bad(b, qweight, "is no matrix with a multiple of 8 or 4 columns");
    t->rows = qweight->shape[1];
    t->columns = qweight->shape[0] * per_word; /* below four times the bytes of the file */
    t->codes_layout = QR_CODES_GPTQ;
    t->zeros_layout = QR_ZEROS_GPTQ;
    t->zero = q->zero_minus_one;
    t->excess = true;
    QR_TRY(column_groups(b, bits));
    QR_TRY(column_scales(b, per_word));
    int64_t order;
    return qr_quantized_part(b, ".g_idx", &order) ? qr_quantized_order(b, order) : QUIRE_OK;
}

quire_status qr_quantized_awq(struct qr_quantized_build *b, const struct qr_safetensor *qweight)
{
    struct qr_quantized_tensor *t = b->out;
    if (qweight->n_dims != 2)
        return qr_quantized_bad(b, qweight, "is no matrix");
    t->rows = qweight->shape[1] * 8;
    t->columns = qweight->shape[0];
    t->codes_layout = QR_CODES_AWQ;
    t->zeros_layout = QR_ZEROS_AWQ;
    QR_TRY(column_groups(b, 4));
    return column_scales(b, 8);
}

/* ---- compressed-tensors: scales [rows][groups], [rows][1] or [1] */

static quire_status row_scales(struct qr_quantized_build *b, unsigned bits)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_safetensor *scales;
    QR_TRY(qr_quantized_need(b, ".weight_scale", QR_DTYPE_FLOATS, &t->scales, &scales));
    const bool one = scales->bytes == qr_dtype_bytes((enum qr_dtype)scales->dtype);
    if (!one && scales->n_dims == 1)
        return qr_quantized_bad(b, scales, "has one dimension, but its matrix needs two");
    const uint64_t groups = one ? 1 : scales->n_dims == 2 ? scales->shape[1] : 0;
    if (!one)
        QR_TRY(qr_quantized_shape(b, scales, t->rows, groups));
    QR_INVARIANT(groups); /* no dimension of a tensor is 0 */
    t->scale_row = one ? 0 : groups;
    t->scale_group = 1;
    if (t->columns % groups != 0)
        return qr_quantized_bad(b, scales, "has groups that do not divide the rows of its matrix");
    t->group = t->columns / groups;
    return qr_quantized_integer_type(b, bits);
}

/* weight_shape: two integers. */
static quire_status read_shape(struct qr_quantized_build *b)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_safetensor *shape;
    int64_t number;
    QR_TRY(qr_quantized_need(b, ".weight_shape", QR_DTYPE_BIT(I64) | QR_DTYPE_BIT(I32), &number,
                             &shape));
    int64_t wide[2] = { 0 };
    int32_t narrow[2] = { 0 };
    const bool is_wide = shape->dtype == QR_DTYPE_I64;
    if (shape->bytes != (is_wide ? sizeof wide : sizeof narrow))
        return qr_quantized_bad(b, shape, "is not a list of two integers");
    QR_TRY(qr_safetensors_read_range(b->w->safetensors, (size_t)number, 0, shape->bytes,
                                     is_wide ? (void *)wide : (void *)narrow, b->err));
    const int64_t rows = is_wide ? wide[0] : narrow[0], columns = is_wide ? wide[1] : narrow[1];
    if (rows <= 0 || columns <= 0 || columns > INT64_MAX / 8)
        return qr_quantized_bad(b, shape, "holds a dimension that is not positive or too large");
    t->rows = (uint64_t)rows;
    t->columns = (uint64_t)columns;
    return QUIRE_OK;
}

quire_status qr_quantized_packed(struct qr_quantized_build *b, const struct qr_safetensor *packed)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_safetensor *zeros;
    int64_t order;
    QR_TRY(read_shape(b));
    const uint64_t words = packed->n_dims == 2 ? packed->shape[1] : 0;
    const unsigned bits = words == t->columns / 8 ? 4 : 8;
    if (t->columns % 32 != 0)
        return qr_quantized_bad(b, packed, "has rows that are not a multiple of 32 columns");
    QR_TRY(qr_quantized_shape(b, packed, t->rows, t->columns * bits / 32));
    t->codes_layout = bits == 4 ? QR_CODES_NIBBLES : QR_CODES_BYTES;
    t->excess = bits == 8;
    QR_TRY(row_scales(b, bits));
    t->zero = bits == 4 ? 8 : 0;
    zeros = qr_quantized_part(b, ".weight_zero_point", &t->zeros);
    if (zeros) { /* stored with the same excess as the codes */
        const uint64_t per_word = 32 / bits;
        if (zeros->dtype != QR_DTYPE_I32 || t->scale_row == 0)
            return qr_quantized_bad(b, zeros, "is no matrix of packed I32, one row per group");
        QR_TRY(qr_quantized_shape(b, zeros, (t->rows + per_word - 1) / per_word,
                                  t->columns / t->group));
        t->zeros_layout = QR_ZEROS_WORDS;
        t->zero = 0;
    }
    return qr_quantized_part(b, ".weight_g_idx", &order) ? qr_quantized_order(b, order) : QUIRE_OK;
}

quire_status qr_quantized_int8(struct qr_quantized_build *b, const struct qr_safetensor *weight)
{
    struct qr_quantized_tensor *t = b->out;
    if (weight->n_dims != 2)
        return qr_quantized_bad(b, weight, "is no matrix");
    t->rows = weight->shape[0];
    t->columns = weight->shape[1];
    t->codes_layout = QR_CODES_BYTES;
    QR_TRY(row_scales(b, 8));
    const struct qr_safetensor *zeros = qr_quantized_part(b, ".weight_zero_point", &t->zeros);
    if (zeros) {
        const uint64_t groups = t->scale_row ? t->scale_row : 1, rows = t->scale_row ? t->rows : 1;
        if (zeros->dtype != QR_DTYPE_I8 || zeros->bytes != rows * groups)
            return qr_quantized_bad(b, zeros, "is not I8 with as many values as there are scales");
        t->zeros_layout = QR_ZEROS_BYTES;
    }
    qr_quantized_hide(b, ".input_scale");
    qr_quantized_hide(b, ".input_zero_point");
    return QUIRE_OK;
}

/* ---- LLM.int8: codes times the largest magnitude of the row / 127 */

quire_status qr_quantized_llm_int8(struct qr_quantized_build *b, const struct qr_safetensor *scb)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_safetensor *weight;
    t->scales = t->codes;
    QR_TRY(qr_quantized_need(b, ".weight", QR_DTYPE_BIT(I8), &t->codes, &weight));
    if (weight->n_dims != 2)
        return qr_quantized_bad(b, weight, "is no matrix");
    t->rows = weight->shape[0];
    t->columns = weight->shape[1];
    if (scb->bytes != t->rows * sizeof(float))
        return qr_quantized_bad(b, scb, "has not one value per row of the weight");
    t->codes_layout = QR_CODES_BYTES;
    t->group = t->columns;
    t->scale_row = 1;
    t->divisor = 127;
    /* 0: rows in order; others are layouts of GPU kernels */
    int64_t number;
    uint8_t format = 0;
    const struct qr_safetensor *f = qr_quantized_part(b, ".weight_format", &number);
    if (f && f->bytes != 1)
        return qr_quantized_bad(b, f, "is not one byte");
    if (f)
        QR_TRY(qr_safetensors_read_range(b->w->safetensors, (size_t)number, 0, 1, &format, b->err));
    if (format != 0)
        return qr_fail(b->err, QUIRE_E_UNSUPPORTED,
                       "tensor %.80s is %u: only rows in order (0) are supported", f->name, format);
    return qr_quantized_integer_type(b, 8);
}
