/* SPDX-License-Identifier: Apache-2.0 */
/* run_model.c - opens a model of untrusted files and runs one step of it. */
#include "run_model.h"
#include <stdlib.h>

enum {
    BLOCK = 16,
    N_TOKENS = 3,
    MAX_GROUPS = 16,
    MAX_RUN_BYTES = 32 << 20, /* larger models are opened only */
    PACKED_PER_BYTE = 64      /* a matrix of one row is padded to a panel of 64 */
};

static const int32_t ids[N_TOKENS], starts[2] = { 0, N_TOKENS }, lens[1] = { N_TOKENS };

static void encode(struct quire_context *context, const struct quire_model_info *info)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    float *hidden = malloc(N_TOKENS * sizeof *hidden * info->hidden_size);
    struct quire_encode_args args = { .struct_size = sizeof args,
                                      .n_seqs = 1,
                                      .query_start_loc = starts,
                                      .token_ids = ids,
                                      .hidden = hidden };
    const quire_status s = quire_context_encode(context, &args, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    free(hidden);
}

static void forward(struct quire_context *context, const struct quire_model_info *info,
                    uint32_t n_groups)
{
    static const int64_t slots[N_TOKENS] = { 0, 1, 2 };
    static const int32_t table[1] = { 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_attention_batch_group groups[MAX_GROUPS];
    for (uint32_t i = 0; i < n_groups; i++)
        groups[i] = (struct quire_attention_batch_group){ .block_table = table,
                                                          .max_blocks = 1,
                                                          .slot_mapping = slots };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = lens,
                                                 .n_groups = n_groups,
                                                 .groups = groups };
    float *logits = malloc(sizeof *logits * info->vocab_size);
    const struct quire_forward_args args = { .struct_size = sizeof args,
                                             .batch = &batch,
                                             .token_ids = ids,
                                             .logits = logits,
                                             .state_slots = table };
    const quire_status s = quire_context_forward(context, &args, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    free(logits);
}

/* The cache of a decoder; NULL if it is larger than the bound. */
static struct quire_kv_cache *create_cache(const struct quire_model *model,
                                           const struct quire_allocator *a, uint32_t *n_groups)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_kv_group_config g[MAX_GROUPS];
    struct quire_kv_memory memory = { .struct_size = sizeof memory };
    struct quire_kv_cache *kv = NULL;
    int32_t block;
    if (quire_model_kv_groups(model, g, MAX_GROUPS, n_groups) != QUIRE_OK)
        return NULL;
    for (uint32_t i = 0; i < *n_groups; i++)
        g[i].n_blocks = 1;
    const struct quire_kv_params params = { .struct_size = sizeof params,
                                            .block_size = BLOCK,
                                            .groups = g,
                                            .n_groups = *n_groups,
                                            .allocator = a };
    quire_status s = quire_kv_bytes(&params, &memory, &err);
    fuzz_check_error(s, &err);
    if (s != QUIRE_OK || memory.total > MAX_RUN_BYTES)
        return NULL;
    s = quire_kv_create(&params, &kv, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    for (uint32_t i = 0; i < *n_groups; i++) {
        s = quire_kv_alloc(kv, i, -1, 1, &block, &err);
        fuzz_check(s == QUIRE_OK && block == 0, "%s %s", fuzz_status(s), err.msg);
    }
    return kv;
}

/* One state, whose slot is 0. */
static struct quire_state_pool *create_states(const struct quire_model_info *info,
                                              const struct quire_allocator *a)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_state_pool_params p;
    struct quire_state_pool *pool = NULL;
    int32_t slot = -1;
    quire_state_pool_params_init(&p, sizeof p);
    p.n_slots = 1;
    p.state_bytes = info->state_bytes;
    p.allocator = a;
    quire_status s = quire_state_pool_create(&p, &pool, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    s = quire_state_pool_alloc(pool, &slot, &err);
    fuzz_check(s == QUIRE_OK && slot == 0, "%s %s", fuzz_status(s), err.msg);
    return pool;
}

static void run(struct quire_model *model, const struct quire_allocator *a)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model_info info = { .struct_size = sizeof info };
    uint64_t bytes;
    uint32_t n_groups = 0;
    struct quire_context_params cp;
    quire_status s = quire_model_get_info(model, &info);
    fuzz_check(s == QUIRE_OK, "%s", fuzz_status(s));
    quire_context_params_init(&cp, sizeof cp);
    cp.max_tokens = cp.max_encoder_tokens = 4;
    cp.max_seq_len = cp.max_encoder_len = 4;
    cp.allocator = a;
    if (info.context_length < N_TOKENS)
        return;
    if (info.state_bytes > MAX_RUN_BYTES ||
        (info.state_bytes && !(cp.states = create_states(&info, a))))
        return;
    if (info.kind == QUIRE_MODEL_DECODER && info.n_attention_layers &&
        !(cp.kv = create_cache(model, a, &n_groups))) {
        quire_state_pool_destroy(cp.states);
        return;
    }
    struct quire_context *context = NULL;
    s = quire_context_bytes(model, &cp, &bytes, &err);
    fuzz_check_error(s, &err);
    if (s == QUIRE_OK && bytes < MAX_RUN_BYTES) {
        s = quire_context_create(model, &cp, &context, &err);
        fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
        if (info.kind == QUIRE_MODEL_DECODER)
            forward(context, &info, n_groups);
        else
            encode(context, &info);
    }
    quire_context_destroy(context);
    quire_kv_destroy(cp.kv);
    quire_state_pool_destroy(cp.states);
}

void run_model(struct quire_model_params mp, size_t input)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fuzz_memory memory, run_memory;
    struct quire_model *model = NULL;
    fuzz_memory_init(&memory, fuzz_reader_limit(PACKED_PER_BYTE / 4 * input));
    fuzz_memory_init(&run_memory, 3 * (size_t)MAX_RUN_BYTES);
    mp.allocator = &memory.hooks;
    const quire_status s = quire_model_open(&mp, &model, &err);
    fuzz_check_error(s, &err);
    fuzz_check((s == QUIRE_OK) == (model != NULL), "%s", fuzz_status(s));
    if (model) {
        run(model, &run_memory.hooks);
        fuzz_check(quire_model_close(model) == QUIRE_OK, "the model is in use");
    }
    fuzz_memory_done(&run_memory);
    fuzz_memory_done(&memory);
}
