/* SPDX-License-Identifier: Apache-2.0 */
/* slices.h - which rows of a fused tensor form a weight. */
#ifndef QR_MODEL_LOAD_SLICES_H
#define QR_MODEL_LOAD_SLICES_H
#include "model/config/config.h"

/* Units of a slice of a fused tensor: unit u is unit first + u / group * stride + u % group of the
 * tensor's `whole` units. See struct qr_weight. */
struct qr_slice_layout {
    uint64_t first, group, stride, whole;
};

/* Layout of a slice (enum qr_slice) whose role has `own` units: rows, or elements of a vector. */
struct qr_slice_layout qr_slice_layout(const struct qr_model_config *c, unsigned slice,
                                       uint32_t layer, uint64_t own);

#endif
