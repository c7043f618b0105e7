/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefix_index.c - the index of the prefix cache. */
#include "test_prefix_random.h"

/* ---- By example: an index over two groups of 20 blocks, the second with a window. */

static struct quire_kv_cache *example_kv;
static struct qr_prefix_index *example_index;

static void open_example(uint32_t window, uint32_t max_nodes, uint32_t hash_bits, uint64_t key)
{
    const struct quire_kv_group_config groups[2] = {
        { .n_layers = 1, .n_kv_heads = 1, .head_size = 8, .n_blocks = 20 },
        { .n_layers = 1, .n_kv_heads = 1, .head_size = 8, .n_blocks = 20, .sliding_window = window }
    };
    const uint64_t keys[2] = { key, ~key };
    const struct qr_prefix_index_params params = {
        .max_nodes = max_nodes,
        .hash_bits = hash_bits,
        .key = keys,
        .kv = example_kv = kv_make(groups, 2, BS, NULL),
    };
    assert_status(QUIRE_OK, qr_prefix_index_create(&params, &example_index, NULL));
}

static void close_example(void)
{
    assert_null(qr_prefix_index_check(example_index));
    qr_prefix_index_destroy(example_index);
    assert_int_equal(quire_kv_free_block_count(example_kv, 0), 20);
    assert_int_equal(quire_kv_free_block_count(example_kv, 1), 20);
    quire_kv_destroy(example_kv);
}

/* Inserts a node whose tokens are all `token`, with new blocks that only the node holds. */
static qr_prefix_node insert(qr_prefix_node parent, uint64_t salt, int32_t token, uint32_t n_tokens)
{
    int32_t tokens[BS], blocks[2];
    bool inserted;
    for (uint32_t i = 0; i < BS; i++)
        tokens[i] = token;
    for (uint32_t g = 0; g < 2; g++)
        kv_take(example_kv, g, 1, &blocks[g]);
    const qr_prefix_node node =
        qr_prefix_index_insert(example_index, parent, salt, 0, tokens, n_tokens, blocks, &inserted);
    assert_int_equal(inserted, node != NONE);
    for (uint32_t g = 0; g < 2; g++)
        assert_status(QUIRE_OK, quire_kv_release(example_kv, g, &blocks[g], 1, NULL));
    assert_null(qr_prefix_index_check(example_index));
    return node;
}

/* A path of n full nodes with the tokens first, first + 1, ...; returns its last node. */
static qr_prefix_node insert_path(qr_prefix_node parent, uint64_t salt, int32_t first, int n)
{
    for (int i = 0; i < n; i++) {
        parent = insert(parent, salt, first + i, BS);
        assert_int_not_equal(parent, NONE);
    }
    return parent;
}

/* Length of the match for the path that insert_path(first, n) made. */
static uint32_t match_path(uint64_t salt, uint32_t variant, int32_t first, uint32_t n_tokens)
{
    int32_t tokens[20 * BS];
    struct qr_prefix_match match;
    for (uint32_t i = 0; i < n_tokens; i++)
        tokens[i] = first + (int32_t)(i / BS);
    qr_prefix_index_match(example_index, salt, variant, tokens, n_tokens, &match);
    return match.n_tokens;
}

static int32_t block_of(qr_prefix_node node, uint32_t group)
{
    struct qr_prefix_node_info info;
    qr_prefix_index_get(example_index, node, &info);
    return info.blocks[group];
}

static void roots_are_separate(void **state)
{
    (void)state;
    for (uint32_t bits = 1; bits <= 128; bits += bits < 8 ? 1 : 8) {
        open_example(0, 16, bits, 5);
        int32_t tokens[BS] = { 0 };
        const qr_prefix_node a = insert_path(NONE, 1, 0, 3);
        const struct qr_prefix_hash hash = example_index->entries[a].hash;
        assert_true(bits >= 64 || hash.low >> bits == 0); /* so few bits do collide */
        assert_true(bits == 128 || hash.high >> (bits < 64 ? 0 : bits - 64) == 0);
        assert_int_equal(match_path(1, 0, 0, 48), 48);
        assert_int_equal(match_path(2, 0, 0, 48), 0);
        assert_int_equal(match_path(1, 1, 0, 48), 0);
        assert_int_equal(qr_prefix_index_find(example_index, NONE, 2, 0, tokens), NONE);
        assert_int_equal(qr_prefix_index_find(example_index, NONE, 1, 1, tokens), NONE);
        const qr_prefix_node b = insert_path(NONE, 2, 0, 3);
        assert_int_not_equal(a, b);
        assert_int_not_equal(block_of(a, 0), block_of(b, 0));
        qr_prefix_index_clear(example_index, &(uint64_t){ 1 });
        assert_int_equal(match_path(1, 0, 0, 48), 0);
        assert_int_equal(match_path(2, 0, 0, 48), 48);
        close_example();
    }
}

static void pins_count(void **state)
{
    (void)state;
    open_example(0, 16, 128, 1);
    const qr_prefix_node end = insert_path(NONE, 0, 0, 4);
    struct qr_prefix_node_info info;
    qr_prefix_index_get(example_index, end, &info);
    const qr_prefix_node third = info.parent;
    qr_prefix_index_pin(example_index, third);
    qr_prefix_index_pin(example_index, third);
    assert_int_equal(qr_prefix_index_evictable(example_index, 0), 1);
    assert_int_equal(qr_prefix_index_evict(example_index, 0, 20), 1);
    qr_prefix_index_clear(example_index, NULL);
    assert_int_equal(qr_prefix_index_node_count(example_index), 3);
    qr_prefix_index_unpin(example_index, third);
    assert_int_equal(qr_prefix_index_evict(example_index, 0, 20), 0);
    qr_prefix_index_unpin(example_index, third);
    qr_prefix_index_unpin(example_index, third); /* one too many: no effect */
    assert_int_equal(qr_prefix_index_evictable(example_index, 0), 3);
    assert_int_equal(qr_prefix_index_evict(example_index, 0, 2), 2);
    assert_int_equal(match_path(0, 0, 0, 64), 16);
    qr_prefix_index_pin(example_index, NONE);
    qr_prefix_index_unpin(example_index, NONE);
    qr_prefix_index_touch(example_index, NONE);
    close_example();
}

/* Paths A, B, C; touching A makes B the oldest. Leaves go before their parents. */
static void eviction_order(void **state)
{
    (void)state;
    open_example(0, 16, 128, 1);
    const qr_prefix_node a = insert_path(NONE, 0, 10, 3);
    insert_path(NONE, 0, 20, 3);
    insert_path(NONE, 0, 30, 3);
    qr_prefix_index_touch(example_index, a);
    const uint32_t expected[9][3] = { { 48, 32, 48 }, { 48, 16, 48 }, { 48, 0, 48 },
                                      { 48, 0, 32 },  { 48, 0, 16 },  { 48, 0, 0 },
                                      { 32, 0, 0 },   { 16, 0, 0 },   { 0, 0, 0 } };
    for (int i = 0; i < 9; i++) {
        assert_int_equal(qr_prefix_index_evict(example_index, 0, 1), 1);
        for (int path = 0; path < 3; path++)
            assert_int_equal(match_path(0, 0, 10 * (path + 1), 48), expected[i][path]);
    }
    assert_int_equal(qr_prefix_index_evict(example_index, 0, 1), 0);
    close_example();
}

/* A block that a sequence holds too is not freed, and its node not removed for nothing. */
static void shared_blocks_stay(void **state)
{
    (void)state;
    open_example(20, 16, 128, 1);
    const qr_prefix_node end = insert_path(NONE, 0, 0, 2);
    const int32_t held[2] = { block_of(end, 0), block_of(end, 1) };
    for (uint32_t g = 0; g < 2; g++)
        assert_status(QUIRE_OK, quire_kv_retain(example_kv, g, &held[g], 1, NULL));
    assert_int_equal(qr_prefix_index_evictable(example_index, 1), 1);
    assert_int_equal(qr_prefix_index_evict(example_index, 1, 5), 1);
    assert_int_equal(block_of(end, 1), held[1]);
    assert_int_equal(qr_prefix_index_evictable(example_index, 0), 1); /* after the leaf is gone */
    assert_int_equal(qr_prefix_index_evict(example_index, 0, 5), 1);
    assert_int_equal(qr_prefix_index_node_count(example_index), 0);
    for (uint32_t g = 0; g < 2; g++) {
        assert_int_equal(quire_kv_ref_count(example_kv, g, held[g]), 1);
        assert_status(QUIRE_OK, quire_kv_release(example_kv, g, &held[g], 1, NULL));
    }
    const qr_prefix_node only = insert_path(NONE, 0, 0, 1);
    const int32_t block = block_of(only, 0);
    assert_status(QUIRE_OK, quire_kv_retain(example_kv, 0, &block, 1, NULL));
    assert_int_equal(qr_prefix_index_evict(example_index, 0, 5), 0);
    assert_int_equal(qr_prefix_index_node_count(example_index), 1);
    assert_status(QUIRE_OK, quire_kv_release(example_kv, 0, &block, 1, NULL));
    close_example();
}

/* Window 33: a query sees 32 tokens before it, hence 2 blocks. */
static void window_keeps_what_hits_need(void **state)
{
    (void)state;
    open_example(33, 16, 128, 1);
    const qr_prefix_node end = insert_path(NONE, 0, 0, 6);
    qr_prefix_index_pin(example_index, end); /* keeps its own block of the group, no ancestor's */
    assert_int_equal(qr_prefix_index_evictable(example_index, 1), 5);
    assert_int_equal(qr_prefix_index_evict(example_index, 1, 4), 4);
    assert_int_equal(match_path(0, 0, 0, 96), 96);
    qr_prefix_index_unpin(example_index, end);
    assert_int_equal(qr_prefix_index_evict(example_index, 1, 1), 1);
    assert_int_equal(match_path(0, 0, 0, 96), 0);
    qr_prefix_index_clear(example_index, NULL);

    /* Sequences parted after block 2: a hit there needs blocks 1 and 2. */
    const qr_prefix_node stem = insert_path(NONE, 0, 0, 3);
    insert_path(stem, 0, 3, 4);
    insert_path(stem, 0, 13, 4);
    assert_int_equal(qr_prefix_index_evict(example_index, 1, 5), 5); /* block 0, two per branch */
    assert_int_equal(match_path(0, 0, 0, 48), 48);
    assert_int_equal(match_path(0, 0, 0, 112), 112);
    close_example();
}

static void partial_nodes(void **state)
{
    (void)state;
    open_example(0, 16, 128, 1);
    struct qr_prefix_match match;
    int32_t tokens[2 * BS], blocks[2], path[4] = { 7, 7, 7, 7 };
    bool inserted;
    for (int32_t i = 0; i < 2 * BS; i++)
        tokens[i] = INT32_MIN + i;
    for (uint32_t g = 0; g < 2; g++)
        kv_take(example_kv, g, 1, &blocks[g]);
    /* 3 tokens, replaced by 9 that continue in the same blocks, which must survive */
    (void)qr_prefix_index_insert(example_index, NONE, 0, 0, tokens, 3, blocks, &inserted);
    for (uint32_t g = 0; g < 2; g++)
        assert_status(QUIRE_OK, quire_kv_release(example_kv, g, &blocks[g], 1, NULL));
    const qr_prefix_node nine =
        qr_prefix_index_insert(example_index, NONE, 0, 0, tokens, 9, blocks, &inserted);
    assert_true(inserted);
    assert_int_equal(qr_prefix_index_node_count(example_index), 1);
    assert_int_equal(quire_kv_ref_count(example_kv, 0, blocks[0]), 1);
    assert_int_equal(
        qr_prefix_index_insert(example_index, nine, 0, 0, tokens, 1, blocks, &inserted),
        NONE); /* no node follows a partial one */
    qr_prefix_index_match(example_index, 0, 0, tokens, 32, &match);
    assert_int_equal(match.n_tokens, 9);
    assert_int_equal(match.node, nine);
    assert_int_equal(match.parent_of_partial, NONE);
    qr_prefix_index_match(example_index, 0, 0, tokens, 5, &match);
    assert_int_equal(match.n_tokens, 5);
    qr_prefix_index_match(example_index, 0, 0, tokens, 0, &match);
    assert_int_equal(match.n_tokens, 0);
    qr_prefix_index_path(example_index, nine, 1, path, 3);
    assert_true(path[0] == blocks[1] && path[1] == -1 && path[2] == -1 && path[3] == 7);
    qr_prefix_index_path(example_index, NONE, 1, path, 1);
    assert_int_equal(path[0], -1);

    qr_prefix_index_pin(example_index, nine);
    assert_false(qr_prefix_index_take(example_index, nine, path));
    const qr_prefix_node longer = insert(NONE, 0, INT32_MIN, 12); /* begins with no node */
    assert_int_not_equal(longer, NONE);
    qr_prefix_index_unpin(example_index, nine);
    assert_true(qr_prefix_index_take(example_index, nine, path));
    assert_true(path[0] == blocks[0] && path[1] == blocks[1]);
    assert_int_equal(quire_kv_ref_count(example_kv, 0, blocks[0]), 1);
    for (uint32_t g = 0; g < 2; g++)
        assert_status(QUIRE_OK, quire_kv_release(example_kv, g, &blocks[g], 1, NULL));
    const qr_prefix_node full = insert(NONE, 0, 5, BS);
    assert_false(qr_prefix_index_take(example_index, full, path));
    close_example();
}

static void full_index(void **state)
{
    (void)state;
    open_example(0, 3, 128, 1);
    const qr_prefix_node end = insert_path(NONE, 0, 0, 3);
    assert_int_equal(insert(end, 0, 9, BS), NONE); /* only the parent's path could make room */
    assert_int_equal(match_path(0, 0, 0, 48), 48);
    qr_prefix_index_pin(example_index, end);
    assert_int_equal(insert(NONE, 0, 9, BS), NONE);
    qr_prefix_index_unpin(example_index, end);
    assert_int_not_equal(insert(NONE, 0, 9, BS), NONE);
    assert_int_equal(match_path(0, 0, 0, 48), 32);
    close_example();
}

/* The same calls give the same iteration whatever the key of the hash is. */
static void iteration_is_deterministic(void **state)
{
    (void)state;
    qr_prefix_node first[16], node;
    for (uint64_t key = 0; key < 20; key++) {
        open_example(20, 16, key % 2 ? 128 : 2, key);
        for (int32_t i = 0; i < 6; i++)
            insert_path(insert_path(NONE, (uint64_t)i % 3, i, 1), 0, 50, 1 + i % 2);
        int n = 0;
        for (node = qr_prefix_index_first(example_index); node != NONE;
             node = qr_prefix_index_next(example_index, node), n++) {
            if (key == 0)
                first[n] = node;
            assert_int_equal(node, first[n]);
        }
        assert_int_equal(n, 15);
        close_example();
    }
}

/* ---- Creation */

static void bad_parameters(void **state)
{
    (void)state;
    const struct quire_kv_group_config group = kv_group(QUIRE_KV_F32, 8, 4);
    struct quire_kv_cache *kv = kv_make(&group, 1, BS, NULL);
    const struct qr_prefix_index_params good = { .kv = kv, .max_nodes = 4, .hash_bits = 128 };
    struct qr_prefix_index_params p = good;
    struct qr_prefix_index *x = (void *)kv;
    p.kv = NULL; /* and block_size 0 */
    assert_fails(QUIRE_E_INVALID_ARG, "kv", qr_prefix_index_create(&p, &x, &err));
    assert_null(x);
    p = good;
    p.max_nodes = 0;
    assert_fails(QUIRE_E_INVALID_ARG, "max_nodes", qr_prefix_index_create(&p, &x, &err));
    p.max_nodes = (uint32_t)INT32_MAX + 1;
    assert_fails(QUIRE_E_INVALID_ARG, "max_nodes", qr_prefix_index_create(&p, &x, &err));
    p = good;
    p.hash_bits = 0;
    assert_fails(QUIRE_E_INVALID_ARG, "hash_bits", qr_prefix_index_create(&p, &x, &err));
    p.hash_bits = 129;
    assert_fails(QUIRE_E_INVALID_ARG, "hash_bits", qr_prefix_index_create(&p, &x, &err));
    struct fail_alloc f;
    fail_alloc_init(&f, 1, false);
    p = good;
    p.allocator = &f.hooks;
    assert_fails(QUIRE_E_NOMEM, "bytes", qr_prefix_index_create(&p, &x, &err));
    assert_null(x);
    assert_int_equal(f.live_count, 0);
    assert_true(qr_prefix_index_bytes(UINT32_MAX, UINT32_MAX, UINT32_MAX) == UINT64_MAX);
    qr_prefix_index_destroy(NULL);
    quire_kv_destroy(kv);
}

/* One allocation of the size promised, at creation only. */
static void memory_is_reserved(void **state)
{
    (void)state;
    const struct quire_kv_group_config groups[3] = { kv_group(QUIRE_KV_F32, 8, 40),
                                                     kv_group(QUIRE_KV_F32, 8, 9),
                                                     kv_group(QUIRE_KV_F32, 8, 1) };
    for (uint32_t n_groups = 1; n_groups <= 3; n_groups++)
        for (uint32_t max_nodes = 1; max_nodes < 40; max_nodes += 6) {
            struct quire_kv_cache *kv = kv_make(groups, n_groups, BS, NULL);
            struct fail_alloc f;
            fail_alloc_init(&f, 0, false);
            struct qr_prefix_index_params p = {
                .kv = kv, .max_nodes = max_nodes, .hash_bits = 128, .allocator = &f.hooks
            };
            struct qr_prefix_index *x;
            assert_status(QUIRE_OK, qr_prefix_index_create(&p, &x, NULL));
            assert_int_equal(f.live_bytes, qr_prefix_index_bytes(BS, n_groups, max_nodes));
            for (int32_t i = 0; i < 60; i++) {
                int32_t tokens[BS] = { i }, blocks[3] = { -1, -1, -1 };
                bool inserted;
                kv_take(kv, 0, 1, blocks);
                assert_int_not_equal(
                    qr_prefix_index_insert(x, NONE, 0, 0, tokens, 1 + i % BS, blocks, &inserted),
                    NONE);
                assert_status(QUIRE_OK, quire_kv_release(kv, 0, blocks, 1, NULL));
            }
            assert_int_equal(qr_prefix_index_node_count(x), max_nodes);
            assert_int_equal(f.calls, 1);
            qr_prefix_index_destroy(x);
            assert_int_equal(f.live_bytes, 0);
            assert_int_equal(quire_kv_free_block_count(kv, 0), 40);
            quire_kv_destroy(kv);
        }
}

static void random_key(void **state)
{
    (void)state;
    const struct quire_kv_group_config group = kv_group(QUIRE_KV_F32, 8, 4);
    struct quire_kv_cache *kv = kv_make(&group, 1, BS, NULL);
    const struct qr_prefix_index_params p = { .kv = kv, .max_nodes = 4, .hash_bits = 128 };
    struct qr_prefix_index *x, *y;
    assert_status(QUIRE_OK, qr_prefix_index_create(&p, &x, NULL));
    assert_status(QUIRE_OK, qr_prefix_index_create(&p, &y, NULL));
    assert_memory_not_equal(x->secret, y->secret, sizeof x->secret);
    qr_prefix_index_destroy(x);
    qr_prefix_index_destroy(y);
    quire_kv_destroy(kv);
}

/* ---- Random operations */

static void random_operations(void **state)
{
    (void)state;
    struct random_counts c;
    run_random(12, RANDOM_OPERATIONS(1000000), &c);
    const uint64_t rare = c.operations / 250; /* else the test has little power */
    assert_true(c.hits > rare && c.partial_hits > rare && c.shortened > rare);
    assert_true(c.replaced > rare && c.filled > rare && c.equal > rare && c.full > rare);
    assert_true(c.taken > rare && c.evicted_full > rare && c.refused > rare);
    assert_true(c.evicted_out > rare && c.evicted_in > rare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_are_separate),
        cmocka_unit_test(pins_count),
        cmocka_unit_test(eviction_order),
        cmocka_unit_test(shared_blocks_stay),
        cmocka_unit_test(window_keeps_what_hits_need),
        cmocka_unit_test(partial_nodes),
        cmocka_unit_test(full_index),
        cmocka_unit_test(iteration_is_deterministic),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(memory_is_reserved),
        cmocka_unit_test(random_key),
        cmocka_unit_test(random_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
