/* SPDX-License-Identifier: Apache-2.0 */
/* draft_mtp.h - drafts of requests from a head of multi-token prediction (MTP) of the model.
 *
 * The head is a draft model of one layer (struct qr_draft_model with `mtp`). Its row for position i
 * of a request reads the token at i + 1 and the model's hidden state at i, which exists only from
 * the step that computed position i until the next one. So the head computes the rows of a step at
 * the beginning of the next step, for every request that may draft, and in the same pass the first
 * drafted token; for further ones it reads its own hidden state.
 *
 * The sequence of a request in the head's KV cache has the tokens from position mtp_base + 1 on.
 * mtp_base is 0, or, where hidden states are missing, because the model took a prefix from its
 * cache that the head does not have, the first position with one: the head then attends to later
 * positions only. Rotary embedding is relative, so the shift changes nothing else.
 *
 * Heads that take turns have a layer each in that cache, and passes of their own (draft_heads.h).
 *
 * A head in files of its own (struct qr_mtp_config) has no KV cache: it reads that of the model,
 * and computes only the rows that draft, all at the position of the last token.
 *
 * As with a draft model, what the head computes influences the speed only. */
#ifndef QR_ENGINE_DRAFT_MTP_H
#define QR_ENGINE_DRAFT_MTP_H
#include "engine/draft_model.h"

static inline bool qr_mtp_in_use(const struct quire_engine *e)
{
    return e->draft_model && e->draft_model->mtp;
}

/* Where the planned step has to store the final hidden states of its rows; NULL: nowhere. A head
 * with features has the batch store these instead. */
float *qr_mtp_begin_step(struct quire_engine *e);

/* Notes which rows of hidden, [max_step_tokens][hidden_size], or of the batch's features, belong to
 * which request, after a step and before its tokens are committed. Both are read until the next
 * step. hidden NULL: they were not stored. ok: the step succeeded. */
void qr_mtp_record_step(struct quire_engine *e, const float *hidden, bool ok);

/* Largest number of tokens that the head can draft for a request that decodes; 0: none now. */
uint32_t qr_mtp_room(const struct quire_engine *e, const struct qr_request *r);

/* Computes the rows of the last step, and drafts up to n_model_draft tokens for every running
 * request, in its `draft` and task.n_draft; sets n_model_draft to their number. */
void qr_mtp_run(struct quire_engine *e);

/* ---- Shared with draft_heads.c */

/* End of the positions that the first head can compute for a request in this step: their hidden
 * states come from the last step, and the next token is known. 0: there are none. */
uint32_t qr_mtp_known_end(const struct qr_request *r);

/* Makes the sequence of a request such that the rows up to position `end` continue it. False: there
 * is none, or no such row. */
bool qr_mtp_update_sequence(struct quire_engine *e, struct qr_request *r, uint32_t end);

/* Makes the tokens of draft_task those of its sequence. */
void qr_mtp_set_tokens(const struct qr_draft_model *d, struct qr_request *r);

/* Ends the sequence of a request for which the KV cache is full. */
void qr_mtp_end_full(struct quire_engine *e, struct qr_request *r);

/* Draws a token for every request of the pass that drafts. From the last row to the first, as in
 * draft_model.c. */
void qr_mtp_add_tokens(struct quire_engine *e);

#endif
