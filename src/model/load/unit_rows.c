/* SPDX-License-Identifier: Apache-2.0 */
/* unit_rows.c - divides rows of a matrix by their lengths. */
#include "model/load/unit_rows.h"
#include "base/error.h"
#include "base/half.h"
#include "base/weight_type.h"
#include "linear/dequantize.h"
#include "model/load/weight_roles.h"
#include <math.h>
#include <string.h>

static void put(uint32_t type, uint8_t *at, float f)
{
    if (type == QR_WEIGHT_F32) {
        memcpy(at, &f, sizeof f);
        return;
    }
    const uint16_t h = type == QR_WEIGHT_F16 ? qr_f32_to_f16(f) : qr_f32_to_bf16(f);
    memcpy(at, &h, sizeof h);
}

static size_t elem_bytes(const struct qr_weight *weight)
{
    return qr_weight_type_info(weight->type)->block_bytes;
}

enum { CHUNK = 256 }; /* elements that are converted at a time */

/* Converts elements [at, ...) of a row to f32; returns their number. */
static size_t read_chunk(const struct qr_weight *weight, const uint8_t *row, uint64_t at,
                         float values[CHUNK])
{
    const uint64_t left = weight->n_cols - at;
    const size_t n = left < CHUNK ? (size_t)left : CHUNK;
    qr_weight_dequantize(weight->type, row + at * elem_bytes(weight), n, values);
    return n;
}

static void divide_row(const struct qr_weight *weight, uint8_t *row)
{
    const double least = 1e-12; /* eps of torch.nn.functional.normalize */
    float values[CHUNK];
    double sum = 0;
    size_t n;
    for (uint64_t at = 0; at < weight->n_cols; at += n) {
        n = read_chunk(weight, row, at, values);
        for (size_t i = 0; i < n; i++)
            sum += (double)values[i] * (double)values[i];
    }
    const double length = sum > least * least ? sqrt(sum) : least;
    for (uint64_t at = 0; at < weight->n_cols; at += n) {
        n = read_chunk(weight, row, at, values);
        for (size_t i = 0; i < n; i++)
            put(weight->type, row + (at + i) * elem_bytes(weight),
                (float)((double)values[i] / length));
    }
}

quire_status qr_unit_rows(const struct qr_weight *weight, uint64_t n_rows, void *rows,
                          struct quire_error *err)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(weight->type);
    if (info->block_elems != 1)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "%s has type %s, and its rows cannot be divided by their lengths",
                       qr_weight_role_name(weight->role), info->name);
    for (uint64_t r = 0; r < n_rows; r++)
        divide_row(weight, (uint8_t *)rows + r * weight->row_bytes);
    return QUIRE_OK;
}
