/* SPDX-License-Identifier: Apache-2.0 */
/* masks.c - draws bidirectional spans, tree masks and sparse block lists. */
#include "problem.h"
#include <string.h>

static void draw_spans(struct sequence *q, struct rng *r)
{
    uint32_t at = 0;
    const uint32_t n = rng_in(r, 0, MAX_SPANS);
    q->n_spans = 0;
    while (q->n_spans < n && at < q->len) {
        const uint32_t begin = at + rng_below(r, q->len - at),
                       end = begin + 1 + rng_below(r, q->len - begin);
        q->spans[q->n_spans++] = (struct quire_token_range){ (int32_t)begin, (int32_t)end };
        at = end;
    }
}

/* The parent of each token is an earlier token or the end of the context; some trees are chains. */
static void draw_tree(struct sequence *q, struct rng *r)
{
    const bool chain = rng_percent(r, 15), deep = rng_percent(r, 30);
    for (uint32_t t = 0; t < q->n_new; t++) {
        /* index + 1; 0: the context */
        const uint32_t parent = chain || (deep && rng_percent(r, 90)) ? t : rng_below(r, t + 1);
        if (parent)
            memcpy(q->tree[t], q->tree[parent - 1], sizeof q->tree[t]);
        q->tree[t][t / 64] |= (uint64_t)1 << t % 64;
    }
}

static void draw_lists(struct problem *s, struct sequence *q, struct rng *r)
{
    const uint32_t n_blocks = (q->n_keys + s->block_size - 1) / s->block_size,
                   kept = rng_in(r, 0, 100);
    for (uint32_t h = 0; h < s->config.n_kv_heads; h++) {
        struct quire_sparse_list *list = &q->lists[h];
        *list = (struct quire_sparse_list){ q->places[h], 0 };
        for (uint32_t j = 0; j < n_blocks + 2 && list->n < MAX_PLACES; j++) /* two past the end */
            if (rng_percent(r, kept))
                q->places[h][list->n++] = (int32_t)j;
    }
}

void masks_draw(struct problem *s, struct rng *r)
{
    const bool decoder = s->config.kind == QUIRE_ATTENTION_DECODER;
    s->has_spans = decoder && rng_percent(r, 15);
    s->is_sparse = rng_percent(r, 12);
    if (s->exact) {
        s->has_spans = decoder && s->options >> SPANS & 1;
        s->is_sparse = s->options >> SPARSE & 1;
    }
    for (uint32_t i = 0; s->has_tree && i < s->n_seqs; i++) {
        const uint32_t n = (s->seqs[i].n_new + 63) / 64;
        s->tree_words = n > s->tree_words ? n : s->tree_words;
    }
    if (s->has_tree && rng_percent(r, 50)) /* more words than the tokens need */
        s->tree_words = rng_in(r, s->tree_words, TREE_WORDS);
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        if (s->has_spans)
            draw_spans(&s->seqs[i], r);
        if (s->has_tree)
            draw_tree(&s->seqs[i], r);
        if (s->is_sparse)
            draw_lists(s, &s->seqs[i], r);
    }
}
