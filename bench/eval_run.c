/* SPDX-License-Identifier: Apache-2.0 */
/* eval_run.c - one sequence at a time through a model. */
#include "eval_run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS = 64 };

struct eval_run {
    struct quire_threads *threads;
    struct quire_model *model;
    struct quire_kv_cache *kv;
    struct quire_context *context;
    struct quire_model_info info;
    uint32_t n_groups, block_size, n_blocks, max_tokens, chunk;
    uint32_t length; /* tokens of the sequence so far */
    int32_t *table;  /* [n_blocks] the same ids in every group: all blocks of the pool, backwards */
    int64_t *slots;  /* [max_tokens] */
    uint32_t prompt_len; /* rotary length of the sequence */
};

static quire_status make_cache(struct eval_run *r, const struct eval_options *o,
                               struct quire_error *err)
{
    struct quire_kv_group_config groups[MAX_GROUPS];
    quire_status s = quire_model_kv_groups(r->model, groups, MAX_GROUPS, &r->n_groups);
    for (uint32_t g = 0; s == QUIRE_OK && g < r->n_groups; g++) {
        groups[g].k_dtype = o->k_dtype;
        groups[g].v_dtype = o->v_dtype;
        groups[g].n_blocks = r->n_blocks;
    }
    if (s != QUIRE_OK)
        return s;
    struct quire_kv_config config = { .struct_size = sizeof config,
                                      .block_size = r->block_size,
                                      .groups = groups,
                                      .n_groups = r->n_groups,
                                      .isa = o->isa };
    s = quire_kv_create(&config, &r->kv, err);
    for (uint32_t g = 0; s == QUIRE_OK && g < r->n_groups; g++)
        s = quire_kv_alloc(r->kv, g, -1, r->n_blocks, r->table, err);
    for (uint32_t i = 0; i < r->n_blocks; i++)
        r->table[i] = (int32_t)(r->n_blocks - 1 - i);
    return s;
}

static quire_status open_all(struct eval_run *r, const struct eval_options *o, const char *path,
                             struct quire_error *err)
{
    struct quire_threads_params tp;
    quire_threads_params_default(&tp);
    tp.n_threads = o->threads;
    quire_status s = quire_threads_create(&tp, &r->threads, err);
    if (s != QUIRE_OK)
        return s;
    struct quire_model_params mp;
    quire_model_params_default(&mp);
    mp.path = path;
    mp.isa = o->isa;
    mp.compute = o->compute;
    mp.linear = o->linear;
    mp.threads = r->threads;
    s = quire_model_open(&mp, &r->model, err);
    if (s != QUIRE_OK)
        return s;
    r->info.struct_size = sizeof r->info;
    s = quire_model_info(r->model, &r->info);
    if (s == QUIRE_OK)
        s = make_cache(r, o, err);
    if (s != QUIRE_OK)
        return s;
    struct quire_context_params cp;
    quire_context_params_default(&cp);
    cp.kv = r->kv;
    cp.threads = r->threads;
    cp.max_tokens = r->max_tokens;
    cp.max_seq_len = r->max_tokens;
    return quire_context_create(r->model, &cp, &r->context, err);
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
    r->table = calloc(r->n_blocks, sizeof *r->table);
    r->slots = calloc(max_tokens, sizeof *r->slots);
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = r->table && r->slots ? open_all(r, o, path, &err) : QUIRE_E_NOMEM;
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
    if (quire_model_close(r->model) != QUIRE_OK)
        fprintf(stderr, "quire-eval: the model is still in use\n");
    quire_threads_destroy(r->threads);
    free(r->table);
    free(r->slots);
    free(r);
}

const struct quire_model_info *eval_run_info(const struct eval_run *r) { return &r->info; }

/* Appends ids[n] to the sequence; rows are indices into ids. */
static quire_status append(struct eval_run *r, const int32_t *ids, uint32_t n, const uint32_t *rows,
                           uint32_t n_rows, float *logits, float *hidden, struct quire_error *err)
{
    const uint32_t b = r->block_size;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t pos = r->length + i;
        r->slots[i] = (int64_t)r->table[pos / b] * b + pos % b;
    }
    struct quire_attention_batch_group groups[MAX_GROUPS];
    for (uint32_t g = 0; g < r->n_groups; g++)
        groups[g] = (struct quire_attention_batch_group){ .block_table = r->table,
                                                          .max_blocks = r->n_blocks,
                                                          .slot_mapping = r->slots };
    const int32_t starts[2] = { 0, (int32_t)n }, len = (int32_t)(r->length + n);
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .num_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = r->n_groups,
                                                 .groups = groups };
    const struct quire_model_step step = { .struct_size = sizeof step,
                                           .batch = &batch,
                                           .token_ids = ids,
                                           .rope_lens = &r->prompt_len,
                                           .logits_rows = rows,
                                           .n_logits = n_rows,
                                           .logits = n_rows ? logits : NULL,
                                           .hidden = hidden };
    const quire_status s = quire_context_forward(r->context, &step, err);
    if (s == QUIRE_OK)
        r->length += n;
    return s;
}

quire_status eval_run_prompt(struct eval_run *r, const int32_t *ids, uint32_t n,
                             const uint32_t *rows, uint32_t n_rows, float *logits, float *hidden,
                             struct quire_error *err)
{
    r->length = 0;
    r->prompt_len = n;
    for (uint32_t done = 0, row = 0; done < n;) {
        const uint32_t step = n - done < r->chunk ? n - done : r->chunk;
        uint32_t here[4096], n_here = 0;
        while (row + n_here < n_rows && rows[row + n_here] < done + step && n_here < 4096) {
            here[n_here] = rows[row + n_here] - done;
            n_here++;
        }
        const quire_status s = append(r, ids + done, step, here, n_here,
                                      logits + (size_t)row * r->info.vocab_size, hidden, err);
        if (s != QUIRE_OK)
            return s;
        done += step;
        row += n_here;
    }
    return QUIRE_OK;
}

quire_status eval_run_next(struct eval_run *r, int32_t id, float *logits, struct quire_error *err)
{
    const uint32_t row = 0;
    return append(r, &id, 1, &row, 1, logits, NULL, err);
}
