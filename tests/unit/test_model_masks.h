/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_masks.h - steps of one sequence whose batch has spans, a tree mask or block lists. */
#ifndef QUIRE_TEST_MODEL_MASKS_H
#define QUIRE_TEST_MODEL_MASKS_H
#include "test_model_world.h"
#include <math.h>

enum { VOCAB = 320, MAX_LEN = BLOCK * BLOCKS, TREE_WORDS = 2 };

/* Masks of a step; NULL and 0: none. */
struct masks {
    uint32_t n_spans;
    const struct quire_token_range *spans;
    const uint64_t (*tree)[TREE_WORDS];
    const struct quire_sparse_list *const *sparse;
    const bool *causal;
    uint32_t cp_world_size;
};

/* Opens a reference model in f32, with a context that allows masks. */
static inline void open_masked_world(struct world *w, const char *name, uint32_t n_threads,
                                     uint32_t expand_from)
{
    struct quire_context_params cp;
    open_world_expanded(w, name, QUIRE_COMPUTE_F32, n_threads, expand_from, NULL);
    assert_int_equal(w->info.vocab_size, VOCAB);
    quire_context_destroy(w->context);
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = w->kv;
    cp.max_tokens = cp.max_seq_len = MAX_LEN;
    cp.threads = w->threads;
    cp.expand_latent_from = expand_from;
    cp.max_spans = 4;
    cp.max_tree_tokens = MAX_LEN;
    cp.max_tree_words = TREE_WORDS;
    cp.max_sparse_blocks = 64;
    assert_status(QUIRE_OK, quire_context_create(w->model, &cp, &w->context, NULL));
}

/* Runs n tokens at slots [begin, begin + n) of the first sequence; logits of every row. */
static inline quire_status run_step(struct world *w, const int32_t *ids, int32_t begin, int32_t n,
                                    const struct masks *m, float *logits, struct quire_error *err)
{
    struct quire_attention_batch_group groups[MAX_GROUPS];
    int64_t slots[MAX_GROUPS][MAX_LEN];
    uint32_t rows[MAX_LEN];
    const int32_t starts[] = { 0, n }, len = begin + n, span_loc[] = { 0, (int32_t)m->n_spans };
    for (uint32_t g = 0; g < w->n_groups; g++) {
        for (int32_t i = 0; i < n; i++)
            slots[g][i] =
                (int64_t)w->tables[0][g][(begin + i) / BLOCK] * BLOCK + (begin + i) % BLOCK;
        groups[g] = (struct quire_attention_batch_group){ .block_table = w->tables[0][g],
                                                          .max_blocks = BLOCKS,
                                                          .slot_mapping = slots[g] };
    }
    for (int32_t i = 0; i < n; i++)
        rows[i] = (uint32_t)i;
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .causal = m->causal,
                                                 .n_groups = w->n_groups,
                                                 .groups = groups,
                                                 .span_loc = m->spans ? span_loc : NULL,
                                                 .spans = m->spans,
                                                 .tree_mask = m->tree ? *m->tree : NULL,
                                                 .sparse = m->sparse,
                                                 .cp_world_size = m->cp_world_size,
                                                 .tree_words = m->tree ? TREE_WORDS : 0 };
    const struct quire_forward_args args = { .struct_size = sizeof args,
                                             .batch = &batch,
                                             .token_ids = ids,
                                             .logits = logits,
                                             .logits_rows = rows,
                                             .n_logits = (uint32_t)n };
    return quire_context_forward(w->context, &args, err);
}

static inline void must_run(struct world *w, const int32_t *ids, int32_t begin, int32_t n,
                            const struct masks *m, float *logits)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    if (run_step(w, ids, begin, n, m, logits, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
}

static const struct masks NO_MASKS = { 0 };

/* Largest difference between two rows of logits. */
static inline double row_difference(const float *a, const float *b)
{
    double worst = 0;
    for (int i = 0; i < VOCAB; i++)
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    return worst;
}

static inline int32_t some_id(int32_t i) { return (i * 37 + i * i * 11) % (VOCAB - 3) + 3; }

#endif
