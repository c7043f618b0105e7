/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_masks.c - plans with spans, trees, sparse block lists and padded batches: limits, every
 * invalid value, and one plan for many steps. */
#include "test_attn_variants.h"
#include "test_plan.h"

static int32_t span_loc[] = { 0, 2, 3 };
static struct quire_token_range spans[] = { { 2, 5 }, { 5, 20 }, { 90, 100 } };
static uint64_t tree[21];
static int32_t places[][3] = { { 0, 1, 7 }, { 0, 5, 6 } };
static struct quire_sparse_list lists[2];
static const struct quire_sparse_list *sparse[2];

/* Sets all masks, within the limits of the fixture's plan. */
static void setup_masks(struct fixture *f)
{
    setup(f);
    quire_plan_destroy(f->plan);
    f->params.max_spans = 3;
    f->params.max_tree_tokens = 21;
    f->params.max_sparse_blocks = 6;
    must(quire_plan_create(&f->params, &f->plan, &err));
    for (int t = 0; t < 21; t++)
        tree[t] = t == 20 ? 1 : ((uint64_t)2 << t) - 1;
    for (int i = 0; i < 2; i++)
        lists[i] = (struct quire_sparse_list){ places[i], 3 };
    sparse[0] = lists;
    f->batch.span_loc = span_loc;
    f->batch.spans = spans;
    f->batch.tree_mask = tree;
    f->batch.sparse = sparse;
    f->tables[1].max_blocks = 7;
}

#define REFUSED(change, code, word, restore)                                                       \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(code, word, quire_plan_build(f.plan, &f.batch, &err));                      \
        restore;                                                                                   \
        must(quire_plan_build(f.plan, &f.batch, &err));                                            \
    } while (0)

static void bad_spans(void **state)
{
    (void)state;
    struct fixture f;
    setup_masks(&f);
    f.batch.tree_mask = NULL;
    f.batch.sparse = NULL;
    must(quire_plan_build(f.plan, &f.batch, &err));
    const struct quire_token_range good[] = { spans[0], spans[1], spans[2] };
#define BAD(change, code, word)                                                                    \
    REFUSED(change, code, word, memcpy(spans, good, sizeof good); f.batch.spans = spans;           \
            f.batch.span_loc = span_loc; span_loc[0] = 0; span_loc[1] = 2; span_loc[2] = 3)
    BAD(f.batch.spans = NULL, QUIRE_E_INVALID_ARG, "spans is NULL");
    BAD(f.batch.span_loc = NULL, QUIRE_E_INVALID_ARG, "span_loc is NULL");
    BAD(span_loc[0] = 1, QUIRE_E_INVALID_ARG, "span_loc[0]");
    BAD(span_loc[2] = 1, QUIRE_E_INVALID_ARG, "span_loc[2]");
    BAD(span_loc[2] = 4, QUIRE_E_LIMIT, "span_loc[2]");
    BAD(spans[0].begin = -1, QUIRE_E_INVALID_ARG, "spans[0]");
    BAD(spans[0].end = 1, QUIRE_E_INVALID_ARG, "spans[0]");
    BAD(spans[0].end = 6, QUIRE_E_INVALID_ARG, "spans[1]");
    BAD(spans[1].end = 21, QUIRE_E_INVALID_ARG, "spans[1]");
    BAD(spans[2].end = 101, QUIRE_E_INVALID_ARG, "spans[2]");
    spans[2] = (struct quire_token_range){ 100, 500 }; /* belongs to a later step: valid */
    must(quire_plan_build(f.plan, &f.batch, &err));
    memcpy(spans, good, sizeof good);
#undef BAD
    teardown(&f);
}

static void bad_trees(void **state)
{
    (void)state;
    struct fixture f;
    setup_masks(&f);
    must(quire_plan_build(f.plan, &f.batch, &err));
#define BAD(at, value, word)                                                                       \
    do {                                                                                           \
        const uint64_t was = tree[at];                                                             \
        REFUSED(tree[at] = value, QUIRE_E_INVALID_ARG, word, tree[at] = was);                      \
    } while (0)
    REFUSED(f.batch.cp_world_size = 2, QUIRE_E_INVALID_ARG, "tree_mask with cp_world_size 2",
            f.batch.cp_world_size = 0);
    BAD(0, 0, "tree_mask[0], token 0 of sequence 0: it does not see itself");
    BAD(5, 0x1f, "tree_mask[5], token 5 of sequence 0: it does not see itself");
    BAD(5, 0x61, "tree_mask[5], token 5 of sequence 0: it sees a later token");
    BAD(20, 1ull << 63 | 1, "tree_mask[20], token 0 of sequence 1: it sees a later token");
#undef BAD
    const struct quire_plan_params good = f.params;
    struct quire_plan *plan;
    f.params.max_tree_tokens = 20;
    must(quire_plan_create(&f.params, &plan, &err));
    assert_refused(QUIRE_E_LIMIT, "tree_mask", quire_plan_build(plan, &f.batch, &err));
    f.batch.tree_mask = NULL;
    must(quire_plan_build(plan, &f.batch, &err));
    quire_plan_destroy(plan);
    f.params = good;
    /* 65 new tokens are too many, even in a chain of 64 bits */
    static int32_t starts[] = { 0, 65 }, lens[] = { 80 };
    static uint64_t masks[65];
    for (int t = 0; t < 65; t++)
        masks[t] = t < 63 ? ((uint64_t)2 << t) - 1 : ~(uint64_t)0;
    f.params.max_tokens = f.params.max_tree_tokens = 65;
    f.params.n_groups = 1;
    must(quire_plan_create(&f.params, &plan, &err));
    const struct quire_attention_batch_group group[2] = { { .block_table = f.table[0][1],
                                                            .max_blocks = 7 } };
    struct quire_attention_batch b = { .struct_size = sizeof b,
                                       .n_seqs = 1,
                                       .query_start_loc = starts,
                                       .seq_lens = lens,
                                       .n_groups = 2,
                                       .groups = group,
                                       .tree_mask = masks };
    assert_refused(QUIRE_E_INVALID_ARG, "65 new tokens", quire_plan_build(plan, &b, &err));
    starts[1] = 64;
    must(quire_plan_build(plan, &b, &err));
    b.tree_words = 2;
    assert_refused(QUIRE_E_LIMIT, "tree_words is 2, above the plan's max_tree_words 1",
                   quire_plan_build(plan, &b, &err));
    quire_plan_destroy(plan);
    teardown(&f);
}

/* Masks of several words per token, up to the limit of a plan. */
static void wide_trees(void **state)
{
    (void)state;
    enum { WORDS = 3, TOKENS = 64 * WORDS };
    static uint64_t masks[TOKENS + 1][WORDS];
    static int32_t starts[] = { 0, TOKENS }, lens[] = { TOKENS }, table[13];
    struct fixture f;
    struct quire_plan *plan;
    setup(&f);
    for (int t = 0; t <= TOKENS; t++)
        masks[t][t % TOKENS / 64] |= (uint64_t)1 << t % 64;
    for (int j = 0; j < 13; j++)
        table[j] = j;
    f.params.n_groups = 1;
    f.params.max_tokens = f.params.max_tree_tokens = TOKENS + 1;
    f.params.max_seq_len = TOKENS + 6;
    f.params.max_tree_words = 65;
    assert_refused(QUIRE_E_INVALID_ARG, "params.max_tree_words is 65, not 0 .. 64",
                   quire_plan_create(&f.params, &plan, &err));
    f.params.max_tree_words = WORDS;
    f.params.reserved = 1;
    assert_refused(QUIRE_E_INVALID_ARG, "reserved", quire_plan_create(&f.params, &plan, &err));
    f.params.reserved = 0;
    must(quire_plan_create(&f.params, &plan, &err));
    const struct quire_attention_batch_group group[2] = { { .block_table = table,
                                                            .max_blocks = 13 } };
    struct quire_attention_batch b = { .struct_size = sizeof b,
                                       .n_seqs = 1,
                                       .query_start_loc = starts,
                                       .seq_lens = lens,
                                       .n_groups = 2,
                                       .groups = group,
                                       .tree_mask = masks[0],
                                       .tree_words = WORDS };
    must(quire_plan_build(plan, &b, &err));
    starts[1] = lens[0] = TOKENS + 1;
    assert_refused(QUIRE_E_INVALID_ARG, "193 new tokens, more than the 192 bits of tree_words 3",
                   quire_plan_build(plan, &b, &err));
    starts[1] = lens[0] = TOKENS;
#define BAD(token, word, value, text)                                                              \
    do {                                                                                           \
        const uint64_t was = masks[token][word];                                                   \
        masks[token][word] = value;                                                                \
        assert_refused(QUIRE_E_INVALID_ARG, text, quire_plan_build(plan, &b, &err));               \
        masks[token][word] = was;                                                                  \
        must(quire_plan_build(plan, &b, &err));                                                    \
    } while (0)
    BAD(70, 1, 0, "tree_mask[70], token 70 of sequence 0: it does not see itself");
    BAD(70, 1, 3ull << 6, "tree_mask[70], token 70 of sequence 0: it sees a later token");
    BAD(70, 2, 1, "tree_mask[70], token 70 of sequence 0: it sees a later token");
    BAD(63, 1, 1, "tree_mask[63], token 63 of sequence 0: it sees a later token");
#undef BAD
    quire_plan_destroy(plan);
    teardown(&f);
}

static void bad_lists(void **state)
{
    (void)state;
    struct fixture f;
    setup_masks(&f);
    f.batch.spans = NULL;
    f.batch.span_loc = NULL;
    must(quire_plan_build(f.plan, &f.batch, &err));
    const struct quire_sparse_list good = lists[1];
#define BAD(change, code, word)                                                                    \
    REFUSED(change, code, word, lists[1] = good; places[1][0] = 0; places[1][1] = 5;               \
            places[1][2] = 6)
    BAD(places[1][0] = -1, QUIRE_E_INVALID_ARG, "sequence 1, head 0: blocks[0] is -1");
    BAD(places[1][1] = 0, QUIRE_E_INVALID_ARG, "sequence 1, head 0: blocks[1] is 0");
    BAD(places[1][2] = 4, QUIRE_E_INVALID_ARG, "sequence 1, head 0: blocks[2] is 4");
    BAD(lists[1].blocks = NULL, QUIRE_E_INVALID_ARG, "sequence 1, head 0: blocks is NULL");
    BAD(lists[1].n = 4, QUIRE_E_LIMIT, "sparse[0]");
    /* unlisted entries are not read, listed ones are */
    f.table[0][1][3] = 12345;
    must(quire_plan_build(f.plan, &f.batch, &err));
    must(quire_plan_set_tables(f.plan, 0, &f.tables[0], &err));
    BAD(places[1][1] = 3, QUIRE_E_RANGE, "block_table[1][3] is 12345");
    f.table[0][1][0] = -1;
    assert_refused(QUIRE_E_RANGE, "block_table[1][0]", quire_plan_build(f.plan, &f.batch, &err));
    const uint32_t first[] = { 0, 5 };
    f.tables[0].first_block = first;
    places[1][0] = 4;
    assert_refused(QUIRE_E_RANGE, "first_block is 5", quire_plan_build(f.plan, &f.batch, &err));
    lists[1].blocks = places[1] + 1;
    lists[1].n = 2;
    f.table[0][1][0] = 5;
    f.table[0][1][1] = 6;
    f.tables[0].max_blocks = 2;
    must(quire_plan_build(f.plan, &f.batch, &err));
    f.tables[0].max_blocks = 1;
    assert_refused(QUIRE_E_RANGE, "past the end", quire_plan_build(f.plan, &f.batch, &err));
#undef BAD
    struct quire_plan *plan;
    f.params.max_sparse_blocks = 0;
    must(quire_plan_create(&f.params, &plan, &err));
    assert_refused(QUIRE_E_LIMIT, "max_sparse_blocks is 0", quire_plan_build(plan, &f.batch, &err));
    quire_plan_destroy(plan);
    places[1][0] = 0;
    teardown(&f);
}

static void padded_batches(void **state)
{
    (void)state;
    struct fixture f;
    struct quire_attention_batch view, other;
    setup_masks(&f);
    memset(&view, 0x55, sizeof view);
    other = view;
    must(quire_attention_batch_unpadded(&f.batch, 20, 1, &view, &err));
    assert_int_equal(view.n_seqs, 1);
    assert_ptr_equal(view.query_start_loc, f.starts);
    assert_ptr_equal(view.sparse, sparse);
    f.table[0][1][0] = -5; /* of the omitted sequence */
    must(quire_plan_build(f.plan, &view, &err));
    must(quire_attention_batch_unpadded(&f.batch, 21, 2, &view, &err));
    assert_memory_equal(&view, &f.batch, sizeof view);
    must(quire_attention_batch_unpadded(&f.batch, 0, 0, &view, &err));
    must(quire_plan_build(f.plan, &view, &err));
    view = other;
#define BAD(code, word, ...) assert_refused(code, word, quire_attention_batch_unpadded(__VA_ARGS__))
    BAD(QUIRE_E_INVALID_ARG, "batch", NULL, 20, 1, &view, &err);
    BAD(QUIRE_E_INVALID_ARG, "out", &f.batch, 20, 1, NULL, &err);
    BAD(QUIRE_E_INVALID_ARG, "n_seqs", &f.batch, 21, 3, &view, &err);
    BAD(QUIRE_E_INVALID_ARG, "n_tokens", &f.batch, 19, 1, &view, &err);
    BAD(QUIRE_E_INVALID_ARG, "n_tokens", &f.batch, 20, 0, &view, &err);
    f.batch.query_start_loc = NULL;
    BAD(QUIRE_E_INVALID_ARG, "query_start_loc", &f.batch, 20, 1, &view, &err);
    f.batch.struct_size = 1;
    BAD(QUIRE_E_MISUSE, "struct_size", &f.batch, 20, 1, &view, &err);
#undef BAD
    assert_memory_equal(&view, &other, sizeof view); /* unchanged */
    teardown(&f);
}

/* A failed build keeps spans, tree and lists of the previous batch; the plan keeps no pointer
 * into a batch. */
static void batches_may_be_gone(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 90, 300 };
    for (int kind = 0; kind < 3; kind++) {
        struct problem s = problem_of(4, 2, 16, QUIRE_KV_F32, QUIRE_COMPUTE_F32);
        problem_fill(&s, lens, 2);
        if (kind == 0) {
            s.n_spans[0] = s.n_spans[1] = 1;
            s.spans[0][0] = s.spans[1][0] = (struct quire_token_range){ 10, 80 };
        }
        if (kind == 1) {
            s.has_tree = true;
            s.n_tree[0] = s.n_tree[1] = 5;
            for (int t = 0; t < 5; t++)
                s.tree[0][t] = s.tree[1][t] = 1ull << t;
        }
        s.has_lists = kind == 2;
        s.listed[0][0][0] = s.listed[1][1][1] = true;
        struct result want = whole(&s, NULL), got = result_new(&s);
        struct variant r = variant_whole(&s);
        struct testbed st;
        testbed_open(&st, &s, &r);
        memset(st.spans, 0, sizeof st.spans);
        memset(st.tree, 0, sizeof st.tree);
        memset(st.lists, 0, sizeof st.lists);
        if (st.list_blocks)
            memset(st.list_blocks, 0, st.n_list_blocks * sizeof *st.list_blocks);
        st.lens[1] = -1;
        assert_status(QUIRE_E_INVALID_ARG, quire_plan_build(st.plan, &st.batch, NULL));
        st.lens[1] = 300;
        run_testbed(&st, &s, &r, &got);
        assert_same_result(&got, &want);
        testbed_close(&st);
        result_free(&want), result_free(&got);
        problem_free(&s);
    }
}

/* One plan serves a prompt, a thousand decode steps, draft trees and changing lists without
 * allocating. */
static void steps_allocate_nothing(void **state)
{
    (void)state;
    struct fixture f;
    struct fail_alloc a;
    struct quire_plan *plan;
    uint64_t bytes;
    setup_masks(&f);
    must(quire_plan_bytes(&f.params, &bytes, &err));
    fail_alloc_init(&a, 0, false);
    f.params.allocator = &a.hooks;
    must(quire_plan_create(&f.params, &plan, &err));
    assert_int_equal(a.calls, 1);
    assert_int_equal(a.live_bytes, bytes);
    f.batch.n_seqs = 1;
    f.batch.span_loc = NULL;
    f.batch.spans = NULL;
    f.tables[0].block_table = f.tables[1].block_table = f.table[0][1];
    for (int j = 0; j < 7; j++)
        f.table[0][1][j] = j;
    for (int step = 0; step < 1000; step++) {
        const int new_tokens = step == 0 ? 20 : step % 3 == 0 ? 4 : 1;
        f.lens[0] = 20 + step % 80;
        f.starts[1] = new_tokens;
        f.batch.tree_mask = step % 3 == 0 ? tree : NULL;
        f.batch.sparse = step % 5 == 0 ? sparse : NULL;
        must(quire_plan_build(plan, &f.batch, &err));
        for (uint32_t layer = 0; layer < 2; layer++) {
            f.args.layer = layer;
            must(quire_attention_forward(plan, &f.args, NULL, &err));
        }
    }
    assert_int_equal(a.calls, 1);
    quire_plan_destroy(plan);
    assert_int_equal(a.live_count, 0);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_spans),
        cmocka_unit_test(bad_trees),
        cmocka_unit_test(wide_trees),
        cmocka_unit_test(bad_lists),
        cmocka_unit_test(padded_batches),
        cmocka_unit_test(batches_may_be_gone),
        cmocka_unit_test(steps_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
