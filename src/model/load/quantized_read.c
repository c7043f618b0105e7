/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_read.c - reads rows of quantized matrices: codes, scales and zero points of the files
 * become blocks of a weight type. */
#include "model/load/quantized_read.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "format/safetensors.h"
#include "linear/load_le.h"
#include "model/load/quantized_scales.h"
#include <string.h>

/* ---- Codes, one byte each */

/* [rows][columns] bytes or nibbles. */
static quire_status codes_by_row(struct qr_quantized_rows *r)
{
    const struct qr_quantized_tensor *t = r->t;
    const uint64_t line = t->columns * t->bits / 8;
    QR_TRY(qr_quantized_raw(r, t->codes, r->row * line, r->n * line));
    const size_t n = r->n * (size_t)t->columns;
    const unsigned high = t->codes_layout == QR_CODES_NIBBLES_HIGH ? 4 : 0;
    for (size_t i = 0; i < n; i++)
        r->codes[i] = t->codes_layout == QR_CODES_BYTES
                          ? r->raw[i] ^ (t->excess ? 0x80 : 0)
                          : r->raw[i / 2] >> (4 * (i % 2) ^ high) & 15;
    return QUIRE_OK;
}

/* Words along the columns, [columns / per word][rows]: one read per line of words. */
static quire_status codes_gptq(struct qr_quantized_rows *r)
{
    const struct qr_quantized_tensor *t = r->t;
    const size_t per_word = 32 / t->bits, columns = (size_t)t->columns;
    const uint32_t mask = (1u << t->bits) - 1, excess = t->bits == 8 ? 0x80 : 0;
    for (size_t k = 0; k < columns; k += per_word) {
        QR_TRY(qr_quantized_raw(r, t->codes, (k / per_word * t->rows + r->row) * 4, r->n * 4));
        for (size_t i = 0; i < r->n; i++) {
            const uint32_t word = qr_load_le32(r->raw + 4 * i);
            for (size_t j = 0; j < per_word; j++)
                r->codes[i * columns + k + j] = (uint8_t)((word >> (t->bits * j) & mask) ^ excess);
        }
    }
    return QUIRE_OK;
}

/* Words along the rows, [columns][rows / 8]. */
static quire_status codes_awq(struct qr_quantized_rows *r)
{
    const struct qr_quantized_tensor *t = r->t;
    const size_t columns = (size_t)t->columns;
    const uint64_t line = t->rows / 8, first = r->row / 8, last = (r->row + r->n - 1) / 8;
    for (size_t k = 0; k < columns; k++) {
        QR_TRY(qr_quantized_raw(r, t->codes, (k * line + first) * 4, (last - first + 1) * 4));
        for (size_t i = 0; i < r->n; i++) {
            const uint64_t row = r->row + i;
            const uint32_t word = qr_load_le32(r->raw + 4 * (row / 8 - first));
            r->codes[i * columns + k] = (uint8_t)(word >> qr_awq_shift(row % 8) & 15);
        }
    }
    return QUIRE_OK;
}

static quire_status read_codes(struct qr_quantized_rows *r)
{
    switch (r->t->codes_layout) {
    case QR_CODES_GPTQ:
        return codes_gptq(r);
    case QR_CODES_AWQ:
        return codes_awq(r);
    default:
        return codes_by_row(r);
    }
}

/* ---- Blocks */

/* Blocks of one row, as base/weight_type.h defines them. */
static void store_row(const struct qr_quantized_rows *r, const struct qr_weight_type_info *info,
                      size_t i, uint8_t *dst)
{
    const struct qr_quantized_tensor *t = r->t;
    const uint8_t *codes = r->codes + i * (size_t)t->columns;
    const size_t n = info->block_elems;
    const bool has_zero = t->type < QR_WEIGHT_F8_E4M3_32;
    for (size_t k = 0; k < t->columns; k += n, dst += info->block_bytes) {
        const size_t g = i * r->n_groups + k / r->width;
        uint8_t *q = dst + sizeof(float);
        memcpy(dst, &r->scales[g], sizeof(float));
        if (has_zero)
            *q++ = (uint8_t)r->zeros[g];
        for (size_t j = 0; j < n; j++) {
            const uint8_t code = codes[t->order ? t->order[k + j] : k + j];
            if (t->bits == 8)
                q[j] = code;
            else
                q[j / 2] = (uint8_t)(j % 2 ? q[j / 2] | code << 4 : code);
        }
    }
}

/* E4M3 has two codes that are NaN. */
static quire_status check_e4m3(const struct qr_quantized_rows *r)
{
    const size_t columns = (size_t)r->t->columns;
    for (size_t i = 0; i < r->n * columns; i++)
        if ((r->codes[i] & 127) == 127)
            return qr_fail(r->err, QUIRE_E_FORMAT, "tensor %.80s: row %llu, column %zu is NaN",
                           r->t->name, (unsigned long long)(r->row + i / columns), i % columns);
    return QUIRE_OK;
}

/* Rows of MXFP4: an exponent, then 16 bytes whose low nibbles are the first 16 values. */
static quire_status store_mxfp4(struct qr_quantized_rows *r, uint8_t *dst)
{
    const struct qr_quantized_tensor *t = r->t;
    const size_t blocks = r->n * (size_t)t->columns / 32;
    QR_TRY(qr_quantized_raw(r, t->scales, r->row * t->columns / 32, blocks));
    for (size_t b = 0; b < blocks; b++, dst += 17) {
        const uint8_t *code = r->codes + 32 * b;
        if (r->raw[b] == 255)
            return qr_fail(r->err, QUIRE_E_FORMAT, "tensor %.80s: the exponent of block %zu is NaN",
                           t->name, (size_t)(r->row * t->columns / 32) + b);
        dst[0] = r->raw[b];
        for (size_t i = 0; i < 16; i++)
            dst[1 + i] = (uint8_t)(code[i] | code[i + 16] << 4);
    }
    return QUIRE_OK;
}

/* Rows of NVFP4: four scales, then 32 bytes, eight for each 16 values, whose low nibbles are the
 * first eight. The scales are positive E4M3 numbers. */
static quire_status store_nvfp4(struct qr_quantized_rows *r, uint8_t *dst)
{
    const struct qr_quantized_tensor *t = r->t;
    const size_t scales = r->n * r->n_groups;
    QR_TRY(qr_quantized_raw(r, t->scales, r->row * r->n_groups, scales));
    for (size_t g = 0; g < scales; g++) {
        const uint8_t *code = r->codes + 16 * g, scale = r->raw[g];
        uint8_t *block = dst + g / 4 * 36, *q = block + 4 + g % 4 * 8;
        if (scale >= 127)
            return qr_fail(r->err, QUIRE_E_FORMAT,
                           "tensor %.80s: the scale of row %llu, group %zu is %s",
                           qr_safetensors_tensor(r->w->safetensors, (size_t)t->scales)->name,
                           (unsigned long long)(r->row + g / r->n_groups), g % r->n_groups,
                           scale == 127 || scale == 255 ? "NaN" : "negative");
        block[g % 4] = scale;
        for (size_t i = 0; i < 8; i++)
            q[i] = (uint8_t)(code[i] | code[i + 8] << 4);
    }
    return QUIRE_OK;
}

static quire_status convert(struct qr_quantized_rows *r, size_t row_bytes, uint8_t *dst)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(r->t->type);
    QR_TRY(read_codes(r));
    if (r->t->type == QR_WEIGHT_MXFP4)
        return store_mxfp4(r, dst);
    if (r->t->type == QR_WEIGHT_NVFP4)
        return store_nvfp4(r, dst);
    QR_TRY(qr_quantized_scales(r));
    QR_TRY(qr_quantized_zeros(r));
    if (r->t->type == QR_WEIGHT_F8_E4M3_32 || r->t->type == QR_WEIGHT_F8_E4M3_128)
        QR_TRY(check_e4m3(r));
    for (size_t i = 0; i < r->n; i++)
        store_row(r, info, i, dst + i * row_bytes);
    return QUIRE_OK;
}

/* Reads whole rows. */
static quire_status read_rows(const struct qr_weights *w, const struct qr_quantized_tensor *t,
                              uint64_t row, uint64_t n, size_t row_bytes, uint8_t *dst,
                              struct quire_error *err)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(t->type);
    /* columns per scale, as far as a row goes: the last block of columns may be shorter */
    const uint64_t width = t->type == QR_WEIGHT_NF4_64 ? info->block_elems
                           : t->columns % t->group     ? info->block_elems
                                                       : t->group;
    struct qr_quantized_rows r = { .w = w, .t = t, .row = row, .n = (size_t)n, .err = err };
    size_t n_codes, n_scales;
    r.width = (size_t)width;
    r.n_groups = (size_t)(t->columns / width);
    /* GCOVR_EXCL_BR_LINE: the file has the codes: their number does not overflow */
    if (!qr_mul_size(r.n, (size_t)t->columns, &n_codes) || !qr_mul_size(r.n, r.n_groups, &n_scales))
        return qr_fail(err, QUIRE_E_LIMIT, "tensor %.80s is too large", t->name);
    r.codes = qr_alloc(w->allocator, n_codes, 1);
    r.scales = qr_alloc(w->allocator, n_scales, sizeof *r.scales);
    r.zeros = qr_alloc(w->allocator, n_scales, sizeof *r.zeros);
    quire_status s = r.codes && r.scales && r.zeros
                         ? convert(&r, row_bytes, dst)
                         : qr_fail(err, QUIRE_E_NOMEM, "no memory to read %.80s", t->name);
    qr_free(w->allocator, r.codes, n_codes, 1);
    qr_free(w->allocator, r.scales, n_scales, sizeof *r.scales);
    qr_free(w->allocator, r.zeros, n_scales, sizeof *r.zeros);
    qr_free(w->allocator, r.raw, r.raw_bytes, 1);
    return s;
}

bool qr_quantized_row_bytes(const struct qr_quantized_tensor *t, size_t *bytes)
{
    return qr_weight_row_bytes(t->type, t->columns, bytes);
}

/* Bytes [begin, begin + bytes) of one row. */
static quire_status read_part(const struct qr_weights *w, const struct qr_quantized_tensor *t,
                              uint64_t row, size_t row_bytes, size_t begin, size_t bytes,
                              uint8_t *dst, struct quire_error *err)
{
    uint8_t *all = qr_alloc(w->allocator, row_bytes, 1);
    if (!all)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to read %.80s", t->name);
    const quire_status s = read_rows(w, t, row, 1, row_bytes, all, err);
    if (s == QUIRE_OK)
        memcpy(dst, all + begin, bytes);
    qr_free(w->allocator, all, row_bytes, 1);
    return s;
}

quire_status qr_quantized_read(const struct qr_weights *w, const struct qr_quantized_tensor *t,
                               uint64_t begin, uint64_t bytes, void *dst, struct quire_error *err)
{
    size_t row_bytes;
    uint64_t end;
    const uint64_t rows = t->rows * (t->experts ? t->experts : 1);
    /* GCOVR_EXCL_BR_LINE: rows have whole blocks, see qr_quantized_bind */
    if (!qr_quantized_row_bytes(t, &row_bytes) || !qr_add_u64(begin, bytes, &end) ||
        end / row_bytes + (end % row_bytes != 0) > rows)
        return qr_fail(err, QUIRE_E_RANGE, "tensor %.80s: %llu bytes at offset %llu requested",
                       t->name, (unsigned long long)bytes, (unsigned long long)begin);
    uint8_t *out = dst;
    while (bytes > 0) {
        const uint64_t row = begin / row_bytes;
        const size_t at = (size_t)(begin % row_bytes);
        uint64_t n = row_bytes - at < bytes ? row_bytes - at : bytes;
        if (at == 0 && bytes >= row_bytes) {
            n = bytes / row_bytes * row_bytes;
            QR_TRY(read_rows(w, t, row, n / row_bytes, row_bytes, out, err));
        } else {
            QR_TRY(read_part(w, t, row, row_bytes, at, (size_t)n, out, err));
        }
        begin += n;
        bytes -= n;
        out += n;
    }
    return QUIRE_OK;
}
