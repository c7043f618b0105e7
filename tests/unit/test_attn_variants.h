/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_variants.h - random attention options, and variants of running a problem that must not
 * change a bit. */
#ifndef QUIRE_TEST_ATTN_VARIANTS_H
#define QUIRE_TEST_ATTN_VARIANTS_H
#include "test_attn_oracle.h"

static inline struct problem problem_of(uint32_t heads, uint32_t kv_heads, uint32_t head_size,
                                        enum quire_kv_dtype dtype, enum quire_compute compute)
{
    struct problem s = { .k_dtype = dtype, .v_dtype = dtype, .k_scale = 1, .v_scale = 1 };
    quire_attention_config_init(&s.config, sizeof s.config, heads, kv_heads, head_size);
    s.config.compute = compute;
    if (dtype == QUIRE_KV_FP8_E4M3 || dtype == QUIRE_KV_FP8_E5M2) {
        s.k_scale = 0.031f;
        s.v_scale = 0.5f;
    }
    return s;
}

/* Draws a random set of options. The caller then fills in the data and sets the pointers with
 * problem_point. */
static inline struct problem random_scene(void)
{
    const uint32_t kv_heads = 1 + problem_below(2), ratio = 1 + problem_below(8);
    const uint32_t head_size =
        problem_below(8) ? 8 * (1 + problem_below(10)) : 1 + problem_below(40);
    struct problem s = problem_of(kv_heads * ratio, kv_heads, head_size, problem_dtype(),
                                  problem_below(2) ? QUIRE_COMPUTE_F32 : QUIRE_COMPUTE_NATIVE);
    if (problem_below(6) == 0) {
        s.v_dtype = problem_dtype();
        s.config.v_head_size = 8 * (1 + problem_below(6));
    }
    if (problem_below(3) == 0)
        s.config.window_left = (int32_t)problem_below(problem_below(2) ? 20 : 600);
    if (problem_below(4) == 0)
        s.config.causal = 0;
    if (problem_below(4) == 0)
        s.config.window_right = (int32_t)problem_below(70);
    if (problem_below(3) == 0)
        s.config.logits_soft_cap = problem_uniform(1, 50);
    if (problem_below(4) == 0) {
        s.config.kind = (enum quire_attention_kind)(1 + problem_below(3));
        s.config.causal = 0;
    }
    if (problem_below(5) == 0)
        s.config.chunk_size = 1 + problem_below(problem_below(2) ? 90 : 700);
    return s;
}

static inline void problem_point(struct problem *s, bool alibi, bool sinks)
{
    if (problem_below(5) == 0) {
        s->config.relative_bias = s->relative;
        s->config.relative_range = problem_below(MAX_PROBLEM_RANGE + 1);
    }
    s->config.alibi_slopes = alibi ? s->slopes : NULL;
    s->config.sinks = sinks ? s->sinks : NULL;
}

/* Runs every row of a problem in one batch and checks it. */
static inline struct result whole(const struct problem *s, const char *isa)
{
    struct result r = result_new(s);
    struct variant run = variant_whole(s);
    run.isa = isa;
    run_problem(s, &run, &r);
    return r;
}

static inline void assert_same_result(const struct result *a, const struct result *b)
{
    assert_same_bits(a->out, b->out, a->n_out);
    assert_same_bits(a->lse, b->lse, a->n_lse);
}

/* Whether no row sees keys of later chunks. */
static inline bool chunks_are_possible(const struct quire_attention_config *c)
{
    return c->causal || c->window_right == 0 || c->kind == QUIRE_ATTENTION_CROSS;
}

/* End of a chunk: `at`, or the end of the span that it would cut. */
static inline uint32_t chunk_end(const struct problem *s, uint32_t seq, uint32_t at)
{
    for (uint32_t i = 0; i < s->n_spans[seq]; i++)
        if (at > (uint32_t)s->spans[seq][i].begin && at < (uint32_t)s->spans[seq][i].end)
            at = (uint32_t)s->spans[seq][i].end;
    return at < s->len[seq] ? at : s->len[seq];
}

/* Runs the rows in chunks of n tokens. */
static inline void check_chunks(const struct problem *s, const struct result *want, uint32_t n,
                                uint32_t block_size)
{
    struct result got = result_new(s);
    uint32_t longest = 0;
    for (uint32_t i = 0; i < s->n_seqs; i++)
        longest = s->len[i] > longest ? s->len[i] : longest;
    for (uint32_t begin = 0; begin < longest; begin += n) {
        struct variant r = variant_whole(s);
        r.block_size = block_size;
        r.omit_freed = true;
        for (uint32_t i = 0; i < s->n_seqs; i++) {
            r.from[i] = chunk_end(s, i, begin);
            r.to[i] = chunk_end(s, i, begin + n);
        }
        run_problem(s, &r, &got);
    }
    assert_same_result(&got, want);
    result_free(&got);
}

/* Runs only the last n tokens of each sequence, with all keys present, as in decode. */
static inline void check_tail(const struct problem *s, const struct result *want, uint32_t n)
{
    struct result got = result_new(s);
    struct variant r = variant_whole(s);
    r.block_size = 16;
    r.reversed = true;
    r.shuffle = 99;
    for (uint32_t i = 0; i < s->n_seqs; i++)
        r.from[i] = s->len[i] > n ? s->len[i] - n : 0;
    memcpy(got.out, want->out, got.n_out * sizeof *got.out);
    memcpy(got.lse, want->lse, got.n_lse * sizeof *got.lse);
    for (uint32_t i = 0; i < s->n_seqs; i++)
        for (uint32_t t = r.from[i]; t < s->len[i]; t++) /* the run must write them */
            memset(got.lse + (size_t)(s->first[i] + t) * s->config.n_heads, 0xee,
                   s->config.n_heads * sizeof(float));
    run_problem(s, &r, &got);
    assert_same_result(&got, want);
    result_free(&got);
}

static inline void check_threads(const struct problem *s, const struct result *want)
{
    static const uint32_t counts[] = { 1, 2, 3, 7 };
    static const uint32_t block_sizes[] = { 32, 128, 48, 16 };
    for (int i = 0; i < 4; i++) {
        struct result got = result_new(s);
        struct variant r = variant_whole(s);
        r.n_threads = counts[i];
        r.threads = counts[i] > 1 ? make_threads(counts[i]) : NULL;
        r.n_plan_threads = i == 2   ? 2
                           : i == 1 ? 64
                                    : counts[i]; /* below and above the plan's n_threads */
        r.block_size = s->has_lists && PROBLEM_LIST_BLOCK % block_sizes[i] ? 96 : block_sizes[i];
        r.shuffle = (uint64_t)i + 5;
        r.flags = i == 3 ? QUIRE_PLAN_FAST : 0;
        run_problem(s, &r, &got);
        assert_same_result(&got, want);
        result_free(&got);
        quire_threads_destroy(r.threads);
    }
}

static inline void check_alone(const struct problem *s, const struct result *want)
{
    struct result got = result_new(s);
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        struct variant r = variant_whole(s);
        memset(r.to, 0, sizeof r.to);
        r.to[i] = s->len[i];
        r.block_size = s->has_lists ? 192 : 80;
        run_problem(s, &r, &got);
    }
    assert_same_result(&got, want);
    result_free(&got);
}

#endif
