/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - time stamps and deadlines. */
#ifndef QR_BASE_CLOCK_H
#define QR_BASE_CLOCK_H
#include <time.h>

static inline double qr_clock_read(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds of the monotonic clock. */
static inline double qr_clock_now(void) { return qr_clock_read(CLOCK_MONOTONIC); }

/* Seconds of CPU time that the calling thread has used, for limits that must not depend on the
 * load of the machine. A system call: about ten times the cost of qr_clock_now(). */
static inline double qr_clock_thread(void) { return qr_clock_read(CLOCK_THREAD_CPUTIME_ID); }

#endif
