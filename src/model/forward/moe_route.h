/* SPDX-License-Identifier: Apache-2.0 */
/* moe_route.h - top-k routing of a token to experts. */
#ifndef QR_MODEL_FORWARD_MOE_ROUTE_H
#define QR_MODEL_FORWARD_MOE_ROUTE_H
#include "model/config/config.h"

/* Chooses the experts of one token: fills n_used experts in rank order, and their weights.
 * `scores` [n_experts] are router logits and are overwritten. `correction` [n_experts] is added
 * to the scores for the choice only; may be NULL. chosen [n_used]: the experts, in place of those
 * with the highest scores; may be NULL. */
void qr_moe_route(const struct qr_moe_config *m, float *scores, const float *correction,
                  const uint32_t *chosen, uint32_t *experts, float *weights);

#endif
