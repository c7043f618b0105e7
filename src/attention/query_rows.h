/* SPDX-License-Identifier: Apache-2.0 */
/* query_rows.h - loads query rows and evaluates their masks per tile. */
#ifndef QR_ATTENTION_QUERY_ROWS_H
#define QR_ATTENTION_QUERY_ROWS_H
#include "attention/types.h"

/* Appends the rows of ctx->item and ctx->seq to the context: converts the queries into scratch in
 * the form the kernels take and records each row's visible keys there and in ctx->any, ctx->all. */
void qr_query_rows_load(struct qr_tile_ctx *ctx);

/* Fills scratch->visible[] for the tile of 64 keys at position `key`. Returns the mask of keys that
 * some row sees. */
uint64_t qr_query_rows_visible(const struct qr_tile_ctx *ctx, uint32_t key);

#endif
