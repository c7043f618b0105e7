/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - wakes the consumers of events. */
#ifndef QR_ENGINE_EVENTS_H
#define QR_ENGINE_EVENTS_H
#include "engine/types.h"

/* An event has become due, or a request has ended. The caller holds the engine's lock. */
void qr_events_signal(struct quire_engine *e);

#endif
