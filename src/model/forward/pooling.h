/* SPDX-License-Identifier: Apache-2.0 */
/* pooling.h - one vector for each sequence of an encoder pass. */
#ifndef QR_MODEL_FORWARD_POOLING_H
#define QR_MODEL_FORWARD_POOLING_H
#include "model/forward/types.h"

/* Pools the hidden states in ctx->h, which is complete, into s->encode->pooled. All threads call
 * it. */
void qr_pool(const struct qr_step *s, const struct quire_team *team);

#endif
