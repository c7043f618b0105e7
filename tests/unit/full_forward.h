/* SPDX-License-Identifier: Apache-2.0 */
/* full_forward.h - reference for the engine tests: logits of a whole sequence in one pass of
 * quire_context_forward(), with a cache and a context of its own. */
#ifndef QUIRE_FULL_FORWARD_H
#define QUIRE_FULL_FORWARD_H
#include "engine/types.h"
#include "quire_cmocka.h"
#include <math.h>

enum { FULL_TOKENS = 512, FULL_BLOCK = 16, FULL_GROUPS = 4 };

struct full_forward {
    struct quire_kv_cache *kv;
    struct quire_context *context;
    uint32_t n_groups, n_vocab, n_text_tokens;
    int32_t table[FULL_TOKENS / FULL_BLOCK];
    int64_t slots[FULL_TOKENS];
    float *logits; /* [FULL_TOKENS][n_vocab] of the last pass */
};

/* Opens it for the model and the KV dtypes of an engine. */
static inline void full_open(struct full_forward *f, struct quire_engine *e)
{
    *f = (struct full_forward){ .n_vocab = e->vocab_size, .n_text_tokens = e->n_text_tokens };
    struct quire_kv_group_config groups[FULL_GROUPS];
    assert_status(QUIRE_OK, quire_model_kv_groups(e->model, groups, FULL_GROUPS, &f->n_groups));
    for (uint32_t g = 0; g < f->n_groups; g++) {
        groups[g].n_blocks = FULL_TOKENS / FULL_BLOCK;
        groups[g].k_dtype = e->info.k_dtype;
        groups[g].v_dtype = e->info.v_dtype;
    }
    const struct quire_kv_params kp = { .struct_size = sizeof kp,
                                        .block_size = FULL_BLOCK,
                                        .groups = groups,
                                        .n_groups = f->n_groups };
    assert_status(QUIRE_OK, quire_kv_create(&kp, &f->kv, NULL));
    for (uint32_t g = 0; g < f->n_groups; g++) /* the same ids in every group */
        assert_status(QUIRE_OK,
                      quire_kv_alloc(f->kv, g, -1, FULL_TOKENS / FULL_BLOCK, f->table, NULL));
    for (int64_t i = 0; i < FULL_TOKENS; i++)
        f->slots[i] = (int64_t)f->table[i / FULL_BLOCK] * FULL_BLOCK + i % FULL_BLOCK;
    struct quire_context_params cp;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = f->kv;
    cp.max_tokens = FULL_TOKENS;
    cp.max_seq_len = FULL_TOKENS;
    assert_status(QUIRE_OK, quire_context_create(e->model, &cp, &f->context, NULL));
    f->logits = malloc((size_t)FULL_TOKENS * f->n_vocab * sizeof(float));
    assert_non_null(f->logits);
}

static inline void full_close(struct full_forward *f)
{
    free(f->logits);
    quire_context_destroy(f->context);
    quire_kv_destroy(f->kv);
}

/* Computes rows [first, n) of logits of tokens[n], into f->logits[first ..]. */
static inline void full_run(struct full_forward *f, const int32_t *tokens, uint32_t n,
                            uint32_t first)
{
    const int32_t starts[] = { 0, (int32_t)n }, len = (int32_t)n;
    struct quire_attention_batch_group groups[FULL_GROUPS];
    uint32_t rows[FULL_TOKENS];
    assert_true(n <= FULL_TOKENS);
    for (uint32_t g = 0; g < f->n_groups; g++)
        groups[g] = (struct quire_attention_batch_group){ .block_table = f->table,
                                                          .max_blocks = FULL_TOKENS / FULL_BLOCK,
                                                          .slot_mapping = f->slots };
    for (uint32_t i = first; i < n; i++)
        rows[i - first] = i;
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = f->n_groups,
                                                 .groups = groups };
    const struct quire_forward_args args = { .struct_size = sizeof args,
                                             .batch = &batch,
                                             .token_ids = tokens,
                                             .logits = f->logits + (size_t)first * f->n_vocab,
                                             .logits_rows = rows,
                                             .n_logits = n - first };
    struct quire_error err = QUIRE_ERROR_INIT;
    if (quire_context_forward(f->context, &args, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
}

/* log(sum(exp(row))) over the tokens that have a text, in double precision. */
static inline double full_log_sum(const struct full_forward *f, const float *row)
{
    double max = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < f->n_text_tokens; i++)
        max = row[i] > max ? row[i] : max;
    for (uint32_t i = 0; i < f->n_text_tokens; i++)
        sum += exp(row[i] - max);
    return max + log(sum);
}

#endif
