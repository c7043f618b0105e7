/* SPDX-License-Identifier: Apache-2.0 */
/* drive.c - steps by the host or by the engine's own thread; draining. */
#include "engine/drive.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/signal_mask.h"
#include "base/struct_size.h"
#include "engine/callback.h"
#include "engine/request.h"
#include "engine/step.h"
#include <math.h>
#include <time.h>

enum { BUSY_RETRY_NS = 200000 };

static bool is_excluded(const struct quire_engine *e)
{
    return __atomic_load_n(&e->n_excluding, __ATOMIC_ACQUIRE) > 0;
}

bool qr_engine_is_stepping(const struct quire_engine *e)
{
    return __atomic_load_n(&e->stepping, __ATOMIC_ACQUIRE) || is_excluded(e);
}

/* Ends a step or an exclusion. Others may wait for that: calls that exclude steps, and without the
 * engine's own thread those that wait for events and may have to run the next step. */
static void end_stepping(struct quire_engine *e)
{
    __atomic_store_n(&e->stepping, false, __ATOMIC_RELEASE);
    pthread_mutex_lock(&e->lock);
    if (!e->thread_started || is_excluded(e))
        pthread_cond_broadcast(&e->events_changed);
    pthread_mutex_unlock(&e->lock);
}

void qr_engine_exclude_steps(struct quire_engine *e)
{
    __atomic_fetch_add(&e->n_excluding, 1, __ATOMIC_ACQ_REL); /* no step begins from now on */
    pthread_mutex_lock(&e->lock);
    while (__atomic_exchange_n(&e->stepping, true, __ATOMIC_ACQUIRE))
        pthread_cond_wait(&e->events_changed, &e->lock);
    pthread_mutex_unlock(&e->lock);
}

void qr_engine_resume_steps(struct quire_engine *e)
{
    __atomic_fetch_sub(&e->n_excluding, 1, __ATOMIC_ACQ_REL);
    end_stepping(e);
}

quire_status qr_engine_try_step(struct quire_engine *e, bool *taken, struct quire_error *err)
{
    *taken = !is_excluded(e) && !__atomic_exchange_n(&e->stepping, true, __ATOMIC_ACQUIRE);
    if (!*taken)
        return QUIRE_OK;
    const quire_status s = e->dry_run ? QUIRE_OK : qr_step_run(e, err);
    qr_callbacks_run(e);
    end_stepping(e);
    return s;
}

quire_status quire_engine_step(struct quire_engine *engine, struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    QR_TRY(qr_engine_check_process(engine, err));
    QR_TRY(qr_engine_check_callback(engine, err));
    pthread_mutex_lock(&engine->lock);
    const bool started = engine->thread_started;
    pthread_mutex_unlock(&engine->lock);
    bool taken = false;
    if (!started)
        QR_TRY(qr_engine_try_step(engine, &taken, err));
    if (!taken)
        return qr_fail(err, QUIRE_E_BUSY, "%s runs a step",
                       started ? "the engine's own thread" : "another thread");
    return QUIRE_OK;
}

static void sleep_ns(long ns)
{
    const struct timespec t = { 0, ns };
    (void)nanosleep(&t, NULL);
}

/* Whether there is something to do; sleeps until then. False: the thread shall end. */
static bool wait_for_work(struct quire_engine *e)
{
    pthread_mutex_lock(&e->lock);
    while (e->n_active == 0 && !e->thread_stop)
        pthread_cond_wait(&e->work_changed, &e->lock);
    const bool stop = e->thread_stop;
    pthread_mutex_unlock(&e->lock);
    return !stop;
}

static void *run_thread(void *arg)
{
    QR_FP_SCOPE;
    struct quire_engine *e = arg;
    while (wait_for_work(e)) {
        bool taken;
        const quire_status s = qr_engine_try_step(e, &taken, NULL);
        if (s != QUIRE_OK || !taken)
            sleep_ns(BUSY_RETRY_NS); /* a borrowed thread pool is in use, or a host's last step */
    }
    return NULL;
}

quire_status quire_engine_start(struct quire_engine *engine, struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    if (engine->dry_run)
        return qr_fail(err, QUIRE_E_MISUSE, "the engine was opened for a dry run");
    QR_TRY(qr_engine_check_process(engine, err));
    if (!qr_fork_count_start())
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a fork handler");
    quire_status status = QUIRE_OK;
    pthread_mutex_lock(&engine->lock);
    if (!engine->thread_started) {
        engine->fork_count = qr_fork_count();
        sigset_t before;
        qr_signals_block(&before);
        const int error = pthread_create(&engine->thread, NULL, run_thread, engine);
        qr_signals_restore(&before);
        __atomic_store_n(&engine->thread_started, error == 0, __ATOMIC_RELEASE);
        if (error)
            status = qr_fail_errno(err, QUIRE_E_NOMEM, error, "no thread for the engine");
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

void qr_engine_stop_thread(struct quire_engine *e)
{
    if (!e->lock_ready || !e->thread_started || qr_engine_is_forked(e))
        return;
    pthread_mutex_lock(&e->lock);
    e->thread_stop = true;
    pthread_cond_signal(&e->work_changed);
    pthread_mutex_unlock(&e->lock);
    (void)pthread_join(e->thread, NULL);
    __atomic_store_n(&e->thread_started, false, __ATOMIC_RELEASE);
}

/* Waits until no request is active or the time is over; true in the first case. */
static bool drained(struct quire_engine *e, double until)
{
    pthread_mutex_lock(&e->lock);
    while (e->thread_started && e->n_active && qr_clock_now() < until)
        if (isinf(until)) {
            pthread_cond_wait(&e->events_changed, &e->lock);
        } else {
            const struct timespec t = { .tv_sec = (time_t)until,
                                        .tv_nsec = (long)((until - floor(until)) * 1e9) };
            (void)pthread_cond_timedwait(&e->events_changed, &e->lock, &t);
        }
    const bool done = e->n_active == 0;
    pthread_mutex_unlock(&e->lock);
    return done;
}

quire_status quire_engine_drain(struct quire_engine *engine, double seconds,
                                struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    if (isnan(seconds))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "seconds is NaN");
    QR_TRY(qr_engine_check_process(engine, err));
    QR_TRY(qr_engine_check_callback(engine, err));
    pthread_mutex_lock(&engine->lock);
    engine->draining = true;
    const bool started = engine->thread_started;
    pthread_mutex_unlock(&engine->lock);
    double until = seconds < 0 || seconds > 1e9 ? INFINITY : qr_clock_now() + seconds;
    while (!drained(engine, until)) {
        if (qr_clock_now() >= until) {
            qr_request_cancel_all(engine);
            until = INFINITY; /* cancelled requests end at their next step */
        }
        if (!started)
            QR_TRY(quire_engine_step(engine, err));
    }
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_engine_stats)

quire_status quire_engine_get_stats(struct quire_engine *engine, struct quire_engine_stats *stats)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", NULL));
    QR_TRY(qr_engine_check_process(engine, NULL));
    if (!stats)
        return QUIRE_E_INVALID_ARG;
    QR_TRY(qr_struct_check_out(stats, QR_SIZE_TO(struct quire_engine_stats, n_cached_blocks),
                               "stats", NULL));
    pthread_mutex_lock(&engine->lock);
    struct quire_engine_stats copy = engine->stats;
    pthread_mutex_unlock(&engine->lock);
    qr_struct_write(stats, &copy, sizeof copy);
    return QUIRE_OK;
}
