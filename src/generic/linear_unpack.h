/* SPDX-License-Identifier: Apache-2.0 */
/* linear_unpack.h - unpacks one group of a quantized panel in plain C. */
#ifndef QR_GENERIC_LINEAR_UNPACK_H
#define QR_GENERIC_LINEAR_UNPACK_H
#include "kernels/kernels_linear.h"

/* Integer weights or floating-point codes; scale and minimum of each sub-block of 32 (or 16) k. */
struct generic_group {
    int16_t w[QR_GROUP_K][QR_PANEL_ROWS];
    float scale[16][QR_PANEL_ROWS];
    float min[16][QR_PANEL_ROWS];
};

/* Unpacks the n_blocks blocks of the group at `group`. */
void qr_generic_unpack(struct qr_panel_format f, const uint8_t *group, size_t n_blocks,
                       struct generic_group *g);

#endif
