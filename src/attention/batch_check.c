/* SPDX-License-Identifier: Apache-2.0 */
/* batch_check.c - validates a batch, all but its block tables. */
#include "attention/batch_check.h"
#include "attention/sparse.h"
#include "base/error.h"

static quire_status check_sequence(const struct quire_plan *plan,
                                   const struct quire_attention_batch *b, uint32_t i,
                                   struct quire_error *err)
{
    const int32_t begin = b->query_start_loc[i], end = b->query_start_loc[i + 1],
                  len = b->seq_lens[i];
    if (end < begin)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "batch.query_start_loc[%u] is %d, below the previous entry", i + 1, end);
    if ((uint32_t)end > plan->max_tokens)
        return qr_fail(err, QUIRE_E_LIMIT,
                       "batch.query_start_loc[%u] is %d, above the %s's max_tokens %u", i + 1, end,
                       plan->owner, plan->max_tokens);
    if (len < end - begin)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "batch.seq_lens[%u] is %d, less than its %d new tokens", i, len,
                       end - begin);
    if ((uint32_t)len > plan->max_seq_len)
        return qr_fail(err, QUIRE_E_LIMIT,
                       "batch.seq_lens[%u] is %d, above the %s's max_seq_len %u", i, len,
                       plan->owner, plan->max_seq_len);
    return QUIRE_OK;
}

static quire_status check_lengths(const struct quire_plan *plan,
                                  const struct quire_attention_batch *b, struct quire_error *err)
{
    if (!b->query_start_loc || !b->seq_lens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.%s is NULL",
                       b->query_start_loc ? "seq_lens" : "query_start_loc");
    if (b->query_start_loc[0] != 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.query_start_loc[0] is %d, not 0",
                       b->query_start_loc[0]);
    for (uint32_t i = 0; i < b->n_seqs; i++)
        QR_TRY(check_sequence(plan, b, i, err));
    return QUIRE_OK;
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
    if (!b->encoder_seq_lens && has_cross(plan))
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "batch.encoder_seq_lens is NULL; cross attention needs it");
    for (uint32_t i = 0; b->encoder_seq_lens && i < b->n_seqs; i++) {
        const int32_t len = b->encoder_seq_lens[i];
        if (len < 0)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.encoder_seq_lens[%u] is %d", i, len);
        if ((uint32_t)len > plan->max_seq_len)
            return qr_fail(err, QUIRE_E_LIMIT,
                           "batch.encoder_seq_lens[%u] is %d, above the %s's max_seq_len %u", i,
                           len, plan->owner, plan->max_seq_len);
    }
    return QUIRE_OK;
}

/* Validates the spans of sequence i. Spans that begin at or after its end belong to later steps. */
static quire_status check_spans_of(const struct quire_attention_batch *b, uint32_t i,
                                   struct quire_error *err)
{
    int32_t after = 0;
    for (int32_t j = b->span_loc[i]; j < b->span_loc[i + 1]; j++) {
        const struct quire_token_range s = b->spans[j];
        if (s.begin < after || s.end < s.begin)
            return qr_fail(
                err, QUIRE_E_INVALID_ARG,
                "batch.spans[%d] is [%d, %d): not ascending or overlapping the span before it", j,
                s.begin, s.end);
        if (s.begin < b->seq_lens[i] && s.end > b->seq_lens[i])
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "batch.spans[%d] is [%d, %d), but sequence %u has %d tokens: a span "
                           "must not extend past the sequence",
                           j, s.begin, s.end, i, b->seq_lens[i]);
        after = s.end;
    }
    return QUIRE_OK;
}

static quire_status check_spans(const struct quire_plan *plan,
                                const struct quire_attention_batch *b, struct quire_error *err)
{
    if (!b->span_loc != !b->spans)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.%s is NULL, batch.%s is not",
                       b->spans ? "span_loc" : "spans", b->spans ? "spans" : "span_loc");
    if (!b->spans)
        return QUIRE_OK;
    if (b->span_loc[0] != 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.span_loc[0] is %d, not 0", b->span_loc[0]);
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        if (b->span_loc[i + 1] < b->span_loc[i])
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "batch.span_loc[%u] is %d, below the previous entry", i + 1,
                           b->span_loc[i + 1]);
        if ((uint32_t)b->span_loc[i + 1] > plan->max_spans)
            return qr_fail(err, QUIRE_E_LIMIT,
                           "batch.span_loc[%u] is %d, above the %s's max_spans %u", i + 1,
                           b->span_loc[i + 1], plan->owner, plan->max_spans);
        QR_TRY(check_spans_of(b, i, err));
    }
    return QUIRE_OK;
}

/* Counts the set bits of the mask of a sequence's new token t, which has `words` words. 0: its own
 * bit is not set. UINT32_MAX: a higher bit is set. */
static uint32_t count_bits(const uint64_t *mask, uint32_t words, uint32_t t)
{
    uint32_t n = 0;
    if (!(mask[t / 64] >> t % 64 & 1))
        return 0;
    if (mask[t / 64] >> t % 64 != 1)
        return UINT32_MAX;
    for (uint32_t i = 0; i <= t / 64; i++)
        n += (uint32_t)__builtin_popcountll(mask[i]);
    for (uint32_t i = t / 64 + 1; i < words; i++)
        if (mask[i])
            return UINT32_MAX;
    return n;
}

/* Validates the tree mask of sequence i and stages the depths of its tokens. */
static quire_status check_tree_of(const struct quire_plan *plan,
                                  const struct quire_attention_batch *b, uint32_t i,
                                  struct quire_error *err)
{
    const uint32_t words = qr_batch_tree_words(b), begin = (uint32_t)b->query_start_loc[i],
                   n = (uint32_t)b->query_start_loc[i + 1] - begin;
    if (n > words * 64)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "batch.tree_mask: sequence %u has %u new tokens, more than the %u bits of "
                       "tree_words %u",
                       i, n, words * 64, words);
    if (begin + n > plan->max_tree_tokens)
        return qr_fail(err, QUIRE_E_LIMIT,
                       "batch.tree_mask: %u tokens, above the %s's max_tree_tokens %u", begin + n,
                       plan->owner, plan->max_tree_tokens);
    for (uint32_t t = 0; t < n; t++) {
        const uint32_t bits = count_bits(b->tree_mask + (size_t)(begin + t) * words, words, t);
        if (!bits || bits == UINT32_MAX)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "batch.tree_mask[%u], token %u of sequence %u: %s", begin + t, t, i,
                           bits ? "it sees a later token" : "it does not see itself");
        plan->staged_depths[begin + t] = bits - 1;
    }
    return QUIRE_OK;
}

static quire_status check_tree(const struct quire_plan *plan, const struct quire_attention_batch *b,
                               struct quire_error *err)
{
    if (!b->tree_mask)
        return QUIRE_OK;
    if (b->tree_words > plan->max_tree_words)
        return qr_fail(err, QUIRE_E_LIMIT,
                       "batch.tree_words is %u, above the %s's max_tree_words %u", b->tree_words,
                       plan->owner, plan->max_tree_words);
    for (uint32_t i = 0; i < b->n_seqs; i++)
        QR_TRY(check_tree_of(plan, b, i, err));
    return QUIRE_OK;
}

static quire_status check_shard(const struct quire_attention_batch *b, struct quire_error *err)
{
    const struct qr_key_shard shard =
        qr_key_shard_of(b->cp_world_size, b->cp_rank, b->cp_interleave);
    if (shard.world > 1 && b->tree_mask)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "batch.tree_mask with cp_world_size %u: the keys of a tree must be in one "
                       "cache",
                       shard.world);
    return qr_key_shard_check(shard, "batch", err);
}

/* Validates the sparse block lists of the KV group that g reads. */
static quire_status check_lists(const struct quire_plan *plan, const struct qr_plan_group *g,
                                const struct quire_attention_batch *b, struct quire_error *err)
{
    uint64_t total = 0;
    if (!g->sparse_lists && qr_sparse_batch_lists(b, g, 0))
        return qr_fail(err, QUIRE_E_LIMIT, "batch.sparse[%u]: the %s's max_sparse_blocks is 0",
                       g->kv_group, plan->owner);
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        const struct quire_sparse_list *lists = qr_sparse_batch_lists(b, g, i);
        for (uint32_t h = 0; lists && h < g->config.n_kv_heads; h++) {
            const struct quire_sparse_list *l = &lists[h];
            if (l->n && !l->blocks)
                return qr_fail(err, QUIRE_E_INVALID_ARG,
                               "batch.sparse[%u], sequence %u, head %u: blocks is NULL",
                               g->kv_group, i, h);
            total += l->n;
            if (total > plan->max_sparse_blocks)
                return qr_fail(err, QUIRE_E_LIMIT,
                               "batch.sparse[%u]: more entries than the %s's max_sparse_blocks %u",
                               g->kv_group, plan->owner, plan->max_sparse_blocks);
            for (uint32_t j = 0; j < l->n; j++)
                if (l->blocks[j] < 0 || (j && l->blocks[j] <= l->blocks[j - 1]))
                    return qr_fail(err, QUIRE_E_INVALID_ARG,
                                   "batch.sparse[%u], sequence %u, head %u: blocks[%u] is %d, %s",
                                   g->kv_group, i, h, j, l->blocks[j],
                                   l->blocks[j] < 0 ? "below 0" : "not above the previous one");
        }
    }
    return QUIRE_OK;
}

quire_status qr_batch_check(const struct quire_plan *plan, const struct quire_attention_batch *b,
                            struct quire_error *err)
{
    if (b->n_seqs > plan->max_seqs)
        return qr_fail(err, QUIRE_E_LIMIT, "batch.n_seqs is %u, above the %s's max_seqs %u",
                       b->n_seqs, plan->owner, plan->max_seqs);
    if (!b->n_seqs)
        return QUIRE_OK;
    QR_TRY(check_lengths(plan, b, err));
    QR_TRY(check_encoder(plan, b, err));
    QR_TRY(check_spans(plan, b, err));
    QR_TRY(check_tree(plan, b, err));
    QR_TRY(check_shard(b, err));
    if (b->n_groups != plan->kv->n_groups || !b->groups)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.groups: %u given, the cache has %u",
                       b->groups ? b->n_groups : 0, plan->kv->n_groups);
    for (uint32_t i = 0; i < plan->n_groups; i++)
        QR_TRY(check_lists(plan, &plan->groups[i], b, err));
    return QUIRE_OK;
}
