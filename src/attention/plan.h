/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - exclusive use of a plan, and the scratch memory of its threads. */
#ifndef QR_ATTENTION_PLAN_H
#define QR_ATTENTION_PLAN_H
#include "attention/types.h"

/* Marks the plan as in use. QUIRE_E_BUSY if another call uses it. */
quire_status qr_plan_acquire(struct quire_plan *plan, struct quire_error *err);
void qr_plan_release(struct quire_plan *plan);

/* Lays out one thread's scratch memory at `base` and sets *bytes to its size. With base NULL only
 * *bytes is meaningful. */
struct qr_thread_scratch qr_thread_scratch_layout(const struct quire_plan *plan,
                                                  unsigned char *base, size_t *bytes);

#endif
