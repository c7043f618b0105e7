/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.h - software prefetch of cache lines, by level of cache.
 *
 * An address may lie outside every object: a prefetch never faults. The functions are always
 * inlined: gcc takes a function that only prefetches for one without effects and drops the
 * calls. */
#ifndef QR_BASE_PREFETCH_H
#define QR_BASE_PREFETCH_H

enum { QR_CACHE_LINE_BYTES = 64 };

/* Prefetches the cache line at p for reading, into L1 (and the levels below it). */
static inline __attribute__((always_inline)) void qr_prefetch_l1(const void *p)
{
    __builtin_prefetch(p, 0, 3);
}

/* Prefetches the cache line at p for reading, into L2 but not into L1. */
static inline __attribute__((always_inline)) void qr_prefetch_l2(const void *p)
{
    __builtin_prefetch(p, 0, 2);
}

/* Prefetches the cache line at p into L1, for writing. */
static inline __attribute__((always_inline)) void qr_prefetch_write(const void *p)
{
    __builtin_prefetch(p, 1, 3);
}

/* Prefetches n consecutive cache lines from p on into L1. */
static inline __attribute__((always_inline)) void qr_prefetch_lines_l1(const void *p, int n)
{
    for (int i = 0; i < n; i++)
        qr_prefetch_l1((const unsigned char *)p + i * QR_CACHE_LINE_BYTES);
}

#endif
