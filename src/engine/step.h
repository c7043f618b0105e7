/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - one step of all running requests. */
#ifndef QR_ENGINE_STEP_H
#define QR_ENGINE_STEP_H
#include "engine/types.h"

/* Takes new requests, ends cancelled ones, plans, computes and samples; then publishes the results.
 * QUIRE_E_BUSY: the engine's threads are in use; nothing was computed. */
quire_status qr_step_run(struct quire_engine *e, struct quire_error *err);

#endif
