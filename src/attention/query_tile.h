/* SPDX-License-Identifier: Apache-2.0 */
/* query_tile.h - geometry and cost of query tiles. */
#ifndef QR_ATTENTION_QUERY_TILE_H
#define QR_ATTENTION_QUERY_TILE_H
#include "attention/types.h"

/* Cost of loading a key, in units of scoring it for one row. */
enum { QR_KEY_LOAD_COST_ROWS = 12 };

/* Number of query tiles of a sequence and KV head. */
uint32_t qr_query_tile_count(const struct qr_plan_group *g, const struct qr_attn_seq *s);

/* Computes tile i of n equal tiles (whole register tiles where possible) of a sequence and KV
 * head. The last ones may have no rows. */
void qr_query_tile_get(const struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq,
                       uint32_t kv_head, uint32_t i, uint32_t n, struct qr_query_tile *t);

#endif
