/* SPDX-License-Identifier: Apache-2.0 */
/* query_tile.c - cuts the query rows of a sequence into tiles and estimates their cost. */
#include "attention/query_tile.h"
#include "attention/mask.h"
#include "attention/sparse.h"

uint32_t qr_query_tile_count(const struct qr_plan_group *g, const struct qr_attn_seq *s)
{
    const uint64_t rows = (uint64_t)s->n_tokens * g->gqa_ratio;
    if (rows <= g->tile_rows)
        return rows != 0;
    return (uint32_t)((rows + g->tile_rows - 1) / g->tile_rows);
}

/* Sets the rows and keys of tile i of n. */
static void set_rows(const struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq,
                     uint32_t i, uint32_t n, struct qr_query_tile *t)
{
    const struct qr_attn_seq *s = &plan->seqs[seq];
    const uint64_t rows = (uint64_t)s->n_tokens * g->gqa_ratio;
    if (n == 1) { /* mostly decode */
        t->row = 0;
        t->n_rows = (uint32_t)rows;
        t->keys = g->seq_blocks[seq].keys;
        return;
    }
    uint64_t share = (rows + n - 1) / n;
    const uint64_t step = (uint64_t)g->kernel_table->attn_register_rows,
                   whole = (share + step - 1) / step * step;
    share = whole < g->tile_rows ? whole : g->tile_rows;
    const uint64_t first = share * i < rows ? share * i : rows, left = rows - first;
    t->row = (uint32_t)first;
    t->n_rows = (uint32_t)(left < share ? left : share);
    t->keys = (struct qr_key_range){ 0, 0 };
    if (t->n_rows)
        t->keys = qr_tokens_mask_range(&g->config, s, t->row / g->gqa_ratio,
                                       (t->row + t->n_rows - 1) / g->gqa_ratio);
}

void qr_query_tile_get(const struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq,
                       uint32_t kv_head, uint32_t i, uint32_t n, struct qr_query_tile *t)
{
    set_rows(plan, g, seq, i, n, t);
    t->span = t->end_span = t->n_live = 0;
    t->list = qr_sparse_list(g, seq, kv_head);
    t->cost = 1;
    if (t->keys.lo == t->keys.hi)
        return;
    t->span = t->keys.lo / QR_SPAN_KEYS;
    t->end_span = (t->keys.hi - 1) / QR_SPAN_KEYS + 1;
    struct qr_sparse_count visible = { t->keys.hi - t->keys.lo, t->end_span - t->span };
    if (t->list)
        visible = qr_sparse_count(t->list, plan->kv->block_size, t->keys);
    if (!visible.spans)
        t->end_span = t->span;
    t->n_live = visible.spans;
    t->cost += (uint64_t)visible.keys * (t->n_rows + QR_KEY_LOAD_COST_ROWS);
}
