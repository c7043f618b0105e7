/* SPDX-License-Identifier: Apache-2.0 */
/* partition.h - partitions the work of a batch into work items. */
#ifndef QR_ATTENTION_PARTITION_H
#define QR_ATTENTION_PARTITION_H
#include "attention/types.h"

enum { QR_SPLITS_PER_THREAD = 8 }; /* max work items that splitting adds */

/* Partitions the work of the plan's batch for one group. */
void qr_plan_partition(struct quire_plan *plan, struct qr_plan_group *g);

#endif
