/* SPDX-License-Identifier: Apache-2.0 */
/* unit_rows.c - divides rows of a matrix by their lengths. */
#include "model/load/unit_rows.h"
#include "base/error.h"
#include "base/half.h"
#include "base/weight_type.h"
#include "model/load/weight_roles.h"
#include <math.h>
#include <string.h>

static float get(uint32_t type, const uint8_t *at)
{
    float f;
    uint16_t h;
    if (type == QR_WEIGHT_F32) {
        memcpy(&f, at, sizeof f);
        return f;
    }
    memcpy(&h, at, sizeof h);
    return type == QR_WEIGHT_F16 ? qr_f16_to_f32(h) : qr_bf16_to_f32(h);
}

static void put(uint32_t type, uint8_t *at, float f)
{
    if (type == QR_WEIGHT_F32) {
        memcpy(at, &f, sizeof f);
        return;
    }
    const uint16_t h = type == QR_WEIGHT_F16 ? qr_f32_to_f16(f) : qr_f32_to_bf16(f);
    memcpy(at, &h, sizeof h);
}

quire_status qr_unit_rows(const struct qr_weight *weight, uint64_t n_rows, void *rows,
                          struct quire_error *err)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(weight->type);
    const double least = 1e-12; /* eps of torch.nn.functional.normalize */
    if (info->block_elems != 1)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "%s has type %s, and its rows cannot be divided by their lengths",
                       qr_weight_role_name(weight->role), info->name);
    for (uint64_t r = 0; r < n_rows; r++) {
        uint8_t *row = (uint8_t *)rows + r * weight->row_bytes;
        double sum = 0;
        for (uint64_t i = 0; i < weight->n_cols; i++) {
            const double v = (double)get(weight->type, row + i * info->block_bytes);
            sum += v * v;
        }
        const double length = sum > least * least ? sqrt(sum) : least;
        for (uint64_t i = 0; i < weight->n_cols; i++) {
            uint8_t *at = row + i * info->block_bytes;
            put(weight->type, at, (float)((double)get(weight->type, at) / length));
        }
    }
    return QUIRE_OK;
}
