/* SPDX-License-Identifier: Apache-2.0 */
/* bench_attention.c - `quire-bench attention`: prefill and decode over a paged cache in DRAM,
 * shared prefixes, and attention over contiguous rows. */
#include "bench_attention_check.h"
#include "bench_measure.h"
#include "bench_table.h"
#include <math.h>
#include <quire/bias.h>
#include <stdlib.h>
#include <string.h>

static const struct attention_shape shapes[] = {
    { .name = "llama-8b", .heads = 32, .kv_heads = 8, .head_size = 128 },
    { .name = "llama-1b", .heads = 32, .kv_heads = 8, .head_size = 64 },
    { .name = "qwen2.5-7b", .heads = 28, .kv_heads = 4, .head_size = 128 },
    { .name = "gemma2-2b",
      .heads = 8,
      .kv_heads = 4,
      .head_size = 256,
      .window = 4096,
      .soft_cap = 50 },
    { .name = "gemma3-4b", .heads = 8, .kv_heads = 4, .head_size = 256, .window = 1024 },
    { .name = "gpt-oss-20b",
      .heads = 64,
      .kv_heads = 8,
      .head_size = 64,
      .window = 128,
      .sinks = true },
    { .name = "mpt-7b", .heads = 32, .kv_heads = 32, .head_size = 128, .alibi = true },
    { .name = "phi3-mini", .heads = 32, .kv_heads = 32, .head_size = 96 },
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* ---- set-up */

static void close_case(struct attention_case *c)
{
    quire_plan_destroy(c->plan);
    quire_kv_destroy(c->kv);
    quire_dense_destroy(c->dense);
    bench_tables_close(&c->tables);
    free(c->starts), free(c->lens), free(c->slopes), free(c->sinks), free(c->q), free(c->out);
    free(c->k), free(c->v);
    *c = (struct attention_case){ 0 };
}

static quire_status make_config(struct attention_case *c, enum quire_compute compute, uint64_t *rng)
{
    const struct attention_shape *s = c->shape;
    quire_attention_config_init(&c->config, sizeof c->config, s->heads, s->kv_heads, s->head_size);
    c->config.compute = compute;
    c->config.logits_soft_cap = s->soft_cap;
    c->config.window_left = s->window ? (int32_t)s->window - 1 : QUIRE_WINDOW_NONE;
    if (s->alibi) {
        c->config.alibi_slopes = c->slopes = malloc(s->heads * sizeof *c->slopes);
        if (!c->slopes || quire_alibi_slopes(s->heads, c->slopes, NULL) != QUIRE_OK)
            return QUIRE_E_NOMEM;
    }
    if (s->sinks) {
        c->config.sinks = c->sinks = malloc(s->heads * sizeof *c->sinks);
        for (uint32_t h = 0; c->sinks && h < s->heads; h++)
            c->sinks[h] = bench_random_float(rng);
    }
    return s->sinks && !c->sinks ? QUIRE_E_NOMEM : QUIRE_OK;
}

/* Several sequences without a shared prefix have lengths from 0.5 to 1.5 times `context`. */
static quire_status make_batch(struct attention_case *c, uint32_t context, uint64_t *rng)
{
    const size_t tokens = (size_t)c->n_seqs * c->n_query,
                 values = tokens * c->shape->heads * c->shape->head_size;
    c->starts = malloc((c->n_seqs + 1) * sizeof *c->starts);
    c->lens = malloc(c->n_seqs * sizeof *c->lens);
    c->q = malloc(values * sizeof *c->q);
    c->out = malloc(values * sizeof *c->out);
    if (!c->starts || !c->lens || !c->q || !c->out)
        return QUIRE_E_NOMEM;
    for (uint32_t i = 0; i < c->n_seqs; i++) {
        c->starts[i] = (int32_t)(i * c->n_query);
        c->lens[i] = (int32_t)context;
        if (c->n_seqs > 1 && !c->shared)
            c->lens[i] = (int32_t)(context / 2 + (uint64_t)context * i / (c->n_seqs - 1));
    }
    c->starts[c->n_seqs] = (int32_t)tokens;
    for (size_t i = 0; i < values; i++)
        c->q[i] = bench_random_float(rng) + bench_random_float(rng) + bench_random_float(rng);
    return QUIRE_OK;
}

static size_t layer_bytes(const struct attention_case *c)
{
    size_t tokens = 0;
    for (uint32_t i = 0; i < c->n_seqs; i++)
        tokens += (size_t)c->lens[i] - (i ? c->shared : 0);
    return tokens * c->shape->kv_heads *
           (bench_kv_row_bytes(c->k_type, c->shape->head_size) +
            bench_kv_row_bytes(c->v_type, c->shape->head_size));
}

static quire_status make_cache(struct attention_case *c, const struct bench_options *o,
                               struct quire_error *err)
{
    enum { BLOCK = 64, MAX_LAYERS = 1024 };
    const uint32_t max_blocks = ((uint32_t)c->lens[c->n_seqs - 1] + BLOCK - 1) / BLOCK;
    const size_t layers = bench_cold_bytes(o) / layer_bytes(c) + 1;
    c->n_layers = (uint32_t)(layers < MAX_LAYERS ? layers : MAX_LAYERS);
    const struct quire_kv_group_config group = { .n_layers = c->n_layers,
                                                 .n_kv_heads = c->shape->kv_heads,
                                                 .head_size = c->shape->head_size,
                                                 .k_dtype = c->k_type,
                                                 .v_dtype = c->v_type,
                                                 .n_blocks = c->n_seqs * max_blocks };
    const struct quire_kv_params config = { .struct_size = sizeof config,
                                            .block_size = BLOCK,
                                            .groups = &group,
                                            .n_groups = 1,
                                            .isa = o->isa };
    quire_status s = quire_kv_create(&config, &c->kv, err);
    if (s == QUIRE_OK)
        s = bench_tables_open(&c->tables, c->kv, c->n_seqs, max_blocks, o->shuffle, o->seed + 1,
                              err);
    for (uint32_t i = 1; s == QUIRE_OK && i < c->n_seqs; i++)
        memcpy(c->tables.ids + (size_t)i * max_blocks, c->tables.ids,
               c->shared / BLOCK * sizeof *c->tables.ids);
    for (uint32_t i = 0; s == QUIRE_OK && i < c->n_seqs; i++)
        s = bench_cache_fill(c->kv, &c->tables, i, (uint32_t)c->lens[i], o->seed, c->threads, err);
    return s;
}

static quire_status make_plan(struct attention_case *c, const struct bench_options *o,
                              struct quire_error *err)
{
    const struct quire_plan_group group = { .config = &c->config };
    const struct quire_plan_params params = {
        .struct_size = sizeof params,
        .kv = c->kv,
        .groups = &group,
        .n_groups = 1,
        .max_tokens = c->n_seqs * c->n_query,
        .max_seqs = c->n_seqs,
        .max_seq_len = c->tables.max_blocks * c->tables.block_size,
        .n_threads = quire_threads_count(c->threads),
        .flags = c->path == ATTENTION_PLAIN ? QUIRE_PLAN_NO_CASCADE : 0,
        .isa = o->isa
    };
    const struct quire_attention_batch_group tables = { .block_table = c->tables.ids,
                                                        .max_blocks = c->tables.max_blocks };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = c->n_seqs,
                                                 .query_start_loc = c->starts,
                                                 .seq_lens = c->lens,
                                                 .n_groups = 1,
                                                 .groups = &tables };
    const quire_status s = quire_plan_create(&params, &c->plan, err);
    return s == QUIRE_OK ? quire_plan_build(c->plan, &batch, err) : s;
}

/* Contiguous rows of one sequence. Multiples of 1/64 are exact in every dtype the call packs
 * them to. */
static quire_status make_dense(struct attention_case *c, const struct bench_options *o,
                               uint64_t *rng, struct quire_error *err)
{
    const uint32_t keys = (uint32_t)c->lens[0];
    const size_t n = (size_t)keys * c->shape->kv_heads * c->shape->head_size;
    const struct quire_dense_params params = { .struct_size = sizeof params,
                                               .dtype = c->k_type,
                                               .config = &c->config,
                                               .max_tokens = c->n_query,
                                               .max_kv_tokens = keys,
                                               .max_seqs = 1,
                                               .n_threads = quire_threads_count(c->threads),
                                               .isa = o->isa };
    c->n_layers = 1;
    c->k = malloc(n * sizeof *c->k);
    c->v = malloc(n * sizeof *c->v);
    if (!c->k || !c->v)
        return QUIRE_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        c->k[i] = roundf(64 * bench_random_float(rng)) / 64;
        c->v[i] = roundf(64 * bench_random_float(rng)) / 64;
    }
    return quire_dense_create(&params, &c->dense, err);
}

static quire_status open_case(struct attention_case *c, const struct bench_options *o,
                              uint32_t context, enum quire_compute compute, struct quire_error *err)
{
    uint64_t rng = o->seed + 99;
    quire_status s = make_config(c, compute, &rng);
    if (s == QUIRE_OK)
        s = make_batch(c, context, &rng);
    if (s == QUIRE_OK && c->path == ATTENTION_DENSE)
        return make_dense(c, o, &rng, err);
    if (s == QUIRE_OK)
        s = make_cache(c, o, err);
    return s == QUIRE_OK ? make_plan(c, o, err) : s;
}

/* ---- running */

static quire_status run(void *arg, struct quire_error *err)
{
    struct attention_case *c = arg;
    const struct quire_attention_args args = {
        .struct_size = sizeof args, .layer = c->layer, .q = c->q, .out = c->out
    };
    const int32_t kv_starts[] = { 0, c->lens[0] };
    const struct quire_dense_batch rows = { .struct_size = sizeof rows,
                                            .n_seqs = 1,
                                            .query_start_loc = c->starts,
                                            .kv_start_loc = kv_starts,
                                            .k = c->k,
                                            .v = c->v };
    if (c->dense)
        return quire_attention_dense(c->dense, &rows, &args, c->threads, err);
    c->layer = (c->layer + 1) % c->n_layers;
    return quire_attention_forward(c->plan, &args, c->threads, err);
}

/* Precision of the products: bf16, or f32 for f32 and f16 caches and for --compute f32. */
static enum bench_roof roof_of(const struct attention_case *c)
{
    const enum quire_kv_dtype k = c->k_type;
    return c->config.compute != QUIRE_COMPUTE_F32 && k != QUIRE_KV_F32 && k != QUIRE_KV_F16
               ? BENCH_BF16
               : BENCH_F32;
}

/* Counts operations on visible keys, and bytes of keys and values visible to any query. A shared
 * prefix counts once. */
static void count_work(const struct attention_case *c, struct bench_work *w)
{
    const double d = c->shape->head_size;
    for (uint32_t i = 0; i < c->n_seqs; i++) {
        const uint32_t len = (uint32_t)c->lens[i];
        double pairs = 0;
        for (uint32_t t = 0; t < c->n_query; t++)
            pairs += attention_visible(c, len - c->n_query + t);
        const double keys =
            attention_visible(c, len - c->n_query) + (double)c->n_query - 1 - (i ? c->shared : 0);
        w->need[roof_of(c)] += 4 * d * pairs * c->shape->heads;
        w->need[BENCH_READ] += keys * c->shape->kv_heads *
                               (double)(bench_kv_row_bytes(c->k_type, c->shape->head_size) +
                                        bench_kv_row_bytes(c->v_type, c->shape->head_size));
    }
}

/* The bf16 bound admits rounding of queries and weights to bf16; wrong kernels exceed it. */
static double allowed_error(const struct attention_case *c)
{
    return roof_of(c) == BENCH_BF16 ? 0.2 : 2e-4;
}

static const struct bench_column columns[] = {
    { "model", "model", BENCH_TEXT, 11 },
    { "heads", "heads", BENCH_TEXT, 9 },
    { "cache", "path", BENCH_TEXT, 7 },
    { "seqs", "seqs", 0, 4 },
    { "queries", "n_query", 0, 7 },
    { "context", "context", 0, 7 },
    { "KV", "kv", BENCH_TEXT, 9 },
    { "compute", "compute", BENCH_TEXT, 10 },
    { "threads", "threads", 0, 7 },
    { "us", "us", 1, 9 },
    { "95 % low", "us_lo", 1, 9 },
    { "high", "us_hi", 1, 9 },
    { "GFLOP/s", "giga_flops", 1, 7 },
    { "KV GB/s", "gb_per_s", 1, 7 },
    { "of roofline", "of_roofline", BENCH_PERCENT, 11 },
    { "bound", "limit", BENCH_TEXT, 5 },
    { "error", "error", BENCH_ERROR, 8 },
    { "rounds", "rounds", BENCH_TEXT, 8 },
};

static const char *const path_names[] = { "paged", "plain", "cascade", "dense" };

struct job {
    struct bench_machine machine;
    struct bench_table table;
    const struct bench_options *o;
    const struct attention_shape *shape;
    enum quire_kv_dtype k_type, v_type;
    enum quire_compute compute;
};

static void put_row(struct job *j, const struct attention_case *c, uint32_t context,
                    const struct bench_work *w, const struct bench_timing *t, double error)
{
    struct bench_table *out = &j->table;
    bench_text(out, "%s", c->shape->name);
    bench_text(out, "%u/%u/%u", c->shape->heads, c->shape->kv_heads, c->shape->head_size);
    bench_text(out, "%s", path_names[c->path]);
    bench_number(out, c->n_seqs);
    bench_number(out, c->n_query);
    bench_number(out, context);
    bench_text(out, c->k_type == c->v_type ? "%s" : "%s/%s", quire_kv_dtype_name(c->k_type),
               quire_kv_dtype_name(c->v_type));
    bench_text(out, "%s", bench_compute_name(c->config.compute));
    bench_number(out, j->machine.n_threads);
    bench_number(out, t->seconds.median * 1e6);
    bench_number(out, t->seconds.lo * 1e6);
    bench_number(out, t->seconds.hi * 1e6);
    bench_number(out, w->need[roof_of(c)] / t->seconds.median * 1e-9);
    bench_number(out, w->need[BENCH_READ] / t->seconds.median * 1e-9);
    bench_number(out, t->fraction);
    bench_text(out, "%s", t->limit);
    bench_number(out, error);
    bench_text(out, "%u%s", t->rounds, t->cpu_time ? " cpu" : "");
}

static int one_case(struct job *j, struct attention_case c, uint32_t context)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    c.shape = j->shape;
    c.k_type = j->k_type;
    c.v_type = j->v_type;
    c.threads = j->machine.threads;
    struct bench_work work = { .run = run, .arg = &c };
    struct bench_timing timing = { 0 };
    quire_status s = open_case(&c, j->o, context, j->compute, &err);
    if (s == QUIRE_OK) {
        count_work(&c, &work);
        s = bench_measure(&j->machine, j->o, &work, bench_repetitions(j->o, 9), &timing, &err);
    }
    int code = s == QUIRE_OK ? 0 : bench_fail(j->shape->name, s, &err);
    if (!code) {
        const double error = attention_error(&c);
        put_row(j, &c, context, &work, &timing, error);
        if (!(error <= allowed_error(&c)))
            code = bench_error(1, "the result above is wrong");
    }
    close_case(&c);
    return code;
}

/* ---- cases */

/* Prefill of a whole prompt over contiguous rows. */
static int dense_case(struct job *j, uint32_t n)
{
    const bool packable = j->k_type == j->v_type && bench_kv_elem_bytes(j->k_type) > 1;
    const struct attention_case c = { .path = ATTENTION_DENSE, .n_seqs = 1, .n_query = n };
    return packable ? one_case(j, c, n) : 0;
}

/* Decode of several sequences that share all but their last 64 keys, without and with cascade. */
static int shared_cases(struct job *j, uint32_t n_seqs, uint32_t context)
{
    struct attention_case c = { .path = ATTENTION_PLAIN, .n_seqs = n_seqs, .n_query = 1 };
    c.shared = context / 64 * 64;
    const int code = one_case(j, c, c.shared + 64);
    c.path = ATTENTION_CASCADE;
    return code ? code : one_case(j, c, c.shared + 64);
}

/* Prefill at a depth: the last chunk of a prompt of n tokens. */
static int prompt_cases(struct job *j, uint32_t n, uint32_t depth)
{
    enum { STEP = 512 };
    const struct attention_case c = { .n_seqs = 1, .n_query = n < STEP ? n : STEP };
    const int code = one_case(j, c, depth + n);
    return code || depth || n > STEP ? code : dense_case(j, n);
}

/* Decode, one query per sequence. context: keys including its own. */
static int decode_cases(struct job *j, uint32_t context)
{
    const struct bench_list batches = bench_list_or(&j->o->batches, "1");
    int code = 0;
    for (uint32_t b = 0; !code && b < batches.n; b++) {
        const uint32_t n = batches.v[b] ? batches.v[b] : 1;
        code = one_case(j, (struct attention_case){ .n_seqs = n, .n_query = 1 }, context);
        if (!code && n > 1)
            code = shared_cases(j, n, context);
    }
    return code;
}

/* Each -p at each -d. */
static int pairs(struct job *j)
{
    const struct bench_list *news = &j->o->prompts, *depths = &j->o->depths;
    int code = 0;
    for (uint32_t i = 0; i < news->n; i++)
        for (uint32_t d = 0; !code && d < depths->n; d++)
            code = news->v[i] > 1 ? prompt_cases(j, news->v[i], depths->v[d])
                                  : decode_cases(j, depths->v[d] + 1);
    return code;
}

/* Prefill and decode of one shape, KV type and mode. */
static int cases(struct job *j)
{
    const struct bench_options *o = j->o;
    const struct bench_list prompts =
        bench_list_or(&o->prompts, o->quick ? "128" : "128,512,2048,8192");
    const struct bench_list depths =
        bench_list_or(&o->depths, o->quick ? "1024" : "1024,4096,32768");
    int code = 0;
    if (o->prompts.n && o->depths.n)
        return pairs(j);
    for (uint32_t i = 0; !code && i < prompts.n && !o->depths.n; i++)
        code = prompt_cases(j, prompts.v[i] ? prompts.v[i] : 1, 0);
    for (uint32_t i = 0; !code && i < depths.n && !o->prompts.n; i++)
        code = decode_cases(j, depths.v[i] > 1 ? depths.v[i] : 2);
    return code;
}

static int kv_types(struct job *j)
{
    enum quire_compute modes[3];
    const unsigned n_modes = bench_compute_modes(j->o, "native", modes);
    if (!n_modes)
        return 64;
    for (unsigned k = 0;; k++) {
        const int found = bench_kv_types(j->o, j->o->quick ? "bf16" : "bf16,fp8_e4m3,f16,f32", k,
                                         &j->k_type, &j->v_type);
        if (found <= 0)
            return found < 0 ? 64 : 0;
        for (unsigned i = 0; i < n_modes; i++) {
            j->compute = modes[i];
            const int code = cases(j);
            if (code)
                return code;
        }
    }
}

static int all_shapes(struct job *j)
{
    const char *names = j->o->shapes  ? j->o->shapes
                        : j->o->quick ? "llama-1b"
                                      : "llama-8b,llama-1b";
    char name[32];
    int code = 0;
    while (!code && bench_next_word(&names, name, sizeof name)) {
        bool found = false;
        for (int i = 0; i < N_SHAPES && !code; i++)
            if (!strcmp(name, "all") || !strcmp(name, shapes[i].name)) {
                found = true;
                j->shape = &shapes[i];
                code = kv_types(j);
            }
        if (!found) {
            bench_error(64, "--shapes %s: unknown; the shapes are:", name);
            for (int i = 0; i < N_SHAPES; i++)
                bench_error(64, "  %s", shapes[i].name);
            return 64;
        }
    }
    return code;
}

int bench_attention(const struct bench_options *o)
{
    const struct bench_list threads = bench_list_or(&o->threads, "0");
    struct job j = { .o = o };
    int code = 0;
    bench_document_begin(&j.table, o, "attention");
    bench_table_begin(&j.table, o->shuffle ? "Attention over shuffled blocks" : "Attention",
                      columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; !code && i < threads.n; i++) {
        code = bench_machine_open(&j.machine, o, threads.v[i]);
        if (!code)
            code = all_shapes(&j);
        bench_machine_close(&j.machine);
    }
    bench_table_end(&j.table);
    bench_note(&j.table,
               "us: median and 95 %% confidence interval. Every call reads the cache of another "
               "layer, from memory; dense: contiguous f32 rows, which the call packs first. plain "
               "and cascade: sequences share all keys but 64, which count once; plain reads them "
               "per sequence. GFLOP/s counts visible keys only. error: largest difference of "
               "sampled rows to double-precision attention over the stored keys and values, "
               "relative to their RMS.");
    bench_document_end(&j.table);
    return code;
}
