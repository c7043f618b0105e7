/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - the lock of a grammar, whose automaton is built while it is used.
 *
 * Most calls hold it for microseconds, masks sometimes for milliseconds. So the computation of a
 * mask yields: between its steps it lets those through that wait for the lock. One mask of a
 * grammar is computed at a time, others wait for its end. */
#ifndef QR_GRAMMAR_LOCK_H
#define QR_GRAMMAR_LOCK_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct qr_grammar_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* a waiter has passed, or a mask is finished */
    uint32_t n_waiting;     /* atomic */
    bool ready;
    /* protected by `mutex` */
    bool masking; /* a mask is computed */
    bool yields;  /* its thread waits for those that wait for the lock */
};

/* An error number of pthread, or 0. */
int qr_grammar_lock_init(struct qr_grammar_lock *l);
void qr_grammar_lock_free(struct qr_grammar_lock *l); /* safe on zeroes */

void qr_grammar_lock(struct qr_grammar_lock *l);
void qr_grammar_unlock(struct qr_grammar_lock *l);

/* The same around the computation of a mask, in which qr_grammar_lock_yield may be called: the
 * automaton may have grown then. */
void qr_grammar_lock_mask(struct qr_grammar_lock *l);
void qr_grammar_unlock_mask(struct qr_grammar_lock *l);
void qr_grammar_lock_yield(struct qr_grammar_lock *l);

#endif
