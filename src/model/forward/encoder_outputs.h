/* SPDX-License-Identifier: Apache-2.0 */
/* encoder_outputs.h - the outputs of an encoder pass after its last layer. */
#ifndef QR_MODEL_FORWARD_ENCODER_OUTPUTS_H
#define QR_MODEL_FORWARD_ENCODER_OUTPUTS_H
#include "model/forward/types.h"

/* Computes the requested outputs of a pass: hidden states, keys and values of cross attention,
 * pooled vectors. ctx->x is complete. All threads call it; afterwards ctx->h holds the normed
 * states. */
void qr_encoder_outputs(const struct qr_step *s, const struct quire_team *team);

#endif
