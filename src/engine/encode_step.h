/* SPDX-License-Identifier: Apache-2.0 */
/* encode_step.h - the forward pass of a step of an encoder. */
#ifndef QR_ENGINE_ENCODE_STEP_H
#define QR_ENGINE_ENCODE_STEP_H
#include "engine/types.h"

/* Computes the hidden states of the sequences of the batch, and the outputs of the pooler and the
 * classification head if a request of the step needs them. */
quire_status qr_encode_step(struct quire_engine *e, struct quire_error *err);

#endif
