/* SPDX-License-Identifier: Apache-2.0 */
/* position_bias.h - ALiBi and relative position bias of query rows. */
#ifndef QR_ATTENTION_POSITION_BIAS_H
#define QR_ATTENTION_POSITION_BIAS_H
#include "attention/types.h"

/* Sets slope, distance and bias of a softmax call for a->n_rows rows, starting at row `first`,
 * against the tile of 64 keys at `key`. The arrays are valid until the next call. */
void qr_position_bias_fill(const struct qr_tile_ctx *ctx, uint32_t key, uint32_t first,
                           struct qr_attn_softmax_args *a);

#endif
