/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_dense.c - attention over contiguous keys and values: the bits of paged attention for
 * every memory layout of the rows. */
#include "test_attn_dense.h"

/* ---- same bits as paged attention */

static struct problem random_scene(void)
{
    static const enum quire_kv_dtype dtypes[] = { QUIRE_KV_F32, QUIRE_KV_BF16, QUIRE_KV_F16 };
    const uint32_t kv_heads = 1 + problem_below(3), ratio = 1 + problem_below(4);
    struct problem s = { .k_scale = 1, .v_scale = 1 };
    s.k_dtype = s.v_dtype = dtypes[problem_below(3)];
    quire_attention_config_init(&s.config, sizeof s.config, kv_heads * ratio, kv_heads,
                                problem_below(6) ? 8 * (1 + problem_below(9))
                                                 : 1 + problem_below(30));
    s.config.v_head_size = problem_below(4) ? 0 : 8 * (1 + problem_below(6));
    s.config.kind = (enum quire_attention_kind)problem_below(4);
    s.config.causal = s.config.kind == QUIRE_ATTENTION_DECODER && problem_below(4);
    s.config.compute = problem_below(2) ? QUIRE_COMPUTE_F32 : QUIRE_COMPUTE_NATIVE;
    s.config.window_left = problem_below(3) ? -1 : (int32_t)problem_below(600);
    s.config.window_right = problem_below(4) ? -1 : (int32_t)problem_below(100);
    s.config.logits_soft_cap = problem_below(3) ? 0 : problem_uniform(1, 40);
    s.config.chunk_size = problem_below(5) ? 0 : 1 + problem_below(500);
    return s;
}

static void every_option(void **state)
{
    (void)state;
    static const uint32_t thread_counts[] = { 1, 2, 3, 7 };
    static const enum quire_kv_dtype row_dtypes[] = { QUIRE_KV_F32, QUIRE_KV_BF16, QUIRE_KV_F16 };
    struct quire_threads *threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = make_threads(thread_counts[i]);
    problem_rng = 31;
    for (int round = 0; round < 72; round++) {
        struct dense_scene d = { .s = random_scene() };
        uint32_t lens[6];
        for (int i = 0; i < 6; i++)
            lens[i] = problem_below(4) ? problem_below(90) : problem_below(900);
        problem_fill(&d.s, lens, 1 + problem_below(6));
        make_exact(d.s.k, (size_t)d.s.n_keys * d.s.config.n_kv_heads * d.s.config.head_size);
        make_exact(d.s.v, (size_t)d.s.n_keys * d.s.config.n_kv_heads * problem_v_size(&d.s));
        d.s.config.alibi_slopes = problem_below(3) ? NULL : d.s.slopes;
        d.s.config.sinks = problem_below(3) ? NULL : d.s.sinks;
        d.s.config.relative_bias = problem_below(4) ? NULL : d.s.relative;
        d.s.config.relative_range = d.s.config.relative_bias ? problem_below(MAX_PROBLEM_RANGE) : 0;
        for (uint32_t i = 0; i < d.s.n_seqs; i++)
            d.from[i] = problem_below(2) || !d.s.len[i] ? 0 : problem_below(d.s.len[i]);
        lay_scene(&d, (enum rows)(round % N_ROWS), row_dtypes[problem_below(3)]);
        const size_t n_lse = (size_t)d.q_loc[d.s.n_seqs] * d.s.config.n_heads;
        const size_t n_out = n_lse * problem_v_size(&d.s);
        float *out = malloc((n_out + 1) * sizeof *out), *lse = malloc((n_lse + 1) * sizeof *lse);
        paged(&d, out, lse);
        const int t = round / N_ROWS % 4;
        struct quire_dense *dense;
        const struct quire_dense_params params = params_of(&d, thread_counts[t]);
        must(quire_dense_create(&params, &dense, &err));
        for (int call = 0; call < 2; call++) { /* the pool holds rows of the first call */
            memset(d.out, 0xee, n_out * sizeof *out);
            memset(d.lse, 0xee, n_lse * sizeof *lse);
            must(quire_attention_dense(dense, &d.batch, &d.args, t ? threads[t] : NULL, &err));
            assert_same_bits(d.out, out, n_out);
            assert_same_bits(d.lse, lse, n_lse);
        }
        quire_dense_destroy(dense);
        free(out), free(lse);
        lift_scene(&d);
        problem_free(&d.s);
    }
    for (int i = 0; i < 4; i++)
        quire_threads_destroy(threads[i]);
}

/* The sequence's own flag overrides the configuration's, as in paged attention. */
static void causal_per_sequence(void **state)
{
    (void)state;
    struct dense_scene d;
    small_scene(&d, QUIRE_ATTENTION_DECODER);
    const struct quire_dense_params params = params_of(&d, 1);
    const bool flags[] = { false, true };
    float causal[8 * 4 * 16], mixed[8 * 4 * 16];
    struct quire_dense *dense;
    must(quire_dense_create(&params, &dense, &err));
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    memcpy(causal, d.out, sizeof causal);
    d.batch.causal = flags;
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    memcpy(mixed, d.out, sizeof mixed);
    assert_memory_not_equal(mixed, causal, 3 * 4 * 16 * sizeof *mixed);
    assert_same_bits(mixed + 3 * 4 * 16, causal + 3 * 4 * 16, 5 * 4 * 16);
    quire_dense_destroy(dense);
    small_free(&d);
}

/* Without seq_lens, the queries of a cross sequence are all of its tokens. */
static void cross_positions(void **state)
{
    (void)state;
    struct dense_scene d;
    small_scene(&d, QUIRE_ATTENTION_CROSS);
    d.s.config.window_left = 10;
    const struct quire_dense_params params = params_of(&d, 1);
    float from_start[8 * 4 * 16];
    struct quire_dense *dense;
    const int32_t n_q[] = { 3, 5 };
    must(quire_dense_create(&params, &dense, &err));
    d.batch.seq_lens = n_q;
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    memcpy(from_start, d.out, sizeof from_start);
    d.batch.seq_lens = NULL;
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    assert_same_bits(from_start, d.out, 8 * 4 * 16);
    d.batch.seq_lens = d.lens;
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    assert_memory_not_equal(from_start, d.out, sizeof from_start);
    quire_dense_destroy(dense);
    small_free(&d);
}

/* Spans, trees and sparse block lists are passed to the plan unchanged. */
static void masks(void **state)
{
    (void)state;
    enum { SPANS, TREE, LISTS, N_MASKS };
    for (int mask = 0; mask < N_MASKS; mask++) {
        struct dense_scene d;
        small_scene(&d, QUIRE_ATTENTION_DECODER);
        for (uint32_t i = 0; i < 2; i++) {
            d.s.n_spans[i] = mask == SPANS;
            d.s.spans[i][0] =
                (struct quire_token_range){ (int32_t)d.from[i] + 1, (int32_t)d.s.len[i] };
            d.s.n_tree[i] = d.s.len[i] - d.from[i];
            for (uint32_t t = 0; t < d.s.n_tree[i]; t++)
                d.s.tree[i][t] = 1 | (uint64_t)1 << t;
            for (uint32_t h = 0; h < 2; h++)
                d.s.listed[i][h][0] = (i + h) % 2;
        }
        d.s.has_tree = mask == TREE;
        d.s.has_lists = mask == LISTS;
        float plain[8 * 4 * 16], want[8 * 4 * 16], lse[8 * 4];
        struct quire_dense_params params = params_of(&d, 1);
        struct quire_dense *dense;
        struct testbed st;
        struct variant r = variant_whole(&d.s);
        memcpy(r.from, d.from, sizeof r.from);
        testbed_open(&st, &d.s, &r); /* for the masks in its batch */
        params.max_spans = 2;
        params.max_tree_tokens = 8;
        params.max_sparse_blocks = 100;
        must(quire_dense_create(&params, &dense, &err));
        must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
        memcpy(plain, d.out, sizeof plain);
        d.batch.span_loc = mask == SPANS ? st.batch.span_loc : NULL;
        d.batch.spans = mask == SPANS ? st.batch.spans : NULL;
        d.batch.tree_mask = st.batch.tree_mask;
        d.batch.sparse = mask == LISTS ? st.sparse : NULL;
        must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
        paged(&d, want, lse);
        assert_same_bits(d.out, want, 8 * 4 * 16);
        assert_same_bits(d.lse, lse, 8 * 4);
        assert_memory_not_equal(d.out, plain, sizeof plain);
        quire_dense_destroy(dense);
        testbed_close(&st);
        small_free(&d);
    }
}

/* ---- prepared batches and teams */

struct layers {
    struct quire_dense *dense;
    const struct quire_dense_batch *batch[2];
    struct quire_attention_args args[2];
};

static void run_layers(void *arg, const struct quire_team *team)
{
    const struct layers *l = arg;
    for (int i = 0; i < 2; i++) {
        quire_dense_part(l->dense, l->batch[i], &l->args[i], team);
        quire_team_barrier(team);
    }
}

static void layers_of_a_prepared_batch(void **state)
{
    (void)state;
    struct dense_scene d;
    small_scene(&d, QUIRE_ATTENTION_DECODER);
    const struct quire_dense_params params = params_of(&d, 3);
    struct quire_threads *threads = make_threads(3);
    float want[2][8 * 4 * 16], got[2][8 * 4 * 16];
    struct layers l = { .batch = { &d.batch } };
    struct quire_dense_batch second = d.batch; /* K and V swapped */
    second.k = d.batch.v;
    second.v = d.batch.k;
    l.batch[1] = &second;
    must(quire_dense_create(&params, &l.dense, &err));
    for (int i = 0; i < 2; i++) {
        l.args[i] = d.args;
        l.args[i].out = want[i];
        must(quire_attention_dense(l.dense, l.batch[i], &l.args[i], NULL, &err));
        l.args[i].out = got[i];
    }
    assert_memory_not_equal(want[0], want[1], sizeof want[0]);
    must(quire_dense_prepare(l.dense, &d.batch, &err));
    struct quire_dense_batch worse = d.batch;
    worse.n_seqs = 1000; /* a failure keeps the current batch */
    assert_status(QUIRE_E_LIMIT, quire_dense_prepare(l.dense, &worse, NULL));
    int32_t bad_loc[] = { 0, 3, 500 };
    worse = d.batch;
    worse.query_start_loc = bad_loc;
    assert_status(QUIRE_E_LIMIT, quire_dense_prepare(l.dense, &worse, NULL));
    for (int i = 0; i < 2; i++)
        must(quire_dense_check(l.dense, l.batch[i], &l.args[i], &err));
    assert_status(QUIRE_OK, quire_threads_run(threads, run_layers, &l));
    assert_same_bits(got[0], want[0], 8 * 4 * 16);
    assert_same_bits(got[1], want[1], 8 * 4 * 16);
    quire_dense_destroy(l.dense);
    quire_threads_destroy(threads);
    small_free(&d);
}

struct nested {
    struct layers *layers;
    struct quire_threads *threads;
};

static void call_inside(void *arg, const struct quire_team *team)
{
    const struct nested *n = arg;
    if (quire_team_rank(team) == 0)
        assert_refused(QUIRE_E_BUSY, "threads",
                       quire_attention_dense(n->layers->dense, n->layers->batch[0],
                                             &n->layers->args[0], n->threads, &err));
}

static void busy_threads(void **state)
{
    (void)state;
    struct dense_scene d;
    small_scene(&d, QUIRE_ATTENTION_DECODER);
    const struct quire_dense_params params = params_of(&d, 2);
    struct layers l = { .batch = { &d.batch }, .args = { d.args } };
    struct nested n = { &l, make_threads(2) };
    must(quire_dense_create(&params, &l.dense, &err));
    assert_status(QUIRE_OK, quire_threads_run(n.threads, call_inside, &n));
    must(quire_attention_dense(l.dense, &d.batch, &d.args, n.threads, &err));
    quire_dense_destroy(l.dense);
    quire_threads_destroy(n.threads);
    small_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option),
        cmocka_unit_test(causal_per_sequence),
        cmocka_unit_test(cross_positions),
        cmocka_unit_test(masks),
        cmocka_unit_test(layers_of_a_prepared_batch),
        cmocka_unit_test(busy_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
