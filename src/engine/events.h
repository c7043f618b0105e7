/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - events of answers, and waking their consumers. */
#ifndef QR_ENGINE_EVENTS_H
#define QR_ENGINE_EVENTS_H
#include "engine/types.h"

/* Adds an answer to the list of those with an event, or removes it, as its state is now. The caller
 * holds the engine's lock. */
void qr_events_update(struct quire_engine *e, struct qr_request *r);

/* An event has become due, or a request has ended. The caller holds the engine's lock. */
void qr_events_signal(struct quire_engine *e);

/* Fills in the next event of an answer, whose pointers refer to the answer and to *ev; false if
 * there is none. The caller holds the engine's lock. */
bool qr_event_next(struct qr_request *r, struct quire_event *ev);

#endif
