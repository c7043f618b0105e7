/* SPDX-License-Identifier: Apache-2.0 */
/* row_logits.h - logits of further rows of the last decoder step, in pieces that fit the caller's
 * memory. */
#ifndef QR_MODEL_FORWARD_ROW_LOGITS_H
#define QR_MODEL_FORWARD_ROW_LOGITS_H
#include "model/forward/types.h"

/* Computes the logits of rows [first, first + n) of the context's last step, with the bits that the
 * step itself would give. No other step of the context may have begun since.
 *  n          at most max_logits of the context
 *  logits     [n][vocab_size] f32 out
 *  n_threads  members of the context's threads, at most as many as ran the step. The calling thread
 *             computes alone while the threads run something else
 *  QUIRE_E_LIMIT, QUIRE_E_RANGE: n or a row; nothing was written. */
quire_status qr_context_row_logits(struct quire_context *ctx, uint32_t first, uint32_t n,
                                   uint32_t n_threads, float *logits, struct quire_error *err);

#endif
