/* SPDX-License-Identifier: Apache-2.0 */
/* eval_mtp.c - heads of multi-token prediction for `quire-eval golden`. */
#include "eval_mtp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, MAX_GROUPS = 8, MAX_BLOCKS = 8 };

/* One head and one sequence. */
struct head {
    struct quire_model *model;
    struct quire_model_info info;
    struct quire_kv_cache *kv; /* NULL: that of the model is read */
    struct quire_context *context;
    struct eval_blocks blocks;
    int32_t table[MAX_BLOCKS];
};

static quire_status make_cache(struct head *h, const struct eval_options *o,
                               struct quire_error *err)
{
    struct quire_kv_group_config groups[MAX_GROUPS];
    struct eval_blocks *b = &h->blocks;
    quire_status s = quire_model_kv_groups(h->model, groups, MAX_GROUPS, &b->n_groups);
    for (uint32_t g = 0; s == QUIRE_OK && g < b->n_groups; g++) {
        groups[g].k_dtype = o->k_dtype;
        groups[g].v_dtype = groups[g].flags & QUIRE_KV_LATENT ? o->k_dtype : o->v_dtype;
        groups[g].flags |= eval_rotation(o, groups[g].k_dtype, groups[g].v_dtype);
        groups[g].n_blocks = b->n_blocks;
    }
    const struct quire_kv_params p = { .struct_size = sizeof p,
                                       .block_size = BLOCK,
                                       .groups = groups,
                                       .n_groups = b->n_groups,
                                       .isa = o->isa };
    if (s == QUIRE_OK)
        s = quire_kv_create(&p, &h->kv, err);
    for (uint32_t g = 0; s == QUIRE_OK && g < b->n_groups; g++)
        s = quire_kv_alloc(h->kv, g, -1, b->n_blocks, h->table, err);
    b->kv = h->kv;
    b->table = h->table;
    return s;
}

static quire_status open_head(struct head *h, const struct eval_options *o, const char *path,
                              struct eval_run *r, uint32_t n, struct quire_error *err)
{
    struct quire_model_params mp;
    struct quire_context_params cp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = o->head ? o->head : path;
    mp.mtp_of = (struct quire_model *)eval_run_model(r);
    h->blocks.n_blocks = (n + BLOCK - 1) / BLOCK;
    h->info.struct_size = sizeof h->info;
    quire_status s =
        h->blocks.n_blocks <= MAX_BLOCKS ? quire_model_open(&mp, &h->model, err) : QUIRE_E_LIMIT;
    if (s == QUIRE_OK)
        s = quire_model_get_info(h->model, &h->info);
    if (s == QUIRE_OK && h->info.mtp_shares_kv)
        h->blocks = eval_run_blocks(r);
    else if (s == QUIRE_OK)
        s = make_cache(h, o, err);
    if (s != QUIRE_OK)
        return s;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = h->blocks.kv;
    cp.max_tokens = n;
    cp.max_seq_len = n;
    return quire_context_create(h->model, &cp, &h->context, err);
}

static void close_head(struct head *h)
{
    quire_context_destroy(h->context);
    quire_kv_destroy(h->kv);
    if (quire_model_close(h->model) != QUIRE_OK)
        fprintf(stderr, "quire-eval: the head is still in use\n");
}

/* Runs the head over tokens[n] with their hidden states; logits[n][vocab], out: its own. */
static quire_status run(const struct head *h, const int32_t *tokens, const float *hidden,
                        uint32_t n, uint32_t chunk, float *logits, float *out,
                        struct quire_error *err)
{
    const size_t width = h->info.mtp_hidden_size;
    struct quire_attention_batch_group groups[MAX_GROUPS];
    int64_t slots[MAX_BLOCKS * BLOCK];
    uint32_t rows[MAX_BLOCKS * BLOCK];
    quire_status s = QUIRE_OK;
    for (uint32_t done = 0, step; done < n && s == QUIRE_OK; done += step) {
        step = chunk && n - done > chunk ? chunk : n - done;
        const int32_t starts[] = { 0, (int32_t)step }, len = (int32_t)(done + step);
        for (uint32_t i = 0; i < step; i++) {
            slots[i] = (int64_t)h->table[(done + i) / BLOCK] * BLOCK + (done + i) % BLOCK;
            rows[i] = i;
        }
        for (uint32_t g = 0; g < h->blocks.n_groups; g++)
            groups[g] =
                (struct quire_attention_batch_group){ .block_table = h->blocks.table,
                                                      .max_blocks = h->blocks.n_blocks,
                                                      .slot_mapping = h->kv ? slots : NULL };
        const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                     .n_seqs = 1,
                                                     .query_start_loc = starts,
                                                     .seq_lens = &len,
                                                     .n_groups = h->blocks.n_groups,
                                                     .groups = groups };
        const struct quire_forward_args args = {
            .struct_size = sizeof args,
            .batch = &batch,
            .token_ids = tokens + done,
            .logits_rows = rows,
            .n_logits = step,
            .logits = logits + (size_t)done * h->info.vocab_size,
            .last_hidden = out + done * width,
            .previous_hidden = hidden + done * width,
        };
        s = quire_context_forward(h->context, &args, err);
    }
    return s;
}

quire_status tally_mtp(struct tally *t, struct eval_run *r, const struct eval_options *o,
                       const char *model, const struct tensor_file *golden, uint32_t n,
                       struct quire_error *err)
{
    struct tensor ids, want, states_want;
    struct head h = { 0 };
    const struct quire_model_info *info = eval_run_info(r);
    if (!tensor_file_get(golden, "I64", &ids, "ids.%u", n) ||
        !tensor_file_get(golden, "F32", &want, "mtp_logits.%u", n))
        return QUIRE_OK;
    if (n < 2 || ids.n != n || want.n_dims != 2 || want.dims[0] != n - 1 ||
        want.dims[1] != info->vocab_size) {
        snprintf(err->msg, sizeof err->msg, "mtp_logits.%u does not match the model", n);
        return QUIRE_E_MISMATCH;
    }
    const size_t states = (size_t)n * info->hidden_size;
    int32_t *tokens = calloc(n, sizeof *tokens);
    float *hidden = malloc((info->n_layers + 1) * states * sizeof *hidden);
    float *logits = malloc((size_t)n * info->vocab_size * sizeof *logits);
    float *out = malloc(states * sizeof *out);
    quire_status s = tokens && hidden && logits && out ? QUIRE_OK : QUIRE_E_NOMEM;
    for (uint32_t i = 0; s == QUIRE_OK && i < n; i++)
        tokens[i] = (int32_t)((const int64_t *)ids.data)[i];
    if (s == QUIRE_OK)
        s = eval_run_prompt_states(r, tokens, n, hidden, err);
    if (s == QUIRE_OK)
        s = open_head(&h, o, model, r, n, err);
    if (s == QUIRE_OK)
        s = run(&h, tokens + 1, hidden + info->n_layers * states, n - 1, o->chunk, logits, out,
                err);
    if (s == QUIRE_OK)
        tally_logits(t, logits, want.data, n - 1, info->vocab_size);
    if (s == QUIRE_OK && tensor_file_get(golden, "F32", &states_want, "mtp_hidden.%u", n) &&
        states_want.n == states - info->hidden_size)
        tally_values(t, out, states_want.data, states_want.n);
    close_head(&h);
    free(tokens);
    free(hidden);
    free(logits);
    free(out);
    return s;
}
