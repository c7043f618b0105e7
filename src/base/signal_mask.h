/* SPDX-License-Identifier: Apache-2.0 */
/* signal_mask.h - the signal mask of the library's own threads. */
#ifndef QR_BASE_SIGNAL_MASK_H
#define QR_BASE_SIGNAL_MASK_H
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* Blocks the calling thread's signals around pthread_create, so that the host's handlers never run
 * on the new thread. Signals of faults stay: while blocked they would end the process without the
 * host's handler, for example when a mapped file is truncated. */
static inline void qr_signals_block(sigset_t *before)
{
    static const int faults[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&set, faults[i]);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

static inline void qr_signals_restore(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

#endif
