/* SPDX-License-Identifier: Apache-2.0 */
/* span.h - attention of query rows over one span of 512 keys. */
#ifndef QR_ATTENTION_SPAN_H
#define QR_ATTENTION_SPAN_H
#include "attention/types.h"

/* Computes the softmax state of the context's rows over one span, starting from an empty state. */
void qr_span_attend(const struct qr_tile_ctx *ctx, uint32_t span,
                    const struct qr_softmax_state *st);

#endif
