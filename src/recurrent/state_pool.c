/* SPDX-License-Identifier: Apache-2.0 */
/* state_pool.c - pool of recurrent states: one slot of fixed size per sequence. */
#include "recurrent/state_pool.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include <string.h>

enum { MAX_SLOTS = 1 << 20, SLOT_ALIGN = 64, HUGE_PAGE = 2 << 20 };

struct quire_state_pool {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    uint64_t state_bytes;
    size_t stride;       /* of slots, bytes */
    size_t slot_bytes;   /* of all slots */
    size_t object_bytes; /* of this object */
    unsigned char *slots;
    uint32_t n_slots, n_free;
    unsigned char used[]; /* [n_slots] 1: allocated */
};

struct sizes {
    size_t stride, slots, object;
    uint64_t total;
};

QR_DEFINE_ZERO_INIT(quire_state_pool_params)
QR_DEFINE_ZERO_INIT(quire_state_pool_info)

static quire_status compute_sizes(const struct quire_state_pool_params *p, struct sizes *s,
                                  struct quire_error *err)
{
    if (!p->n_slots || p->n_slots > MAX_SLOTS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.n_slots %u is not in 1..%d", p->n_slots,
                       MAX_SLOTS);
    if (!p->state_bytes || p->state_bytes % sizeof(float))
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "params.state_bytes %llu is not a positive multiple of 4",
                       (unsigned long long)p->state_bytes);
    if (p->flags)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.flags 0x%x has unknown bits", p->flags);
    size_t total;
    s->object = sizeof(struct quire_state_pool) + p->n_slots;
    if (p->state_bytes > SIZE_MAX ||
        !qr_align_size((size_t)p->state_bytes, SLOT_ALIGN, &s->stride) ||
        !qr_mul_size(s->stride, p->n_slots, &s->slots) ||
        !qr_add_size(s->slots, s->object, &total) || total > PTRDIFF_MAX)
        return qr_fail(err, QUIRE_E_LIMIT, "%u states of %llu bytes exceed the address space",
                       p->n_slots, (unsigned long long)p->state_bytes);
    s->total = total;
    return QUIRE_OK;
}

quire_status quire_state_pool_bytes(const struct quire_state_pool_params *params,
                                    uint64_t *total_bytes, struct quire_error *err)
{
    struct quire_state_pool_params p;
    struct sizes s = { 0 };
    if (!total_bytes)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "total_bytes is NULL");
    QR_READ_STRUCT(&p, params, allocator, "params", err);
    QR_TRY(compute_sizes(&p, &s, err));
    *total_bytes = s.total;
    return QUIRE_OK;
}

quire_status quire_state_pool_create(const struct quire_state_pool_params *params,
                                     struct quire_state_pool **out, struct quire_error *err)
{
    struct quire_state_pool_params p;
    struct sizes s = { 0 };
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_READ_STRUCT(&p, params, allocator, "params", err);
    QR_TRY(compute_sizes(&p, &s, err));
    struct quire_state_pool *pool = qr_calloc(p.allocator, s.object, 1);
    unsigned char *slots =
        qr_alloc_aligned(p.allocator, s.slots, s.slots >= HUGE_PAGE ? HUGE_PAGE : SLOT_ALIGN);
    if (!pool || !slots) {
        qr_free(p.allocator, slots, s.slots, 1);
        qr_free(p.allocator, pool, s.object, 1);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u states of %llu bytes (%zu MiB)",
                       p.n_slots, (unsigned long long)p.state_bytes, s.slots >> 20);
    }
    pool->handle.kind = QR_KIND_STATE_POOL;
    pool->allocator = p.allocator;
    pool->state_bytes = p.state_bytes;
    pool->stride = s.stride;
    pool->slot_bytes = s.slots;
    pool->object_bytes = s.object;
    pool->slots = slots;
    pool->n_slots = pool->n_free = p.n_slots;
    *out = pool;
    return QUIRE_OK;
}

void quire_state_pool_destroy(struct quire_state_pool *pool)
{
    if (!qr_handle_end(pool, QR_KIND_STATE_POOL))
        return;
    qr_free(pool->allocator, pool->slots, pool->slot_bytes, 1);
    qr_free(pool->allocator, pool, pool->object_bytes, 1);
}

quire_status quire_state_pool_get_info(const struct quire_state_pool *pool,
                                       struct quire_state_pool_info *info)
{
    if (!info || !qr_handle_is(pool, QR_KIND_STATE_POOL))
        return QUIRE_E_INVALID_ARG;
    QR_TRY(qr_struct_check_out(info, QR_SIZE_TO(struct quire_state_pool_info, total_bytes), "info",
                               NULL));
    const struct quire_state_pool_info facts = {
        .struct_size = sizeof facts,
        .n_slots = pool->n_slots,
        .n_free = pool->n_free,
        .state_bytes = pool->state_bytes,
        .total_bytes = (uint64_t)pool->slot_bytes + pool->object_bytes,
    };
    qr_struct_write(info, &facts, sizeof facts);
    return QUIRE_OK;
}

uint64_t qr_state_pool_state_bytes(const struct quire_state_pool *pool)
{
    return pool->state_bytes;
}

uint32_t qr_state_pool_n_slots(const struct quire_state_pool *pool) { return pool->n_slots; }

float *qr_state_pool_slot(const struct quire_state_pool *pool, int32_t slot)
{
    return (float *)(void *)(pool->slots + (size_t)slot * pool->stride);
}

quire_status qr_state_pool_check(const struct quire_state_pool *pool, int32_t slot,
                                 const char *what, struct quire_error *err)
{
    if (slot < 0 || (uint32_t)slot >= pool->n_slots)
        return qr_fail(err, QUIRE_E_RANGE, "%s is %d, the pool has %u slots", what, slot,
                       pool->n_slots);
    if (!pool->used[slot])
        return qr_fail(err, QUIRE_E_MISUSE, "%s: slot %d is free", what, slot);
    return QUIRE_OK;
}

quire_status quire_state_pool_alloc(struct quire_state_pool *pool, int32_t *slot,
                                    struct quire_error *err)
{
    QR_TRY(qr_handle_check(pool, QR_KIND_STATE_POOL, "pool", err));
    if (!slot)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "slot is NULL");
    const unsigned char *free_slot = memchr(pool->used, 0, pool->n_slots);
    if (!free_slot)
        return qr_fail(err, QUIRE_E_AGAIN, "all %u slots of the pool are in use", pool->n_slots);
    const size_t i = (size_t)(free_slot - pool->used);
    pool->used[i] = 1;
    pool->n_free--;
    *slot = (int32_t)i;
    memset(qr_state_pool_slot(pool, *slot), 0, pool->stride);
    return QUIRE_OK;
}

quire_status quire_state_pool_free(struct quire_state_pool *pool, int32_t slot,
                                   struct quire_error *err)
{
    QR_TRY(qr_handle_check(pool, QR_KIND_STATE_POOL, "pool", err));
    QR_TRY(qr_state_pool_check(pool, slot, "slot", err));
    pool->used[slot] = 0;
    pool->n_free++;
    return QUIRE_OK;
}

quire_status quire_state_pool_copy(struct quire_state_pool *pool, int32_t dst, int32_t src,
                                   struct quire_error *err)
{
    QR_TRY(qr_handle_check(pool, QR_KIND_STATE_POOL, "pool", err));
    QR_TRY(qr_state_pool_check(pool, dst, "dst", err));
    QR_TRY(qr_state_pool_check(pool, src, "src", err));
    if (dst != src)
        memcpy(qr_state_pool_slot(pool, dst), qr_state_pool_slot(pool, src), pool->stride);
    return QUIRE_OK;
}

/* Common checks of read and write. */
static quire_status check_transfer(const struct quire_state_pool *pool, int32_t slot,
                                   const void *data, uint64_t n_bytes, struct quire_error *err)
{
    QR_TRY(qr_handle_check(pool, QR_KIND_STATE_POOL, "pool", err));
    QR_TRY(qr_state_pool_check(pool, slot, "slot", err));
    if (!data)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "data is NULL");
    if (n_bytes != pool->state_bytes)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_bytes is %llu, a state has %llu",
                       (unsigned long long)n_bytes, (unsigned long long)pool->state_bytes);
    return QUIRE_OK;
}

quire_status quire_state_pool_read(const struct quire_state_pool *pool, int32_t slot, void *data,
                                   uint64_t n_bytes, struct quire_error *err)
{
    QR_TRY(check_transfer(pool, slot, data, n_bytes, err));
    memcpy(data, qr_state_pool_slot(pool, slot), (size_t)n_bytes);
    return QUIRE_OK;
}

quire_status quire_state_pool_write(struct quire_state_pool *pool, int32_t slot, const void *data,
                                    uint64_t n_bytes, struct quire_error *err)
{
    QR_TRY(check_transfer(pool, slot, data, n_bytes, err));
    memcpy(qr_state_pool_slot(pool, slot), data, (size_t)n_bytes);
    return QUIRE_OK;
}
