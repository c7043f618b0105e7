/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_float.c - matrices of small floating-point codes: FP8, NF4. */
#include "model/load/quantized_float.h"
#include "base/error.h"
#include "base/half.h"
#include "format/json.h"
#include "kernels/kernels_linear.h"
#include <math.h>
#include <string.h>

/* ---- FP8: scales of blocks, of rows, or one */

/* Scales [rows / block rows][columns / block columns], rounded up. */
static quire_status block_scales(struct qr_quantized_build *b, const struct qr_safetensor *scales)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_quantization_config *q = &b->w->config.quantization;
    const uint64_t rows = q->block_rows, columns = q->block_columns;
    t->row_block = rows;
    t->group = columns;
    t->scale_row = (t->columns - 1) / columns + 1;
    t->scale_group = 1;
    return qr_quantized_shape(b, scales, (t->rows - 1) / rows + 1, t->scale_row);
}

quire_status qr_quantized_fp8(struct qr_quantized_build *b, const struct qr_safetensor *weight)
{
    struct qr_quantized_tensor *t = b->out;
    const struct qr_safetensor *scales = qr_quantized_part(b, ".weight_scale_inv", &t->scales);
    if (weight->n_dims != 2)
        return qr_quantized_bad(b, weight, "is no matrix");
    t->rows = weight->shape[0];
    t->columns = weight->shape[1];
    t->bits = 8;
    t->codes_layout = QR_CODES_BYTES;
    t->group = t->columns;
    if (scales && !(QR_DTYPE_FLOATS >> scales->dtype & 1))
        return qr_quantized_bad(b, scales, "is not F32, F16 or BF16");
    if (!scales)
        QR_TRY(qr_quantized_need(b, ".weight_scale", QR_DTYPE_FLOATS, &t->scales, &scales));
    qr_quantized_hide(b, ".input_scale");
    qr_quantized_hide(b, ".activation_scale");
    const uint64_t n = scales->bytes / qr_dtype_bytes((enum qr_dtype)scales->dtype);
    const bool column = scales->n_dims < 2 || scales->shape[1] == 1;
    if (n != 1 && scales->n_dims == 2 && b->w->config.quantization.block_rows &&
        !(column && n == t->rows))
        QR_TRY(block_scales(b, scales));
    else if (n != 1 && column && n == t->rows)
        t->scale_row = 1;
    else if (n != 1)
        return qr_fail(b->err, QUIRE_E_FORMAT,
                       "tensor %.80s has %llu scales for a matrix of %llu x %llu: neither one, nor "
                       "one per row, nor one per block of weight_block_size",
                       scales->name, (unsigned long long)n, (unsigned long long)t->rows,
                       (unsigned long long)t->columns);
    t->type = t->columns % 128 == 0 && (t->group == t->columns || t->group % 128 == 0)
                  ? QR_WEIGHT_F8_E4M3_128
                  : QR_WEIGHT_F8_E4M3_32;
    return t->columns % 32 == 0 ? QUIRE_OK
                                : qr_fail(b->err, QUIRE_E_UNSUPPORTED,
                                          "tensor %.80s: rows of %llu are not a multiple of 32",
                                          weight->name, (unsigned long long)t->columns);
}

/* ---- NF4 */

struct nf4_state {
    uint64_t block, nested_block;
    double offset;
    bool nested;
};

static quire_status parse_nf4_state(struct qr_quantized_build *b, const struct qr_safetensor *t,
                                    const struct qr_json *json, struct nf4_state *s)
{
    struct qr_quantized_tensor *q = b->out;
    const struct qr_json *shape = qr_json_get(json, "shape");
    uint32_t rows, columns, block, nested = 0;
    const char *type = qr_json_string(qr_json_get(json, "quant_type"));
    if (type && strcmp(type, "nf4") != 0)
        return qr_fail(b->err, QUIRE_E_UNSUPPORTED, "tensor %.80s: quant_type %.20s", t->name,
                       type);
    if (qr_json_size(shape) != 2 || !qr_json_is_u32(qr_json_at(shape, 0), &rows) ||
        !qr_json_is_u32(qr_json_at(shape, 1), &columns) || rows == 0 || columns == 0)
        return qr_quantized_bad(b, t, "has no shape of two positive integers");
    if (!qr_json_is_u32(qr_json_get(json, "blocksize"), &block) || block == 0 || block % 64 != 0)
        return qr_quantized_bad(b, t, "has no blocksize that is a multiple of 64");
    const struct qr_json *inner = qr_json_get(json, "nested_blocksize");
    s->nested = inner && !qr_json_is_null(inner);
    if (s->nested && (!qr_json_is_u32(inner, &nested) || nested == 0 ||
                      !qr_json_is_f64(qr_json_get(json, "nested_offset"), &s->offset)))
        return qr_quantized_bad(b, t, "has no positive nested_blocksize and no nested_offset");
    if (columns % 64 != 0)
        return qr_fail(b->err, QUIRE_E_UNSUPPORTED,
                       "tensor %.80s: rows of %u are not a multiple of 64", q->name, columns);
    s->block = block;
    s->nested_block = nested;
    q->rows = rows;
    q->columns = columns;
    return QUIRE_OK;
}

static quire_status read_nf4_state(struct qr_quantized_build *b, const struct qr_safetensor *t,
                                   size_t number, struct nf4_state *s)
{
    enum { STATE_MAX_BYTES = 4096 };
    char text[STATE_MAX_BYTES];
    struct qr_json *json;
    if (t->bytes > STATE_MAX_BYTES)
        return qr_quantized_bad(b, t, "is longer than 4096 bytes");
    QR_TRY(qr_safetensors_read_range(b->w->safetensors, number, 0, t->bytes, text, b->err));
    QR_TRY(qr_json_parse_object(text, (size_t)t->bytes, "quant_state.bitsandbytes__nf4", 0,
                                b->w->allocator, &json, b->err));
    const quire_status status = parse_nf4_state(b, t, json, s);
    qr_json_free(json);
    return status;
}

/* Reads an F32 tensor of n values into memory of the model. */
static quire_status read_map(struct qr_quantized_build *b, const char *ending, size_t n,
                             const float **out)
{
    const struct qr_safetensor *t;
    int64_t number;
    QR_TRY(qr_quantized_need(b, ending, QR_DTYPE_BIT(F32), &number, &t));
    if (t->bytes != n * sizeof(float))
        return qr_quantized_bad(b, t, n == 16 ? "has not 16 values" : "has not 256 values");
    float *map = qr_arena_alloc(&b->w->lists, n, sizeof *map);
    if (!map)
        return qr_fail(b->err, QUIRE_E_NOMEM, "no memory for %.80s", t->name);
    QR_TRY(qr_safetensors_read_range(b->w->safetensors, (size_t)number, 0, t->bytes, map, b->err));
    for (size_t i = 0; i < n; i++)
        if (!isfinite(map[i]))
            return qr_quantized_bad(b, t, "has a value that is not finite");
    *out = map;
    return QUIRE_OK;
}

/* The scales: F32, or codes of a table of 256 values with scales of their own. */
static quire_status nf4_scales(struct qr_quantized_build *b, const struct nf4_state *s)
{
    struct qr_quantized_tensor *q = b->out;
    const struct qr_safetensor *scales, *nested;
    QR_INVARIANT(s->block); /* parse_nf4_state() refuses 0 */
    const uint64_t n = (q->rows * q->columns - 1) / s->block + 1;
    QR_TRY(qr_quantized_need(b, ".absmax", s->nested ? QR_DTYPE_BIT(U8) : QR_DTYPE_BIT(F32),
                             &q->scales, &scales));
    if (scales->bytes != n * (s->nested ? 1 : sizeof(float)))
        return qr_quantized_bad(b, scales, "has not one value per block of the weight");
    if (!s->nested)
        return QUIRE_OK;
    QR_TRY(qr_quantized_need(b, ".nested_absmax", QR_DTYPE_BIT(F32), &q->nested, &nested));
    if (nested->bytes != ((n - 1) / s->nested_block + 1) * sizeof(float))
        return qr_quantized_bad(b, nested, "has not one value per nested block");
    q->nested_block = s->nested_block;
    q->nested_offset = (float)s->offset;
    return read_map(b, ".nested_quant_map", 256, &q->map);
}

quire_status qr_quantized_nf4(struct qr_quantized_build *b, const struct qr_safetensor *state)
{
    static const float nf4[16] = { QR_NF4_VALUES };
    struct qr_quantized_tensor *q = b->out;
    struct nf4_state s = { 0 };
    const struct qr_safetensor *weight;
    const float *map = NULL;
    QR_TRY(read_nf4_state(b, state, (size_t)q->codes, &s));
    b->base_size += strlen(".weight");
    QR_TRY(qr_quantized_need(b, "", QR_DTYPE_BIT(U8), &q->codes, &weight));
    if (weight->bytes != q->rows * q->columns / 2)
        return qr_quantized_bad(b, weight, "has not as many codes as its quant_state says");
    QR_TRY(read_map(b, ".quant_map", 16, &map));
    QR_INVARIANT(map);
    size_t same = 0;
    while (same < 16 && map[same] == nf4[same])
        same++;
    if (same < 16)
        return qr_fail(b->err, QUIRE_E_UNSUPPORTED,
                       "tensor %.70s.quant_map differs from the values of NF4", q->name);
    q->group = s.block;
    q->bits = 4;
    q->type = QR_WEIGHT_NF4_64;
    q->codes_layout = QR_CODES_NIBBLES_HIGH;
    return nf4_scales(b, &s);
}
