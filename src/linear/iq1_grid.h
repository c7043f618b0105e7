/* SPDX-License-Identifier: Apache-2.0 */
/* iq1_grid.h - codebook of IQ1_S and IQ1_M. */
#ifndef QR_LINEAR_IQ1_GRID_H
#define QR_LINEAR_IQ1_GRID_H
#include <stdint.h>

/* Eight ternary values as digits of two bits; the lowest digit is the first value. Digits 0, 1, 2
 * are the values -1, 0, 1. */
extern const uint16_t qr_iq1_grid[2048];

#endif
