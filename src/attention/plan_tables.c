/* SPDX-License-Identifier: Apache-2.0 */
/* plan_tables.c - checks and copies the block table entries that a batch uses. */
#include "attention/plan_build.h"
#include "attention/sparse.h"
#include "base/error.h"
#include <string.h>

/* What the queries of a sequence use of its table. */
struct use {
    struct qr_key_range seen; /* from the first to the last key that some of them sees */
    struct qr_key_range keys; /* the same of the lists' keys */
    uint32_t begin, end;      /* the blocks of these keys */
    const uint64_t *named;    /* by some list: bit 0 is block `first`; NULL = all */
    uint32_t first;
};

static bool is_used(const struct use *u, uint32_t block)
{
    const uint32_t bit = block - u->first;
    return !u->named || u->named[bit / 64] >> bit % 64 & 1;
}

/* Takes away what no list names. The bits stay good until the next call. */
static void keep_named(struct quire_plan *plan, const struct quire_sparse_list *lists,
                       uint32_t n_lists, struct use *u)
{
    const uint32_t block_size = plan->kv->block_size;
    memset(plan->named, 0, ((size_t)(u->end - u->begin) + 63) / 64 * sizeof *plan->named);
    for (uint32_t h = 0; h < n_lists; h++)
        qr_sparse_mark(&lists[h], u->begin, u->end, plan->named);
    u->named = plan->named;
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

static struct use use_of(struct quire_plan *plan, const struct qr_plan_group *g,
                         const struct qr_plan_seq *s, const struct quire_sparse_list *lists)
{
    const uint32_t block_size = plan->kv->block_size;
    struct use u = { .seen = { 0, 0 } };
    if (s->n_tokens)
        u.seen = qr_tokens_keys(&g->config, s, 0, s->n_tokens - 1);
    u.keys = u.seen;
    if (u.keys.lo == u.keys.hi)
        return u;
    u.begin = u.keys.lo / block_size;
    u.end = (u.keys.hi - 1) / block_size + 1;
    if (lists)
        keep_named(plan, lists, g->config.n_kv_heads, &u);
    return u;
}

/* Where the entry of block j of sequence i is. */
static const int32_t *entry(const struct quire_attention_batch_group *t, uint32_t i, uint32_t j)
{
    const size_t stride = t->block_table_stride ? t->block_table_stride : t->max_blocks;
    return t->block_table + i * stride + (j - (t->first_block ? t->first_block[i] : 0));
}

/* Two entries of one block are fine only if they are the first and the last of the range and no
 * slot of the block is seen under both, as in a window that wraps around in a ring of blocks. */
static bool ring_ok(const struct qr_key_range *keys, uint32_t block_size, uint32_t j,
                    bool same_as_first)
{
    return same_as_first && j == (keys->hi - 1) / block_size &&
           (keys->hi - 1) % block_size < keys->lo % block_size;
}

static uint32_t largest_pool(const struct quire_plan *plan)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        const uint32_t m = plan->kv->groups[plan->groups[i].kv_group].n_blocks;
        n = m > n ? m : n;
    }
    return n;
}

uint32_t qr_plan_new_generation(struct quire_plan *plan)
{
    if (++plan->generation == 0) {
        memset(plan->marks, 0, largest_pool(plan) * sizeof *plan->marks);
        plan->generation = 1;
    }
    return plan->generation;
}

/* Whether ids rise from one to the next, all of them blocks of the pool: then each is there once. */
static bool rises(const int32_t *ids, uint32_t n, uint32_t n_blocks)
{
    int falls = 0;
    for (uint32_t i = 1; i < n; i++)
        falls |= ids[i] <= ids[i - 1];
    return !falls && ids[0] >= 0 && (uint32_t)ids[n - 1] < n_blocks;
}

/* The ids in use are blocks of the pool, each once. */
static quire_status check_ids(struct quire_plan *plan, const struct qr_plan_group *g,
                              const struct quire_attention_batch_group *t, uint32_t i,
                              const struct use *u, struct quire_error *err)
{
    const uint32_t block_size = plan->kv->block_size,
                   n_blocks = plan->kv->groups[g->kv_group].n_blocks,
                   given_up = t->first_block ? t->first_block[i] : 0;
    const int32_t *ids = entry(t, i, u->begin), first_id = *ids;
    if (!u->named && rises(ids, u->end - u->begin, n_blocks))
        return QUIRE_OK;
    const uint32_t generation = qr_plan_new_generation(plan);
    uint32_t *const marks = plan->marks;
    for (uint32_t j = u->begin; j < u->end; j++) {
        if (!is_used(u, j))
            continue;
        const int32_t id = ids[j - u->begin];
        if ((uint32_t)id >= n_blocks)
            return qr_fail(err, QUIRE_E_RANGE,
                           "KV group %u: block_table[%u][%u] is %d, not a block of 0 .. %u",
                           g->kv_group, i, j - given_up, id, n_blocks - 1);
        if (marks[id] == generation && !ring_ok(&u->keys, block_size, j, id == first_id))
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "KV group %u: block_table[%u][%u] is block %d again: two visible "
                           "positions share its slots",
                           g->kv_group, i, j - given_up, id);
        marks[id] = generation;
    }
    return QUIRE_OK;
}

quire_status qr_tables_check(struct quire_plan *plan, const struct qr_plan_group *g,
                             const struct quire_attention_batch_group *t, uint32_t i,
                             const struct qr_plan_seq *s, const struct quire_sparse_list *lists,
                             size_t *used, struct quire_error *err)
{
    const struct use u = use_of(plan, g, s, lists);
    g->next[i] = (struct qr_plan_table){ u.begin, u.end - u.begin, *used, u.seen };
    if (u.begin == u.end)
        return QUIRE_OK;
    const uint32_t given_up = t->first_block ? t->first_block[i] : 0;
    if (u.begin < given_up)
        return qr_fail(err, QUIRE_E_RANGE,
                       "KV group %u: sequence %u sees position %u, but first_block is %u",
                       g->kv_group, i, u.keys.lo, given_up);
    if (u.end - given_up > t->max_blocks)
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

quire_status qr_tables_check_arg(const struct quire_attention_batch_group *t, uint32_t n_seqs,
                                 uint32_t kv_group, struct quire_error *err)
{
    if (n_seqs && !t->block_table)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "KV group %u: block_table is NULL", kv_group);
    if (t->block_table_stride && t->block_table_stride < t->max_blocks)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "KV group %u: block_table_stride %u is smaller than max_blocks %u", kv_group,
                       t->block_table_stride, t->max_blocks);
    return QUIRE_OK;
}

/* The entries that some list names; -1 in place of the others. */
static void take_named(struct quire_plan *plan, const struct qr_plan_group *g, uint32_t i,
                       const int32_t *from, int32_t *ids)
{
    const struct use u = use_of(plan, g, &plan->seqs[i], qr_plan_list(g, i, 0));
    for (uint32_t j = u.begin; j < u.end; j++)
        ids[j - u.begin] = is_used(&u, j) ? from[j - u.begin] : -1;
}

void qr_tables_take(struct quire_plan *plan, struct qr_plan_group *g,
                    const struct quire_attention_batch_group *t)
{
    struct qr_plan_table *const now = g->next;
    g->next = g->tables;
    g->tables = now;
    for (uint32_t i = 0; i < plan->n_seqs; i++) {
        if (!now[i].count)
            continue;
        const int32_t *from = entry(t, i, now[i].first);
        int32_t *ids = g->blocks + now[i].at;
        if (g->sparse)
            take_named(plan, g, i, from, ids);
        else
            memcpy(ids, from, now[i].count * sizeof *ids);
    }
}
