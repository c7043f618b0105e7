/* SPDX-License-Identifier: Apache-2.0 */
/* slots.c - slot mappings: from token positions to slots, and their validation. */
#include "kv/slots.h"
#include "base/error.h"
#include "base/struct_size.h"
#include "kv/check.h"
#include "kv/key_shard.h"

uint32_t quire_kv_first_block(uint32_t block_size, uint32_t window, uint32_t n_past)
{
    if (!window || !block_size || n_past < window)
        return 0;
    /* the query at n_past sees `window` keys, itself included; no wrap, since n_past >= window */
    return (n_past - window + 1) / block_size;
}

/* First position that gets a slot: the window covers the last positions of the sequence, which are
 * absolute. In chunked prefill, n_tokens alone does not determine it. */
static uint64_t first_mapped(const struct quire_kv_slot_args *m)
{
    const uint64_t seq_len = m->first_pos + (uint64_t)m->n_tokens;
    const uint64_t in_window = m->window && seq_len > m->window ? seq_len - m->window : 0;
    return in_window > m->first_pos ? in_window : m->first_pos;
}

/* The tokens that the cache holds. */
static struct qr_key_shard shard_of(const struct quire_kv_slot_args *m)
{
    return qr_key_shard_of(m->cp_world_size, m->cp_rank, m->cp_interleave);
}

/* Does not read block table entries of positions without a slot: they may be uninitialized. */
static quire_status check_map(const struct quire_kv_slot_args *m, const int64_t *slots,
                              struct quire_error *err)
{
    const struct qr_key_shard shard = shard_of(m);
    if (!m->block_size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.block_size is 0");
    if (m->reserved)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.reserved is not 0");
    QR_TRY(qr_key_shard_check(shard, "args", err));
    if (m->n_tokens > (size_t)UINT32_MAX - m->first_pos)
        return qr_fail(err, QUIRE_E_LIMIT,
                       "args: %zu tokens from position %u exceed the largest position", m->n_tokens,
                       m->first_pos);
    if (m->n_tokens == 0)
        return QUIRE_OK;
    if (!slots || !m->block_table)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL",
                       slots ? "args.block_table" : "slots");
    /* of the tokens that get a slot */
    const uint32_t begin = qr_key_shard_below(&shard, (uint32_t)first_mapped(m)),
                   end = qr_key_shard_below(&shard, m->first_pos + (uint32_t)m->n_tokens);
    if (begin == end)
        return QUIRE_OK;
    const uint64_t first = begin / m->block_size, last = (end - 1) / m->block_size;
    if (first < m->first_block)
        return qr_fail(err, QUIRE_E_RANGE, "args: position %llu is before first_block %u",
                       (unsigned long long)first_mapped(m), m->first_block);
    if (last - m->first_block >= m->n_entries)
        return qr_fail(err, QUIRE_E_RANGE,
                       "args: block_table has %zu entries, entry %llu is needed", m->n_entries,
                       (unsigned long long)(last - m->first_block));
    for (uint64_t i = first - m->first_block; i <= last - m->first_block; i++)
        if (m->block_table[i] < 0)
            return qr_fail(err, QUIRE_E_RANGE, "args.block_table[%llu] %d is negative",
                           (unsigned long long)i, m->block_table[i]);
    return QUIRE_OK;
}

quire_status quire_kv_map_slots(const struct quire_kv_slot_args *args, int64_t *slots,
                                struct quire_error *err)
{
    struct quire_kv_slot_args copy;
    const struct quire_kv_slot_args *map = &copy;
    QR_READ_STRUCT(&copy, args, n_tokens, "args", err);
    QR_TRY(check_map(map, slots, err));
    const struct qr_key_shard shard = shard_of(map);
    const uint64_t first = first_mapped(map);
    for (size_t i = 0; i < map->n_tokens; i++) {
        const uint32_t pos = map->first_pos + (uint32_t)i;
        slots[i] = QUIRE_SLOT_PAD;
        if (pos < first || !qr_key_shard_has(&shard, pos))
            continue;
        const uint32_t at = qr_key_shard_below(&shard, pos);
        slots[i] =
            (int64_t)map->block_table[at / map->block_size - map->first_block] * map->block_size +
            at % map->block_size;
    }
    return QUIRE_OK;
}

quire_status qr_kv_group_check_slots(struct qr_kv_group *g, const int64_t *slots, size_t n,
                                     struct quire_error *err)
{
    const uint64_t bs = (uint64_t)g->layout.block_size, n_slots = g->n_blocks * bs;
    const uint32_t epoch = qr_kv_next_visit_epoch(g);
    for (size_t i = 0; i < n; i++) {
        const int64_t slot = slots[i];
        if (slot == QUIRE_SLOT_PAD)
            continue;
        if ((uint64_t)slot >= n_slots) /* also true for negative slots */
            return qr_fail(err, QUIRE_E_RANGE,
                           "slot_mapping[%zu] %lld is outside the pool of %llu slots", i,
                           (long long)slot, (unsigned long long)n_slots);
        QR_TRY(qr_kv_check_block(g, "slot_mapping", i, (int32_t)((uint64_t)slot / bs), 1, 1, err));
        if (g->visited[slot] == epoch)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "slot_mapping[%zu] %lld appears twice", i,
                           (long long)slot);
        g->visited[slot] = epoch;
    }
    return QUIRE_OK;
}

quire_status quire_kv_check_slots(struct quire_kv_cache *kv, uint32_t group, const int64_t *slots,
                                  size_t n, struct quire_error *err)
{
    QR_TRY(qr_kv_check_group(kv, group, err));
    if (n && !slots)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "slot_mapping is NULL");
    QR_TRY(qr_kv_begin_update(kv, err));
    const quire_status s = qr_kv_group_check_slots(&kv->groups[group], slots, n, err);
    qr_kv_end_update(kv);
    return s;
}

QR_DEFINE_ZERO_INIT(quire_kv_slot_args)
