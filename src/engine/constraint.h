/* SPDX-License-Identifier: Apache-2.0 */
/* constraint.h - the grammar of a request while its answer is generated. */
#ifndef QR_ENGINE_CONSTRAINT_H
#define QR_ENGINE_CONSTRAINT_H
#include "engine/types.h"

/* Forced tokens that are appended at once. */
enum { QR_MAX_FORCED = 256 };

/* Checks the fields of a request. */
quire_status qr_constraint_check(const struct quire_engine *e, const struct quire_request_params *p,
                                 struct quire_error *err);
/* Gives an answer its matcher; the grammar is compiled by the calling thread. */
quire_status qr_constraint_init(struct quire_engine *e, struct qr_request *r,
                                const struct quire_request_params *p, struct quire_error *err);
void qr_constraint_free(struct quire_engine *e, struct qr_request *r); /* safe on zeroes */

/* Begins to compute the mask of the next token while other things are done, where that pays. */
void qr_constraint_compute_ahead(struct quire_engine *e, struct qr_request *r);
/* Excludes the tokens that the grammar does not allow next from a row of logits. *ends: none of the
 * others is left, and the text may end here. QUIRE_E_MISMATCH none is left and it may not. */
quire_status qr_constraint_mask(struct quire_engine *e, struct qr_request *r, float *logits,
                                bool *ends, struct quire_error *err);
/* A token that was appended, other than one that ends the answer. *ends: nothing may follow. */
quire_status qr_constraint_commit(struct quire_engine *e, struct qr_request *r, int32_t token,
                                  bool *ends, struct quire_error *err);
/* Tokens that must follow, for the logits of which nothing needs to be sampled: tokens[0 .. *n),
 * capacity QR_MAX_FORCED. */
quire_status qr_constraint_forced(const struct quire_engine *e, struct qr_request *r,
                                  int32_t *tokens, size_t *n, struct quire_error *err);
/* Number of leading tokens of a draft that the grammar allows; n without a grammar. */
uint32_t qr_constraint_check_draft(struct qr_request *r, const int32_t *draft, uint32_t n);
/* Advances by a token of the draft model, so that masks are those behind it; false: the grammar
 * does not allow it, or there is no memory. drop_draft goes back to the tokens of the answer. */
bool qr_constraint_push_draft(struct qr_request *r, int32_t token);
void qr_constraint_drop_draft(struct qr_request *r);

#endif
