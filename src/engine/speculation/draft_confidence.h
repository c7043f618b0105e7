/* SPDX-License-Identifier: Apache-2.0 */
/* draft_confidence.h - how often drafted tokens are accepted, by the drafter's own confidence in
 * them, and how many tokens of a draft are therefore verified.
 *
 * A drafter is trained to predict how far its distribution is from the model's, which is not how
 * often its draws are accepted: that depends on the request's sampling. So acceptance is measured,
 * for ranges of confidence. Answers do not depend on it (verify.h). */
#ifndef QR_ENGINE_SPECULATION_DRAFT_CONFIDENCE_H
#define QR_ENGINE_SPECULATION_DRAFT_CONFIDENCE_H
#include "engine/speculation/draft_depth.h"

enum { QR_CONFIDENCE_RANGES = 8 }; /* of equal size, from 0 to 1 */

/* Zeroes: nothing was measured. Sums with exponentially decreasing weights. */
struct qr_draft_confidence {
    double tried[QR_CONFIDENCE_RANGES], accepted[QR_CONFIDENCE_RANGES];
};

/* Probability that a token of this confidence is accepted, if those before it are: the confidence
 * itself at first, then what was measured. */
double qr_draft_confidence_estimate(const struct qr_draft_confidence *c, float confidence);

/* Records a verified draft: confidence[drafted], of which the first `accepted` were accepted. */
void qr_draft_confidence_record(struct qr_draft_confidence *c, const float *confidence,
                                uint32_t drafted, uint32_t accepted);

/* How many leading tokens of a draft of n are verified, 1 .. n: those with most expected tokens per
 * second. The draft has been made, so that its own cost is the same for each. n without measured
 * costs, and 0 for 0. */
uint32_t qr_draft_confidence_depth(const struct qr_draft_confidence *c,
                                   const struct qr_draft_costs *costs, const float *confidence,
                                   uint32_t n);

#endif
