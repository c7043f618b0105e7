/* SPDX-License-Identifier: Apache-2.0 */
/* unpack_fetch.h - asks memory for codes that are unpacked soon. */
#ifndef QR_TEMPLATE_UNPACK_FETCH_H
#define QR_TEMPLATE_UNPACK_FETCH_H
#include <stdint.h>

/* Codes lie in order, values behind their keys, but the arithmetic between two loads keeps the next
 * ones out of the processor's sight. Past the last block this is a hint that nobody needs. */
enum { UNPACK_AHEAD = 8192 };

/* Always inlined: gcc takes a function that only prefetches for one without effects and drops its calls. */
static inline __attribute__((always_inline)) void unpack_fetch(const uint8_t *src)
{
    __builtin_prefetch((const void *)((uintptr_t)src + UNPACK_AHEAD));
}

#endif
