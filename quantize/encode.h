/* SPDX-License-Identifier: Apache-2.0 */
/* encode.h - rounds rows of weights to the block formats of GGUF.
 *
 * Every encoder minimizes the weighted squared error of its block: it tries a range of scales,
 * assigns the nearest codes, solves for the scale (and minimum) that is best for these codes, and
 * keeps the best try. Where blocks share rounded scales, codes are assigned again to what is
 * stored. */
#ifndef QUIRE_QUANTIZE_ENCODE_H
#define QUIRE_QUANTIZE_ENCODE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether rows can be encoded in a type (enum qr_weight_type). */
bool encode_supports(uint32_t type);

/* Encodes x[k], finite and k a multiple of the type's block, to `out`. importance[k] >= 0 weighs
 * the squared error of each value; NULL: all alike. Values beyond the range of the type's scales
 * are clamped. */
void encode_row(uint32_t type, const float *x, size_t k, const float *importance, void *out);

#endif
