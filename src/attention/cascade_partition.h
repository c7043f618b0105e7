/* SPDX-License-Identifier: Apache-2.0 */
/* cascade_partition.h - partitions the work of cascades into work items. */
#ifndef QR_ATTENTION_CASCADE_PARTITION_H
#define QR_ATTENTION_CASCADE_PARTITION_H
#include "attention/types.h"

/* Sets a group's cascade limits and adds cascades to max_items, max_reductions and the plan's
 * n_cascade_floats. False on overflow. */
bool qr_cascade_reserve(struct quire_plan *plan, struct qr_plan_group *g);

/* Cost that the group's cascades save. */
uint64_t qr_cascade_saving(const struct qr_plan_group *g);

/* Emits the work items of all cascades and creates the reductions of their members. */
void qr_cascade_partition(struct qr_partitioner *p);

/* Emits the work items of a member's own spans, those outside its cascades. */
void qr_cascade_emit_own_spans(struct qr_partitioner *p, uint32_t seq);

#endif
