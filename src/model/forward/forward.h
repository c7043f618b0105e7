/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h - the forward pass over the layers of a step. */
#ifndef QR_MODEL_FORWARD_FORWARD_H
#define QR_MODEL_FORWARD_FORWARD_H
#include "model/forward/types.h"

/* Computes one thread's part of a step (struct qr_step): embedding, layers, outputs. All threads of
 * the team call it. */
void qr_forward_part(void *step, const struct quire_team *team);

#endif
