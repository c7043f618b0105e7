/* SPDX-License-Identifier: Apache-2.0 */
/* state_memory.c - slots of recurrent states and checkpoints. */
#include "engine/state_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "recurrent/state_pool.h"

/* The calls of the pool below cannot fail: slots are valid and allocated. */

static void drop_checkpoint(struct qr_state_memory *m, qr_prefix_node node)
{
    const int32_t slot = m->checkpoint[node];
    if (slot == QR_STATE_NONE)
        return;
    m->checkpoint[node] = QR_STATE_NONE;
    m->owner[slot] = QR_PREFIX_NONE;
    (void)!quire_state_pool_free(m->pool, slot, NULL);
}

static void forget_node(void *user, qr_prefix_node node) { drop_checkpoint(user, node); }

quire_status qr_state_memory_init(struct qr_state_memory *m, struct quire_state_pool *pool,
                                  struct qr_prefix_index *index,
                                  const struct quire_allocator *allocator, struct quire_error *err)
{
    struct quire_state_pool_info info = { .struct_size = sizeof info };
    *m = (struct qr_state_memory){ .allocator = allocator };
    if (!pool)
        return QUIRE_OK;
    QR_TRY(quire_state_pool_get_info(pool, &info));
    m->pool = pool;
    m->index = index;
    m->n_slots = info.n_slots;
    m->state_bytes = info.state_bytes;
    m->max_nodes = index ? index->max_nodes : 0;
    m->owner = qr_alloc(allocator, m->n_slots, sizeof *m->owner);
    m->checkpoint = qr_alloc(allocator, m->max_nodes, sizeof *m->checkpoint);
    if (!m->owner || !m->checkpoint) {
        qr_state_memory_free(m);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tables of recurrent states");
    }
    for (uint32_t i = 0; i < m->n_slots; i++)
        m->owner[i] = QR_PREFIX_NONE;
    for (uint32_t i = 0; i < m->max_nodes; i++)
        m->checkpoint[i] = QR_STATE_NONE;
    if (index) {
        index->removed = forget_node;
        index->removed_user = m;
    }
    return QUIRE_OK;
}

void qr_state_memory_free(struct qr_state_memory *m)
{
    qr_free(m->allocator, m->owner, m->n_slots, sizeof *m->owner);
    qr_free(m->allocator, m->checkpoint, m->max_nodes, sizeof *m->checkpoint);
    *m = (struct qr_state_memory){ 0 };
}

uint64_t qr_state_memory_bytes(uint32_t n_slots, uint32_t max_nodes)
{
    return (uint64_t)n_slots * sizeof(qr_prefix_node) + (uint64_t)max_nodes * sizeof(int32_t);
}

/* Frees the slot of the checkpoint that was used the longest ago; false: there is none. */
static bool evict(struct qr_state_memory *m)
{
    qr_prefix_node oldest = QR_PREFIX_NONE;
    for (uint32_t i = 0; i < m->n_slots; i++) {
        const qr_prefix_node node = m->owner[i];
        if (node != QR_PREFIX_NONE &&
            (oldest == QR_PREFIX_NONE ||
             m->index->entries[node].last_use < m->index->entries[oldest].last_use))
            oldest = node;
    }
    if (oldest == QR_PREFIX_NONE)
        return false;
    drop_checkpoint(m, oldest);
    return true;
}

int32_t qr_state_open_free(struct qr_state_memory *m)
{
    int32_t slot;
    return m->pool && quire_state_pool_alloc(m->pool, &slot, NULL) == QUIRE_OK ? slot
                                                                               : QR_STATE_NONE;
}

int32_t qr_state_open(struct qr_state_memory *m)
{
    if (!m->pool)
        return QR_STATE_NONE;
    do {
        const int32_t slot = qr_state_open_free(m);
        if (slot != QR_STATE_NONE)
            return slot;
    } while (evict(m));
    return QR_STATE_NONE;
}

void *qr_state_data(const struct qr_state_memory *m, int32_t slot)
{
    return qr_state_pool_slot(m->pool, slot);
}

void qr_state_close(struct qr_state_memory *m, int32_t slot)
{
    if (slot != QR_STATE_NONE)
        (void)!quire_state_pool_free(m->pool, slot, NULL);
}

void qr_state_fork(struct qr_state_memory *m, int32_t to, int32_t from)
{
    if (m->pool)
        (void)!quire_state_pool_copy(m->pool, to, from, NULL);
}

bool qr_state_has(const struct qr_state_memory *m, qr_prefix_node node)
{
    return !m->pool || (m->index && m->checkpoint[node] != QR_STATE_NONE);
}

void qr_state_take(struct qr_state_memory *m, int32_t slot, qr_prefix_node node)
{
    if (!m->pool)
        return;
    (void)!quire_state_pool_copy(m->pool, slot, m->checkpoint[node], NULL);
    m->n_taken++;
}

static void set_checkpoint(struct qr_state_memory *m, int32_t slot, qr_prefix_node node)
{
    m->checkpoint[node] = slot;
    m->owner[slot] = node;
}

void qr_state_checkpoint(struct qr_state_memory *m, int32_t slot, qr_prefix_node node)
{
    if (!m->pool || !m->index || m->checkpoint[node] != QR_STATE_NONE)
        return;
    const int32_t copy = qr_state_open(m);
    if (copy == QR_STATE_NONE)
        return;
    (void)!quire_state_pool_copy(m->pool, copy, slot, NULL);
    set_checkpoint(m, copy, node);
}

void qr_state_keep(struct qr_state_memory *m, int32_t slot, qr_prefix_node node)
{
    if (!m->pool)
        return;
    if (m->index && m->checkpoint[node] == QR_STATE_NONE)
        set_checkpoint(m, slot, node);
    else
        qr_state_close(m, slot);
}
