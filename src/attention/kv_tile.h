/* SPDX-License-Identifier: Apache-2.0 */
/* kv_tile.h - locates the keys and values of a tile in the paged cache. */
#ifndef QR_ATTENTION_KV_TILE_H
#define QR_ATTENTION_KV_TILE_H
#include "attention/types.h"

/* Fills *t with the tile of 64 keys at position `key`. Only columns with keys of `wanted` (bit j:
 * key + j; not 0) are looked up. 8-bit keys and values are unpacked to bf16 in the thread's
 * scratch, valid until the next call; with keep_8bit set only where no kernel takes them in 8-bit
 * form. */
void qr_kv_tile_load(const struct qr_tile_ctx *ctx, uint32_t key, uint64_t wanted, bool keep_8bit,
                     struct qr_kv_tile *t);

/* End of the columns from c on that are adjacent in memory: those of a group of 64 tokens, else a
 * single column. */
static inline int qr_kv_tile_contiguous_end(const struct qr_tile_ctx *ctx,
                                            const void *const *columns, int c)
{
    int end = c + 1;
    while (ctx->layout->group == QR_TILE_KEYS && end < QR_TILE_COLUMNS && columns[end])
        end++;
    return end;
}

#endif
