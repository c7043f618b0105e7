/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_args.c - every invalid argument of plan and attention calls: the message names it, and
 * nothing changes. */
#include "test_plan.h"

/* Applies one change, expects the error, and undoes the change by `restore`. */
#define REFUSED(change, code, word, call, restore)                                                 \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(code, word, call);                                                          \
        restore;                                                                                   \
    } while (0)

/* In a batch, and as new block tables of the plan's batch. */
static void bad_tables(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    const uint32_t first[] = { 0, 5 };
    const struct quire_attention_batch_group t = f.tables[0];
    must(quire_plan_build(f.plan, &f.batch, &err));
    for (int pass = 0; pass < 2; pass++) {
#define BAD(change, code, word)                                                                    \
    REFUSED(change, code, word,                                                                    \
            pass ? quire_plan_set_tables(f.plan, 0, &f.tables[0], &err)                            \
                 : quire_plan_build(f.plan, &f.batch, &err),                                       \
            f.tables[0] = t;                                                                       \
            f.table[0][1][0] = 0; f.table[0][1][3] = 3; f.table[0][1][6] = 6)
        BAD(f.table[0][1][3] = -1, QUIRE_E_RANGE, "block_table[1][3] is -1");
        BAD(f.table[0][1][3] = N_BLOCKS, QUIRE_E_RANGE, "block_table[1][3] is 40");
        BAD(f.table[0][1][3] = INT32_MIN, QUIRE_E_RANGE, "block_table[1][3]");
        BAD(f.table[0][1][0] = -1, QUIRE_E_RANGE, "block_table[1][0] is -1");
        BAD(f.table[0][1][6] = N_BLOCKS, QUIRE_E_RANGE, "block_table[1][6] is 40");
        BAD(f.table[0][1][3] = 2, QUIRE_E_INVALID_ARG, "block_table[1][3] is block 2 again");
        BAD(f.table[0][1][3] = 5, QUIRE_E_INVALID_ARG, "two visible positions share its slots");
        BAD(f.tables[0].block_table = NULL, QUIRE_E_INVALID_ARG, "block_table is NULL");
        BAD(f.tables[0].block_table_stride = 6, QUIRE_E_INVALID_ARG, "block_table_stride");
        BAD(f.tables[0].max_blocks = 6, QUIRE_E_RANGE, "past the end");
        BAD(f.tables[0].first_block = first, QUIRE_E_RANGE, "first_block is 5");
#undef BAD
    }
    assert_refused(QUIRE_E_INVALID_ARG, "KV group 2", quire_plan_set_tables(f.plan, 2, &t, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "tables", quire_plan_set_tables(f.plan, 0, NULL, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "plan", quire_plan_set_tables(NULL, 0, &t, &err));
    must(quire_plan_build(f.plan, &f.batch, &err)); /* the restored batch is valid */
    teardown(&f);
}

static void bad_batches(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    const struct fixture good = f;
    assert_refused(QUIRE_E_INVALID_ARG, "plan", quire_plan_build(NULL, &f.batch, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "batch", quire_plan_build(f.plan, NULL, &err));
#define BAD(change, code, word)                                                                    \
    REFUSED(change, code, word, quire_plan_build(f.plan, &f.batch, &err), f = good)
    BAD(f.batch.struct_size = 8, QUIRE_E_MISUSE, "struct_size");
    BAD(f.batch.query_start_loc = NULL, QUIRE_E_INVALID_ARG, "query_start_loc");
    BAD(f.batch.seq_lens = NULL, QUIRE_E_INVALID_ARG, "seq_lens");
    BAD(f.batch.groups = NULL, QUIRE_E_INVALID_ARG, "groups");
    BAD(f.batch.n_groups = 1, QUIRE_E_INVALID_ARG, "groups");
    BAD(f.batch.n_seqs = MAX_SEQS + 1, QUIRE_E_LIMIT, "n_seqs");
    BAD(f.batch.cp_rank = 1, QUIRE_E_INVALID_ARG, "batch.cp_rank is 1");
    BAD(f.batch.cp_world_size = f.batch.cp_rank = 3, QUIRE_E_INVALID_ARG, "batch.cp_rank is 3");
    BAD(f.batch.cp_world_size = 1025, QUIRE_E_INVALID_ARG, "batch.cp_world_size is 1025");
    BAD(f.batch.cp_interleave = 65537, QUIRE_E_INVALID_ARG, "batch.cp_interleave is 65537");
    BAD(f.starts[0] = 1, QUIRE_E_INVALID_ARG, "query_start_loc[0]");
    BAD(f.starts[1] = -1, QUIRE_E_INVALID_ARG, "query_start_loc[1]");
    BAD(f.starts[1] = MAX_TOKENS + 1, QUIRE_E_LIMIT, "query_start_loc[1]");
    BAD(f.starts[2] = 19, QUIRE_E_INVALID_ARG, "query_start_loc[2]");
    BAD(f.lens[0] = 19, QUIRE_E_INVALID_ARG, "seq_lens[0]");
    BAD(f.lens[0] = -5, QUIRE_E_INVALID_ARG, "seq_lens[0]");
    BAD(f.lens[1] = MAX_LEN + 1, QUIRE_E_LIMIT, "seq_lens[1]");
#undef BAD
    must(quire_plan_build(f.plan, &f.batch, &err));
    teardown(&f);
}

static void cross_attention_names_what_it_misses(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    int32_t encoder[] = { 30, 0 };
    must(quire_plan_build(f.plan, &f.batch, &err)); /* only cross attention needs it */
    quire_plan_destroy(f.plan);
    f.config[2].kind = QUIRE_ATTENTION_CROSS;
    f.config[2].causal = 0;
    f.config[2].window_left = QUIRE_WINDOW_NONE;
    must(quire_plan_create(&f.params, &f.plan, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "encoder_seq_lens is NULL",
                   quire_plan_build(f.plan, &f.batch, &err));
    f.batch.encoder_seq_lens = encoder;
    must(quire_plan_build(f.plan, &f.batch, &err));
    f.args.group = 2;
    must(quire_attention_forward(f.plan, &f.args, NULL, &err));
    assert_true(f.lse[19 * 2] == logf(30) && f.lse[20 * 2] == -INFINITY);
    const bool causal[] = { 1, 1 }; /* ignored here */
    f.batch.causal = causal;
    must(quire_plan_build(f.plan, &f.batch, &err));
    must(quire_attention_forward(f.plan, &f.args, NULL, &err));
    assert_true(f.lse[0] == logf(30));
    encoder[1] = -1;
    assert_refused(QUIRE_E_INVALID_ARG, "encoder_seq_lens[1] is -1",
                   quire_plan_build(f.plan, &f.batch, &err));
    encoder[1] = MAX_LEN + 1;
    assert_refused(QUIRE_E_LIMIT, "encoder_seq_lens[1] is 301",
                   quire_plan_build(f.plan, &f.batch, &err));
    encoder[1] = 33; /* its third block is not in the table */
    assert_refused(QUIRE_E_RANGE, "block_table[1][0]", quire_plan_build(f.plan, &f.batch, &err));
    teardown(&f);
}

/* Both calls that check arguments. */
#define CALL_REFUSED(change, code, word, restore)                                                  \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(code, word, quire_attention_check(f.plan, &f.args, &err));                  \
        assert_refused(code, word, quire_attention_forward(f.plan, &f.args, NULL, &err));          \
        restore;                                                                                   \
    } while (0)

static void bad_calls(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    must(quire_plan_build(f.plan, &f.batch, &err));
    const struct quire_attention_args good = f.args;
    for (size_t i = 0; i < sizeof f.out / sizeof *f.out; i++)
        f.out[i] = 7;
    assert_refused(QUIRE_E_INVALID_ARG, "plan", quire_attention_forward(NULL, &good, NULL, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "args", quire_attention_forward(f.plan, NULL, NULL, &err));
#define BAD(change, code, word) CALL_REFUSED(change, code, word, f.args = good)
    BAD(f.args.struct_size--, QUIRE_E_MISUSE, "struct_size");
    BAD(f.args.group = 3, QUIRE_E_INVALID_ARG, "group");
    BAD(f.args.layer = 2, QUIRE_E_INVALID_ARG, "layer");
    BAD(f.args.q = NULL, QUIRE_E_INVALID_ARG, "args.q");
    BAD(f.args.out = NULL, QUIRE_E_INVALID_ARG, "args.out");
    BAD(f.args.q_token_stride = 7, QUIRE_E_INVALID_ARG, "args.q");
    BAD(f.args.q_head_stride = 7, QUIRE_E_INVALID_ARG, "args.q");
    BAD(f.args.q_token_stride = 15, QUIRE_E_INVALID_ARG, "args.q"); /* two heads of 8 */
    BAD(f.args.q_token_stride = SIZE_MAX / 8, QUIRE_E_INVALID_ARG, "args.q");
    BAD(f.args.q_token_stride = SIZE_MAX, QUIRE_E_INVALID_ARG, "args.q");
    BAD(f.args.out_head_stride = 4, QUIRE_E_INVALID_ARG, "args.out");
    BAD(f.args.out_head_stride = SIZE_MAX / 2, QUIRE_E_INVALID_ARG, "args.out");
    BAD(f.args.lse_token_stride = 1, QUIRE_E_INVALID_ARG, "args.lse");
    BAD(f.args.out = f.q, QUIRE_E_INVALID_ARG, "args.q and args.out");
    BAD(f.args.out = f.q + 21 * 16 - 1, QUIRE_E_INVALID_ARG, "args.q and args.out");
    BAD(f.args.lse = f.out + 3, QUIRE_E_INVALID_ARG, "args.out and args.lse");
    BAD(f.args.lse = f.q, QUIRE_E_INVALID_ARG, "args.q and args.lse");
#undef BAD
    for (size_t i = 0; i < sizeof f.out / sizeof *f.out; i++)
        assert_true(f.out[i] == 7);
    teardown(&f);
}

static void bad_configs_of_a_layer(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    must(quire_plan_build(f.plan, &f.batch, &err));
    static const float bad[] = { 0, NAN };
    struct quire_attention_config c = f.config[0];
    const struct quire_attention_config good = c;
    f.args.config = &c;
#define BAD(change, code, word) CALL_REFUSED(change, code, word, c = good)
    BAD(c.struct_size = 0, QUIRE_E_MISUSE, "struct_size");
    BAD(c.n_heads = 3, QUIRE_E_MISMATCH, "n_heads");
    BAD(c.window_left = 4, QUIRE_E_MISMATCH, "window_left");
    BAD(c.window_right = 4, QUIRE_E_MISMATCH, "window_right");
    BAD(c.causal = 0, QUIRE_E_MISMATCH, "causal");
    BAD(c.chunk_size = 8, QUIRE_E_MISMATCH, "chunk_size");
    BAD(c.causal = 0; c.kind = QUIRE_ATTENTION_ENCODER, QUIRE_E_MISMATCH, "kind");
    BAD(c.relative_bias = bad, QUIRE_E_UNSUPPORTED, "relative_bias");
    BAD(c.head_size = 16, QUIRE_E_MISMATCH, "head_size");
    BAD(c.v_head_size = 16, QUIRE_E_MISMATCH, "v_head_size");
    BAD(c.scale = NAN, QUIRE_E_UNSUPPORTED, "scale");
    BAD(c.logits_soft_cap = -1, QUIRE_E_UNSUPPORTED, "logits_soft_cap");
#undef BAD
    c.scale = 3; /* fields that may differ between layers */
    c.logits_soft_cap = 20;
    c.sinks = c.alibi_slopes = c.relative_bias = f.q;
    c.relative_range = 4;
    c.compute = QUIRE_COMPUTE_F32;
    must(quire_attention_forward(f.plan, &f.args, NULL, &err));
    teardown(&f);
}

#define PLAN_REFUSED(change, code, word, restore)                                                  \
    do {                                                                                           \
        plan = (struct quire_plan *)&f;                                                            \
        change;                                                                                    \
        assert_refused(code, word, quire_plan_create(&f.params, &plan, &err));                     \
        assert_null(plan);                                                                         \
        assert_refused(code, word, quire_plan_bytes(&f.params, &bytes, &err));                     \
        restore;                                                                                   \
    } while (0)

static void bad_plans(void **state)
{
    (void)state;
    struct fixture f;
    struct quire_plan *plan;
    uint64_t bytes;
    setup(&f);
    const struct quire_plan_params good = f.params;
    assert_refused(QUIRE_E_INVALID_ARG, "out", quire_plan_create(&good, NULL, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "bytes", quire_plan_bytes(&good, NULL, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "params", quire_plan_create(NULL, &plan, &err));
    assert_null(plan);
#define BAD(change, code, word) PLAN_REFUSED(change, code, word, f.params = good)
    BAD(f.params.struct_size = 4, QUIRE_E_MISUSE, "struct_size");
    BAD(f.params.kv = NULL, QUIRE_E_INVALID_ARG, "kv");
    BAD(f.params.groups = NULL, QUIRE_E_INVALID_ARG, "groups");
    BAD(f.params.n_groups = 0, QUIRE_E_INVALID_ARG, "n_groups");
    BAD(f.params.n_groups = 257, QUIRE_E_INVALID_ARG, "n_groups");
    BAD(f.params.max_tokens = 0, QUIRE_E_INVALID_ARG, "max_tokens");
    BAD(f.params.max_tokens = UINT32_MAX, QUIRE_E_INVALID_ARG, "max_tokens");
    BAD(f.params.max_seqs = 0, QUIRE_E_INVALID_ARG, "max_seqs");
    BAD(f.params.max_seq_len = 0, QUIRE_E_INVALID_ARG, "max_seq_len");
    BAD(f.params.max_seq_len = UINT32_MAX, QUIRE_E_INVALID_ARG, "max_seq_len");
    BAD(f.params.n_threads = 0, QUIRE_E_INVALID_ARG, "n_threads");
    BAD(f.params.n_threads = 5000, QUIRE_E_INVALID_ARG, "n_threads");
    BAD(f.params.flags = 1u << 20, QUIRE_E_INVALID_ARG, "flags");
    BAD(f.params.isa = "sse9", QUIRE_E_INVALID_ARG, "sse9");
#undef BAD
    teardown(&f);
}

static void bad_groups_of_a_plan(void **state)
{
    (void)state;
    struct fixture f;
    struct quire_plan *plan;
    uint64_t bytes;
    setup(&f);
    const struct quire_plan_group group = f.groups[1];
    const struct quire_attention_config config = f.config[1];
#define BAD(change, code, word)                                                                    \
    PLAN_REFUSED(change, code, word, f.groups[1] = group; f.config[1] = config)
    BAD(f.groups[1].config = NULL, QUIRE_E_INVALID_ARG, "groups[1]");
    BAD(f.groups[1].kv_group = 2, QUIRE_E_INVALID_ARG, "group");
    BAD(f.groups[1].reserved = 1, QUIRE_E_INVALID_ARG, "reserved");
    BAD(f.config[1].head_size = 16, QUIRE_E_MISMATCH, "groups[1]");
    BAD(f.config[1].v_head_size = 16, QUIRE_E_MISMATCH, "groups[1]");
    BAD(f.config[1].n_kv_heads = 2, QUIRE_E_MISMATCH, "groups[1]");
    BAD(f.config[1].logits_soft_cap = -1, QUIRE_E_UNSUPPORTED, "logits_soft_cap");
    BAD(f.config[1].struct_size = 0, QUIRE_E_MISUSE, "struct_size");
#undef BAD
    quire_plan_destroy(NULL);
    teardown(&f);
}

static void bad_questions(void **state)
{
    (void)state;
    struct fixture f;
    struct quire_plan_info info = { .struct_size = sizeof info };
    setup(&f);
    assert_status(QUIRE_E_INVALID_ARG, quire_plan_get_info(NULL, 0, &info));
    assert_status(QUIRE_E_INVALID_ARG, quire_plan_get_info(f.plan, 0, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_plan_get_info(f.plan, 3, &info));
    info.struct_size = 1;
    assert_status(QUIRE_E_MISUSE, quire_plan_get_info(f.plan, 0, &info));
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_tables),    cmocka_unit_test(bad_batches),
        cmocka_unit_test(bad_calls),     cmocka_unit_test(bad_configs_of_a_layer),
        cmocka_unit_test(bad_plans),     cmocka_unit_test(bad_groups_of_a_plan),
        cmocka_unit_test(bad_questions), cmocka_unit_test(cross_attention_names_what_it_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
