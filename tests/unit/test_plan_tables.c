/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_tables.c - block tables of a built plan: rings of blocks, and tables that replace
 * others. */
#include "test_plan.h"

enum { OUT = MAX_TOKENS * 2 * 8, CALLS = 5 };

/* Writes random rows to every slot of a KV group. */
static void fill_pool(struct quire_kv_cache *kv, uint32_t group, uint32_t n_layers,
                      uint32_t n_blocks)
{
    const size_t n = (size_t)n_blocks * BLOCK;
    int32_t *ids = malloc(n_blocks * sizeof *ids);
    int64_t *slots = malloc(n * sizeof *slots);
    float *k = problem_values(n * 8, 1), *v = problem_values(n * 8, 1);
    for (size_t i = 0; i < n; i++)
        slots[i] = (int64_t)i;
    must(quire_kv_alloc(kv, group, -1, n_blocks, ids, &err));
    for (uint32_t layer = 0; layer < n_layers; layer++) {
        const struct quire_kv_write_args w = { .struct_size = sizeof w,
                                               .group = group,
                                               .layer = layer,
                                               .k = k,
                                               .v = v,
                                               .slot_mapping = slots,
                                               .n_tokens = n };
        must(quire_kv_write(kv, &w, NULL, &err));
    }
    free(ids), free(slots), free(k), free(v);
}

/* Copies the row of `pos` from one slot of KV group 1 to another. */
static void copy_row(struct quire_kv_cache *kv, int64_t from, int64_t to)
{
    float k[8], v[8];
    const struct quire_kv_read_args r = {
        .struct_size = sizeof r, .group = 1, .k = k, .v = v, .slots = &from, .n_tokens = 1
    };
    const struct quire_kv_write_args w = {
        .struct_size = sizeof w, .group = 1, .k = k, .v = v, .slot_mapping = &to, .n_tokens = 1
    };
    must(quire_kv_read(kv, &r, &err));
    must(quire_kv_write(kv, &w, NULL, &err));
}

/* A decode at len - 1 with a window of `window` tokens in a ring of two blocks of 16: it fits as
 * long as no two visible positions are 32 apart. The result is that of a table without a ring. */
static void check_ring(struct fixture *f, int32_t window, int len)
{
    static const int32_t ring[] = { 5, 6, 5, 6, 5 }, plain[] = { 0, 1, 2, 3, 4 };
    float want[16];
    const int lo = len > window ? len - window : 0;
    const bool fits = len - lo <= 2 * BLOCK;
    f->lens[0] = len;
    f->tables[1].block_table = plain;
    must(quire_plan_build(f->plan, &f->batch, &err));
    f->args.group = 2;
    must(quire_attention_forward(f->plan, &f->args, NULL, &err));
    memcpy(want, f->out, sizeof want);
    f->tables[1].block_table = ring;
    if (!fits) {
        assert_refused(QUIRE_E_INVALID_ARG, "share", quire_plan_build(f->plan, &f->batch, &err));
        return;
    }
    for (int pos = lo; pos < len; pos++)
        copy_row(f->kv, pos, (int64_t)ring[pos / BLOCK] * BLOCK + pos % BLOCK);
    must(quire_plan_build(f->plan, &f->batch, &err));
    memset(f->out, 0xee, sizeof want);
    must(quire_attention_forward(f->plan, &f->args, NULL, &err));
    assert_same_bits(f->out, want, 16);
}

static void rings(void **state)
{
    (void)state;
    for (int32_t window = 30; window <= 34; window++) {
        struct fixture f;
        setup(&f);
        fill_pool(f.kv, 1, 1, 7);
        for (int i = 0; i < MAX_TOKENS * 16; i++)
            f.q[i] = problem_uniform(-1, 1);
        f.config[2].window_left = window - 1;
        quire_plan_destroy(f.plan);
        must(quire_plan_create(&f.params, &f.plan, &err));
        f.batch.n_seqs = 1;
        f.starts[1] = 1;
        f.tables[0].block_table = f.table[0][1];
        f.tables[1].max_blocks = 5;
        for (int len = 1; len <= 5 * BLOCK; len++)
            check_ring(&f, window, len);
        teardown(&f);
    }
}

/* Runs every layer of every group of the plan. */
static void run_groups(struct fixture *f, float out[CALLS][OUT])
{
    for (uint32_t g = 0, i = 0; g < 3; g++)
        for (uint32_t layer = 0; layer < (g == 2 ? 1 : 2); layer++, i++) {
            f->args.group = g;
            f->args.layer = layer;
            f->args.out = out[i];
            must(quire_attention_forward(f->plan, &f->args, NULL, &err));
        }
}

/* New tables of a KV group take effect in all plan groups that read it, in every sequence, and in
 * no other group; tables that are refused change nothing. */
static void every_group_of_the_tables(void **state)
{
    (void)state;
    static float before[CALLS][OUT], want[CALLS][OUT], got[CALLS][OUT];
    static const uint32_t first[] = { 0, 1 };
    struct fixture f;
    setup(&f);
    fill_pool(f.kv, 0, 2, N_BLOCKS);
    fill_pool(f.kv, 1, 1, 7);
    for (int i = 0; i < OUT; i++)
        f.q[i] = problem_uniform(-1, 1);
    f.config[0].window_left = 60; /* sequence 1 no longer sees block 0 */
    f.config[1].window_left = 50;
    quire_plan_destroy(f.plan);
    must(quire_plan_create(&f.params, &f.plan, &err));
    must(quire_plan_build(f.plan, &f.batch, &err));
    run_groups(&f, before);
    struct quire_attention_batch_group tables = f.tables[0];
    int32_t table[2][8] = { { 17, 4, -1 }, { 11, 12, 25, 13, 38, 39 } };
    tables.block_table = table[0];
    tables.block_table_stride = 8;
    tables.max_blocks = 6;
    tables.first_block = first;
    table[1][5] = N_BLOCKS;
    assert_refused(QUIRE_E_RANGE, "block_table[1][5]",
                   quire_plan_set_tables(f.plan, 0, &tables, &err));
    run_groups(&f, got);
    assert_memory_equal(got, before, sizeof got);
    table[1][5] = 39;
    must(quire_plan_set_tables(f.plan, 0, &tables, &err));
    memset(got, 0, sizeof got);
    run_groups(&f, got);
    f.tables[0] = tables;
    must(quire_plan_build(f.plan, &f.batch, &err));
    run_groups(&f, want);
    assert_memory_equal(got, want, sizeof got);
    for (int i = 0; i < CALLS; i++) /* of both sequences; KV group 1 is unchanged */
        for (int row = 0; row < 2; row++)
            assert_int_equal(
                memcmp(&got[i][row * 20 * 16], &before[i][row * 20 * 16], 16 * sizeof(float)) == 0,
                i == CALLS - 1);
    teardown(&f);
}

/* Cascades follow the blocks that the new tables share. */
static void cascades_follow_new_tables(void **state)
{
    (void)state;
    enum { LEN = 520, N = 33, POOL = 2 * N };
    static int32_t apart[2][N], shared[2][N];
    const int32_t starts[] = { 0, 1, 2 }, lens[] = { LEN, LEN };
    const struct quire_kv_group_config g = {
        .n_layers = 1, .n_kv_heads = 1, .head_size = 8, .n_blocks = POOL
    };
    const struct quire_kv_params pool = {
        .struct_size = sizeof pool, .block_size = BLOCK, .groups = &g, .n_groups = 1
    };
    struct quire_attention_config c;
    quire_attention_config_init(&c, sizeof c, 2, 1, 8);
    const struct quire_plan_group group = { .config = &c };
    struct quire_plan_params params = { .struct_size = sizeof params,
                                        .groups = &group,
                                        .n_groups = 1,
                                        .max_tokens = 2,
                                        .max_seqs = 2,
                                        .max_seq_len = LEN,
                                        .n_threads = 2,
                                        .flags = QUIRE_PLAN_CASCADE };
    struct quire_attention_batch_group tables = { .block_table = apart[0], .max_blocks = N };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 2,
                                                 .query_start_loc = starts,
                                                 .seq_lens = lens,
                                                 .n_groups = 1,
                                                 .groups = &tables };
    struct quire_plan_info info = { .struct_size = sizeof info };
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    float q[32], out[2][32];
    for (int j = 0; j < N; j++) {
        apart[0][j] = shared[0][j] = shared[1][j] = j;
        apart[1][j] = N + j;
    }
    shared[1][N - 1] = POOL - 1;
    for (int i = 0; i < 32; i++)
        q[i] = problem_uniform(-1, 1);
    must(quire_kv_create(&pool, &kv, &err));
    fill_pool(kv, 0, 1, POOL);
    params.kv = kv;
    must(quire_plan_create(&params, &plan, &err));
    const struct quire_attention_args args[] = {
        { .struct_size = sizeof *args, .q = q, .out = out[0] },
        { .struct_size = sizeof *args, .q = q, .out = out[1] },
    };
    for (int turn = 0; turn < 4; turn++) {
        tables.block_table = turn % 2 ? apart[0] : shared[0];
        must(quire_plan_build(plan, &batch, &err));
        tables.block_table = turn % 2 ? shared[0] : apart[0];
        must(quire_plan_set_tables(plan, 0, &tables, &err));
        assert_status(QUIRE_OK, quire_plan_get_info(plan, 0, &info));
        assert_int_equal(info.n_cascades != 0, turn % 2);
        must(quire_attention_forward(plan, &args[0], NULL, &err));
        must(quire_plan_build(plan, &batch, &err));
        must(quire_attention_forward(plan, &args[1], NULL, &err));
        assert_same_bits(out[0], out[1], 32);
    }
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings),
        cmocka_unit_test(every_group_of_the_tables),
        cmocka_unit_test(cascades_follow_new_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
