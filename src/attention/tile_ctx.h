/* SPDX-License-Identifier: Apache-2.0 */
/* tile_ctx.h - execution contexts of work items. */
#ifndef QR_ATTENTION_TILE_CTX_H
#define QR_ATTENTION_TILE_CTX_H
#include "attention/types.h"

/* The context of a work item, before its query rows are loaded. Keeps pointers to call and item. */
struct qr_tile_ctx qr_tile_ctx_init(const struct qr_attention_call *call,
                                    const struct qr_work_item *item);

#endif
