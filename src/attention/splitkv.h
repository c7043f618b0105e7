/* SPDX-License-Identifier: Apache-2.0 */
/* splitkv.h - split-KV: partial softmax states of spans, and their reduction. */
#ifndef QR_ATTENTION_SPLITKV_H
#define QR_ATTENTION_SPLITKV_H
#include "attention/types.h"

/* Floats of one partial of a tile of n_rows: m, l, l_exact [n_rows], o [n_rows][v_width], rounded
 * up to a cache line. */
static inline size_t qr_partial_floats(const struct qr_plan_group *g, uint32_t n_rows)
{
    return ((size_t)n_rows * (g->v_width + 3) + 15) / 16 * 16;
}

/* Partial i of a reduction over a tile of n_rows. */
struct qr_softmax_state qr_splitkv_partial(const struct qr_attention_call *call, int32_t reduction,
                                           uint32_t n_rows, uint32_t i);

/* Merges the state of the next span into that of the spans before it. */
void qr_splitkv_merge(const struct qr_attention_call *call, uint32_t n_rows,
                      const struct qr_softmax_state *acc, const struct qr_softmax_state *part);

/* Counts the context's work item as finished. The last thread to finish an item of the tile reduces
 * the partials in span order and stores the rows. */
void qr_splitkv_reduce(const struct qr_tile_ctx *ctx);

#endif
