/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/limited_memory.h"
#include "base/alloc.h"

static void *allocate(void *user, size_t bytes, size_t align)
{
    struct qr_limited_memory *m = user;
    uint64_t used = atomic_load(&m->bytes);
    do {
        if (bytes > m->limit_bytes - used) {
            atomic_store(&m->refused, true);
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&m->bytes, &used, used + bytes));
    void *p = qr_alloc_aligned(m->host, bytes, align);
    if (p == NULL) {
        atomic_fetch_sub(&m->bytes, bytes);
        atomic_store(&m->refused, false);
    }
    return p;
}

static void release(void *user, void *p, size_t bytes)
{
    struct qr_limited_memory *m = user;
    qr_free(m->host, p, bytes, 1);
    atomic_fetch_sub(&m->bytes, bytes);
}

void qr_limited_memory_init(struct qr_limited_memory *m, const struct quire_allocator *host,
                            uint64_t limit_bytes)
{
    m->allocator = (struct quire_allocator){ .alloc = allocate, .free = release, .user = m };
    m->host = host;
    m->limit_bytes = limit_bytes;
    atomic_init(&m->bytes, 0);
    atomic_init(&m->refused, false);
}

quire_status qr_limited_memory_failure(const struct qr_limited_memory *m)
{
    return atomic_load(&m->refused) ? QUIRE_E_LIMIT : QUIRE_E_NOMEM;
}
