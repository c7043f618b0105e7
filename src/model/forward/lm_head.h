/* SPDX-License-Identifier: Apache-2.0 */
/* lm_head.h - logits of the requested rows. */
#ifndef QR_MODEL_FORWARD_LM_HEAD_H
#define QR_MODEL_FORWARD_LM_HEAD_H
#include "model/forward/types.h"

/* Computes the logits of s->logits_rows from the residual stream. All threads call it; does not end
 * with a barrier. */
void qr_lm_head(const struct qr_step *s, const struct quire_team *team);

#endif
