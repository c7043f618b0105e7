/* SPDX-License-Identifier: Apache-2.0 */
/* plan_build.c - checks a batch and takes it over. */
#include "attention/plan.h"
#include "base/error.h"
#include <string.h>

/* Sequence i of a batch whose lengths have been checked. */
static struct qr_plan_seq seq_of(const struct quire_attention_batch *b, uint32_t i)
{
    return (struct qr_plan_seq){ .first_token = (uint32_t)b->query_start_loc[i],
                                 .n_tokens =
                                     (uint32_t)(b->query_start_loc[i + 1] - b->query_start_loc[i]),
                                 .len = (uint32_t)b->seq_lens[i],
                                 .encoder_len =
                                     b->encoder_seq_lens ? (uint32_t)b->encoder_seq_lens[i] : 0,
                                 .override_causal = b->causal != NULL,
                                 .causal = b->causal && b->causal[i] };
}

static bool has_cross(const struct quire_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_groups; i++)
        if (plan->groups[i].config.kind == QUIRE_ATTENTION_CROSS)
            return true;
    return false;
}

static quire_status check_encoder(const struct quire_plan *plan,
                                  const struct quire_attention_batch *b, struct quire_error *err)
{
    if (!b->encoder_seq_lens)
        return !has_cross(plan)
                   ? QUIRE_OK
                   : qr_fail(err, QUIRE_E_INVALID_ARG,
                             "batch.encoder_seq_lens is NULL; cross attention needs it");
    for (uint32_t i = 0; i < b->num_seqs; i++) {
        const int32_t len = b->encoder_seq_lens[i];
        if (len < 0)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.encoder_seq_lens[%u] is %d", i, len);
        if ((uint32_t)len > plan->max_seq_len)
            return qr_fail(err, QUIRE_E_LIMIT,
                           "batch.encoder_seq_lens[%u] is %d, the plan was made for %u", i, len,
                           plan->max_seq_len);
    }
    return QUIRE_OK;
}

static quire_status check_lengths(const struct quire_plan *plan,
                                  const struct quire_attention_batch *b, struct quire_error *err)
{
    if (b->num_seqs > plan->max_seqs)
        return qr_fail(err, QUIRE_E_LIMIT, "batch.num_seqs is %u, the plan was made for %u",
                       b->num_seqs, plan->max_seqs);
    if (!b->num_seqs)
        return QUIRE_OK;
    if (!b->query_start_loc || !b->seq_lens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.%s is NULL",
                       b->query_start_loc ? "seq_lens" : "query_start_loc");
    if (b->query_start_loc[0] != 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.query_start_loc[0] is %d, not 0",
                       b->query_start_loc[0]);
    for (uint32_t i = 0; i < b->num_seqs; i++) {
        const int32_t begin = b->query_start_loc[i], end = b->query_start_loc[i + 1],
                      len = b->seq_lens[i];
        if (end < begin)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "batch.query_start_loc[%u] is %d, below the entry before it", i + 1,
                           end);
        if ((uint32_t)end > plan->max_tokens)
            return qr_fail(err, QUIRE_E_LIMIT,
                           "batch.query_start_loc[%u] is %d, the plan was made for %u tokens",
                           i + 1, end, plan->max_tokens);
        if (len < end - begin)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "batch.seq_lens[%u] is %d, less than its %d new tokens", i, len,
                           end - begin);
        if ((uint32_t)len > plan->max_seq_len)
            return qr_fail(err, QUIRE_E_LIMIT, "batch.seq_lens[%u] is %d, the plan was made for %u",
                           i, len, plan->max_seq_len);
    }
    return check_encoder(plan, b, err);
}

/* Keys that some query of the sequence sees. */
static struct qr_key_range keys_of_seq(const struct quire_attention_config *c,
                                       const struct qr_plan_seq *s)
{
    return s->n_tokens ? qr_tokens_keys(c, s, 0, s->n_tokens - 1) : (struct qr_key_range){ 0, 0 };
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

static uint32_t new_generation(struct quire_plan *plan, uint32_t n_blocks)
{
    if (++plan->generation == 0) {
        memset(plan->marks, 0, n_blocks * sizeof *plan->marks);
        plan->generation = 1;
    }
    return plan->generation;
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

/* Checks the entries that sequence i uses, and adds their number to *used. */
static quire_status check_table(struct quire_plan *plan, const struct qr_plan_group *g,
                                const struct quire_attention_batch_group *t, uint32_t i,
                                const struct qr_plan_seq *s, size_t *used, struct quire_error *err)
{
    const struct qr_key_range keys = keys_of_seq(&g->config, s);
    const uint32_t block_size = plan->kv->block_size,
                   n_blocks = plan->kv->groups[g->kv_group].n_blocks;
    if (keys.lo == keys.hi)
        return QUIRE_OK;
    const uint32_t begin = keys.lo / block_size, end = (keys.hi - 1) / block_size + 1;
    const uint32_t given_up = t->first_block ? t->first_block[i] : 0;
    if (begin < given_up)
        return qr_fail(err, QUIRE_E_RANGE,
                       "KV group %u: sequence %u sees position %u, but first_block is %u",
                       g->kv_group, i, keys.lo, given_up);
    if (end - given_up > t->max_blocks)
        return qr_fail(
            err, QUIRE_E_RANGE,
            "KV group %u: sequence %u sees position %u, past the end of its %u table entries",
            g->kv_group, i, keys.hi - 1, t->max_blocks);
    *used += end - begin;
    if (*used > g->max_blocks)
        return qr_fail(err, QUIRE_E_LIMIT,
                       "KV group %u: the batch uses more table entries than max_blocks %zu",
                       g->kv_group, g->max_blocks);
    const uint32_t generation = new_generation(plan, largest_pool(plan));
    const int32_t first_id = *entry(t, i, begin);
    for (uint32_t j = begin; j < end; j++) {
        const int32_t id = *entry(t, i, j);
        if (id < 0 || (uint32_t)id >= n_blocks)
            return qr_fail(err, QUIRE_E_RANGE,
                           "KV group %u: block_table[%u][%u] is %d, not a block of 0 .. %u",
                           g->kv_group, i, j - given_up, id, n_blocks - 1);
        if (plan->marks[id] == generation && !ring_ok(&keys, block_size, j, id == first_id))
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "KV group %u: block_table[%u][%u] is block %d again: two visible "
                           "positions share its slots",
                           g->kv_group, i, j - given_up, id);
        plan->marks[id] = generation;
    }
    return QUIRE_OK;
}

static quire_status check_tables_arg(const struct quire_attention_batch_group *t, uint32_t num_seqs,
                                     uint32_t kv_group, struct quire_error *err)
{
    if (num_seqs && !t->block_table)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "KV group %u: block_table is NULL", kv_group);
    if (t->block_table_stride && t->block_table_stride < t->max_blocks)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "KV group %u: block_table_stride %u is smaller than max_blocks %u", kv_group,
                       t->block_table_stride, t->max_blocks);
    return QUIRE_OK;
}

/* Copies the entries in use; they have been checked. */
static void copy_tables(struct quire_plan *plan, struct qr_plan_group *g,
                        const struct quire_attention_batch_group *t)
{
    const uint32_t block_size = plan->kv->block_size;
    size_t used = 0;
    for (uint32_t i = 0; i < plan->num_seqs; i++) {
        const struct qr_key_range keys = keys_of_seq(&g->config, &plan->seqs[i]);
        struct qr_plan_table *table = &g->tables[i];
        *table = (struct qr_plan_table){ .at = used };
        if (keys.lo == keys.hi)
            continue;
        table->first = keys.lo / block_size;
        table->count = (keys.hi - 1) / block_size + 1 - table->first;
        memcpy(g->blocks + used, entry(t, i, table->first), table->count * sizeof *g->blocks);
        used += table->count;
    }
}

static quire_status check_batch(struct quire_plan *plan, const struct quire_attention_batch *b,
                                struct quire_error *err)
{
    if (!b)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch is NULL");
    if (b->struct_size != sizeof *b)
        return qr_fail(err, QUIRE_E_MISUSE, "batch.struct_size is %u, not %zu", b->struct_size,
                       sizeof *b);
    QR_TRY(check_lengths(plan, b, err));
    if (!b->num_seqs)
        return QUIRE_OK;
    if (b->n_groups != plan->kv->n_groups || !b->groups)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.groups: %u given, the cache has %u",
                       b->groups ? b->n_groups : 0, plan->kv->n_groups);
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        const struct qr_plan_group *g = &plan->groups[i];
        const struct quire_attention_batch_group *t = &b->groups[g->kv_group];
        size_t used = 0;
        QR_TRY(check_tables_arg(t, b->num_seqs, g->kv_group, err));
        for (uint32_t s = 0; s < b->num_seqs; s++) {
            const struct qr_plan_seq seq = seq_of(b, s);
            QR_TRY(check_table(plan, g, t, s, &seq, &used, err));
        }
    }
    return QUIRE_OK;
}

/* Cannot fail. */
static void take_over(struct quire_plan *plan, const struct quire_attention_batch *b)
{
    plan->num_seqs = b->num_seqs;
    plan->num_tokens = b->num_seqs ? (uint32_t)b->query_start_loc[b->num_seqs] : 0;
    plan->max_query_len = plan->batch_max_seq_len = 0;
    for (uint32_t i = 0; i < b->num_seqs; i++) {
        const struct qr_plan_seq s = plan->seqs[i] = seq_of(b, i);
        plan->max_query_len = s.n_tokens > plan->max_query_len ? s.n_tokens : plan->max_query_len;
        plan->batch_max_seq_len = s.len > plan->batch_max_seq_len ? s.len : plan->batch_max_seq_len;
    }
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        struct qr_plan_group *g = &plan->groups[i];
        if (b->num_seqs)
            copy_tables(plan, g, &b->groups[g->kv_group]);
        qr_plan_divide(plan, g);
    }
}

quire_status quire_plan_build(struct quire_plan *plan, const struct quire_attention_batch *batch,
                              struct quire_error *err)
{
    if (!plan)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "plan is NULL");
    QR_TRY(qr_plan_enter(plan, err));
    const quire_status status = check_batch(plan, batch, err);
    if (status == QUIRE_OK)
        take_over(plan, batch);
    qr_plan_leave(plan);
    return status;
}

static quire_status check_new_tables(struct quire_plan *plan, uint32_t kv_group,
                                     const struct quire_attention_batch_group *t,
                                     struct quire_error *err)
{
    if (!t)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "tables is NULL");
    QR_TRY(check_tables_arg(t, plan->num_seqs, kv_group, err));
    bool found = false;
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        size_t used = 0;
        if (plan->groups[i].kv_group != kv_group)
            continue;
        found = true;
        for (uint32_t s = 0; s < plan->num_seqs; s++)
            QR_TRY(check_table(plan, &plan->groups[i], t, s, &plan->seqs[s], &used, err));
    }
    if (!found)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "no group of the plan reads KV group %u",
                       kv_group);
    return QUIRE_OK;
}

quire_status quire_plan_set_tables(struct quire_plan *plan, uint32_t kv_group,
                                   const struct quire_attention_batch_group *tables,
                                   struct quire_error *err)
{
    if (!plan)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "plan is NULL");
    QR_TRY(qr_plan_enter(plan, err));
    const quire_status status = check_new_tables(plan, kv_group, tables, err);
    for (uint32_t i = 0; status == QUIRE_OK && i < plan->n_groups; i++)
        if (plan->groups[i].kv_group == kv_group)
            copy_tables(plan, &plan->groups[i], tables);
    qr_plan_leave(plan);
    return status;
}
