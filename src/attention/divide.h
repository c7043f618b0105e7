/* SPDX-License-Identifier: Apache-2.0 */
/* divide.h - cutting the work of a batch into items. */
#ifndef QR_ATTENTION_DIVIDE_H
#define QR_ATTENTION_DIVIDE_H
#include "attention/plan.h"

enum {
    QR_ROW_OVERHEAD = 12,    /* loading a key costs about as much as scoring it for so many rows */
    QR_SPLITS_PER_THREAD = 8 /* items that splitting adds at most */
};

/* A query tile: rows [row, row + n_rows) of a sequence, and the spans that they see. */
struct qr_query_tile {
    uint32_t row, n_rows, span, end_span;
    uint32_t n_live; /* spans in which some row may see a key */
    struct qr_key_range keys;
    const struct quire_sparse_list *list;
    uint64_t cost; /* keys times rows */
};

struct qr_divider {
    struct quire_plan *plan;
    struct qr_plan_group *g;
    uint64_t target; /* cost of an item, more or less */
    size_t partials_used;
    uint32_t splits_left; /* items beyond one per tile or run of spans */
    uint32_t coarser;     /* halvings of the number of pieces of what belongs to cascades */
};

uint32_t qr_tiles_of(const struct qr_plan_group *g, const struct qr_plan_seq *s);

/* The sequence, KV head and place among n equal tiles (of whole register tiles where that is
 * possible) that make a tile. */
void qr_tile_at(const struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq,
                uint32_t kv_head, uint32_t i, uint32_t n, struct qr_query_tile *t);

/* Items that n_spans of some cost in all are worth, 1 when they stay together. */
uint32_t qr_divide_pieces(const struct qr_divider *d, uint32_t n_spans, uint64_t cost);

/* Adds an item for each of n KV heads from the item's own on. */
void qr_divide_emit(struct qr_divider *d, const struct qr_plan_item *item, uint32_t n,
                    uint64_t cost);

#endif
