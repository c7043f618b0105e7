/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - wakes the consumers of events. */
#ifndef QR_ENGINE_EVENTS_H
#define QR_ENGINE_EVENTS_H
#include "engine/types.h"

/* Adds an answer to the list of those with an event, or removes it, as its state is now. The caller
 * holds the engine's lock. */
void qr_events_update(struct quire_engine *e, struct qr_request *r);

/* An event has become due, or a request has ended. The caller holds the engine's lock. */
void qr_events_signal(struct quire_engine *e);

#endif
