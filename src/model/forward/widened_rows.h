/* SPDX-License-Identifier: Apache-2.0 */
/* widened_rows.h - queries, keys and values that are wider in attention than their projections: a
 * bias of keys as one more element, and the values and outputs of differential attention. */
#ifndef QR_MODEL_FORWARD_WIDENED_ROWS_H
#define QR_MODEL_FORWARD_WIDENED_ROWS_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffers of narrow rows; none in models without. */
void qr_widened_reserve(const struct qr_model_config *c, struct quire_context *ctx,
                        struct qr_bump *buffers);

/* Computes dt of all rows from their values, for the bias of keys. All threads call it; ends with a
 * barrier. */
void qr_key_dt(const struct qr_step *s, uint32_t layer, const struct quire_team *team);

/* Writes q, k or v of row r from its narrow form, where the model has one. */
void qr_widen_row(const struct qr_step *s, uint32_t layer, size_t r);

/* Differential attention: combines the outputs of head pairs in ctx->att to rows of ctx->att_gate.
 * All threads call it; ends with a barrier. */
void qr_difference(const struct qr_step *s, uint32_t layer, const struct quire_team *team);

#endif
