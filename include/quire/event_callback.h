/* SPDX-License-Identifier: Apache-2.0 */
/** Events of requests delivered by calling the host, in place of polling. For
 *  quire_request_params.event_callback (quire/engine.h). */
#ifndef QUIRE_EVENT_CALLBACK_H
#define QUIRE_EVENT_CALLBACK_H
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct quire_engine;
struct quire_event;

/** Delivers one event of a request. quire_engine_poll() and quire_engine_wait() return no events of
 *  such requests, and the engine's descriptor does not become readable for them.
 *
 *  Called by the thread that runs the step, which is the engine's own, with signals blocked, after
 *  quire_engine_start(). Called after the step, without a lock: each event once, those of one
 *  answer in order. *event is valid until the callback returns. The next step begins when all
 *  callbacks have returned.
 *
 *  The callback may submit, cancel and count, and read sizes and statistics. quire_engine_step,
 *  _poll, _wait, _drain, _save_cache and _restore_cache return QUIRE_E_MISUSE for the engine whose
 *  callback runs, and quire_engine_close() does nothing. At its last QUIRE_EVENT_DONE the request
 *  no longer counts against max_requests; it is active until that callback has returned.
 *
 *  A status other than QUIRE_OK cancels the request with all its answers; their events still
 *  follow, up to QUIRE_EVENT_DONE. */
typedef quire_status (*quire_event_callback)(void *user, struct quire_engine *engine,
                                             const struct quire_event *event);

#ifdef __cplusplus
}
#endif
#endif
