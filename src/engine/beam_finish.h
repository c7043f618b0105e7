/* SPDX-License-Identifier: Apache-2.0 */
/* beam_finish.h - finished answers of a beam search, and its end. */
#ifndef QR_ENGINE_BEAM_FINISH_H
#define QR_ENGINE_BEAM_FINISH_H
#include "engine/beam_types.h"

/* How a beam becomes a hypothesis. */
struct qr_beam_ending {
    const struct qr_beam_candidate *last; /* the token that is sampled last; NULL = none */
    bool keeps_last;                      /* it belongs to the answer */
    enum quire_finish_reason reason;
    bool context_full;
};

/* Adds the answer of a beam if it is among the best `width` so far. Of equal scores the earlier one
 * is the better one. */
void qr_beam_add_hypothesis(struct qr_beam_search *b, const struct qr_request *r,
                            const struct qr_beam_ending *ending);

/* Writes the [n_logprobs] log-probabilities that are reported with a candidate. */
void qr_beam_copy_logprobs(const struct qr_beam_search *b, const struct qr_beam_candidate *c,
                           struct quire_token_logprob *to);

/* Whether the search is over, given the best sum of a beam of n_output tokens. */
bool qr_beam_is_done(const struct qr_beam_search *b, double best_sum, uint32_t n_output);

/* Ends the search: its answers are the hypotheses, best first. reason: why it is ended from
 * outside, with the answers so far; QUIRE_FINISH_NONE: it is over. */
void qr_beam_end(struct quire_engine *e, struct qr_request *leader,
                 enum quire_finish_reason reason);

/* Ends all answers with QUIRE_FINISH_ERROR. keep: as of qr_scheduler_remove(). */
void qr_beam_fail(struct quire_engine *e, struct qr_request *leader, quire_status status,
                  const struct quire_error *err, bool keep);

#endif
