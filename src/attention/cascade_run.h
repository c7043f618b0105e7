/* SPDX-License-Identifier: Apache-2.0 */
/* cascade_run.h - executes the work items of cascades. */
#ifndef QR_ATTENTION_CASCADE_RUN_H
#define QR_ATTENTION_CASCADE_RUN_H
#include "attention/types.h"

/* Executes one work item of a cascade. */
void qr_cascade_run(const struct qr_attention_call *call, const struct qr_work_item *item);

#endif
