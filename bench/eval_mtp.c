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
    h->info.struct_size = sizeof h->info;
    quire_status s = quire_model_open(&mp, &h->model, err);
    if (s == QUIRE_OK)
        s = quire_model_get_info(h->model, &h->info);
    n += h->info.mtp_block_size;
    h->blocks.n_blocks = (n + BLOCK - 1) / BLOCK;
    if (s == QUIRE_OK && h->blocks.n_blocks > MAX_BLOCKS)
        s = QUIRE_E_LIMIT;
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

/* Rows [first, end) of a head; the arrays begin with row 0. */
struct head_rows {
    uint32_t first, end;
    uint32_t number; /* of the head, of several */
    const int32_t *tokens;
    const float *hidden; /* what it reads of the model; NULL: */
    const float *own;    /* of these rows: its own states before them */
    float *logits, *states;
};

static quire_status run_step(const struct head *h, const struct head_rows *rows,
                             struct quire_error *err)
{
    struct quire_attention_batch_group groups[MAX_GROUPS];
    int64_t slots[MAX_BLOCKS * BLOCK];
    uint32_t all[MAX_BLOCKS * BLOCK];
    const size_t first = rows->first, width = h->info.mtp_hidden_size,
                 state = h->info.mtp_state_size;
    const uint32_t n = rows->end - rows->first;
    const int32_t starts[] = { 0, (int32_t)n }, len = (int32_t)rows->end;
    const bool context = h->info.mtp_block_size && rows->hidden; /* it has no outputs */
    for (uint32_t i = 0; i < n; i++) {
        slots[i] = (int64_t)h->blocks.table[(first + i) / BLOCK] * BLOCK + (first + i) % BLOCK;
        all[i] = i;
    }
    for (uint32_t g = 0; g < h->blocks.n_groups; g++)
        groups[g] = (struct quire_attention_batch_group){ .block_table = h->blocks.table,
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
        .token_ids = rows->tokens + first,
        .logits_rows = all,
        .n_logits = n,
        .logits = context ? NULL : rows->logits + first * h->info.vocab_size,
        .last_hidden = context ? NULL : rows->states + first * state,
        .previous_hidden = rows->hidden ? rows->hidden + first * width : NULL,
        .own_hidden = rows->own,
        .mtp_head = rows->number,
    };
    return quire_context_forward(h->context, &args, err);
}

static quire_status run(const struct head *h, const struct head_rows *rows, uint32_t chunk,
                        struct quire_error *err)
{
    struct head_rows step = *rows;
    quire_status s = QUIRE_OK;
    for (; step.first < rows->end && s == QUIRE_OK; step.first = step.end) {
        step.end = chunk && rows->end - step.first > chunk ? step.first + chunk : rows->end;
        s = run_step(h, &step, err);
    }
    return s;
}

/* What the head reads of the model: of the hidden states [n_layers + 1][n][width] those behind the
 * final norm, or those before some layers, side by side. */
static void gather_input(const struct head *h, const struct quire_model_info *model,
                         const float *hidden, uint32_t n, float *out)
{
    const size_t width = model->hidden_size, n_features = h->info.n_mtp_features;
    if (!n_features)
        memcpy(out, hidden + (size_t)model->n_layers * n * width, n * width * sizeof *out);
    for (size_t f = 0; f < n_features; f++)
        for (size_t i = 0; i < n; i++)
            memcpy(out + (i * n_features + f) * width,
                   hidden + ((size_t)h->info.mtp_feature_layers[f] * n + i) * width,
                   width * sizeof *out);
}

/* Compares n - 1 rows with what the model computed, and one behind them with the head's own state,
 * if the reference has it: mtp_next.<n>, the logits with the first token of the prompt. */
static quire_status compare(struct tally *t, const struct head *h, const struct head_rows *rows,
                            uint32_t chunk, const struct tensor_file *golden, uint32_t n,
                            struct quire_error *err)
{
    const size_t vocab = h->info.vocab_size, state = h->info.mtp_state_size;
    struct tensor logits, states, next;
    quire_status s = run(h, rows, chunk, err);
    if (s != QUIRE_OK || !tensor_file_get(golden, "F32", &logits, "mtp_logits.%u", n))
        return s;
    tally_logits(t, rows->logits, logits.data, n - 1, vocab);
    if (tensor_file_get(golden, "F32", &states, "mtp_hidden.%u", n) && states.n == (n - 1) * state)
        tally_values(t, rows->states, states.data, states.n);
    if (!tensor_file_get(golden, "F32", &next, "mtp_next.%u", n) || next.n != vocab)
        return QUIRE_OK;
    const struct head_rows last = { .first = n - 1,
                                    .end = n,
                                    .tokens = rows->tokens,
                                    .own = rows->states + (n - 2) * state,
                                    .logits = rows->logits,
                                    .states = rows->states };
    s = run(h, &last, 0, err);
    if (s == QUIRE_OK)
        tally_logits(t, rows->logits + (n - 1) * vocab, next.data, 1, vocab);
    return s;
}

/* Rows of a block that predict a token. */
static uint32_t predicting_rows(const struct head *h)
{
    return h->info.mtp_block_size - !h->info.mtp_from_anchor;
}

/* Adds the biases of the Markov head to the rows of a block that predict a token: those of the most
 * likely tokens of the reference, behind token `first`. Compares confidences with
 * mtp_confidence.<n>. */
static quire_status add_markov(struct tally *t, const struct head *h, int32_t first, float *logits,
                               const float *states, const struct tensor *want,
                               const struct tensor_file *golden, uint32_t n,
                               struct quire_error *err)
{
    const size_t vocab = h->info.vocab_size, width = h->info.mtp_state_size;
    float confidence[BLOCK];
    struct tensor reference;
    int32_t token = first;
    quire_status s = QUIRE_OK;
    for (uint32_t i = 0; s == QUIRE_OK && i < predicting_rows(h); i++) {
        float *row = logits + i * vocab;
        const float *state = states + i * width, *of = (const float *)want->data + i * vocab;
        const struct quire_markov_args args = { .struct_size = sizeof args,
                                                .n = 1,
                                                .previous = &token,
                                                .logits = &row,
                                                .hidden = &state,
                                                .confidence = h->info.mtp_confidence
                                                                  ? confidence + i
                                                                  : NULL };
        s = quire_context_markov(h->context, &args, err);
        token = 0;
        for (size_t j = 1; j < vocab; j++)
            token = of[j] > of[token] ? (int32_t)j : token;
    }
    if (s == QUIRE_OK && tensor_file_get(golden, "F32", &reference, "mtp_confidence.%u", n) &&
        reference.n == predicting_rows(h))
        tally_values(t, confidence, reference.data, reference.n);
    return s;
}

/* The same for a block drafter: context rows of n - 1 tokens, and the block behind them, which
 * begins with the last token: mtp_logits.<n> has the rows that predict a token. */
static quire_status compare_block(struct tally *t, const struct head *h,
                                  const struct head_rows *rows, uint32_t chunk,
                                  const struct tensor_file *golden, uint32_t n,
                                  struct quire_error *err)
{
    const struct head_rows context = { .end = n - 1,
                                       .tokens = rows->tokens,
                                       .hidden = rows->hidden };
    struct tensor want;
    const size_t vocab = h->info.vocab_size, size = h->info.mtp_block_size;
    int32_t *tokens = calloc(n + size, sizeof *tokens);
    float *logits = malloc((n + size) * vocab * sizeof *logits);
    float *states = malloc((n + size) * h->info.mtp_state_size * sizeof *states);
    quire_status s = tokens && logits && states ? run(h, &context, chunk, err) : QUIRE_E_NOMEM;
    if (s == QUIRE_OK) {
        const uint32_t end = (uint32_t)(n - 1 + size);
        const struct head_rows block = {
            .first = n - 1, .end = end, .tokens = tokens, .logits = logits, .states = states
        };
        tokens[n - 1] = rows->tokens[n - 2]; /* those of rows begin with the second one */
        for (uint32_t i = n; i < end; i++)
            tokens[i] = h->info.mtp_mask_token;
        s = run(h, &block, 0, err);
    }
    const size_t first = n - h->info.mtp_from_anchor;
    if (s == QUIRE_OK && tensor_file_get(golden, "F32", &want, "mtp_logits.%u", n)) {
        if (h->info.mtp_markov_rank)
            s = add_markov(t, h, tokens[n - 1], logits + first * vocab,
                           states + first * h->info.mtp_state_size, &want, golden, n, err);
        tally_logits(t, logits + first * vocab, want.data, predicting_rows(h), vocab);
    }
    free(tokens);
    free(logits);
    free(states);
    return s;
}

/* Whether the reference has the rows that are compared. */
static quire_status check_shape(const struct head *h, const struct tensor *want, uint32_t n,
                                struct quire_error *err)
{
    const uint32_t rows = h->info.mtp_block_size ? predicting_rows(h) : n - 1;
    if (want->n_dims == 2 && want->dims[0] == rows && want->dims[1] == h->info.vocab_size)
        return QUIRE_OK;
    snprintf(err->msg, sizeof err->msg, "mtp_logits.%u does not match the head", n);
    return QUIRE_E_MISMATCH;
}

/* Finds a reference tensor of head k: mtp_<what>.<n>, behind the first head with ".<k>". */
static bool get_tensor(const struct tensor_file *golden, struct tensor *out, const char *what,
                       uint32_t n, uint32_t k)
{
    return k ? tensor_file_get(golden, "F32", out, "mtp_%s.%u.%u", what, n, k)
             : tensor_file_get(golden, "F32", out, "mtp_%s.%u", what, n);
}

/* Compares several heads with mtp_logits, those of head k at the first n - 1 - k tokens, and
 * mtp_hidden. states: [2][n][width], of a head and of the one before it. */
static quire_status compare_heads(struct tally *t, const struct head *h,
                                  const struct head_rows *first, uint32_t chunk,
                                  const struct tensor_file *golden, uint32_t n,
                                  struct quire_error *err)
{
    const size_t vocab = h->info.vocab_size, state = h->info.mtp_state_size;
    struct head_rows rows = *first;
    quire_status s = QUIRE_OK;
    for (uint32_t k = 0; s == QUIRE_OK && k < h->info.n_mtp_heads && k + 1 < n; k++) {
        struct tensor logits, states;
        rows.number = k;
        rows.end = n - 1 - k;
        rows.tokens = first->tokens + k;
        rows.hidden = k && h->info.mtp_chained ? rows.states : first->hidden;
        rows.states = first->states + k % 2 * n * state;
        s = run(h, &rows, chunk, err);
        if (s != QUIRE_OK || !get_tensor(golden, &logits, "logits", n, k) ||
            logits.n != rows.end * vocab)
            continue;
        tally_logits(t, rows.logits, logits.data, rows.end, vocab);
        if (get_tensor(golden, &states, "hidden", n, k) && states.n == rows.end * state)
            tally_values(t, rows.states, states.data, states.n);
    }
    return s;
}

/* Compares a head, a block drafter, or several heads, which read the residual stream of the
 * model. */
static quire_status compare_any(struct tally *t, const struct head *h, struct eval_run *r,
                                const struct eval_options *o, const struct head_rows *rows,
                                const float *hidden, float *input, const struct tensor_file *golden,
                                uint32_t n, struct quire_error *err)
{
    gather_input(h, eval_run_info(r), hidden, n, input);
    if (h->info.mtp_block_size)
        return compare_block(t, h, rows, o->chunk, golden, n, err);
    if (h->info.n_mtp_features != 1)
        return compare(t, h, rows, o->chunk, golden, n, err);
    const quire_status s = eval_run_prompt_stream(r, rows->tokens - 1, n, input, err);
    return s == QUIRE_OK ? compare_heads(t, h, rows, o->chunk, golden, n, err) : s;
}

quire_status tally_mtp(struct tally *t, struct eval_run *r, const struct eval_options *o,
                       const char *model, const struct tensor_file *golden, uint32_t n,
                       struct quire_error *err)
{
    struct tensor ids, want;
    struct head h = { 0 };
    const struct quire_model_info *info = eval_run_info(r);
    if (!tensor_file_get(golden, "I64", &ids, "ids.%u", n) ||
        !tensor_file_get(golden, "F32", &want, "mtp_logits.%u", n))
        return QUIRE_OK;
    if (n < 2 || ids.n != n) {
        snprintf(err->msg, sizeof err->msg, "ids.%u are not as many", n);
        return QUIRE_E_MISMATCH;
    }
    const size_t states = (size_t)n * info->hidden_size;
    int32_t *tokens = calloc((size_t)n + 1, sizeof *tokens);
    float *hidden = malloc((info->n_layers + 1) * states * sizeof *hidden);
    float *logits = malloc((size_t)n * info->vocab_size * sizeof *logits);
    float *input = NULL, *out = NULL;
    quire_status s = tokens && hidden && logits ? QUIRE_OK : QUIRE_E_NOMEM;
    for (uint32_t i = 0; s == QUIRE_OK && i <= n; i++) /* the first one follows the last one */
        tokens[i] = (int32_t)tensor_i64(&ids, i % n);
    if (s == QUIRE_OK)
        s = eval_run_prompt_states(r, tokens, n, hidden, err);
    if (s == QUIRE_OK)
        s = open_head(&h, o, model, r, n, err);
    if (s == QUIRE_OK)
        s = check_shape(&h, &want, n, err);
    if (s == QUIRE_OK) {
        input = malloc((size_t)n * h.info.mtp_hidden_size * sizeof *input);
        out = malloc((size_t)2 * n * h.info.mtp_state_size * sizeof *out);
        s = input && out ? QUIRE_OK : QUIRE_E_NOMEM;
    }
    if (s == QUIRE_OK) {
        const struct head_rows rows = {
            .end = n - 1, .tokens = tokens + 1, .hidden = input, .logits = logits, .states = out
        };
        s = compare_any(t, &h, r, o, &rows, hidden, input, golden, n, err);
    }
    close_head(&h);
    free(tokens);
    free(hidden);
    free(logits);
    free(input);
    free(out);
    return s;
}
