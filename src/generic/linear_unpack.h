/* SPDX-License-Identifier: Apache-2.0 */
/* linear_unpack.h - plain reading of one group of a quantised panel. */
#ifndef QR_GENERIC_LINEAR_UNPACK_H
#define QR_GENERIC_LINEAR_UNPACK_H
#include "kernels/kernels_linear.h"

/* Integer weights and, per sub-block of 32 (or 16) k, what they are multiplied by and what is
 * subtracted. */
struct generic_group {
    int16_t w[QR_GROUP_K][QR_PANEL_ROWS];
    float scale[16][QR_PANEL_ROWS];
    float min[16][QR_PANEL_ROWS];
};

void qr_generic_unpack(struct qr_panel_format f, const uint8_t *group, size_t n_blocks,
                       struct generic_group *g);

#endif
