/* SPDX-License-Identifier: Apache-2.0 */
/* limited_memory.h - an allocator that allows a number of bytes in all. All memory of a grammar but
 * the history of its matchers comes from one, so that parts need no limits of their own: they
 * report QUIRE_E_NOMEM, and qr_limited_memory_failure() tells what it means. */
#ifndef QR_GRAMMAR_CORE_LIMITED_MEMORY_H
#define QR_GRAMMAR_CORE_LIMITED_MEMORY_H
#include <quire/status.h>
#include <stdatomic.h>
#include <stdint.h>

struct qr_limited_memory {
    struct quire_allocator allocator;
    const struct quire_allocator *host; /* NULL = C library */
    uint64_t limit_bytes;
    _Atomic uint64_t bytes; /* in use */
    atomic_bool refused;    /* the last allocation that failed exceeded the limit */
};

/* The object must not move afterwards: the allocator refers to it. host is borrowed. */
void qr_limited_memory_init(struct qr_limited_memory *m, const struct quire_allocator *host,
                            uint64_t limit_bytes);

/* Why the last allocation that failed did: QUIRE_E_LIMIT or QUIRE_E_NOMEM. */
quire_status qr_limited_memory_failure(const struct qr_limited_memory *m);

#endif
