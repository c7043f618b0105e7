/* SPDX-License-Identifier: Apache-2.0 */
/* plan_build.c - builds a plan from a batch, and replaces its block tables. A batch that fails
 * validation leaves the plan unchanged. */
#include "attention/batch_check.h"
#include "attention/block_tables.h"
#include "attention/partition.h"
#include "attention/plan.h"
#include "attention/sparse.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include <string.h>

/* Sequence i of a validated batch. The result points into the batch, and to its staged depths. */
static struct qr_attn_seq batch_seq(const struct quire_plan *plan,
                                    const struct quire_attention_batch *b, uint32_t i)
{
    const int32_t first = b->query_start_loc[i];
    struct qr_attn_seq s = { .first_token = (uint32_t)first,
                             .n_tokens = (uint32_t)(b->query_start_loc[i + 1] - first),
                             .len = (uint32_t)b->seq_lens[i],
                             .override_causal = b->causal != NULL,
                             .causal = b->causal && b->causal[i] };
    if (b->encoder_seq_lens)
        s.encoder_len = (uint32_t)b->encoder_seq_lens[i];
    s.shard = qr_key_shard_of(b->cp_world_size, b->cp_rank, b->cp_interleave);
    if (b->tree_mask) {
        s.tree_words = qr_batch_tree_words(b);
        s.tree = b->tree_mask + (size_t)first * s.tree_words;
        s.depths = plan->staged_depths + first;
    }
    if (b->spans) {
        s.spans = b->spans + b->span_loc[i];
        s.n_spans = (uint32_t)(b->span_loc[i + 1] - b->span_loc[i]);
    }
    return s;
}

static quire_status check(struct quire_plan *plan, const struct quire_attention_batch *b,
                          struct quire_error *err)
{
    QR_TRY(qr_batch_check(plan, b, err));
    for (uint32_t i = 0; b->n_seqs && i < plan->n_groups; i++) {
        const struct qr_plan_group *g = &plan->groups[i];
        const struct quire_attention_batch_group *t = &b->groups[g->kv_group];
        size_t used = 0;
        QR_TRY(qr_block_tables_check_args(t, b->n_seqs, g->kv_group, err));
        for (uint32_t s = 0; s < b->n_seqs; s++) {
            const struct qr_attn_seq seq = batch_seq(plan, b, s);
            QR_TRY(qr_block_tables_check(plan, g, t, s, &seq, qr_sparse_batch_lists(b, g, s), &used,
                                         err));
        }
    }
    return QUIRE_OK;
}

/* Copies the arrays that a sequence points to from the batch into the plan. */
static void copy_arrays(struct quire_plan *plan, struct qr_attn_seq *s, uint32_t *spans)
{
    if (s->tree) {
        const size_t at = (size_t)s->first_token * s->tree_words;
        memcpy(plan->tree + at, s->tree, (size_t)s->n_tokens * s->tree_words * sizeof *s->tree);
        s->tree = plan->tree + at;
        memcpy(plan->depths + s->first_token, s->depths, s->n_tokens * sizeof *s->depths);
        s->depths = plan->depths + s->first_token;
    }
    if (s->spans) {
        memcpy(plan->spans + *spans, s->spans, s->n_spans * sizeof *s->spans);
        s->spans = plan->spans + *spans;
        *spans += s->n_spans;
    }
}

static void copy_sparse_lists(struct qr_plan_group *g, const struct quire_attention_batch *b)
{
    size_t used = 0;
    g->sparse = b->n_seqs && qr_sparse_batch_lists(b, g, 0);
    for (uint32_t i = 0; g->sparse && i < b->n_seqs; i++)
        for (uint32_t h = 0; h < g->config.n_kv_heads; h++) {
            const struct quire_sparse_list from = qr_sparse_batch_lists(b, g, i)[h];
            int32_t *to = g->sparse_blocks + used;
            if (from.n)
                memcpy(to, from.blocks, from.n * sizeof *to);
            g->sparse_lists[(size_t)i * g->config.n_kv_heads + h] =
                (struct quire_sparse_list){ to, from.n };
            used += from.n;
        }
}

/* Copies a validated batch into the plan and partitions its work. Cannot fail. */
static void commit(struct quire_plan *plan, const struct quire_attention_batch *b)
{
    uint32_t spans = 0;
    plan->n_seqs = b->n_seqs;
    plan->n_tokens = b->n_seqs ? (uint32_t)b->query_start_loc[b->n_seqs] : 0;
    plan->max_query_len = plan->batch_max_seq_len = 0;
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        struct qr_attn_seq *s = &plan->seqs[i];
        *s = batch_seq(plan, b, i);
        copy_arrays(plan, s, &spans);
        plan->max_query_len = s->n_tokens > plan->max_query_len ? s->n_tokens : plan->max_query_len;
        plan->batch_max_seq_len =
            s->len > plan->batch_max_seq_len ? s->len : plan->batch_max_seq_len;
    }
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        struct qr_plan_group *g = &plan->groups[i];
        copy_sparse_lists(g, b);
        if (b->n_seqs)
            qr_block_tables_copy(plan, g, &b->groups[g->kv_group]);
        qr_plan_partition(plan, g);
    }
}

quire_status quire_plan_build(struct quire_plan *plan, const struct quire_attention_batch *batch,
                              struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(plan, QR_KIND_PLAN, "plan", err));
    struct quire_attention_batch b;
    QR_READ_STRUCT(&b, batch, sparse, "batch", err);
    QR_TRY(qr_plan_acquire(plan, err));
    const quire_status status = check(plan, &b, err);
    if (status == QUIRE_OK)
        commit(plan, &b);
    qr_plan_release(plan);
    return status;
}

static quire_status check_new_tables(struct quire_plan *plan, uint32_t kv_group,
                                     const struct quire_attention_batch_group *t,
                                     struct quire_error *err)
{
    if (!t)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "tables is NULL");
    QR_TRY(qr_block_tables_check_args(t, plan->n_seqs, kv_group, err));
    bool found = false;
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        const struct qr_plan_group *g = &plan->groups[i];
        size_t used = 0;
        if (g->kv_group != kv_group)
            continue;
        found = true;
        for (uint32_t s = 0; s < plan->n_seqs; s++)
            QR_TRY(qr_block_tables_check(plan, g, t, s, &plan->seqs[s], qr_sparse_list(g, s, 0),
                                         &used, err));
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
    QR_TRY(qr_handle_check(plan, QR_KIND_PLAN, "plan", err));
    QR_TRY(qr_plan_acquire(plan, err));
    const quire_status status = check_new_tables(plan, kv_group, tables, err);
    for (uint32_t i = 0; status == QUIRE_OK && i < plan->n_groups; i++) {
        struct qr_plan_group *g = &plan->groups[i];
        if (g->kv_group != kv_group)
            continue;
        qr_block_tables_copy(plan, g, tables);
        if (g->max_cascades) /* the new tables may share other blocks */
            qr_plan_partition(plan, g);
    }
    qr_plan_release(plan);
    return status;
}
