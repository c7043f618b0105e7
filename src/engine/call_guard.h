/* SPDX-License-Identifier: Apache-2.0 */
/* call_guard.h - admits one API call per engine at a time. */
#ifndef QR_ENGINE_CALL_GUARD_H
#define QR_ENGINE_CALL_GUARD_H
#include "base/error.h"
#include "engine/types.h"

/* QUIRE_E_BUSY while another call runs, also one that reenters through a hook. */
static inline quire_status qr_engine_enter(struct quire_engine *e, struct quire_error *err)
{
    if (__atomic_exchange_n(&e->busy, true, __ATOMIC_ACQUIRE))
        return qr_fail(err, QUIRE_E_BUSY, "another call on this engine is running");
    return QUIRE_OK;
}

static inline void qr_engine_leave(struct quire_engine *e)
{
    __atomic_store_n(&e->busy, false, __ATOMIC_RELEASE);
}

#endif
