/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_no_malloc.c - building a plan and running it allocates nothing: neither through the
 * allocator hooks nor with the C library's functions. */
#include "test_no_malloc.h"
#include "test_plan.h"
#include <quire/attention_dense.h>
#include <quire/attention_merge.h>

/* The counters work, in this program and in the library. */
static void every_function_is_counted(void **state)
{
    (void)state;
    void *volatile p = malloc(10);
    assert_int_equal(count_allocations(), 1);
    free(p);
    p = calloc(2, 10);
    void *volatile q = realloc(p, 30);
    assert_int_equal(count_allocations(), 3);
    free(q);
    p = aligned_alloc(64, 64);
    free(p);
    void *r = NULL;
    assert_int_equal(posix_memalign(&r, 64, 64), 0);
    free(r);
    assert_int_equal(count_allocations(), 5);
    void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    munmap(map, 4096);
    assert_int_equal(count_allocations(), 6);
    struct fixture f;
    setup(&f);
    assert_true(count_allocations() > 6); /* the library's own allocations */
    teardown(&f);
}

static void paged_attention(void **state)
{
    (void)state;
    struct fixture f;
    struct quire_threads *threads = make_threads(2);
    static const uint64_t tree[MAX_TOKENS] = { 1, 3, 5, 9 };
    static const int32_t span_loc[] = { 0, 1 }, listed[] = { 0, 1, 2, 3, 4, 5, 6 };
    static const struct quire_token_range spans[] = { { 1, 5 } };
    const struct quire_sparse_list lists[] = { { listed, 7 } }, *sparse[] = { lists, NULL };
    float slopes[2] = { 0.5f, 0.25f }, sinks[2] = { 1, 2 };
    setup(&f);
    f.config[0].alibi_slopes = slopes;
    f.config[0].sinks = sinks;
    f.params.max_spans = 1;
    f.params.max_tree_tokens = MAX_TOKENS;
    f.params.max_sparse_blocks = 7;
    quire_plan_destroy(f.plan);
    must(quire_plan_create(&f.params, &f.plan, &err));
    f.batch.n_seqs = 1;
    f.tables[0].block_table = f.tables[1].block_table = f.table[0][1];
    f.args.config = NULL;
    const uint64_t before = count_allocations();
    for (int step = 0; step < 60; step++) {
        const bool has_tree = step % 3 == 0;
        f.lens[0] = 20 + step;
        f.starts[1] = has_tree ? 4 : step % 7 ? 1 : 20;
        f.batch.tree_mask = has_tree ? tree : NULL;
        f.batch.span_loc = step % 4 ? NULL : span_loc;
        f.batch.spans = step % 4 ? NULL : spans;
        f.batch.sparse = step % 5 ? NULL : sparse;
        f.batch.cp_world_size = has_tree ? 0 : (uint32_t)step % 3;
        must(quire_plan_build(f.plan, &f.batch, &err));
        must(quire_plan_set_tables(f.plan, 0, &f.tables[0], &err));
        for (uint32_t layer = 0; layer < 2; layer++) {
            f.args.layer = layer;
            must(quire_attention_forward(f.plan, &f.args, step % 2 ? threads : NULL, &err));
        }
    }
    assert_int_equal(count_allocations(), before);
    quire_threads_destroy(threads);
    teardown(&f);
}

/* Writes, dense attention and merges. */
static void other_calls_of_a_step(void **state)
{
    (void)state;
    enum { N = 40 };
    struct fixture f;
    struct quire_threads *threads = make_threads(2);
    static float rows[N * 8], out[N * 16], lse[N * 2];
    int32_t ids[N_BLOCKS];
    int64_t slots[N];
    setup(&f);
    must(quire_kv_alloc(f.kv, 0, -1, N_BLOCKS, ids, &err));
    const struct quire_dense_params params = { .struct_size = sizeof params,
                                               .config = &f.config[1],
                                               .max_tokens = N,
                                               .max_kv_tokens = N,
                                               .max_seqs = 1,
                                               .n_threads = 2 };
    const int32_t starts[] = { 0, N };
    const struct quire_dense_batch batch = { .struct_size = sizeof batch,
                                             .n_seqs = 1,
                                             .query_start_loc = starts,
                                             .kv_start_loc = starts,
                                             .k = rows,
                                             .v = rows };
    const struct quire_attention_args args = {
        .struct_size = sizeof args, .q = f.q, .out = out, .lse = lse
    };
    const struct quire_attention_partial part = { .out = out, .lse = lse };
    const struct quire_attention_merge_args merge = { .struct_size = sizeof merge,
                                                      .n_parts = 1,
                                                      .parts = &part,
                                                      .n_tokens = N,
                                                      .n_heads = 2,
                                                      .v_head_size = 8,
                                                      .out = f.out };
    const struct quire_kv_slot_args map = { .struct_size = sizeof map,
                                            .block_size = BLOCK,
                                            .block_table = ids,
                                            .n_entries = N_BLOCKS,
                                            .n_tokens = N };
    const struct quire_kv_write_args w = {
        .struct_size = sizeof w, .k = rows, .v = rows, .slot_mapping = slots, .n_tokens = N
    };
    struct quire_dense *dense;
    must(quire_dense_create(&params, &dense, &err));
    const uint64_t before = count_allocations();
    for (int i = 0; i < 4; i++) {
        struct quire_threads *const team = i % 2 ? threads : NULL;
        must(quire_kv_map_slots(&map, slots, &err));
        must(quire_kv_write(f.kv, &w, team, &err));
        must(quire_attention_dense(dense, &batch, &args, team, &err));
        must(quire_attention_merge(&merge, team, &err));
    }
    assert_int_equal(count_allocations(), before);
    quire_dense_destroy(dense);
    quire_threads_destroy(threads);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_counted),
        cmocka_unit_test(paged_attention),
        cmocka_unit_test(other_calls_of_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
