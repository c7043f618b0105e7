/* SPDX-License-Identifier: Apache-2.0 */
/* index_blocks.h - compressed index keys: one for each block of consecutive tokens, stored in the
 * row of the block's last token. Rows of the other tokens hold their projections. */
#ifndef QR_MODEL_FORWARD_INDEX_BLOCKS_H
#define QR_MODEL_FORWARD_INDEX_BLOCKS_H
#include "model/forward/types.h"

struct qr_bump;

void qr_index_blocks_reserve(const struct quire_model *model, struct quire_context *ctx,
                             struct qr_bump *buffers);

/* Fills row r of the rotary table of blocks, if the model has such. */
void qr_index_rope_row(const struct qr_step *s, size_t r);

/* Replaces the projection of the last token of each block that ends in the step by the block's key.
 * The projections of all tokens before are in the cache. Ends with a barrier. */
void qr_index_compress(const struct qr_step *s, uint32_t i, const struct quire_team *team);

/* Selects blocks by the scores of the keys in slots below n, of which only those at the end of a
 * block count: their slots and all slots behind the last whole block; or with c->pooled only the
 * last slot of each block. Overwrites the scores. */
void qr_index_select_blocks(const struct qr_index_config *c, float *scores, uint32_t n,
                            uint64_t *bits);

#endif
