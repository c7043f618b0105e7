/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - time stamps and deadlines. */
#ifndef QR_BASE_CLOCK_H
#define QR_BASE_CLOCK_H
#include <time.h>

/* Seconds of the monotonic clock. */
static inline double qr_clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
