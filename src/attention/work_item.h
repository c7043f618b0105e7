/* SPDX-License-Identifier: Apache-2.0 */
/* work_item.h - executes the work items of a plan. */
#ifndef QR_ATTENTION_WORK_ITEM_H
#define QR_ATTENTION_WORK_ITEM_H
#include "attention/types.h"

/* Executes one work item, of a query tile or of a cascade. */
void qr_work_item_run(const struct qr_attention_call *call, const struct qr_work_item *item);

#endif
