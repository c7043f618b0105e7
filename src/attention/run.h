/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - an item on its way: its query rows, and where their results go. */
#ifndef QR_ATTENTION_RUN_H
#define QR_ATTENTION_RUN_H
#include "attention/tile.h"

/* Softmax states of rows: m, l, l_exact [n_rows], o [n_rows][v_width]. The sums are over
 * all lanes; l_exact is kept only for an LSE whose weights were rounded. */
struct qr_state {
    float *m, *l, *l_exact, *o;
};

struct qr_run {
    const struct qr_attention_call *call;
    const struct qr_plan_item *item;
    const struct qr_plan_seq *seq;
    const struct quire_sparse_list *list; /* blocks attended to, NULL = all */
    bool tree;                            /* rows see new tokens by their masks */
    struct qr_tile_source source;
    /* from the first to the last key that some row sees; keys that every row sees */
    struct qr_key_range any, all;
    uint32_t n_rows; /* loaded */
    uint32_t k_size, v_size, v_width;
    float k_scale, v_scale;
    bool exact; /* l_exact is wanted */
};

/* An item of a call, still without rows. */
struct qr_run qr_run_of(const struct qr_attention_call *call, const struct qr_plan_item *item);

/* Adds the rows of the run's item to it: rounds the queries into the worker's scratch as the
 * kernels want them, and notes there and in `any` and `all` what each row sees. */
void qr_rows_load(struct qr_run *run);

/* Fills visible[] for the tile at position `key`. Returns the keys of it that some row sees. */
uint64_t qr_rows_see(const struct qr_run *run, uint32_t key);

/* Fills in the terms of a softmax that depend on positions (slope, distance, bias), for a->n_rows
 * rows from `first` on against the tile at `key`. They are good until the next call. */
void qr_rows_positions(const struct qr_run *run, uint32_t key, uint32_t first,
                       struct qr_attn_softmax_args *a);

/* The state of all rows over one span, from nothing. */
void qr_run_span(const struct qr_run *run, uint32_t span, const struct qr_state *st);

/* Joins the state of the next span to that of the spans before it. */
void qr_run_merge(const struct qr_run *run, const struct qr_state *acc,
                  const struct qr_state *part);

/* Slot i of the item's join. */
struct qr_state qr_run_slot(const struct qr_run *run, uint32_t i);

/* Adds up the slots of the item's join if it is the last to arrive, and stores the rows. */
void qr_run_arrive(const struct qr_run *run);

/* Writes the rows' out and LSE from their final states. */
void qr_rows_store(const struct qr_run *run, const struct qr_state *st);

#endif
