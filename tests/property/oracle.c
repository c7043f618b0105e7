/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.c - masks and attention in double precision, directly from the definition in
 * quire/attention.h. */
#include "problem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool oracle_tree_positions(const struct problem *s)
{
    return s->has_tree &&
           (s->config.kind == QUIRE_ATTENTION_DECODER || s->config.kind == QUIRE_ATTENTION_CROSS);
}

bool oracle_tree_masks(const struct problem *s)
{
    return s->has_tree && s->config.kind == QUIRE_ATTENTION_DECODER;
}

static bool tree_bit(const struct sequence *q, uint32_t query, uint32_t j)
{
    return q->tree[query][j / 64] >> j % 64 & 1;
}

/* Position of a query; in a tree, the depth of the token counts. */
static int64_t query_position(const struct problem *s, uint32_t seq, uint32_t query)
{
    const struct sequence *q = &s->seqs[seq];
    const int64_t first = (int64_t)q->len - q->n_new;
    int64_t depth = 0;
    if (!oracle_tree_positions(s))
        return first + query;
    for (uint32_t j = 0; j < query; j++)
        depth += tree_bit(q, query, j);
    return first + depth;
}

static int64_t key_position(const struct problem *s, uint32_t seq, uint32_t j)
{
    const uint32_t first = s->seqs[seq].len - s->seqs[seq].n_new;
    return oracle_tree_masks(s) && j >= first ? query_position(s, seq, j - first) : (int64_t)j;
}

static bool in_one_span(const struct sequence *q, int64_t a, int64_t b)
{
    for (uint32_t i = 0; i < q->n_spans; i++)
        if (a >= q->spans[i].begin && a < q->spans[i].end && b >= q->spans[i].begin &&
            b < q->spans[i].end)
            return true;
    return false;
}

static bool is_listed(const struct problem *s, const struct quire_sparse_list *list, uint32_t j)
{
    for (uint32_t i = 0; i < list->n; i++)
        if ((uint32_t)list->blocks[i] == j / s->block_size)
            return true;
    return false;
}

/* Causal mask, chunks and windows. */
static bool base_mask(const struct problem *s, bool causal, int64_t qpos, int64_t kpos)
{
    const struct quire_attention_config *c = &s->config;
    if (causal && kpos > qpos)
        return false;
    if (c->chunk_size && kpos / c->chunk_size != qpos / c->chunk_size)
        return false;
    if (c->window_left != QUIRE_WINDOW_NONE && kpos < qpos - c->window_left)
        return false;
    return c->window_right == QUIRE_WINDOW_NONE || kpos <= qpos + c->window_right;
}

bool oracle_sees(const struct problem *s, uint32_t seq, uint32_t query, uint32_t kv_head,
                 uint32_t j)
{
    const struct sequence *q = &s->seqs[seq];
    const int64_t qpos = query_position(s, seq, query), kpos = key_position(s, seq, j);
    const uint32_t first = q->len - q->n_new;
    if (oracle_tree_masks(s) && j >= first && !tree_bit(q, query, j - first))
        return false;
    if (s->is_sparse && !is_listed(s, &q->lists[kv_head], j))
        return false;
    return base_mask(s, q->causal, qpos, kpos) || in_one_span(q, qpos, kpos);
}

static bool is_rounded(enum quire_kv_dtype dtype)
{
    return dtype != QUIRE_KV_F32 && dtype != QUIRE_KV_F16;
}

bool oracle_has_8_bits(const struct problem *s)
{
    return s->config.compute == QUIRE_COMPUTE_NATIVE &&
           (s->k_dtype == QUIRE_KV_INT4 || s->v_dtype == QUIRE_KV_INT4);
}

bool oracle_rounds_q(const struct problem *s)
{
    return s->config.compute == QUIRE_COMPUTE_NATIVE && is_rounded(s->k_dtype) &&
           s->k_dtype != QUIRE_KV_INT4;
}

bool oracle_rounds_p(const struct problem *s)
{
    return s->config.compute == QUIRE_COMPUTE_NATIVE && is_rounded(s->v_dtype);
}

/* The query as the scores use it; the caller frees it. */
static double *query_of(const struct problem *s, uint32_t seq, uint32_t query, uint32_t head)
{
    const size_t d = s->config.head_size;
    const float *q = s->q + ((s->seqs[seq].row + query) * (size_t)s->config.n_heads + head) * d;
    double *rounded = malloc(d * sizeof *rounded);
    for (size_t i = 0; i < d; i++)
        rounded[i] = oracle_rounds_q(s) ? number_round(QUIRE_KV_BF16, (double)q[i]) : (double)q[i];
    return rounded;
}

/* Score of key j, which must be visible to the query; q: query_of. */
static double score(const struct problem *s, uint32_t seq, uint32_t query, uint32_t head,
                    const double *q, uint32_t j)
{
    const struct quire_attention_config *c = &s->config;
    const size_t d = c->head_size;
    const double *k =
        s->k_cached + ((s->seqs[seq].key + j) * (size_t)c->n_kv_heads + head / s->ratio) * d;
    double x = 0;
    for (size_t i = 0; i < d; i++)
        x += q[i] * k[i];
    x *= (double)c->scale;
    if (s->q_scale)
        x *= (double)s->q_scale[(s->seqs[seq].row + query) * (size_t)c->n_heads + head];
    if (c->logits_soft_cap > 0)
        x = (double)c->logits_soft_cap * tanh(x / (double)c->logits_soft_cap);
    const int64_t distance = key_position(s, seq, j) - query_position(s, seq, query),
                  range = c->relative_range;
    if (c->alibi_slopes)
        x += (double)c->alibi_slopes[head] * (double)distance;
    if (c->relative_bias)
        x += (double)c->relative_bias[head * (2 * range + 1) + range +
                                      (distance < -range  ? -range
                                       : distance > range ? range
                                                          : distance)];
    return x;
}

void oracle_row(const struct problem *s, uint32_t seq, uint32_t query, uint32_t head, double *out,
                double *lse)
{
    const struct quire_attention_config *c = &s->config;
    const uint32_t n = s->seqs[seq].n_keys, kv_head = head / s->ratio;
    double *scores = malloc((n + 1) * sizeof *scores), top = -INFINITY, sum = 0;
    double *q = query_of(s, seq, query, head);
    for (uint32_t j = 0; j < n; j++) {
        scores[j] =
            oracle_sees(s, seq, query, kv_head, j) ? score(s, seq, query, head, q, j) : -INFINITY;
        top = fmax(top, scores[j]);
    }
    free(q);
    memset(out, 0, s->v_size * sizeof *out);
    for (uint32_t j = 0; j < n; j++) {
        if (scores[j] == -INFINITY)
            continue;
        const double *v =
            s->v_cached + ((s->seqs[seq].key + j) * (size_t)c->n_kv_heads + kv_head) * s->v_size;
        const double p = exp(scores[j] - top);
        sum += p;
        for (uint32_t i = 0; i < s->v_size; i++)
            out[i] += p * v[i];
    }
    free(scores);
    const bool sinks = c->sinks || c->typed_sinks;
    const double all = sum + (sinks && sum > 0 ? exp((double)s->sinks[head] - top) : 0);
    for (uint32_t i = 0; i < s->v_size && sum > 0; i++)
        out[i] /= all;
    *lse = sum > 0 ? top + log(sum) : -INFINITY;
}
