/* SPDX-License-Identifier: Apache-2.0 */
/* encode_block.h - the encoders of the block formats. Each takes one block x and its weights w. */
#ifndef QUIRE_QUANTIZE_ENCODE_BLOCK_H
#define QUIRE_QUANTIZE_ENCODE_BLOCK_H
#include <stdint.h>

enum { BLOCK = 32, SUPER_BLOCK = 256 };

/* Rounds to nearest even; values beyond the range become the largest finite one. */
uint16_t encode_f16(float f);
/* The same, as the value that is stored. */
float encode_round_f16(float f);

/* Blocks of 32 values. */
void encode_q8_0(const float *x, const float *w, uint8_t *out);
void encode_q4_0(const float *x, const float *w, uint8_t *out);
void encode_iq4_nl(const float *x, const float *w, uint8_t *out);
void encode_mxfp4(const float *x, const float *w, uint8_t *out);
/* Super-blocks of 256 values. */
void encode_q4_k(const float *x, const float *w, uint8_t *out);
void encode_q5_k(const float *x, const float *w, uint8_t *out);
void encode_q6_k(const float *x, const float *w, uint8_t *out);
void encode_iq4_xs(const float *x, const float *w, uint8_t *out);

#endif
