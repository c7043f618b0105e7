/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/lock.h"
#include "base/futex.h"

/* Turns of a loop that waits before it sleeps: about 20 us on a Zen 5, where a sleep and a wake-up
 * take 50. A mask yields every few microseconds, and those that pass hold the lock as long. */
enum { SPINS = 500 };

int qr_grammar_lock_init(struct qr_grammar_lock *l)
{
    int error = pthread_mutex_init(&l->mutex, NULL);
    if (!error && (error = pthread_cond_init(&l->changed, NULL)))
        pthread_mutex_destroy(&l->mutex);
    l->ready = !error;
    return error;
}

void qr_grammar_lock_free(struct qr_grammar_lock *l)
{
    if (!l->ready)
        return;
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->mutex);
    l->ready = false;
}

void qr_grammar_lock(struct qr_grammar_lock *l)
{
    bool locked = false;
    __atomic_fetch_add(&l->n_waiting, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < SPINS && !(locked = pthread_mutex_trylock(&l->mutex) == 0); i++)
        qr_cpu_relax();
    if (!locked)
        pthread_mutex_lock(&l->mutex);
    __atomic_fetch_sub(&l->n_waiting, 1, __ATOMIC_RELAXED);
}

void qr_grammar_unlock(struct qr_grammar_lock *l)
{
    if (l->yields)
        pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->mutex);
}

void qr_grammar_lock_mask(struct qr_grammar_lock *l)
{
    pthread_mutex_lock(&l->mutex);
    while (l->masking)
        pthread_cond_wait(&l->changed, &l->mutex);
    l->masking = true;
}

void qr_grammar_unlock_mask(struct qr_grammar_lock *l)
{
    l->masking = false;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->mutex);
}

static bool is_awaited(const struct qr_grammar_lock *l)
{
    return __atomic_load_n(&l->n_waiting, __ATOMIC_RELAXED) > 0;
}

void qr_grammar_lock_yield(struct qr_grammar_lock *l)
{
    if (!is_awaited(l))
        return;
    pthread_mutex_unlock(&l->mutex);
    for (int i = 0; i < SPINS && is_awaited(l); i++)
        qr_cpu_relax();
    pthread_mutex_lock(&l->mutex);
    /* whoever waits has counted itself before; the last one that passes sees `yields` */
    while (is_awaited(l)) {
        l->yields = true;
        pthread_cond_wait(&l->changed, &l->mutex);
        l->yields = false;
    }
}
