/* SPDX-License-Identifier: Apache-2.0 */
/* eval_run.c - runs sequences through a model. */
#include "eval_run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS = 64 };

struct eval_run {
    struct quire_threads *threads;
    struct quire_model *model;
    struct quire_adapter *adapter; /* NULL = none */
    struct quire_kv_cache *kv;
    struct quire_state_pool *states; /* NULL in models without recurrent layers */
    struct quire_context *context;
    struct quire_model_info info;
    uint32_t n_groups, block_size, max_tokens, chunk;
    uint32_t n_blocks; /* per sequence */
    uint32_t max_seqs;
    /* per sequence: tokens so far, RoPE length, tokens of its encoder source */
    int32_t lengths[EVAL_MAX_SEQS], source_lens[EVAL_MAX_SEQS];
    uint32_t rope_lens[EVAL_MAX_SEQS];
    int32_t state_slots[EVAL_MAX_SEQS];
    /* [max_seqs][n_blocks] all blocks of the pool in falling order, the same in every KV group */
    int32_t *table;
    int64_t *slots; /* [max_tokens] */
};

/* Sets the scales of all groups: of a file, of the checkpoint, or 1. *memory holds them until the
 * cache is created. */
static quire_status set_scales(const struct eval_run *r, const char *path,
                               struct quire_kv_group_config *groups, float **memory,
                               struct quire_error *err)
{
    quire_status s = QUIRE_OK;
    size_t n = 0;
    for (uint32_t g = 0; g < r->n_groups; g++)
        n += 2 * (size_t)groups[g].n_layers * groups[g].n_kv_heads;
    float *at = *memory = malloc(n * sizeof *at);
    if (!at)
        return QUIRE_E_NOMEM;
    for (uint32_t g = 0; g < r->n_groups && s == QUIRE_OK; g++) {
        struct quire_kv_group_config *c = &groups[g];
        c->n_k_scales = c->n_layers * c->n_kv_heads;
        c->n_v_scales = c->flags & QUIRE_KV_LATENT ? 0 : c->n_k_scales;
        c->k_scale = at;
        c->v_scale = at + c->n_k_scales;
        s = quire_model_kv_scales(r->model, path, g, c->k_dtype, c->v_dtype, at, at + c->n_k_scales,
                                  err);
        at += 2 * (size_t)c->n_k_scales;
    }
    return s;
}

uint32_t eval_rotation(const struct eval_options *o, enum quire_kv_dtype k, enum quire_kv_dtype v)
{
    const uint32_t can =
        (k == QUIRE_KV_INT4 ? QUIRE_KV_ROTATE_K : 0) | (v == QUIRE_KV_INT4 ? QUIRE_KV_ROTATE_V : 0);
    return o->rotation & can;
}

static quire_status make_cache(struct eval_run *r, const struct eval_options *o,
                               struct quire_error *err)
{
    struct quire_kv_group_config groups[MAX_GROUPS];
    const uint32_t n_blocks = r->max_seqs * r->n_blocks;
    quire_status s = quire_model_kv_groups(r->model, groups, MAX_GROUPS, &r->n_groups);
    if (s != QUIRE_OK || !r->n_groups)
        return s;
    for (uint32_t g = 0; g < r->n_groups; g++) {
        groups[g].k_dtype = o->k_dtype;
        groups[g].v_dtype = groups[g].flags & QUIRE_KV_LATENT ? o->k_dtype : o->v_dtype;
        groups[g].n_blocks = n_blocks;
        groups[g].flags |= eval_rotation(o, groups[g].k_dtype, groups[g].v_dtype);
    }
    struct quire_kv_params config = { .struct_size = sizeof config,
                                      .block_size = r->block_size,
                                      .groups = groups,
                                      .n_groups = r->n_groups,
                                      .isa = o->isa };
    float *scales = NULL;
    s = set_scales(r, o->kv_scales, groups, &scales, err);
    if (s == QUIRE_OK)
        s = quire_kv_create(&config, &r->kv, err);
    free(scales);
    for (uint32_t g = 0; s == QUIRE_OK && g < r->n_groups; g++)
        s = quire_kv_alloc(r->kv, g, -1, n_blocks, r->table, err);
    for (uint32_t i = 0; i < n_blocks; i++)
        r->table[i] = (int32_t)(n_blocks - 1 - i);
    return s;
}

static quire_status make_states(struct eval_run *r, struct quire_error *err)
{
    struct quire_state_pool_params p;
    if (!r->info.state_bytes)
        return QUIRE_OK;
    quire_state_pool_params_init(&p, sizeof p);
    p.state_bytes = r->info.state_bytes;
    p.n_slots = r->max_seqs;
    quire_status s = quire_state_pool_create(&p, &r->states, err);
    for (uint32_t i = 0; s == QUIRE_OK && i < r->max_seqs; i++)
        s = quire_state_pool_alloc(r->states, &r->state_slots[i], err);
    return s;
}

static quire_status make_context(struct eval_run *r, const struct eval_options *o,
                                 struct quire_error *err)
{
    struct quire_context_params cp;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = r->kv;
    cp.states = r->states;
    cp.threads = r->threads;
    cp.max_tokens = r->max_tokens;
    cp.max_seqs = r->max_seqs;
    cp.max_seq_len = r->max_tokens;
    cp.encoder_dtype = o->k_dtype;
    cp.expand_latent_from = o->expand_from;
    cp.max_adapter_rank = r->adapter ? QUIRE_ADAPTER_MAX_RANK : 0;
    return quire_context_create(r->model, &cp, &r->context, err);
}

static quire_status open_adapter(struct eval_run *r, const struct eval_options *o,
                                 struct quire_error *err)
{
    struct quire_adapter_params ap;
    quire_adapter_params_init(&ap, sizeof ap);
    ap.path = o->lora;
    return o->lora ? quire_adapter_open(r->model, &ap, &r->adapter, err) : QUIRE_OK;
}

static quire_status open_all(struct eval_run *r, const struct eval_options *o, const char *path,
                             struct quire_error *err)
{
    struct quire_threads_params tp;
    quire_threads_params_init(&tp, sizeof tp);
    tp.n_threads = o->threads;
    quire_status s = quire_threads_create(&tp, &r->threads, err);
    if (s != QUIRE_OK)
        return s;
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = path;
    mp.isa = o->isa;
    mp.compute = o->compute;
    mp.linear = o->linear;
    mp.threads = r->threads;
    mp.flags = (o->expand_from ? QUIRE_MODEL_EXPAND_LATENT : 0) |
               (o->bf16_states ? QUIRE_MODEL_BF16_STATES : 0);
    s = quire_model_open(&mp, &r->model, err);
    if (s != QUIRE_OK)
        return s;
    r->info.struct_size = sizeof r->info;
    s = quire_model_get_info(r->model, &r->info);
    if (s == QUIRE_OK)
        s = open_adapter(r, o, err);
    r->max_seqs = r->info.kind == QUIRE_MODEL_DECODER ? 1 : EVAL_MAX_SEQS;
    r->table = calloc((size_t)r->max_seqs * r->n_blocks, sizeof *r->table);
    if (s == QUIRE_OK)
        s = r->table ? make_cache(r, o, err) : QUIRE_E_NOMEM;
    if (s == QUIRE_OK)
        s = make_states(r, err);
    return s == QUIRE_OK ? make_context(r, o, err) : s;
}

struct eval_run *eval_run_open(const struct eval_options *o, const char *path, uint32_t max_tokens,
                               int *code)
{
    struct eval_run *r = calloc(1, sizeof *r);
    *code = 71;
    if (!r)
        return NULL;
    r->block_size = o->block_size ? o->block_size : 64;
    r->max_tokens = max_tokens;
    r->chunk = o->chunk ? o->chunk : max_tokens;
    r->n_blocks = (max_tokens + r->block_size - 1) / r->block_size;
    r->slots = calloc(max_tokens, sizeof *r->slots);
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = r->slots ? open_all(r, o, path, &err) : QUIRE_E_NOMEM;
    if (s == QUIRE_OK) {
        *code = 0;
        return r;
    }
    *code = eval_fail(path, s, &err);
    eval_run_close(r);
    return NULL;
}

void eval_run_close(struct eval_run *r)
{
    if (!r)
        return;
    quire_context_destroy(r->context);
    quire_kv_destroy(r->kv);
    quire_state_pool_destroy(r->states);
    if (quire_adapter_close(r->adapter) != QUIRE_OK)
        fprintf(stderr, "quire-eval: the adapter is still in use\n");
    if (quire_model_close(r->model) != QUIRE_OK)
        fprintf(stderr, "quire-eval: the model is still in use\n");
    quire_threads_destroy(r->threads);
    free(r->table);
    free(r->slots);
    free(r);
}

struct eval_run *eval_run_open_decoder(const struct eval_options *o, uint32_t max_tokens, int *code)
{
    struct eval_run *r = eval_run_open(o, o->model, max_tokens, code);
    if (!r || r->info.kind == QUIRE_MODEL_DECODER)
        return r;
    const struct quire_error err = { .msg = "the model is not a decoder" };
    *code = eval_fail(o->model, QUIRE_E_UNSUPPORTED, &err);
    eval_run_close(r);
    return NULL;
}

struct quire_context *eval_run_context(const struct eval_run *r) { return r->context; }

const struct quire_model *eval_run_model(const struct eval_run *r) { return r->model; }
const struct quire_model_info *eval_run_info(const struct eval_run *r) { return &r->info; }

/* Slot mapping of the next n tokens of a sequence of `length` tokens. */
static void fill_slots(const struct eval_run *r, uint32_t seq, uint32_t length, uint32_t n,
                       int64_t *slots)
{
    const int32_t *table = r->table + (size_t)seq * r->n_blocks;
    const uint32_t b = r->block_size;
    for (uint32_t i = 0; i < n; i++)
        slots[i] = (int64_t)table[(length + i) / b] * b + (length + i) % b;
}

quire_status eval_run_encode(struct eval_run *r, const struct eval_sources *sources,
                             const struct eval_encoded *out, struct quire_error *err)
{
    const bool decodes = r->info.kind == QUIRE_MODEL_ENCODER_DECODER;
    for (uint32_t i = 0; i < sources->n; i++) {
        const int32_t begin = sources->starts[i];
        r->source_lens[i] = sources->starts[i + 1] - begin;
        if (decodes)
            fill_slots(r, i, 0, (uint32_t)r->source_lens[i], r->slots + begin);
    }
    const struct quire_encode_args step = { .struct_size = sizeof step,
                                            .n_seqs = sources->n,
                                            .query_start_loc = sources->starts,
                                            .token_ids = sources->ids,
                                            .token_type_ids = sources->types,
                                            .hidden = out->hidden,
                                            .pooled = out->pooled,
                                            .pooling = QUIRE_POOLING_POOLER,
                                            .logits = out->logits,
                                            .scores = out->scores,
                                            .cross_slot_mapping = decodes ? r->slots : NULL };
    return quire_context_encode(r->context, &step, err);
}

/* Appends n tokens to each of n_seqs sequences in one step. rows: token indices within the step.
 * stream: see eval_run_prompt_stream(). */
static quire_status append(struct eval_run *r, const int32_t *ids, uint32_t n_seqs, uint32_t n,
                           const uint32_t *rows, uint32_t n_rows, float *logits, float *hidden,
                           float *stream, struct quire_error *err)
{
    struct quire_attention_batch_group groups[MAX_GROUPS];
    int32_t starts[EVAL_MAX_SEQS + 1] = { 0 }, adapter_index[EVAL_MAX_SEQS] = { 0 };
    const struct quire_adapter *adapters[] = { r->adapter };
    for (uint32_t i = 0; i < n_seqs; i++) {
        fill_slots(r, i, (uint32_t)r->lengths[i], n, r->slots + (size_t)i * n);
        r->lengths[i] += (int32_t)n;
        starts[i + 1] = (int32_t)((i + 1) * n);
    }
    for (uint32_t g = 0; g < r->n_groups; g++)
        groups[g] = (struct quire_attention_batch_group){ .block_table = r->table,
                                                          .max_blocks = r->n_blocks,
                                                          .slot_mapping = r->slots };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = n_seqs,
                                                 .query_start_loc = starts,
                                                 .seq_lens = r->lengths,
                                                 .n_groups = r->n_groups,
                                                 .groups = groups,
                                                 .encoder_seq_lens = r->source_lens };
    const struct quire_forward_args step = { .struct_size = sizeof step,
                                             .batch = &batch,
                                             .token_ids = ids,
                                             .rope_lens = r->rope_lens,
                                             .logits_rows = rows,
                                             .n_logits = n_rows,
                                             .logits = n_rows ? logits : NULL,
                                             .hidden = hidden,
                                             .adapters = adapters,
                                             .n_adapters = r->adapter ? 1 : 0,
                                             .adapter_index = adapter_index,
                                             .state_slots = r->state_slots,
                                             .n_features = stream ? 1 : 0,
                                             .feature_layers = stream ? &r->info.n_layers : NULL,
                                             .features = stream };
    return quire_context_forward(r->context, &step, err);
}

quire_status eval_run_batch(struct eval_run *r, const int32_t *ids, uint32_t n_seqs, uint32_t n,
                            float *logits, struct quire_error *err)
{
    uint32_t *rows = calloc((size_t)n_seqs * n, sizeof *rows);
    if (!rows)
        return QUIRE_E_NOMEM;
    for (uint32_t i = 0; i < n_seqs * n; i++)
        rows[i] = i;
    for (uint32_t i = 0; i < n_seqs; i++) {
        r->lengths[i] = 0;
        r->rope_lens[i] = n;
    }
    const quire_status s = append(r, ids, n_seqs, n, rows, n_seqs * n, logits, NULL, NULL, err);
    free(rows);
    return s;
}

quire_status eval_run_prompt(struct eval_run *r, const int32_t *ids, uint32_t n,
                             const uint32_t *rows, uint32_t n_rows, float *logits, float *hidden,
                             struct quire_error *err)
{
    r->lengths[0] = 0;
    r->rope_lens[0] = n;
    for (uint32_t done = 0, row = 0; done < n;) {
        const uint32_t step = n - done < r->chunk ? n - done : r->chunk;
        uint32_t here[4096], n_here = 0;
        while (row + n_here < n_rows && rows[row + n_here] < done + step && n_here < 4096) {
            here[n_here] = rows[row + n_here] - done;
            n_here++;
        }
        float *out = logits ? logits + (size_t)row * r->info.vocab_size : NULL;
        const quire_status s = append(r, ids + done, 1, step, here, n_here, out, hidden, NULL, err);
        if (s != QUIRE_OK)
            return s;
        done += step;
        row += n_here;
    }
    return QUIRE_OK;
}

quire_status eval_run_prompt_states(struct eval_run *r, const int32_t *ids, uint32_t n,
                                    float *hidden, struct quire_error *err)
{
    r->lengths[0] = 0;
    r->rope_lens[0] = n;
    return append(r, ids, 1, n, NULL, 0, NULL, hidden, NULL, err);
}

quire_status eval_run_prompt_stream(struct eval_run *r, const int32_t *ids, uint32_t n,
                                    float *stream, struct quire_error *err)
{
    r->lengths[0] = 0;
    r->rope_lens[0] = n;
    return append(r, ids, 1, n, NULL, 0, NULL, NULL, stream, err);
}

quire_status eval_run_next(struct eval_run *r, int32_t id, float *logits, struct quire_error *err)
{
    const uint32_t row = 0;
    return append(r, &id, 1, 1, &row, 1, logits, NULL, NULL, err);
}

struct eval_blocks eval_run_blocks(const struct eval_run *r)
{
    return (struct eval_blocks){ r->kv, r->table, r->n_groups, r->n_blocks };
}

quire_status eval_run_read_kv(const struct eval_run *r, uint32_t group, uint32_t layer, uint32_t n,
                              float *k, float *v, struct quire_error *err)
{
    int64_t *slots = malloc((n ? n : 1) * sizeof *slots);
    if (!slots)
        return QUIRE_E_NOMEM;
    fill_slots(r, 0, 0, n, slots);
    const struct quire_kv_read_args args = { .struct_size = sizeof args,
                                             .group = group,
                                             .layer = layer,
                                             .k = k,
                                             .v = v,
                                             .slots = slots,
                                             .n_tokens = n };
    const quire_status s = quire_kv_read(r->kv, &args, err);
    free(slots);
    return s;
}
