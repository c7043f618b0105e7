/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h - where the keys and values of a tile of 64 lie. */
#ifndef QR_ATTENTION_TILE_H
#define QR_ATTENTION_TILE_H
#include "attention/item.h"

/* Columns of 16 tokens as the kernels take them, NULL where no key is wanted, and their strides. */
struct qr_tile {
    const void *k[QR_TILE_COLUMNS], *v[QR_TILE_COLUMNS];
    size_t k_stride, v_stride;
    bool k_codes, v_codes; /* they are still the codes of the cache */
    /* of int8 rows: [64], anything where no key is wanted; else NULL */
    const float *k_scale, *v_scale;
    /* what is asked for while its keys and values are read, or NULL */
    const void *next_k, *next_v;
};

/* One sequence's keys and values of one layer and KV head. */
struct qr_tile_source {
    const struct qr_attention_call *call;
    const struct qr_kv_layout *layout;
    const unsigned char *blocks; /* block 0 of the layer and head */
    const int32_t *ids;          /* blocks first_block, first_block + 1, ... of the sequence */
    uint32_t first_block, block_size;
    uint32_t end;              /* position after the last block */
    size_t k_column, v_column; /* bytes from one column of a group of tokens to the next */
};
struct qr_tile_source qr_tile_source_of(const struct qr_attention_call *call,
                                        const struct qr_plan_item *item);

/* The tile whose key 0 is at position `key`. Only columns with keys of `wanted` (bit j: key + j) are
 * looked up. fp8 and int8 are unpacked to bf16 in the worker's scratch, where they stay until the
 * next tile; where the kernels can do without, only unless as_codes is set. */
struct qr_tile qr_tile_load(const struct qr_tile_source *source, uint32_t key, uint64_t wanted,
                            bool as_codes);

/* For latent.c: the end of the columns from c on that lie side by side: those of a group of 64 tokens,
 * else one. */
int qr_tile_columns_together(const struct qr_tile_source *source, const void *const *columns,
                             int c);

/* Values of a latent tile from its keys: in the worker's scratch until the next tile, or where they
 * lie. */
void qr_tile_latent_values(const struct qr_tile_source *source, struct qr_tile *tile);

#endif
