/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/mask_ahead.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/signal_mask.h"
#include <quire/grammar.h>

quire_status qr_mask_ahead_init(struct qr_mask_ahead *m, struct quire_error *err)
{
    int error = pthread_mutex_init(&m->lock, NULL);
    if (!error && (error = pthread_cond_init(&m->queued, NULL)))
        pthread_mutex_destroy(&m->lock);
    if (!error && (error = pthread_cond_init(&m->finished, NULL))) {
        pthread_cond_destroy(&m->queued);
        pthread_mutex_destroy(&m->lock);
    }
    m->ready = error == 0;
    return m->ready ? QUIRE_OK : qr_fail_errno(err, QUIRE_E_NOMEM, error, "no lock for masks");
}

/* The first constraint of the queue, taken out; NULL: the thread shall end. */
static struct qr_constraint *next_constraint(struct qr_mask_ahead *m)
{
    while (!m->stop && (m->paused || m->first == NULL))
        pthread_cond_wait(&m->queued, &m->lock);
    struct qr_constraint *c = m->stop ? NULL : m->first;
    if (c != NULL)
        m->first = c->next_ahead;
    return c;
}

static void *run_thread(void *arg)
{
    QR_FP_SCOPE;
    struct qr_mask_ahead *m = arg;
    struct qr_constraint *c;
    pthread_mutex_lock(&m->lock);
    while ((c = next_constraint(m)) != NULL) {
        c->ahead = QR_MASK_RUNNING;
        pthread_mutex_unlock(&m->lock);
        c->ahead_status =
            quire_grammar_matcher_mask(c->matcher, c->mask, c->n_words, &c->ahead_error);
        pthread_mutex_lock(&m->lock);
        c->ahead = QR_MASK_FINISHED;
        pthread_cond_broadcast(&m->finished);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

static bool start(struct qr_mask_ahead *m)
{
    if (!m->started && m->ready && !m->failed) {
        sigset_t before;
        qr_signals_block(&before);
        m->started = pthread_create(&m->thread, NULL, run_thread, m) == 0;
        qr_signals_restore(&before);
        m->failed = !m->started; /* not tried for every token */
    }
    return m->started;
}

void qr_mask_ahead_free(struct qr_mask_ahead *m)
{
    if (m->started) {
        pthread_mutex_lock(&m->lock);
        m->stop = true;
        pthread_cond_signal(&m->queued);
        pthread_mutex_unlock(&m->lock);
        (void)pthread_join(m->thread, NULL);
    }
    if (m->ready) {
        pthread_cond_destroy(&m->finished);
        pthread_cond_destroy(&m->queued);
        pthread_mutex_destroy(&m->lock);
    }
    *m = (struct qr_mask_ahead){ 0 };
}

void qr_mask_ahead_queue(struct qr_mask_ahead *m, struct qr_constraint *c)
{
    if (!start(m))
        return;
    pthread_mutex_lock(&m->lock);
    struct qr_constraint **at = &m->first;
    while (*at != NULL)
        at = &(*at)->next_ahead;
    *at = c;
    c->next_ahead = NULL;
    c->ahead = QR_MASK_QUEUED;
    c->ahead_error = (struct quire_error)QUIRE_ERROR_INIT;
    if (!m->paused)
        pthread_cond_signal(&m->queued);
    pthread_mutex_unlock(&m->lock);
}

bool qr_mask_ahead_is_running(struct qr_mask_ahead *m, const struct qr_constraint *c)
{
    if (!m->started)
        return false;
    pthread_mutex_lock(&m->lock);
    const bool running = c->ahead == QR_MASK_RUNNING;
    pthread_mutex_unlock(&m->lock);
    return running;
}

static void remove_queued(struct qr_mask_ahead *m, const struct qr_constraint *c)
{
    struct qr_constraint **at = &m->first;
    while (*at != c)
        at = &(*at)->next_ahead;
    *at = c->next_ahead;
}

bool qr_mask_ahead_take(struct qr_mask_ahead *m, struct qr_constraint *c, quire_status *status,
                        struct quire_error *err)
{
    if (!m->started)
        return false;
    pthread_mutex_lock(&m->lock);
    if (c->ahead == QR_MASK_QUEUED)
        remove_queued(m, c);
    while (c->ahead == QR_MASK_RUNNING)
        pthread_cond_wait(&m->finished, &m->lock);
    const bool taken = c->ahead == QR_MASK_FINISHED;
    c->ahead = QR_MASK_NONE;
    pthread_mutex_unlock(&m->lock);
    if (taken && (*status = c->ahead_status) != QUIRE_OK)
        *status = qr_fail(err, c->ahead_status, "%s", c->ahead_error.msg);
    return taken;
}

void qr_mask_ahead_drop(struct qr_mask_ahead *m, struct qr_constraint *c)
{
    quire_status status;
    (void)qr_mask_ahead_take(m, c, &status, NULL);
}

void qr_mask_ahead_pause(struct qr_mask_ahead *m)
{
    if (!m->started)
        return;
    pthread_mutex_lock(&m->lock);
    m->paused = true;
    pthread_mutex_unlock(&m->lock);
}

void qr_mask_ahead_resume(struct qr_mask_ahead *m)
{
    if (!m->started)
        return;
    pthread_mutex_lock(&m->lock);
    m->paused = false;
    if (m->first != NULL)
        pthread_cond_signal(&m->queued);
    pthread_mutex_unlock(&m->lock);
}
