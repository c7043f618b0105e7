/* SPDX-License-Identifier: Apache-2.0 */
/* drive.h - who runs the steps: the host, a waiting thread, or the engine's own thread. */
#ifndef QR_ENGINE_DRIVE_H
#define QR_ENGINE_DRIVE_H
#include "engine/types.h"

/* Runs one step unless one is running; *taken tells. QUIRE_E_BUSY: the engine's threads run
 * something else. */
quire_status qr_engine_try_step(struct quire_engine *e, bool *taken, struct quire_error *err);

/* Whether a step runs or cannot begin now. The end of that state broadcasts events_changed. */
bool qr_engine_is_stepping(const struct quire_engine *e);

/* Waits for the end of a running step and keeps further ones from beginning until
 * qr_engine_resume_steps(), also those of the engine's own thread. The caller may then use what
 * belongs to the step. Exclusive among its callers; `lock` must not be held. */
void qr_engine_exclude_steps(struct quire_engine *e);
void qr_engine_resume_steps(struct quire_engine *e);

/* Ends the engine's own thread, if it has one. */
void qr_engine_stop_thread(struct quire_engine *e);

#endif
