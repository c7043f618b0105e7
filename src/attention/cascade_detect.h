/* SPDX-License-Identifier: Apache-2.0 */
/* cascade_detect.h - detects shared prefixes: spans that several sequences hold in the same
 * blocks. */
#ifndef QR_ATTENTION_CASCADE_DETECT_H
#define QR_ATTENTION_CASCADE_DETECT_H
#include "attention/types.h"

/* Detects the cascades of the plan's batch for one group. */
void qr_cascade_detect(struct quire_plan *plan, struct qr_plan_group *g);

/* Whether a sequence is in some cascade. */
static inline bool qr_cascade_has(const struct quire_plan *plan, const struct qr_plan_group *g,
                                  uint32_t seq)
{
    return g->n_cascades && plan->cascade_seqs[seq].first_member != QR_CASCADE_NONE;
}

#endif
