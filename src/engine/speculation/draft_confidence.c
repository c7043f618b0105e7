/* SPDX-License-Identifier: Apache-2.0 */
/* draft_confidence.c - acceptance of drafted tokens by confidence, and the depth that follows. */
#include "engine/speculation/draft_confidence.h"

/* Weight of a token of a range after the next one: averages over about 200 tokens. */
static const double decay = 0.995;
/* The confidence itself is worth so many tokens. */
static const double prior_weight = 8;

static uint32_t range_of(float confidence)
{
    const float r = confidence * QR_CONFIDENCE_RANGES;
    return r >= QR_CONFIDENCE_RANGES - 1 ? QR_CONFIDENCE_RANGES - 1 : r > 0 ? (uint32_t)r : 0;
}

double qr_draft_confidence_estimate(const struct qr_draft_confidence *c, float confidence)
{
    const uint32_t r = range_of(confidence);
    return (c->accepted[r] + prior_weight * (double)confidence) / (c->tried[r] + prior_weight);
}

void qr_draft_confidence_record(struct qr_draft_confidence *c, const float *confidence,
                                uint32_t drafted, uint32_t accepted)
{
    for (uint32_t i = 0; i < drafted && i <= accepted; i++) {
        const uint32_t r = range_of(confidence[i]);
        c->tried[r] = c->tried[r] * decay + 1;
        c->accepted[r] = c->accepted[r] * decay + (i < accepted);
    }
}

uint32_t qr_draft_confidence_depth(const struct qr_draft_confidence *c,
                                   const struct qr_draft_costs *costs, const float *confidence,
                                   uint32_t n)
{
    const double made = n * costs->draft_seconds + costs->block_seconds;
    double reached = 1, tokens = 1, best_rate = 0;
    uint32_t best = n;
    if (n > qr_draft_depth_known(costs))
        return n;
    for (uint32_t depth = 1; depth <= n; depth++) {
        reached *= qr_draft_confidence_estimate(c, confidence[depth - 1]);
        tokens += reached;
        const double rate = tokens / (qr_draft_step_seconds(costs, depth) + made);
        if (rate > best_rate) {
            best_rate = rate;
            best = depth;
        }
    }
    return best;
}
