/* SPDX-License-Identifier: Apache-2.0 */
/* callback.h - events delivered by calling the host, after the step, without the engine's lock. */
#ifndef QR_ENGINE_CALLBACK_H
#define QR_ENGINE_CALLBACK_H
#include "engine/types.h"

/* The answer, which has a callback, may have events due: qr_callbacks_run() delivers them, in the
 * order of these calls. The caller publishes a step. */
void qr_callback_add(struct quire_engine *e, struct qr_request *r);

/* Delivers all events that are due, each once, and frees answers with their last one. The caller
 * runs steps and does not hold the lock. */
void qr_callbacks_run(struct quire_engine *e);

/* Whether the calling thread is in a callback of this engine. */
bool qr_engine_in_callback(const struct quire_engine *e);

/* QUIRE_E_MISUSE in a callback of this engine: the call would wait for its own end. */
quire_status qr_engine_check_callback(const struct quire_engine *e, struct quire_error *err);

#endif
