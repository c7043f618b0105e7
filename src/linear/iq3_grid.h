/* SPDX-License-Identifier: Apache-2.0 */
/* iq3_grid.h - codebooks of IQ3_XXS and IQ3_S. */
#ifndef QR_LINEAR_IQ3_GRID_H
#define QR_LINEAR_IQ3_GRID_H
#include <stdint.h>

/* Magnitudes of four values as octal digits; the lowest digit is the first value. Digit i is
 * magnitude 8 i + 4 (62 for i = 7) in IQ3_XXS, and 2 i + 1 in IQ3_S. */
extern const uint16_t qr_iq3_xxs_grid[256], qr_iq3_s_grid[512];

#endif
