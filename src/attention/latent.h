/* SPDX-License-Identifier: Apache-2.0 */
/* latent.h - values of latent (MLA) tiles. */
#ifndef QR_ATTENTION_LATENT_H
#define QR_ATTENTION_LATENT_H
#include "attention/types.h"

/* Derives the values of a latent tile from its keys: in the thread's scratch, valid until the next
 * tile, or in place. */
void qr_latent_values(const struct qr_tile_ctx *ctx, struct qr_kv_tile *tile);

#endif
