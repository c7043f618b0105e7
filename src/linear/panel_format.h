/* SPDX-License-Identifier: Apache-2.0 */
/* panel_format.h - panel formats of the quantized weight types. */
#ifndef QR_LINEAR_PANEL_FORMAT_H
#define QR_LINEAR_PANEL_FORMAT_H
#include "kernels/kernels_linear.h"

/* Returns the panel format of a quantized type; NULL for all others. */
const struct qr_panel_format *qr_weight_panel_format(uint32_t type);

#endif
