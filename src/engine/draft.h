/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h - drafts of requests by prompt lookup or the draft model, as deep as pays. */
#ifndef QR_ENGINE_DRAFT_H
#define QR_ENGINE_DRAFT_H
#include "engine/types.h"

/* Reserves the memory of drafts of up to n tokens per step for a request whose prompt is set. */
quire_status qr_draft_init(struct quire_engine *e, struct qr_request *r, uint32_t n,
                           struct quire_error *err);
void qr_draft_free(struct quire_engine *e, struct qr_request *r); /* safe on zeroes */

/* Sets the drafts of all running requests for the next step: of prompt lookup where it finds a
 * match and drafts of such matches pay, otherwise of the draft model. The draft model computes what
 * it lacks of their tokens in as much time as `budget` tokens of prompts take; returns how many of
 * these tokens it used up. */
uint32_t qr_draft_prepare(struct quire_engine *e, uint32_t budget);

/* Records the result of a step: of n_drafted tokens the first n_accepted were kept. */
void qr_draft_record(struct quire_engine *e, struct qr_request *r, uint32_t n_drafted,
                     uint32_t n_accepted);

#endif
