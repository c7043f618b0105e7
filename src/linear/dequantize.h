/* SPDX-License-Identifier: Apache-2.0 */
/* dequantize.h - reference dequantization of weights. */
#ifndef QR_LINEAR_DEQUANTIZE_H
#define QR_LINEAR_DEQUANTIZE_H
#include "linear/types.h"

/* Dequantizes n_blocks blocks of 32 values of a group, exactly as the format defines them. */
void qr_group_dequantize(struct qr_panel_format f, const struct qr_group *g, size_t n_blocks,
                         float *out);

/* Dequantizes k values of a row of raw blocks (any alignment) to f32, exactly as the format defines
 * them. The type is supported and k a multiple of its block. */
void qr_weight_dequantize(uint32_t type, const void *raw, size_t k, float *out);

#endif
