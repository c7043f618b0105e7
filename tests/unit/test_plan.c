/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c - plans: limits, block tables, groups, windows that free blocks, and every invalid
 * argument. */
#include "test_plan.h"
#include "attention/plan.h"
#include "base/team.h"

static void only_entries_in_use_are_read(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    must(quire_plan_build(f.plan, &f.batch, &err));
    struct quire_plan_info info = { .struct_size = sizeof info };
    assert_status(QUIRE_OK, quire_plan_get_info(f.plan, 0, &info));
    assert_int_equal(info.n_seqs, 2);
    assert_int_equal(info.n_tokens, 21);
    assert_int_equal(info.max_query_len, 20);
    assert_int_equal(info.max_seq_len, 100);
    for (uint32_t g = 0; g < 3; g++)
        for (uint32_t layer = 0; layer < (g == 2 ? 1 : 2); layer++) {
            f.args.group = g;
            f.args.layer = layer;
            must(quire_attention_forward(f.plan, &f.args, NULL, &err));
        }
    /* only the blocks of the window; the others are freed */
    const uint32_t first[] = { 0, 4 };
    for (int j = 0; j < 7; j++)
        f.table[1][1][j] = j < 3 ? j + 2 : -1;
    f.tables[1].first_block = first;
    f.tables[1].max_blocks = 3;
    must(quire_plan_build(f.plan, &f.batch, &err));
    must(quire_plan_set_tables(f.plan, 1, &f.tables[1], &err));
    teardown(&f);
}

static void a_failed_build_keeps_the_old_batch(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 50, 600 };
    struct problem s = {
        .k_dtype = QUIRE_KV_F32, .v_dtype = QUIRE_KV_F32, .k_scale = 1, .v_scale = 1
    };
    quire_attention_config_init(&s.config, sizeof s.config, 4, 2, 16);
    problem_fill(&s, lens, 2);
    struct variant r = variant_whole(&s);
    r.n_plan_threads = 3;
    struct result want = result_new(&s), got = result_new(&s);
    run_problem(&s, &r, &want);
    struct testbed st;
    testbed_open(&st, &s, &r);
    st.table[st.max_blocks] = -3;
    assert_status(QUIRE_E_RANGE, quire_plan_build(st.plan, &st.batch, NULL));
    run_testbed(&st, &s, &r, &got);
    assert_same_bits(got.out, want.out, want.n_out);
    testbed_close(&st);
    result_free(&want);
    result_free(&got);
    problem_free(&s);
}

static void memory_is_exact_and_may_fail(void **state)
{
    (void)state;
    struct fixture f;
    struct fail_alloc a;
    struct quire_plan *plan;
    uint64_t bytes;
    setup(&f);
    must(quire_plan_bytes(&f.params, &bytes, &err));
    fail_alloc_init(&a, 1, true);
    f.params.allocator = &a.hooks;
    assert_refused(QUIRE_E_NOMEM, "bytes", quire_plan_create(&f.params, &plan, &err));
    assert_null(plan);
    assert_int_equal(a.live_count, 0);
    fail_alloc_init(&a, 0, false);
    must(quire_plan_create(&f.params, &plan, &err));
    assert_int_equal(a.live_bytes, bytes);
    assert_int_equal(a.calls, 1);
    must(quire_plan_build(plan, &f.batch, &err));
    f.args.config = NULL;
    must(quire_attention_forward(plan, &f.args, NULL, &err));
    assert_int_equal(a.calls, 1); /* steps allocate nothing */
    quire_plan_destroy(plan);
    assert_int_equal(a.live_count, 0);
    teardown(&f);
}

/* The generation counter of block marks wraps around. */
static void many_builds(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    must(quire_plan_build(f.plan, &f.batch, &err));
    for (uint32_t before = 0; before < 8; before++) {
        for (uint32_t i = 0; i < N_BLOCKS; i++)
            f.plan->block_marks[i] = i; /* as earlier checks may have left them */
        f.plan->generation = UINT32_MAX - before;
        must(quire_plan_build(f.plan, &f.batch, &err));
        f.table[0][1][2] = 1;
        assert_refused(QUIRE_E_INVALID_ARG, "again", quire_plan_build(f.plan, &f.batch, &err));
        f.table[0][1][2] = 2;
    }
    teardown(&f);
}

static void sizes_that_overflow(void **state)
{
    (void)state;
    const struct quire_kv_group_config group = {
        .n_layers = 1, .n_kv_heads = 4096, .head_size = 1, .n_blocks = 1
    };
    const struct quire_kv_params config = {
        .struct_size = sizeof config, .block_size = 16, .groups = &group, .n_groups = 1
    };
    struct quire_attention_config c;
    struct quire_plan_group g = { .config = &c };
    struct quire_plan *plan;
    uint64_t bytes;
    struct quire_plan_params p = { .struct_size = sizeof p,
                                   .groups = &g,
                                   .n_groups = 1,
                                   .max_tokens = 1 << 24,
                                   .max_seqs = 1 << 20,
                                   .max_seq_len = 16,
                                   .n_threads = 1 };
    struct quire_kv_cache *kv;
    must(quire_kv_create(&config, &kv, &err));
    p.kv = kv;
    quire_attention_config_init(&c, sizeof c, 4096, 4096, 1);
    assert_refused(QUIRE_E_LIMIT, "max_tokens", quire_plan_bytes(&p, &bytes, &err));
    assert_refused(QUIRE_E_LIMIT, "max_tokens", quire_plan_create(&p, &plan, &err));
    assert_null(plan);
    quire_kv_destroy(kv);
}

static void table_limit(void **state)
{
    (void)state;
    struct fixture f;
    struct quire_plan *plan;
    setup(&f);
    f.params.max_blocks = 9; /* 2 + 7 entries of group 0 are in use */
    must(quire_plan_create(&f.params, &plan, &err));
    must(quire_plan_build(plan, &f.batch, &err));
    quire_plan_destroy(plan);
    f.params.max_blocks = 8;
    must(quire_plan_create(&f.params, &plan, &err));
    assert_refused(QUIRE_E_LIMIT, "max_blocks", quire_plan_build(plan, &f.batch, &err));
    quire_plan_destroy(plan);
    teardown(&f);
}

static void empty_batches(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    must(quire_attention_forward(f.plan, &f.args, NULL, &err)); /* no batch yet: nothing to do */
    const struct quire_attention_batch none = { .struct_size = sizeof none };
    must(quire_plan_build(f.plan, &none, &err));
    must(quire_attention_forward(f.plan, &f.args, NULL, &err));
    f.starts[1] = f.starts[2] = 0; /* sequences without new tokens */
    must(quire_plan_build(f.plan, &f.batch, &err));
    must(quire_attention_forward(f.plan, &f.args, NULL, &err));
    f.lens[0] = f.lens[1] = 0;
    must(quire_plan_build(f.plan, &f.batch, &err));
    teardown(&f);
}

static void splitting(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 5000, 5 };
    struct problem s = {
        .k_dtype = QUIRE_KV_BF16, .v_dtype = QUIRE_KV_BF16, .k_scale = 1, .v_scale = 1
    };
    struct quire_plan_info info = { .struct_size = sizeof info };
    quire_attention_config_init(&s.config, sizeof s.config, 4, 2, 16);
    problem_fill(&s, lens, 2);
    struct variant r = variant_whole(&s);
    r.from[0] = 4999;
    r.from[1] = 4;
    struct result want = result_new(&s);
    run_problem(&s, &r, &want);
    /* the last reserves partials for cascades, not for splits */
    static const uint32_t ways[] = { 0, QUIRE_PLAN_FAST, QUIRE_PLAN_FAST | QUIRE_PLAN_CASCADE };
    for (uint32_t n = 1; n <= 64; n = n * 2 + 1)
        for (int way = 0; way < 3; way++) {
            const uint32_t flags = r.flags = ways[way];
            struct testbed st;
            struct result got = result_new(&s);
            r.n_plan_threads = n;
            testbed_open(&st, &s, &r);
            assert_status(QUIRE_OK, quire_plan_get_info(st.plan, 0, &info));
            assert_int_equal(info.n_splits, n == 1 || flags ? 0 : 2); /* one tile per KV head */
            const uint32_t long_ones = info.n_items - 2;              /* of two KV heads */
            assert_true(long_ones >= 2 && long_ones <= 2 * 10);
            if (n >= 3 && !flags)
                assert_true(long_ones >= n || long_ones == 2 * 10);
            for (int layer = 0; layer < 3; layer++) /* the call resets its counters */
                run_testbed(&st, &s, &r, &got);
            assert_same_bits(got.out, want.out, want.n_out);
            assert_same_bits(got.lse, want.lse, want.n_lse);
            testbed_close(&st);
            result_free(&got);
        }
    result_free(&want);
    problem_free(&s);
}

/* However many spans a sequence has, with and without memory for partial results (which cascades
 * reserve). */
static void fast_plans_never_split(void **state)
{
    (void)state;
    enum { TOKENS_OF_BLOCK = 4096, MAX = 40 * TOKENS_OF_BLOCK };
    static int32_t table[40];
    const struct quire_kv_group_config g = {
        .n_layers = 1, .n_kv_heads = 1, .head_size = 8, .n_blocks = 40
    };
    const struct quire_kv_params pool = {
        .struct_size = sizeof pool, .block_size = TOKENS_OF_BLOCK, .groups = &g, .n_groups = 1
    };
    struct quire_attention_config c;
    quire_attention_config_init(&c, sizeof c, 1, 1, 8);
    const struct quire_plan_group group = { .config = &c };
    struct quire_plan_params params = { .struct_size = sizeof params,
                                        .groups = &group,
                                        .n_groups = 1,
                                        .max_tokens = 1,
                                        .max_seqs = 16, /* cascades of two or more */
                                        .max_seq_len = MAX,
                                        .n_threads = 16 };
    const int32_t starts[] = { 0, 1 };
    int32_t len;
    const struct quire_attention_batch_group tables = { .block_table = table, .max_blocks = 40 };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = 1,
                                                 .groups = &tables };
    static const uint32_t ways[] = { QUIRE_PLAN_FAST, QUIRE_PLAN_FAST | QUIRE_PLAN_CASCADE, 0 };
    struct quire_kv_cache *kv;
    must(quire_kv_create(&pool, &kv, &err));
    params.kv = kv;
    for (int j = 0; j < 40; j++)
        table[j] = j;
    for (int way = 0; way < 3; way++) {
        struct quire_plan *plan;
        params.flags = ways[way];
        must(quire_plan_create(&params, &plan, &err));
        for (len = 2048; len <= MAX; len += len / 5) {
            struct quire_plan_info info = { .struct_size = sizeof info };
            must(quire_plan_build(plan, &batch, &err));
            assert_status(QUIRE_OK, quire_plan_get_info(plan, 0, &info));
            assert_int_equal(info.n_splits, ways[way] ? 0 : 1);
            assert_true(ways[way] ? info.n_items == 1 : info.n_items > 1);
        }
        quire_plan_destroy(plan);
    }
    quire_kv_destroy(kv);
}

struct nested {
    struct fixture *f;
    struct quire_threads *threads;
};

static void call_inside(void *arg, const struct quire_team *team)
{
    const struct nested *n = arg;
    if (quire_team_rank(team) == 0)
        assert_status(QUIRE_E_BUSY,
                      quire_attention_forward(n->f->plan, &n->f->args, n->threads, NULL));
}

static void one_call_at_a_time(void **state)
{
    (void)state;
    struct fixture f;
    struct nested n = { &f, make_threads(2) };
    setup(&f);
    must(quire_plan_build(f.plan, &f.batch, &err));
    assert_status(QUIRE_OK, quire_threads_run(n.threads, call_inside, &n));
    must(qr_plan_acquire(f.plan, &err)); /* simulates a concurrent call */
    assert_refused(QUIRE_E_BUSY, "in use", quire_attention_forward(f.plan, &f.args, NULL, &err));
    assert_refused(QUIRE_E_BUSY, "in use", quire_plan_build(f.plan, &f.batch, &err));
    assert_refused(QUIRE_E_BUSY, "in use", quire_plan_set_tables(f.plan, 0, &f.tables[0], &err));
    qr_plan_release(f.plan);
    must(quire_attention_forward(f.plan, &f.args, n.threads, &err));
    quire_threads_destroy(n.threads);
    teardown(&f);
}

/* Members of a host's own team run one after another: no member waits for another. */
static void host_teams(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 700, 40 };
    struct problem s = {
        .k_dtype = QUIRE_KV_F32, .v_dtype = QUIRE_KV_F32, .k_scale = 1, .v_scale = 1
    };
    quire_attention_config_init(&s.config, sizeof s.config, 4, 2, 16);
    problem_fill(&s, lens, 2);
    struct variant r = variant_whole(&s);
    struct result want = result_new(&s);
    run_problem(&s, &r, &want);
    struct testbed st;
    r.n_plan_threads = 4;
    testbed_open(&st, &s, &r);
    float *out = calloc(want.n_out, sizeof *out);
    const struct quire_attention_args args = { .struct_size = sizeof args, .q = s.q, .out = out };
    must(quire_attention_check(st.plan, &args, &err));
    for (uint32_t size = 1; size <= 6; size++) {
        memset(out, 0, want.n_out * sizeof *out);
        for (uint32_t rank = 0; rank < size; rank++)
            quire_attention_part(st.plan, &args,
                                 &(struct quire_team){ .rank = size - 1 - rank, .size = size });
        assert_same_bits(out, want.out, want.n_out);
    }
    free(out);
    testbed_close(&st);
    result_free(&want);
    problem_free(&s);
}

static void causal_per_sequence(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 30, 30 };
    struct problem s = {
        .k_dtype = QUIRE_KV_F32, .v_dtype = QUIRE_KV_F32, .k_scale = 1, .v_scale = 1
    };
    quire_attention_config_init(&s.config, sizeof s.config, 2, 1, 8);
    problem_fill(&s, lens, 2);
    struct result causal = result_new(&s), full = result_new(&s), mixed = result_new(&s);
    const struct variant r = variant_whole(&s);
    run_problem(&s, &r, &causal);
    s.config.causal = 0;
    run_problem(&s, &r, &full);
    struct testbed st;
    const bool flags[] = { true, false };
    testbed_open(&st, &s, &r);
    st.batch.causal = flags;
    must(quire_plan_build(st.plan, &st.batch, &err));
    run_testbed(&st, &s, &r, &mixed);
    assert_same_bits(mixed.out, causal.out, causal.n_out / 2);
    assert_same_bits(mixed.out + full.n_out / 2, full.out + full.n_out / 2, full.n_out / 2);
    assert_memory_not_equal(causal.out, full.out, full.n_out / 2 * sizeof(float));
    testbed_close(&st);
    result_free(&causal), result_free(&full), result_free(&mixed);
    problem_free(&s);
}

static void validate_tells_all_reasons(void **state)
{
    (void)state;
    struct quire_attention_config c;
    struct quire_attention_report r = { .struct_size = sizeof r };
    float bad[65536];
    for (int i = 0; i < 65536; i++)
        bad[i] = NAN;
    quire_attention_config_init(&c, sizeof c, 8, 2, 64);
    assert_status(QUIRE_OK, quire_attention_validate(&c, QUIRE_KV_BF16, QUIRE_KV_FP8_E5M2, 64, NULL,
                                                     &r, NULL));
    assert_int_equal(r.reasons, 0);
    assert_string_equal(r.level, r.kernels);
    assert_string_equal(r.text, "");
    c = (struct quire_attention_config){ .struct_size = sizeof c,
                                         .kind = (enum quire_attention_kind)99,
                                         .n_heads = 7,
                                         .n_kv_heads = 2,
                                         .head_size = 0,
                                         .v_head_size = 1025,
                                         .scale = INFINITY,
                                         .logits_soft_cap = -1,
                                         .window_left = -2,
                                         .window_right = -1,
                                         .compute = (enum quire_compute)9,
                                         .causal = 1,
                                         .alibi_slopes = bad,
                                         .sinks = bad,
                                         .chunk_size = 1u << 31,
                                         .relative_bias = bad,
                                         .relative_range = 3,
                                         .sinks_dtype = QUIRE_KV_INT8 };
    assert_status(QUIRE_E_UNSUPPORTED,
                  quire_attention_validate(&c, (enum quire_kv_dtype)50, QUIRE_KV_F32, 24,
                                           "no-such-level", &r, NULL));
    const uint32_t all_but_heads =
        (QUIRE_ATTENTION_NO_SINKS_DTYPE << 1) - 1 - QUIRE_ATTENTION_NO_HEADS;
    assert_int_equal(r.reasons, all_but_heads);
#define X(name, bit, line)                                                                         \
    assert_true(QUIRE_ATTENTION_NO_##name == QUIRE_ATTENTION_NO_HEADS || strstr(r.text, line));
    QUIRE_ATTENTION_REASONS(X)
#undef X
    assert_null(r.level);
    c.n_heads = 0;
    c.alibi_slopes = c.sinks = c.relative_bias = NULL;
    c.relative_range = (1u << 20) + 1; /* refused even without a table */
    assert_status(QUIRE_E_UNSUPPORTED,
                  quire_attention_validate(&c, QUIRE_KV_F32, QUIRE_KV_F32, 16, NULL, &r, NULL));
    assert_true(r.reasons & QUIRE_ATTENTION_NO_HEADS);
    assert_true(r.reasons & QUIRE_ATTENTION_NO_RELATIVE);
    assert_status(QUIRE_E_INVALID_ARG,
                  quire_attention_validate(NULL, QUIRE_KV_F32, QUIRE_KV_F32, 16, NULL, &r, NULL));
    r.struct_size = 3;
    assert_status(QUIRE_E_MISUSE,
                  quire_attention_validate(&c, QUIRE_KV_F32, QUIRE_KV_F32, 16, NULL, &r, NULL));
    c.struct_size = 3;
    assert_status(QUIRE_E_MISUSE,
                  quire_attention_validate(&c, QUIRE_KV_F32, QUIRE_KV_F32, 16, NULL, NULL, NULL));
}

/* Each field is valid by itself. */
static void only_decoders_are_causal(void **state)
{
    (void)state;
    for (int kind = QUIRE_ATTENTION_DECODER; kind <= QUIRE_ATTENTION_CROSS; kind++)
        for (uint32_t causal = 0; causal < 2; causal++) {
            const bool fine = !causal || kind == QUIRE_ATTENTION_DECODER;
            struct quire_attention_config c;
            struct quire_attention_report r = { .struct_size = sizeof r };
            quire_attention_config_init(&c, sizeof c, 8, 2, 64);
            c.kind = (enum quire_attention_kind)kind;
            c.causal = causal;
            assert_status(
                fine ? QUIRE_OK : QUIRE_E_UNSUPPORTED,
                quire_attention_validate(&c, QUIRE_KV_BF16, QUIRE_KV_BF16, 64, NULL, &r, NULL));
            assert_int_equal(r.reasons, fine ? 0 : QUIRE_ATTENTION_NO_CAUSAL);
        }
}

static void every_size_has_an_answer(void **state)
{
    (void)state;
    struct quire_attention_config c;
    struct quire_attention_report r = { .struct_size = sizeof r };
    struct quire_attention_caps caps = { .struct_size = sizeof caps };
    int i = 0;
    for (const char *level; (level = usable_level(&i));) {
        assert_status(QUIRE_OK, quire_attention_get_caps(level, &caps, NULL));
        assert_string_equal(caps.level, level);
        assert_int_equal(caps.kinds, 1 << QUIRE_ATTENTION_DECODER | 1 << QUIRE_ATTENTION_ENCODER |
                                         1 << QUIRE_ATTENTION_ENCODER_ONLY |
                                         1 << QUIRE_ATTENTION_CROSS);
        for (uint32_t size = 0; size <= 1100; size++) {
            quire_attention_config_init(&c, sizeof c, 2, 1, size);
            const bool fits = size >= 1 && size <= 1024;
            assert_status(
                fits ? QUIRE_OK : QUIRE_E_UNSUPPORTED,
                quire_attention_validate(&c, QUIRE_KV_F32, QUIRE_KV_F32, 16, level, &r, NULL));
            if (!fits)
                continue;
            const bool own = size >= caps.head_size_min && size <= caps.head_size_max &&
                             size % caps.head_size_step == 0;
            assert_string_equal(r.kernels, own ? level : "generic");
            assert_true(own == (r.text[0] == 0)); /* a fallback is always reported */
        }
    }
    assert_status(QUIRE_E_INVALID_ARG, quire_attention_get_caps(NULL, NULL, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_attention_get_caps("sse9", &caps, NULL));
    caps.struct_size = 1;
    assert_status(QUIRE_E_MISUSE, quire_attention_get_caps(NULL, &caps, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_entries_in_use_are_read),
        cmocka_unit_test(a_failed_build_keeps_the_old_batch),
        cmocka_unit_test(memory_is_exact_and_may_fail),
        cmocka_unit_test(many_builds),
        cmocka_unit_test(sizes_that_overflow),
        cmocka_unit_test(table_limit),
        cmocka_unit_test(empty_batches),
        cmocka_unit_test(splitting),
        cmocka_unit_test(fast_plans_never_split),
        cmocka_unit_test(one_call_at_a_time),
        cmocka_unit_test(host_teams),
        cmocka_unit_test(causal_per_sequence),
        cmocka_unit_test(validate_tells_all_reasons),
        cmocka_unit_test(only_decoders_are_causal),
        cmocka_unit_test(every_size_has_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
