/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_clients.h - tokens served to each client, for fairness. */
#ifndef QR_ENGINE_SCHEDULER_CLIENTS_H
#define QR_ENGINE_SCHEDULER_CLIENTS_H
#include "engine/scheduler.h"

/* A client that returns starts with the smallest counter of the others: it neither pays for being
 * idle nor saves up. */
void qr_scheduler_enter_client(struct qr_scheduler *s, struct qr_task *task);

/* Counts the tokens of a task once, also if they are recomputed after a preemption. */
void qr_scheduler_charge(struct qr_scheduler *s, struct qr_task *task);

#endif
