/* SPDX-License-Identifier: Apache-2.0 */
/* iq2_grid.h - codebooks of IQ2_XXS, IQ2_XS and IQ2_S. */
#ifndef QR_LINEAR_IQ2_GRID_H
#define QR_LINEAR_IQ2_GRID_H
#include <stdint.h>

/* Magnitudes of eight values as digits of two bits; the lowest digit is the first value. Digits 0,
 * 1, 2 are the magnitudes 8, 25, 43. */
extern const uint16_t qr_iq2_xxs_grid[256], qr_iq2_xs_grid[512], qr_iq2_s_grid[1024];

#endif
