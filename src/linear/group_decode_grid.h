/* SPDX-License-Identifier: Apache-2.0 */
/* group_decode_grid.h - decodes GGUF's blocks of grid indices. */
#ifndef QR_LINEAR_GROUP_DECODE_GRID_H
#define QR_LINEAR_GROUP_DECODE_GRID_H
#include "linear/types.h"
#include <stdbool.h>

/* Decodes the block of 256 values at `raw` (any alignment) of a type whose values are entries of a
 * codebook of vectors: IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S. False: another
 * type. */
bool qr_group_decode_grid(uint32_t type, const uint8_t *raw, struct qr_group *g);

#endif
