/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - one group of quantized weights, the same structure for all quantized types. */
#ifndef QR_LINEAR_TYPES_H
#define QR_LINEAR_TYPES_H
#include "kernels/kernels_linear.h"

/* Up to 256 values of one weight row. The scale kind of the type's panel format
 * (kernels/kernels_linear.h) determines which fields of scale, min, d and m are used, and how many
 * elements. d and m are f16 bits as
 * stored in the file. */
struct qr_group {
    uint8_t code[QR_GROUP_K]; /* N16_DELTA: bit 2 is the bit of eight values */
    uint8_t scale[16];        /* signed scales in two's complement; E8M0, E4M3: the bits; N8..: n */
    uint8_t min[16];
    uint16_t d[8], m[8];
    uint32_t f[8]; /* f32 bits of scales; their zero points are in `min` */
};

#endif
