/* SPDX-License-Identifier: Apache-2.0 */
/* rope.h - rotary frequencies. */
#ifndef QR_MODEL_CONFIG_ROPE_H
#define QR_MODEL_CONFIG_ROPE_H
#include "model/arch/model_config.h"

/* Computes inv_freq[dim / 2] for a sequence of seq_len tokens, on which only LONGROPE and DYNAMIC
 * depend. Rounds to f32 where the reference implementation does. The caller multiplies cos and sin
 * by cos_sin_scale. */
void qr_rope_inv_freq(const struct qr_rope_config *rope, uint64_t seq_len, float *inv_freq);

#endif
