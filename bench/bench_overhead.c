/* SPDX-License-Identifier: Apache-2.0 */
/* bench_overhead.c - `quire-bench overhead`: cost of a step outside the kernels. */
#include "bench_cache.h"
#include "bench_measure.h"
#include "bench_table.h"
#include "bench_team.h"
#include <quire/grammar.h>
#include <quire/sampling.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct bench_column columns[] = {
    { "operation", "operation", BENCH_TEXT, 53 },
    { "us", "us", 3, 9 },
    { "95 % low", "us_lo", 3, 9 },
    { "high", "us_hi", 3, 9 },
};

struct bench {
    struct bench_machine machine;
    struct bench_table table;
    const struct bench_options *o;
};

static quire_status put(struct bench *b, const char *operation,
                        quire_status (*run)(void *, struct quire_error *), void *arg,
                        struct quire_error *err)
{
    const struct bench_work work = { .run = run, .arg = arg };
    struct bench_timing t;
    const quire_status s =
        bench_measure(&b->machine, b->o, &work, bench_repetitions(b->o, 15), &t, err);
    if (s != QUIRE_OK)
        return s;
    bench_text(&b->table, "%s", operation);
    bench_number(&b->table, t.seconds.median * 1e6);
    bench_number(&b->table, t.seconds.lo * 1e6);
    bench_number(&b->table, t.seconds.hi * 1e6);
    return QUIRE_OK;
}

/* ---- plan and KV append: head counts of an 8B model, up to 64 sequences */

enum {
    SEQS = 64,
    MAX_BLOCKS = 128,
    BLOCK = 64,
    KV_HEADS = 8,
    HEADS = 32,
    HEAD_SIZE = 128,
    LAYERS = 32,
    PROMPT = 512
};

struct step {
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    struct bench_tables tables;
    struct quire_attention_batch_group group;
    struct quire_attention_batch batch;
    int32_t starts[SEQS + 1], lens[SEQS];
    int64_t slots[SEQS];
    float *rows; /* [SEQS][KV_HEADS][HEAD_SIZE] */
    uint32_t n_rows, position;
};

static void close_step(struct step *s)
{
    quire_plan_destroy(s->plan);
    quire_kv_destroy(s->kv);
    bench_tables_close(&s->tables);
    free(s->rows);
}

/* Sizes are as small as the measurement permits: the plan does not depend on n_layers, the
 * append not on max_blocks. */
static quire_status open_step(struct step *s, const struct bench *b, enum quire_kv_dtype dtype,
                              uint32_t n_layers, uint32_t max_blocks, struct quire_error *err)
{
    const struct quire_kv_group_config group = { .n_layers = n_layers,
                                                 .n_kv_heads = KV_HEADS,
                                                 .head_size = HEAD_SIZE,
                                                 .k_dtype = dtype,
                                                 .v_dtype = dtype,
                                                 .n_blocks = SEQS * max_blocks };
    const struct quire_kv_params config = { .struct_size = sizeof config,
                                            .block_size = BLOCK,
                                            .groups = &group,
                                            .n_groups = 1,
                                            .isa = b->o->isa };
    struct quire_attention_config attention;
    quire_attention_config_init(&attention, sizeof attention, HEADS, KV_HEADS, HEAD_SIZE);
    const struct quire_plan_group plan_group = { .config = &attention };
    *s = (struct step){ .rows = calloc((size_t)SEQS * KV_HEADS * HEAD_SIZE, sizeof(float)) };
    quire_status st = s->rows ? quire_kv_create(&config, &s->kv, err) : QUIRE_E_NOMEM;
    if (st == QUIRE_OK)
        st = bench_tables_open(&s->tables, s->kv, SEQS, max_blocks, false, 1, err);
    const struct quire_plan_params params = { .struct_size = sizeof params,
                                              .kv = s->kv,
                                              .groups = &plan_group,
                                              .n_groups = 1,
                                              .max_tokens = PROMPT,
                                              .max_seqs = SEQS,
                                              .max_seq_len = max_blocks * BLOCK,
                                              .n_threads = b->machine.n_threads,
                                              .isa = b->o->isa };
    if (st == QUIRE_OK)
        st = quire_plan_create(&params, &s->plan, err);
    s->group = (struct quire_attention_batch_group){ .block_table = s->tables.ids,
                                                     .max_blocks = max_blocks };
    s->batch = (struct quire_attention_batch){ .struct_size = sizeof s->batch,
                                               .query_start_loc = s->starts,
                                               .seq_lens = s->lens,
                                               .n_groups = 1,
                                               .groups = &s->group };
    return st;
}

static quire_status build(void *arg, struct quire_error *err)
{
    struct step *s = arg;
    return quire_plan_build(s->plan, &s->batch, err);
}

static quire_status plan_rows(struct bench *b, struct quire_error *err)
{
    struct step s;
    quire_status st = open_step(&s, b, QUIRE_KV_FP8_E4M3, 1, MAX_BLOCKS, err);
    for (uint32_t i = 0; i < SEQS; i++) {
        s.starts[i + 1] = (int32_t)i + 1;
        s.lens[i] = (int32_t)(1 + i * 127);
    }
    s.batch.n_seqs = SEQS;
    if (st == QUIRE_OK)
        st = put(b, "plan: decode, 64 sequences of 1 to 8002 tokens", build, &s, err);
    s.batch.n_seqs = s.starts[1] = 1;
    s.lens[0] = MAX_BLOCKS * BLOCK;
    if (st == QUIRE_OK)
        st = put(b, "plan: decode, 1 sequence of 8192 tokens", build, &s, err);
    s.starts[1] = PROMPT;
    if (st == QUIRE_OK)
        st = put(b, "plan: prefill, 512 new tokens at a depth of 7680", build, &s, err);
    close_step(&s);
    return st;
}

/* Appends one token per sequence in all layers, at a new position each call so that the writes
 * miss the caches. */
static quire_status append(void *arg, struct quire_error *err)
{
    struct step *s = arg;
    s->position = (s->position + BLOCK + 1) % (s->tables.max_blocks * BLOCK);
    for (uint32_t i = 0; i < s->n_rows; i++)
        s->slots[i] = bench_slot(&s->tables, i, s->position);
    struct quire_kv_write_args args = { .struct_size = sizeof args,
                                        .dtype = QUIRE_KV_F32,
                                        .k = s->rows,
                                        .v = s->rows,
                                        .slot_mapping = s->slots,
                                        .n_tokens = s->n_rows };
    quire_status st = QUIRE_OK;
    for (args.layer = 0; args.layer < LAYERS && st == QUIRE_OK; args.layer++)
        st = quire_kv_write(s->kv, &args, NULL, err);
    return st;
}

static quire_status append_rows(struct bench *b, enum quire_kv_dtype dtype, struct quire_error *err)
{
    struct step s;
    char operation[64];
    quire_status st = open_step(&s, b, dtype, LAYERS, 4, err);
    for (uint32_t n = 1; st == QUIRE_OK && n <= SEQS; n *= SEQS) {
        s.n_rows = n;
        snprintf(operation, sizeof operation, "KV append: %u sequence%s, 32 layers, 8 x 128, %s", n,
                 n > 1 ? "s" : "", quire_kv_dtype_name(dtype));
        st = put(b, operation, append, &s, err);
    }
    close_step(&s);
    return st;
}

/* ---- sampler */

#ifdef QUIRE_WITH_TEXT
enum { VOCAB = 128256, HISTORY = 1024 };

struct sampling {
    struct quire_sampler *sampler;
    struct quire_sampling_params params;
    struct quire_sample_args step;
    float *logits;
    int32_t history[HISTORY];
};

static quire_status sample(void *arg, struct quire_error *err)
{
    struct sampling *c = arg;
    int32_t token;
    c->step.index++;
    return quire_sampler_sample(c->sampler, &c->params, &c->step, &token, err);
}

static quire_status sampler_rows(struct bench *b, struct quire_error *err)
{
    uint64_t rng = b->o->seed + 7;
    struct sampling *c = calloc(1, sizeof *c);
    if (c)
        c->logits = malloc(VOCAB * sizeof *c->logits);
    quire_status st =
        c && c->logits ? quire_sampler_create(VOCAB, NULL, &c->sampler, err) : QUIRE_E_NOMEM;
    if (st == QUIRE_OK) {
        for (int i = 0; i < VOCAB; i++)
            c->logits[i] = 4 * (bench_random_float(&rng) + bench_random_float(&rng) +
                                bench_random_float(&rng));
        for (int i = 0; i < HISTORY; i++)
            c->history[i] = (int32_t)(bench_random(&rng) % VOCAB);
        c->step = (struct quire_sample_args){ .struct_size = sizeof c->step,
                                              .logits = c->logits,
                                              .history = c->history,
                                              .n_history = HISTORY };
        quire_sampling_params_init(&c->params, sizeof c->params);
        st = put(b, "sampler: defaults, 128256 tokens", sample, c, err);
    }
    if (st == QUIRE_OK) {
        c->params.repetition_penalty = 1.1f;
        c->params.penalty_last_n = -1;
        st = put(b, "sampler: defaults and penalties over 1024 tokens", sample, c, err);
    }
    if (st == QUIRE_OK) {
        quire_sampling_params_init(&c->params, sizeof c->params);
        c->params.top_k = 0;
        st = put(b, "sampler: top_p and min_p only", sample, c, err);
    }
    if (st == QUIRE_OK) {
        c->params.temperature = 0;
        st = put(b, "sampler: greedy", sample, c, err);
    }
    if (c) {
        quire_sampler_destroy(c->sampler);
        free(c->logits);
    }
    free(c);
    return st;
}
/* ---- token masks */

struct masking {
    float *logits;
    uint32_t mask[VOCAB / 32];
};

static quire_status apply_mask(void *arg, struct quire_error *err)
{
    struct masking *c = arg;
    (void)err;
    quire_grammar_apply_mask(c->mask, VOCAB / 32, c->logits, VOCAB);
    return QUIRE_OK;
}

/* In strings few tokens are excluded, elsewhere almost all are. */
static quire_status mask_rows(struct bench *b, struct quire_error *err)
{
    static const char *const names[] = { "mask: 1 of 300 tokens excluded, 128256 tokens",
                                         "mask: every second token excluded",
                                         "mask: all but 1 of 300 tokens excluded" };
    uint64_t rng = b->o->seed + 9;
    struct masking *c = calloc(1, sizeof *c);
    if (c)
        c->logits = calloc(VOCAB, sizeof *c->logits);
    quire_status st = c && c->logits ? QUIRE_OK : QUIRE_E_NOMEM;
    for (int row = 0; row < 3 && st == QUIRE_OK; row++) {
        memset(c->mask, 0, sizeof c->mask);
        for (int i = 0; i < VOCAB; i++) {
            const bool rare = bench_random(&rng) % 300 == 0, half = bench_random(&rng) % 2;
            const bool allowed = row == 0 ? !rare : row == 1 ? half : rare;
            c->mask[i / 32] |= (uint32_t)allowed << (i % 32);
        }
        st = put(b, names[row], apply_mask, c, err);
    }
    if (c)
        free(c->logits);
    free(c);
    return st;
}
#else
static quire_status mask_rows(struct bench *b, struct quire_error *err)
{
    (void)b, (void)err;
    return QUIRE_OK;
}

static quire_status sampler_rows(struct bench *b, struct quire_error *err)
{
    (void)b, (void)err;
    return QUIRE_OK;
}
#endif

/* ---- the command */

int bench_overhead(const struct bench_options *o)
{
    struct bench_list threads = bench_list_or(&o->threads, "0");
    struct bench b = { .o = o };
    struct quire_error err = QUIRE_ERROR_INIT;
    for (uint32_t i = 0; i < threads.n; i++)
        threads.v[i] = threads.v[i] ? threads.v[i] : quire_threads_default_count();
    bench_document_begin(&b.table, o, "overhead");
    int code = bench_team_table(&b.table, o, &threads);
    if (!code)
        code = bench_machine_open(&b.machine, o, threads.v[0]);
    if (code)
        return code;
    bench_table_begin(&b.table, "Single-thread cost around a step", columns,
                      sizeof columns / sizeof *columns);
    quire_status s = plan_rows(&b, &err);
    if (s == QUIRE_OK)
        s = append_rows(&b, QUIRE_KV_BF16, &err);
    if (s == QUIRE_OK)
        s = append_rows(&b, QUIRE_KV_FP8_E4M3, &err);
    if (s == QUIRE_OK)
        s = sampler_rows(&b, &err);
    if (s == QUIRE_OK)
        s = mask_rows(&b, &err);
    bench_table_end(&b.table);
    bench_document_end(&b.table);
    bench_machine_close(&b.machine);
    return s == QUIRE_OK ? 0 : bench_fail("overhead", s, &err);
}
