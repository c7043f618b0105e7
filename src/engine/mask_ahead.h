/* SPDX-License-Identifier: Apache-2.0 */
/* mask_ahead.h - a thread that computes the masks of the next tokens while the engine's thread
 * samples other answers, publishes, and computes the next step.
 *
 * The grammar of an answer knows a token as soon as it is sampled, so its next mask is queued then.
 * The thread takes masks in this order. Whoever samples takes a mask that is finished, computes one
 * that has not been begun, and leaves one that is under way until last. Masks are the same whoever
 * computes them, and their errors are those of their answer.
 *
 * During a forward pass whose team occupies all CPUs no mask is begun: a member would lose more
 * time than a mask takes, because the others wait for it.
 *
 * Only with the engine's own thread: a host that runs the steps may fork between them. */
#ifndef QR_ENGINE_MASK_AHEAD_H
#define QR_ENGINE_MASK_AHEAD_H
#include "engine/types.h"

/* All functions are called by the thread that runs the steps, or when no step runs. */

quire_status qr_mask_ahead_init(struct qr_mask_ahead *m, struct quire_error *err) QUIRE_MUST_CHECK;
/* Ends the thread. Safe on zeroes. */
void qr_mask_ahead_free(struct qr_mask_ahead *m);

/* Queues the mask of the constraint's matcher, which is not used until take or drop. Starts the
 * thread if there is none; without memory for it nothing is queued. */
void qr_mask_ahead_queue(struct qr_mask_ahead *m, struct qr_constraint *c);
/* Whether a mask is computed right now. */
bool qr_mask_ahead_is_running(struct qr_mask_ahead *m, const struct qr_constraint *c);
/* true: the mask is in c->mask, or *status and *err tell why not; waits for one that is under way.
 * false: it was not begun and is not queued any more. */
bool qr_mask_ahead_take(struct qr_mask_ahead *m, struct qr_constraint *c, quire_status *status,
                        struct quire_error *err);
/* Forgets a mask; waits for one that is under way. */
void qr_mask_ahead_drop(struct qr_mask_ahead *m, struct qr_constraint *c);

/* Between these calls no mask is begun. */
void qr_mask_ahead_pause(struct qr_mask_ahead *m);
void qr_mask_ahead_resume(struct qr_mask_ahead *m);

#endif
