/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_world.h - a reference model with cache and context, and steps of two sequences. */
#ifndef QUIRE_TEST_MODEL_WORLD_H
#define QUIRE_TEST_MODEL_WORLD_H
#include "quire_cmocka.h"
#include <quire/model.h>

enum { BLOCK = 16, BLOCKS = 8, MAX_GROUPS = 4, TOKENS = 40 };

struct world {
    struct quire_model *model;
    struct quire_threads *threads;
    struct quire_kv_cache *kv;
    struct quire_context *context;
    struct quire_model_info info;
    uint32_t n_groups;
    uint32_t step_threads;                 /* n_threads of the steps */
    float *hidden;                         /* [layers + 1][rows][width] of the steps, or NULL */
    int32_t tables[2][MAX_GROUPS][BLOCKS]; /* of both sequences */
};

/* mp: model parameters except the threads; expand_from: expand_latent_from of the context */
static inline void open_world_params(struct world *w, struct quire_model_params mp,
                                     uint32_t n_threads, uint32_t expand_from)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_allocator *a = mp.allocator;
    memset(w, 0, sizeof *w);
    struct quire_threads_params tp;
    quire_threads_params_init(&tp, sizeof tp);
    tp.n_threads = n_threads;
    assert_status(QUIRE_OK, quire_threads_create(&tp, &w->threads, &err));
    mp.threads = w->threads;
    const quire_status s = quire_model_open(&mp, &w->model, &err);
    if (s != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(s, QUIRE_OK);
    w->info.struct_size = sizeof w->info;
    assert_status(QUIRE_OK, quire_model_get_info(w->model, &w->info));
    struct quire_kv_group_config g[MAX_GROUPS];
    assert_status(QUIRE_OK, quire_model_kv_groups(w->model, g, MAX_GROUPS, &w->n_groups));
    for (uint32_t i = 0; i < w->n_groups; i++)
        g[i].n_blocks = 2 * BLOCKS;
    struct quire_kv_params config = { .struct_size = sizeof config,
                                      .block_size = BLOCK,
                                      .groups = g,
                                      .n_groups = w->n_groups,
                                      .allocator = a };
    assert_status(QUIRE_OK, quire_kv_create(&config, &w->kv, &err));
    for (int q = 0; q < 2; q++)
        for (uint32_t i = 0; i < w->n_groups; i++)
            assert_status(QUIRE_OK, quire_kv_alloc(w->kv, i, -1, BLOCKS, w->tables[q][i], &err));
    struct quire_context_params cp;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = w->kv;
    cp.max_tokens = 2 * TOKENS;
    cp.max_seqs = 2;
    cp.max_seq_len = BLOCK * BLOCKS;
    cp.threads = w->threads;
    cp.allocator = a;
    cp.expand_latent_from = expand_from;
    assert_status(QUIRE_OK, quire_context_create(w->model, &cp, &w->context, &err));
}

static inline void open_world_expanded(struct world *w, const char *name,
                                       enum quire_compute compute, uint32_t n_threads,
                                       uint32_t expand_from, const struct quire_allocator *a)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), name);
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = path;
    mp.compute = compute;
    mp.allocator = a;
    mp.flags = expand_from ? QUIRE_MODEL_EXPAND_LATENT : 0;
    open_world_params(w, mp, n_threads, expand_from);
}

static inline void open_world(struct world *w, const char *name, enum quire_compute compute,
                              uint32_t n_threads, const struct quire_allocator *a)
{
    open_world_expanded(w, name, compute, n_threads, 0, a);
}

static inline void close_world(struct world *w)
{
    quire_context_destroy(w->context);
    quire_kv_destroy(w->kv);
    assert_int_equal(quire_model_close(w->model), QUIRE_OK);
    quire_threads_destroy(w->threads);
}

/* One step with tokens [begin[q], begin[q] + n[q]) of both sequences; logits of every row. */
static inline void step(struct world *w, const int32_t *ids, const int32_t begin[2],
                        const int32_t n[2], float *logits)
{
    static int64_t slots[MAX_GROUPS][2 * TOKENS];
    static int32_t tables[MAX_GROUPS][2 * BLOCKS];
    static uint32_t rows[2 * TOKENS];
    struct quire_error err = QUIRE_ERROR_INIT;
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
    for (int32_t i = 0; i < starts[2]; i++)
        rows[i] = (uint32_t)i;
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = n[1] ? 2 : 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = lens,
                                                 .n_groups = w->n_groups,
                                                 .groups = groups };
    const struct quire_forward_args args = { .struct_size = sizeof args,
                                             .batch = &batch,
                                             .token_ids = ids,
                                             .logits = logits,
                                             .logits_rows = rows,
                                             .n_logits = (uint32_t)starts[2],
                                             .hidden = w->hidden,
                                             .n_threads = w->step_threads };
    const quire_status s = quire_context_forward(w->context, &args, &err);
    if (s != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(s, QUIRE_OK);
}

#endif
