/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - builds a batch from a part of a problem's queries. */
#include "testbed.h"
#include <stdlib.h>
#include <string.h>

struct plan_counts plans;

/* Whether block j is in the sparse list of some head of the sequence. */
static bool is_listed(const struct problem *s, uint32_t seq, uint32_t j)
{
    for (uint32_t h = 0; s->is_sparse && h < s->config.n_kv_heads; h++)
        for (uint32_t i = 0; i < s->seqs[seq].lists[h].n; i++)
            if ((uint32_t)s->seqs[seq].lists[h].blocks[i] == j)
                return true;
    return !s->is_sparse;
}

/* Appends sequence i to the batch, with queries [from, to). */
static void add_sequence(struct testbed *st, uint32_t i, uint32_t from, uint32_t to, int32_t *table)
{
    const struct problem *s = st->problem;
    const struct sequence *q = &s->seqs[i];
    const enum quire_attention_kind kind = s->config.kind;
    const uint32_t n = st->n++, len = q->len - q->n_new + to,
                   keys = kind == QUIRE_ATTENTION_CROSS || q->n_keys < len ? q->n_keys : len;
    st->order[n] = i;
    st->lens[n] = (int32_t)len;
    st->encoder_lens[n] = (int32_t)q->n_keys;
    st->causal[n] =
        kind == QUIRE_ATTENTION_DECODER ? q->causal : i % 2; /* ignored by other kinds */
    st->batch_first_block[n] = st->first_block[i];
    for (uint32_t j = st->first_block[i]; j < testbed_blocks(st, keys); j++)
        if (is_listed(s, i, j))
            table[j - st->first_block[i]] = st->ids[i][j];
    st->span_loc[n + 1] = st->span_loc[n];
    for (uint32_t k = 0; k < q->n_spans && q->spans[k].end <= (int32_t)len; k++)
        st->spans[st->span_loc[n + 1]++] = q->spans[k];
    if (s->has_tree)
        for (uint32_t t = from; t < to; t++)
            memcpy(st->tree + (size_t)(st->rows + t - from) * s->tree_words, q->tree[t],
                   s->tree_words * sizeof *st->tree);
    memcpy(st->lists + n * s->config.n_kv_heads, q->lists,
           s->config.n_kv_heads * sizeof *st->lists);
    st->rows += to - from;
    st->starts[n + 1] = (int32_t)st->rows;
}

static uint32_t start_batch(struct testbed *st)
{
    const struct problem *s = st->problem;
    const uint32_t stride = st->max_blocks + 1 + s->number % 3;
    st->n = st->rows = 0;
    free(st->table), free(st->tree), free(st->lists);
    st->table = malloc(stride * (s->n_seqs + 1) * sizeof *st->table);
    st->tree = malloc((s->n_rows + 1) * TREE_WORDS * sizeof *st->tree);
    st->lists = malloc((s->n_seqs + 1) * s->config.n_kv_heads * sizeof *st->lists);
    for (uint32_t i = 0; i < stride * s->n_seqs; i++)
        st->table[i] = -7; /* must not be read */
    return stride;
}

/* Includes some sequences without queries in the part. */
bool testbed_batch(struct testbed *st, const struct part *p)
{
    const struct problem *s = st->problem;
    const uint32_t stride = start_batch(st);
    const struct quire_sparse_list *lists[2] = { NULL, NULL };
    for (uint32_t k = 0; k < s->n_seqs; k++) {
        const uint32_t i = st->variant.reversed ? s->n_seqs - 1 - k : k;
        if (p->to[i] > p->from[i] || (i + s->number) % 2 == 0)
            add_sequence(st, i, p->from[i], p->to[i], st->table + st->n * stride);
    }
    struct quire_attention_batch_group groups[2] = { 0 };
    groups[s->group] = (struct quire_attention_batch_group){
        .block_table = st->table,
        .max_blocks = st->max_blocks,
        .block_table_stride = stride,
        .first_block = st->variant.omit_freed ? st->batch_first_block : NULL
    };
    lists[s->group] = st->lists;
    const struct quire_attention_batch batch = {
        .struct_size = sizeof batch,
        .n_seqs = st->n,
        .query_start_loc = st->starts,
        .seq_lens = st->lens,
        .causal = s->own_causal ? st->causal : NULL,
        .n_groups = s->n_groups,
        .groups = groups,
        .encoder_seq_lens = s->config.kind == QUIRE_ATTENTION_CROSS ? st->encoder_lens : NULL,
        .span_loc = s->has_spans ? st->span_loc : NULL,
        .spans = s->has_spans ? st->spans : NULL,
        .tree_mask = s->has_tree ? st->tree : NULL,
        .tree_words = s->tree_words,
        .sparse = s->is_sparse ? lists : NULL,
        .cp_world_size = st->variant.cp_world,
        .cp_rank = st->variant.cp_rank,
        .cp_interleave = st->variant.cp_interleave
    };
    must(quire_plan_build(st->plan, &batch, &err));
    struct quire_plan_info info = { .struct_size = sizeof info };
    if (quire_plan_get_info(st->plan, 0, &info) != QUIRE_OK)
        return failure("quire_plan_info");
    plans.split += info.n_splits > 0;
    plans.cascade += info.n_cascades > 0;
    return true;
}
