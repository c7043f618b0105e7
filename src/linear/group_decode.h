/* SPDX-License-Identifier: Apache-2.0 */
/* group_decode.h - decodes quantized blocks. */
#ifndef QR_LINEAR_GROUP_DECODE_H
#define QR_LINEAR_GROUP_DECODE_H
#include "linear/types.h"

/* Bytes in the file of n_blocks blocks of 32 values. */
size_t qr_group_raw_bytes(uint32_t type, size_t n_blocks);

/* Decodes n_blocks blocks of 32 values at `raw` (any alignment). */
void qr_group_decode(uint32_t type, const uint8_t *raw, size_t n_blocks, struct qr_group *g);

#endif
