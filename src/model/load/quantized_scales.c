/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_scales.c - reads scales and zero points of quantized matrices. */
#include "model/load/quantized_scales.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/half.h"
#include "format/safetensors.h"
#include "linear/load_le.h"
#include <math.h>
#include <string.h>

static const struct qr_safetensor *tensor_of(const struct qr_quantized_rows *r, int64_t tensor)
{
    return qr_safetensors_tensor(r->w->safetensors, (size_t)tensor);
}

quire_status qr_quantized_raw(struct qr_quantized_rows *r, int64_t tensor, uint64_t begin,
                              uint64_t bytes)
{
    void *raw = r->raw;
    if (bytes > SIZE_MAX ||
        !qr_grow(r->w->allocator, &raw, &r->raw_bytes, bytes ? (size_t)bytes : 1, 1))
        return qr_fail(r->err, QUIRE_E_NOMEM, "no memory to read %.80s", r->t->name);
    r->raw = raw;
    return qr_safetensors_read_range(r->w->safetensors, (size_t)tensor, begin, bytes, r->raw,
                                     r->err);
}

/* ---- Scales */

static float element(const uint8_t *raw, uint8_t dtype, uint64_t i)
{
    if (dtype == QR_DTYPE_F32)
        return qr_bits_to_f32(qr_load_le32(raw + 4 * i));
    const uint16_t h = qr_load_le16(raw + 2 * i);
    return dtype == QR_DTYPE_F16 ? qr_f16_to_f32(h) : qr_bf16_to_f32(h);
}

static quire_status store_scale(struct qr_quantized_rows *r, uint64_t i, uint64_t g, float scale)
{
    scale = r->t->divisor == 1 ? scale : scale / r->t->divisor;
    r->scales[i * r->n_groups + g] = scale;
    if (isfinite(scale))
        return QUIRE_OK;
    return qr_fail(r->err, QUIRE_E_FORMAT,
                   "tensor %.80s: the scale of row %llu, group %llu is %g, not finite",
                   tensor_of(r, r->t->scales)->name, (unsigned long long)(r->row + i),
                   (unsigned long long)g, (double)scale);
}

/* Scales [groups][rows]: one read per group. */
static quire_status scales_by_group(struct qr_quantized_rows *r, uint8_t dtype)
{
    const struct qr_quantized_tensor *t = r->t;
    const size_t size = qr_dtype_bytes((enum qr_dtype)dtype);
    for (size_t g = 0; g < r->n_groups; g++) {
        const uint64_t at = r->row + g * t->scale_group;
        QR_TRY(qr_quantized_raw(r, t->scales, at * size, r->n * size));
        for (size_t i = 0; i < r->n; i++)
            QR_TRY(store_scale(r, i, g, element(r->raw, dtype, i)));
    }
    return QUIRE_OK;
}

/* The number of the scale of row r->row + i, group g. */
static uint64_t scale_at(const struct qr_quantized_rows *r, size_t i, size_t g)
{
    const struct qr_quantized_tensor *t = r->t;
    return (r->row + i) / t->row_block * t->scale_row + g * r->width / t->group * t->scale_group;
}

/* Scales [rows or blocks of rows][groups], or one for all: one read. */
static quire_status scales_by_row(struct qr_quantized_rows *r, uint8_t dtype)
{
    const size_t size = qr_dtype_bytes((enum qr_dtype)dtype);
    const uint64_t first = scale_at(r, 0, 0), last = scale_at(r, r->n - 1, r->n_groups - 1);
    QR_TRY(qr_quantized_raw(r, r->t->scales, first * size, (last - first + 1) * size));
    for (size_t i = 0; i < r->n; i++)
        for (size_t g = 0; g < r->n_groups; g++)
            QR_TRY(store_scale(r, i, g, element(r->raw, dtype, scale_at(r, i, g) - first)));
    return QUIRE_OK;
}

/* NF4: the scales of consecutive blocks of all elements. A group of a row lies in one block. */
static quire_status nf4_scales(struct qr_quantized_rows *r)
{
    const struct qr_quantized_tensor *t = r->t;
    const bool nested = t->nested != QR_NO_TENSOR;
    const size_t size = nested ? 1 : sizeof(float);
    const uint64_t first = r->row * t->columns / t->group,
                   last = ((r->row + r->n) * t->columns - 1) / t->group;
    QR_TRY(qr_quantized_raw(r, t->scales, first * size, (last - first + 1) * size));
    for (size_t i = 0; i < r->n; i++)
        for (size_t g = 0; g < r->n_groups; g++) {
            const uint64_t block = ((r->row + i) * t->columns + g * r->width) / t->group;
            float scale = 0;
            if (nested) {
                float outer;
                QR_TRY(qr_safetensors_read_range(r->w->safetensors, (size_t)t->nested,
                                                 block / t->nested_block * sizeof outer,
                                                 sizeof outer, &outer, r->err));
                scale = t->map[r->raw[block - first]] * outer;
                scale = scale + t->nested_offset;
            } else {
                scale = element(r->raw, QR_DTYPE_F32, block - first);
            }
            QR_TRY(store_scale(r, i, g, scale));
        }
    return QUIRE_OK;
}

quire_status qr_quantized_scales(struct qr_quantized_rows *r)
{
    const struct qr_quantized_tensor *t = r->t;
    if (t->type == QR_WEIGHT_NF4_64)
        return nf4_scales(r);
    const uint8_t dtype = tensor_of(r, t->scales)->dtype;
    return t->scale_row == 1 && r->n_groups > 1 ? scales_by_group(r, dtype)
                                                : scales_by_row(r, dtype);
}

/* ---- Zero points */

/* Stores a zero point of as many bits as a code. */
static quire_status store_zero(struct qr_quantized_rows *r, uint64_t i, uint64_t g, int stored)
{
    const struct qr_quantized_tensor *t = r->t;
    const int zero = stored + t->zero, most = (1 << t->bits) - 1;
    r->zeros[i * r->n_groups + g] = (int16_t)(t->bits == 8 ? zero - 128 : zero);
    if (zero >= 0 && zero <= most)
        return QUIRE_OK;
    return qr_fail(r->err, QUIRE_E_FORMAT,
                   "tensor %.80s: the zero point of row %llu, group %llu is %d, above %d: readers "
                   "of this format differ about it",
                   tensor_of(r, t->zeros)->name, (unsigned long long)(r->row + i),
                   (unsigned long long)g, zero, most);
}

/* Words along the rows, one line of words per group: [groups][rows / per word]. */
static quire_status zeros_by_group(struct qr_quantized_rows *r)
{
    const struct qr_quantized_tensor *t = r->t;
    const unsigned per_word = 32 / t->bits, mask = (1u << t->bits) - 1;
    const uint64_t line = t->rows / per_word, first = r->row / per_word,
                   last = (r->row + r->n - 1) / per_word;
    for (size_t g = 0; g < r->n_groups; g++) {
        QR_TRY(qr_quantized_raw(r, t->zeros, (g * line + first) * 4, (last - first + 1) * 4));
        for (size_t i = 0; i < r->n; i++) {
            const uint64_t row = r->row + i;
            const uint32_t word = qr_load_le32(r->raw + 4 * (row / per_word - first));
            const unsigned shift = t->zeros_layout == QR_ZEROS_AWQ
                                       ? qr_awq_shift(row % 8)
                                       : t->bits * (unsigned)(row % per_word);
            QR_TRY(store_zero(r, i, g, (int)(word >> shift & mask)));
        }
    }
    return QUIRE_OK;
}

/* Words along the rows, [rows / per word][groups]. */
static quire_status zeros_by_row(struct qr_quantized_rows *r)
{
    const struct qr_quantized_tensor *t = r->t;
    const unsigned per_word = 32 / t->bits, mask = (1u << t->bits) - 1;
    const uint64_t first = r->row / per_word, last = (r->row + r->n - 1) / per_word;
    QR_TRY(qr_quantized_raw(r, t->zeros, first * r->n_groups * 4,
                            (last - first + 1) * r->n_groups * 4));
    for (size_t i = 0; i < r->n; i++)
        for (size_t g = 0; g < r->n_groups; g++) {
            const uint64_t row = r->row + i;
            const uint32_t word =
                qr_load_le32(r->raw + 4 * ((row / per_word - first) * r->n_groups + g));
            /* GCOVR_EXCL_BR_LINE: nothing is added to zero points in this layout */
            QR_TRY(store_zero(r, i, g, (int)(word >> (t->bits * (row % per_word)) & mask)));
        }
    return QUIRE_OK;
}

quire_status qr_quantized_zeros(struct qr_quantized_rows *r)
{
    const struct qr_quantized_tensor *t = r->t;
    const size_t n = r->n * r->n_groups;
    switch (t->zeros_layout) {
    case QR_ZEROS_GPTQ:
    case QR_ZEROS_AWQ:
        return zeros_by_group(r);
    case QR_ZEROS_WORDS:
        return zeros_by_row(r);
    case QR_ZEROS_BYTES: {
        const bool one = t->scale_row == 0;
        QR_TRY(qr_quantized_raw(r, t->zeros, one ? 0 : r->row * r->n_groups, one ? 1 : n));
        for (size_t i = 0; i < n; i++)
            r->zeros[i] = (int16_t)((int8_t)r->raw[one ? 0 : i] + t->zero);
        return QUIRE_OK;
    }
    case QR_ZEROS_NONE:
        break;
    }
    for (size_t i = 0; i < n; i++)
        r->zeros[i] = (int16_t)t->zero;
    return QUIRE_OK;
}
