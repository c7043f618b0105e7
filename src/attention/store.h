/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - epilogue: normalizes and stores the rows of a work item. */
#ifndef QR_ATTENTION_STORE_H
#define QR_ATTENTION_STORE_H
#include "attention/types.h"

/* Writes out and the LSE of the context's rows from their final states. Overwrites st->o. */
void qr_store_rows(const struct qr_tile_ctx *ctx, const struct qr_softmax_state *st);

#endif
