/* SPDX-License-Identifier: Apache-2.0 */
/* test_adapter_world.h - a reference model whose context takes adapters, and steps of two sequences
 * with them. */
#ifndef QUIRE_TEST_ADAPTER_WORLD_H
#define QUIRE_TEST_ADAPTER_WORLD_H
#include "test_adapter.h"
#include "test_model_world.h"

enum { VOCAB = 320 };

/* A model with contexts that take adapters. */
struct lora_world {
    struct world w;
    struct quire_context *plain; /* takes none */
};

static inline void open_lora_world(struct lora_world *l, const char *name,
                                   enum quire_compute compute, uint32_t n_threads,
                                   uint32_t max_rank)
{
    struct quire_context_params cp;
    open_world(&l->w, name, compute, n_threads, NULL);
    l->plain = l->w.context;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = l->w.kv;
    cp.max_tokens = 2 * TOKENS;
    cp.max_seqs = 2;
    cp.max_seq_len = BLOCK * BLOCKS;
    cp.threads = l->w.threads;
    cp.max_adapter_rank = max_rank;
    assert_status(QUIRE_OK, quire_context_create(l->w.model, &cp, &l->w.context, NULL));
}

static inline void close_lora_world(struct lora_world *l)
{
    quire_context_destroy(l->plain);
    close_world(&l->w);
}

/* Adapters of both sequences of a step. */
struct use {
    const struct quire_adapter *adapters[2];
    uint32_t n;
    int32_t index[2];
    float scales[2];
};

/* One step with tokens [begin[q], begin[q] + n[q]) of both sequences; logits of every row. */
static inline quire_status run(struct world *w, const int32_t *ids, const int32_t begin[2],
                               const int32_t n[2], const struct use *u, float *logits,
                               struct quire_error *err)
{
    static int64_t slots[MAX_GROUPS][2 * TOKENS];
    static int32_t tables[MAX_GROUPS][2 * BLOCKS];
    uint32_t rows[2 * TOKENS];
    struct quire_attention_batch_group groups[MAX_GROUPS];
    const int32_t starts[3] = { 0, n[0], n[0] + n[1] },
                  lens[2] = { begin[0] + n[0], begin[1] + n[1] };
    for (uint32_t g = 0; g < w->n_groups; g++) {
        for (int q = 0; q < 2; q++) {
            memcpy(tables[g] + q * BLOCKS, w->tables[q][g], sizeof w->tables[q][g]);
            for (int32_t i = 0; i < n[q]; i++)
                slots[g][starts[q] + i] = (int64_t)w->tables[q][g][(begin[q] + i) / BLOCK] * BLOCK +
                                          (begin[q] + i) % BLOCK;
        }
        groups[g] = (struct quire_attention_batch_group){ .block_table = tables[g],
                                                          .max_blocks = BLOCKS,
                                                          .slot_mapping = slots[g] };
    }
    for (int32_t i = 0; i < starts[2]; i++) /* in falling order */
        rows[i] = (uint32_t)(starts[2] - 1 - i);
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 2,
                                                 .query_start_loc = starts,
                                                 .seq_lens = lens,
                                                 .n_groups = w->n_groups,
                                                 .groups = groups };
    struct quire_forward_args args = { .struct_size = sizeof args,
                                       .batch = &batch,
                                       .token_ids = ids,
                                       .logits = logits,
                                       .logits_rows = rows,
                                       .n_logits = (uint32_t)starts[2],
                                       .n_threads = w->step_threads };
    if (u) {
        args.adapters = u->adapters;
        args.n_adapters = u->n;
        args.adapter_index = u->index;
        args.adapter_scales = u->scales;
    }
    const quire_status s = quire_context_forward(w->context, &args, err);
    /* rows in rising order */
    for (int32_t i = 0; s == QUIRE_OK && i < starts[2] / 2; i++)
        for (uint32_t k = 0; k < VOCAB; k++) {
            float *a = &logits[(uint32_t)i * VOCAB + k],
                  *b = &logits[(uint32_t)(starts[2] - 1 - i) * VOCAB + k];
            const float t = *a;
            *a = *b;
            *b = t;
        }
    return s;
}

static inline void make_ids(int32_t ids[2][TOKENS])
{
    for (int q = 0; q < 2; q++)
        for (int i = 0; i < TOKENS; i++)
            ids[q][i] = (i * 37 + q * 101 + 11) % VOCAB;
}

/* Runs both sequences in chunks; logits [2][TOKENS][VOCAB]. alone: one sequence per step. */
static inline void run_chunks(struct world *w, const struct use *u, int32_t chunk, bool alone,
                              float *logits)
{
    static float out[2 * TOKENS * VOCAB];
    int32_t ids[2][TOKENS], step_ids[2 * TOKENS];
    struct quire_error err = QUIRE_ERROR_INIT;
    make_ids(ids);
    for (int pass = 0; pass < (alone ? 2 : 1); pass++)
        for (int32_t at = 0; at < TOKENS; at += chunk) {
            const int32_t n = TOKENS - at < chunk ? TOKENS - at : chunk;
            const int32_t ns[] = { alone && pass == 1 ? 0 : n, alone && pass == 0 ? 0 : n },
                          begin[] = { alone && pass == 1 ? TOKENS : at,
                                      alone && pass == 0 ? 0 : at };
            memcpy(step_ids, ids[0] + at, (size_t)ns[0] * sizeof *step_ids);
            memcpy(step_ids + ns[0], ids[1] + at, (size_t)ns[1] * sizeof *step_ids);
            const quire_status s = run(w, step_ids, begin, ns, u, out, &err);
            if (s != QUIRE_OK)
                print_error("%s\n", err.msg);
            assert_int_equal(s, QUIRE_OK);
            for (int q = 0, row = 0; q < 2; row += ns[q], q++)
                memcpy(logits + ((size_t)q * TOKENS + (size_t)at) * VOCAB,
                       out + (size_t)row * VOCAB, (size_t)ns[q] * VOCAB * sizeof(float));
        }
}

#endif
