/* SPDX-License-Identifier: Apache-2.0 */
/* iq4_table.h - the values of the codes of IQ4_NL and IQ4_XS. */
#ifndef QUIRE_QUANTIZE_IQ4_TABLE_H
#define QUIRE_QUANTIZE_IQ4_TABLE_H
#include "fit.h"

/* As the format defines them; src/kernels/kernels_linear.h has the same with 128 added. */
static const int8_t iq4_values[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113 };
static const struct grid iq4_grid = { -127, 113, iq4_values };

#endif
