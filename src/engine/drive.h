/* SPDX-License-Identifier: Apache-2.0 */
/* drive.h - who runs the steps: the host, a waiting thread, or the engine's own thread. */
#ifndef QR_ENGINE_DRIVE_H
#define QR_ENGINE_DRIVE_H
#include "base/error.h"
#include "base/fork_count.h"
#include "engine/types.h"

/* Whether the engine's own thread is in another process: in a child of fork() nobody runs steps,
 * and the lock may have been held when it was copied. */
static inline bool qr_engine_is_forked(const struct quire_engine *e)
{
    return __atomic_load_n(&e->thread_started, __ATOMIC_ACQUIRE) &&
           e->fork_count != qr_fork_count();
}

static inline quire_status qr_engine_check_process(const struct quire_engine *e,
                                                   struct quire_error *err)
{
    if (qr_engine_is_forked(e))
        return qr_fail(err, QUIRE_E_MISUSE, "the engine's thread is in the parent of this fork()");
    return QUIRE_OK;
}

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

/* Ends the engine's own thread, if it has one in this process. */
void qr_engine_stop_thread(struct quire_engine *e);

#endif
