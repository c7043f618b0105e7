/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_rows.h - the rows of a step by adapter. */
#ifndef QR_MODEL_FORWARD_ADAPTER_ROWS_H
#define QR_MODEL_FORWARD_ADAPTER_ROWS_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Reserves the buffers for adapters of up to ctx->adapters.max_rank; nothing if that is 0. */
void qr_adapter_reserve(const struct quire_model *model, struct quire_context *ctx,
                        struct qr_bump *buffers);

/* Checks the adapters of a step and groups its rows. The batch is checked, and s->logits_rows are
 * set. */
quire_status qr_adapter_place(const struct qr_step *s, struct quire_error *err);

/* Groups the rows of the logits of s by the adapters of the last step. */
void qr_adapter_place_logits(const struct qr_step *s);

/* Marks the adapters of a step as in use, until qr_adapter_end. */
void qr_adapter_begin(const struct quire_forward_args *args);
void qr_adapter_end(const struct quire_forward_args *args);

#endif
