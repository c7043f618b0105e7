/* SPDX-License-Identifier: Apache-2.0 */
/* draft_block.h - drafts of requests from a block drafter, a head of multi-token prediction that
 * drafts all tokens in one pass.
 *
 * The sequences, and the rows that make keys and values of what the model computed, are those of
 * draft_mtp.h. Behind them comes the block of each request that drafts: its last token, of which
 * the model has computed nothing yet, and a mask token for each token to draft, or with from_anchor
 * for each but the first one. With a Markov head the tokens of a block are drawn one after another:
 * the logits of the next one depend on it. */
#ifndef QR_ENGINE_DRAFT_BLOCK_H
#define QR_ENGINE_DRAFT_BLOCK_H
#include "engine/draft_model.h"

/* Largest number of tokens that a request with n tokens of the drafter's sequence can draft. */
uint32_t qr_draft_block_room(const struct qr_draft_model *d, uint32_t n);

/* Rows of the block that drafts so many tokens. */
uint32_t qr_draft_block_rows(const struct qr_draft_model *d, uint32_t n_tokens);

/* Makes the next pass that of the blocks. Their slots are reserved. */
void qr_draft_block_plan(struct quire_engine *e);

/* Draws the tokens of all blocks of that pass. */
void qr_draft_block_add_tokens(struct quire_engine *e);

/* Restores the tokens of the sequences behind that pass, whether or not it succeeded. */
void qr_draft_block_end(struct quire_engine *e);

#endif
