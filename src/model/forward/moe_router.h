/* SPDX-License-Identifier: Apache-2.0 */
/* moe_router.h - routers with layers of their own and a state that later layers read
 * (qr_moe_config.router_hidden). */
#ifndef QR_MODEL_FORWARD_MOE_ROUTER_H
#define QR_MODEL_FORWARD_MOE_ROUTER_H
#include "model/forward/types.h"

/* Computes the input of the last, linear layer of the router of layer i from the rows of src.
 * Returns it, [n_tokens][router_hidden]. Ends with a barrier. */
const float *qr_moe_router_hidden(const struct qr_step *s, uint32_t i, const float *src,
                                  const struct quire_team *team);

#endif
