/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - scenarios of the model API: GGUF, safetensors, encoder, pack cache. */
#include "scenarios.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    BLOCK = 16,
    BLOCKS = 2,
    PROMPT = 20,
    MAX_GROUPS = 4,
    MAX_SCALES = 64,
    MAX_VOCAB = 2048,
    MAX_HIDDEN = 512
};

struct decoder {
    struct quire_model *model;
    struct quire_threads *threads;
    struct quire_kv_cache *kv;
    struct quire_context *context;
    struct quire_model_info info;
    uint32_t n_groups;
    int32_t tables[MAX_GROUPS][BLOCKS];
    float logits[MAX_VOCAB];
};

static quire_status open_model(struct run *run, const char *name, const char *pack_cache,
                               struct quire_threads *threads, struct quire_model **model)
{
    quire_status s;
    static char path[4200];
    snprintf(path, sizeof path, "%s/goldens/%s", run->shared, name);
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = path;
    mp.threads = threads;
    mp.allocator = run->allocator;
    mp.pack_cache = pack_cache;
    mp.linear = QUIRE_LINEAR_QUIRE; /* oneDNN is C++ and not prepared for failing allocations */
    CALL(quire_model_open(&mp, model, &run->err));
end:
    return s;
}

static quire_status create_context(struct run *run, struct decoder *d)
{
    quire_status s;
    struct quire_kv_group_config g[MAX_GROUPS];
    CALL(quire_model_kv_groups(d->model, g, MAX_GROUPS, &d->n_groups));
    for (uint32_t i = 0; i < d->n_groups; i++)
        g[i].n_blocks = BLOCKS;
    const struct quire_kv_params kp = { .struct_size = sizeof kp,
                                        .block_size = BLOCK,
                                        .groups = g,
                                        .n_groups = d->n_groups,
                                        .allocator = run->allocator };
    CALL(quire_kv_create(&kp, &d->kv, &run->err));
    for (uint32_t i = 0; i < d->n_groups; i++)
        CALL(quire_kv_alloc(d->kv, i, -1, BLOCKS, d->tables[i], &run->err));
    struct quire_context_params cp;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = d->kv;
    cp.threads = d->threads;
    cp.max_tokens = PROMPT;
    cp.max_seqs = 1;
    cp.max_seq_len = BLOCK * BLOCKS;
    cp.allocator = run->allocator;
    float k[MAX_SCALES], v[MAX_SCALES];
    for (uint32_t i = 0; i < d->n_groups; i++) {
        const size_t n = (size_t)g[i].n_layers * g[i].n_kv_heads;
        CALL(n > MAX_SCALES ? QUIRE_E_LIMIT
                            : quire_model_kv_scales(d->model, NULL, i, QUIRE_KV_FP8_E4M3,
                                                    QUIRE_KV_FP8_E4M3, k, v, &run->err));
        add_result(run, k, n * sizeof *k);
    }
    uint64_t bytes;
    CALL(quire_context_bytes(d->model, &cp, &bytes, &run->err));
    CALL(quire_context_create(d->model, &cp, &d->context, &run->err));
end:
    return s;
}

/* Tokens [begin, begin + n) of the sequence 0, 1, 2, ...; logits of the last one. */
static quire_status step(struct run *run, struct decoder *d, int32_t begin, int32_t n)
{
    quire_status s;
    int32_t ids[PROMPT];
    int64_t slots[MAX_GROUPS][PROMPT];
    struct quire_attention_batch_group groups[MAX_GROUPS];
    for (int32_t i = 0; i < n; i++)
        ids[i] = begin + i;
    for (uint32_t g = 0; g < d->n_groups; g++) {
        for (int32_t i = 0; i < n; i++)
            slots[g][i] = (int64_t)d->tables[g][(begin + i) / BLOCK] * BLOCK + (begin + i) % BLOCK;
        groups[g] = (struct quire_attention_batch_group){ .block_table = d->tables[g],
                                                          .max_blocks = BLOCKS,
                                                          .slot_mapping = slots[g] };
    }
    const int32_t starts[2] = { 0, n }, len = begin + n;
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = d->n_groups,
                                                 .groups = groups };
    const struct quire_forward_args args = {
        .struct_size = sizeof args, .batch = &batch, .token_ids = ids, .logits = d->logits
    };
    CALL(quire_context_forward(d->context, &args, &run->err));
    add_result(run, d->logits, d->info.vocab_size * sizeof(float));
end:
    return s;
}

static quire_status run_decoder(struct run *run, const char *name, const char *pack_cache)
{
    static struct decoder d;
    quire_status s;
    memset(&d, 0, sizeof d);
    d.info.struct_size = sizeof d.info;
    struct quire_threads_params tp;
    quire_threads_params_init(&tp, sizeof tp);
    tp.n_threads = 2;
    tp.allocator = run->allocator;
    CALL(quire_threads_create(&tp, &d.threads, &run->err));
    s = open_model(run, name, pack_cache, d.threads, &d.model);
    if (s != QUIRE_OK)
        goto end;
    CALL(quire_model_get_info(d.model, &d.info));
    run->n_cached += d.info.pack_cached;
    s = create_context(run, &d);
    if (s == QUIRE_OK)
        s = step(run, &d, 0, PROMPT);
    if (s == QUIRE_OK)
        s = step(run, &d, PROMPT, 1);
end:
    DO(quire_context_destroy(d.context));
    DO(quire_kv_destroy(d.kv));
    if (quire_model_close(d.model) != QUIRE_OK)
        s = QUIRE_E_INTERNAL;
    DO(quire_threads_destroy(d.threads));
    return s;
}

quire_status run_gguf_model(struct run *run)
{
    return run_decoder(run, "gguf/llama-q8_0.gguf", NULL);
}

quire_status run_safetensors_model(struct run *run) { return run_decoder(run, "llama", NULL); }

quire_status run_pack_cache(struct run *run)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/llama.pack", run->dir);
    quire_status s = run_decoder(run, "gguf/llama-q8_0.gguf", path); /* writes it */
    if (s == QUIRE_OK)
        s = run_decoder(run, "gguf/llama-q8_0.gguf", path); /* maps it */
    unlink(path);
    return s;
}

quire_status run_encoder(struct run *run)
{
    static float hidden[PROMPT][MAX_HIDDEN], pooled[MAX_HIDDEN];
    quire_status s;
    struct quire_model *model = NULL;
    struct quire_context *context = NULL;
    struct quire_model_info info = { .struct_size = sizeof info };
    s = open_model(run, "bert", NULL, NULL, &model);
    if (s != QUIRE_OK)
        goto end;
    CALL(quire_model_get_info(model, &info));
    struct quire_context_params cp;
    quire_context_params_init(&cp, sizeof cp);
    cp.max_tokens = PROMPT;
    cp.max_seq_len = PROMPT;
    cp.allocator = run->allocator;
    CALL(quire_context_create(model, &cp, &context, &run->err));
    int32_t ids[PROMPT];
    for (int32_t i = 0; i < PROMPT; i++)
        ids[i] = i;
    const int32_t starts[2] = { 0, PROMPT };
    const struct quire_encode_args args = { .struct_size = sizeof args,
                                            .n_seqs = 1,
                                            .query_start_loc = starts,
                                            .token_ids = ids,
                                            .hidden = &hidden[0][0],
                                            .pooled = pooled,
                                            .pooling = QUIRE_POOLING_MEAN,
                                            .normalize = true };
    CALL(quire_context_encode(context, &args, &run->err));
    add_result(run, hidden, (size_t)PROMPT * info.hidden_size * sizeof(float));
    add_result(run, pooled, info.hidden_size * sizeof(float));
end:
    DO(quire_context_destroy(context));
    if (quire_model_close(model) != QUIRE_OK)
        s = QUIRE_E_INTERNAL;
    return s;
}
