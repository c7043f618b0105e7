/* SPDX-License-Identifier: Apache-2.0 */
/* work_list.h - the list of work items that a partitioner fills. */
#ifndef QR_ATTENTION_WORK_LIST_H
#define QR_ATTENTION_WORK_LIST_H
#include "attention/types.h"

/* Number of work items into which n_spans spans of the given total cost are split; 1: no split. */
uint32_t qr_work_list_num_splits(const struct qr_partitioner *p, uint32_t n_spans, uint64_t cost);

/* Appends a copy of *item for each of n KV heads, starting at item->kv_head. `cost` is the cost of
 * one copy. */
void qr_work_list_append(struct qr_partitioner *p, const struct qr_work_item *item, uint32_t n,
                         uint64_t cost);

/* Computes the order in which threads take the items: expensive items first, which bounds the load
 * imbalance at the end; items of one cost class in order of creation, which keeps the tiles of one
 * KV head together. */
void qr_work_list_sort(const struct quire_plan *plan, struct qr_plan_group *g);

#endif
