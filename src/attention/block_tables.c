/* SPDX-License-Identifier: Apache-2.0 */
/* block_tables.c - validates and copies the block table entries that a batch uses. */
#include "attention/block_tables.h"
#include "attention/mask.h"
#include "attention/sparse.h"
#include "base/error.h"
#include <string.h>

/* Part of a sequence's block table that its queries use. */
struct used_blocks {
    struct qr_key_range visible; /* hull of the visible keys, sparse lists disregarded */
    struct qr_key_range keys;    /* hull of the visible keys in listed blocks */
    uint32_t begin, end;         /* blocks of `keys` */
    const uint64_t *listed;      /* bitmap of listed blocks, bit 0 is block `first`; NULL = all */
    uint32_t first;
};

static bool is_used(const struct used_blocks *u, uint32_t block)
{
    const uint32_t bit = block - u->first;
    return !u->listed || u->listed[bit / 64] >> bit % 64 & 1;
}

/* Drops blocks that are in no list. u->listed is valid until the next call. */
static void keep_listed(struct quire_plan *plan, const struct quire_sparse_list *lists,
                        uint32_t n_lists, struct used_blocks *u)
{
    const uint32_t block_size = plan->kv->block_size;
    memset(plan->listed, 0, ((size_t)(u->end - u->begin) + 63) / 64 * sizeof *plan->listed);
    for (uint32_t h = 0; h < n_lists; h++)
        qr_sparse_mark(&lists[h], u->begin, u->end, plan->listed);
    u->listed = plan->listed;
    u->first = u->begin;
    while (u->begin < u->end && !is_used(u, u->begin))
        u->begin++;
    while (u->begin < u->end && !is_used(u, u->end - 1))
        u->end--;
    if (u->begin > u->first)
        u->keys.lo = u->begin * block_size;
    if (u->keys.hi > (uint64_t)u->end * block_size)
        u->keys.hi = u->end * block_size;
}

static struct used_blocks find_used_blocks(struct quire_plan *plan, const struct qr_plan_group *g,
                                           const struct qr_attn_seq *s,
                                           const struct quire_sparse_list *lists)
{
    const uint32_t block_size = plan->kv->block_size;
    struct used_blocks u = { .visible = { 0, 0 } };
    if (s->n_tokens)
        u.visible = qr_tokens_mask_range(&g->config, s, 0, s->n_tokens - 1);
    u.keys = u.visible;
    if (u.keys.lo == u.keys.hi)
        return u;
    u.begin = u.keys.lo / block_size;
    u.end = (u.keys.hi - 1) / block_size + 1;
    if (lists)
        keep_listed(plan, lists, g->config.n_kv_heads, &u);
    return u;
}

/* Address of the table entry of block j of sequence i. */
static const int32_t *table_entry(const struct quire_attention_batch_group *t, uint32_t i,
                                  uint32_t j)
{
    const size_t stride = t->block_table_stride ? t->block_table_stride : t->max_blocks;
    return t->block_table + i * stride + (j - (t->first_block ? t->first_block[i] : 0));
}

/* Whether block j may repeat the first entry: it is the last block of the range and no slot is
 * visible through both entries, as in a window that wraps around in a ring of blocks. */
static bool is_ring_wrap(const struct qr_key_range *keys, uint32_t block_size, uint32_t j,
                         bool same_as_first)
{
    return same_as_first && j == (keys->hi - 1) / block_size &&
           (keys->hi - 1) % block_size < keys->lo % block_size;
}

static uint32_t largest_pool(const struct quire_plan *plan)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        const uint32_t m = plan->groups[i].kv->n_blocks;
        n = m > n ? m : n;
    }
    return n;
}

uint32_t qr_block_marks_new_generation(struct quire_plan *plan)
{
    if (++plan->generation == 0) {
        memset(plan->block_marks, 0, largest_pool(plan) * sizeof *plan->block_marks);
        plan->generation = 1;
    }
    return plan->generation;
}

/* Whether ids are strictly ascending blocks of the pool, hence valid and distinct. */
static bool is_ascending(const int32_t *ids, uint32_t n, uint32_t n_blocks)
{
    int descends = 0;
    for (uint32_t i = 1; i < n; i++)
        descends |= ids[i] <= ids[i - 1];
    return !descends && ids[0] >= 0 && (uint32_t)ids[n - 1] < n_blocks;
}

/* Validates that the used ids are blocks of the pool and distinct. */
static quire_status check_ids(struct quire_plan *plan, const struct qr_plan_group *g,
                              const struct quire_attention_batch_group *t, uint32_t i,
                              const struct used_blocks *u, struct quire_error *err)
{
    const uint32_t block_size = plan->kv->block_size, n_blocks = g->kv->n_blocks,
                   first_entry = t->first_block ? t->first_block[i] : 0;
    const int32_t *ids = table_entry(t, i, u->begin), first_id = *ids;
    if (!u->listed && is_ascending(ids, u->end - u->begin, n_blocks))
        return QUIRE_OK;
    const uint32_t generation = qr_block_marks_new_generation(plan);
    uint32_t *const marks = plan->block_marks;
    for (uint32_t j = u->begin; j < u->end; j++) {
        if (!is_used(u, j))
            continue;
        const int32_t id = ids[j - u->begin];
        if ((uint32_t)id >= n_blocks)
            return qr_fail(err, QUIRE_E_RANGE,
                           "KV group %u: block_table[%u][%u] is %d, not a block of 0 .. %u",
                           g->kv_group, i, j - first_entry, id, n_blocks - 1);
        if (marks[id] == generation && !is_ring_wrap(&u->keys, block_size, j, id == first_id))
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "KV group %u: block_table[%u][%u] is block %d again: two visible "
                           "positions share its slots",
                           g->kv_group, i, j - first_entry, id);
        marks[id] = generation;
    }
    return QUIRE_OK;
}

quire_status qr_block_tables_check(struct quire_plan *plan, const struct qr_plan_group *g,
                                   const struct quire_attention_batch_group *t, uint32_t i,
                                   const struct qr_attn_seq *s,
                                   const struct quire_sparse_list *lists, size_t *used,
                                   struct quire_error *err)
{
    const struct used_blocks u = find_used_blocks(plan, g, s, lists);
    g->staged_seq_blocks[i] = (struct qr_seq_blocks){ u.begin, u.end - u.begin, *used, u.visible };
    if (u.begin == u.end)
        return QUIRE_OK;
    const uint32_t first_entry = t->first_block ? t->first_block[i] : 0;
    if (u.begin < first_entry)
        return qr_fail(err, QUIRE_E_RANGE,
                       "KV group %u: sequence %u sees position %u, but first_block is %u",
                       g->kv_group, i, u.keys.lo, first_entry);
    if (u.end - first_entry > t->max_blocks)
        return qr_fail(
            err, QUIRE_E_RANGE,
            "KV group %u: sequence %u sees position %u, past the end of its %u table entries",
            g->kv_group, i, u.keys.hi - 1, t->max_blocks);
    *used += u.end - u.begin;
    if (*used > g->max_blocks)
        return qr_fail(err, QUIRE_E_LIMIT,
                       "KV group %u: the batch uses more table entries than max_blocks %zu",
                       g->kv_group, g->max_blocks);
    return check_ids(plan, g, t, i, &u, err);
}

quire_status qr_block_tables_check_args(const struct quire_attention_batch_group *t,
                                        uint32_t n_seqs, uint32_t kv_group, struct quire_error *err)
{
    if (n_seqs && !t->block_table)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "KV group %u: block_table is NULL", kv_group);
    if (t->block_table_stride && t->block_table_stride < t->max_blocks)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "KV group %u: block_table_stride %u is smaller than max_blocks %u", kv_group,
                       t->block_table_stride, t->max_blocks);
    return QUIRE_OK;
}

/* Copies listed entries; the others become -1. */
static void copy_listed(struct quire_plan *plan, const struct qr_plan_group *g, uint32_t i,
                        const int32_t *from, int32_t *ids)
{
    const struct used_blocks u = find_used_blocks(plan, g, &plan->seqs[i], qr_sparse_list(g, i, 0));
    for (uint32_t j = u.begin; j < u.end; j++)
        ids[j - u.begin] = is_used(&u, j) ? from[j - u.begin] : -1;
}

void qr_block_tables_copy(struct quire_plan *plan, struct qr_plan_group *g,
                          const struct quire_attention_batch_group *t)
{
    struct qr_seq_blocks *const now = g->staged_seq_blocks;
    g->staged_seq_blocks = g->seq_blocks;
    g->seq_blocks = now;
    for (uint32_t i = 0; i < plan->n_seqs; i++) {
        if (!now[i].count)
            continue;
        const int32_t *from = table_entry(t, i, now[i].first);
        int32_t *ids = g->block_ids + now[i].offset;
        if (g->sparse)
            copy_listed(plan, g, i, from, ids);
        else
            memcpy(ids, from, now[i].count * sizeof *ids);
    }
}
