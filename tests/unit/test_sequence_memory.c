/* SPDX-License-Identifier: Apache-2.0 */
/* test_sequence_memory.c - blocks of sequences: growth, windows, prefix cache, forks, eviction. */
#include "engine/sequence_memory.h"
#include "engine/sequence_setup.h"
#include "quire_cmocka.h"

enum { BLOCK = 16, WINDOW = 40 };

static struct quire_kv_cache *make_pool(uint32_t blocks, uint32_t windowed_blocks)
{
    const struct quire_kv_group_config groups[] = {
        { .n_layers = 1, .n_kv_heads = 1, .head_size = 8, .n_blocks = blocks },
        { .n_layers = 1,
          .n_kv_heads = 1,
          .head_size = 8,
          .n_blocks = windowed_blocks,
          .sliding_window = WINDOW },
    };
    const struct quire_kv_params config = { .struct_size = sizeof config,
                                            .block_size = BLOCK,
                                            .groups = groups,
                                            .n_groups = windowed_blocks ? 2 : 1 };
    struct quire_kv_cache *kv;
    assert_status(QUIRE_OK, quire_kv_create(&config, &kv, NULL));
    return kv;
}

static void make_memory(struct qr_sequence_memory *m, struct quire_kv_cache *kv, uint32_t n,
                        uint32_t max_tokens)
{
    const struct qr_sequence_memory_params p = {
        .kv = kv, .n_sequences = n, .max_tokens = max_tokens, .hash_bits = 128
    };
    assert_status(QUIRE_OK, qr_sequence_memory_init(m, &p, NULL));
}

static struct qr_sequence *begin(struct qr_sequence_memory *m, const int32_t *tokens, uint32_t n,
                                 uint64_t salt, uint32_t variant)
{
    const struct qr_sequence_prefix prefix = { tokens, n, salt, variant, 0 };
    struct qr_sequence *s = qr_sequence_begin(m, &prefix);
    assert_non_null(s);
    return s;
}

static void grow(struct qr_sequence_memory *m, struct qr_sequence *s, const int32_t *tokens,
                 uint32_t n, uint32_t step)
{
    while (s->n_tokens < n) {
        const uint32_t part = n - s->n_tokens < step ? n - s->n_tokens : step;
        assert_status(QUIRE_OK, qr_sequence_reserve(m, s, part, NULL));
        qr_sequence_append(m, s, tokens, part);
    }
}

/* Every block that the next token attends to or is written to is there, and nobody shares it. */
static void check_blocks(const struct qr_sequence_memory *m, const struct qr_sequence *s)
{
    for (uint32_t i = 0; i < m->n_groups; i++) {
        const struct qr_sequence_group *g = &s->groups[i];
        assert_true(g->first_block <= g->end_block);
        assert_true((uint64_t)g->end_block * BLOCK >= s->n_tokens);
        assert_true(g->first_block <= quire_kv_first_block(BLOCK, m->windows[i], s->n_tokens));
        for (uint32_t b = g->first_block; b < g->end_block; b++)
            assert_true(quire_kv_ref_count(m->kv, i, g->block_table[b]) >= 1);
    }
}

static void fill(int32_t *tokens, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        tokens[i] = (int32_t)(i * 7 % 1000);
}

/* The pool of qr_sequence_blocks_needed() suffices for every step size, also when the prefix cache
 * fills it. */
static void test_growth(void **state)
{
    (void)state;
    enum { N = 300, STEP = 24 };
    int32_t tokens[N];
    const uint32_t windowed = qr_sequence_blocks_needed(BLOCK, WINDOW, N, STEP, 32);
    const uint32_t full = qr_sequence_blocks_needed(BLOCK, 0, N, STEP, 32);
    assert_true(windowed < full);
    struct quire_kv_cache *kv = make_pool(full, windowed);
    struct qr_sequence_memory m;
    make_memory(&m, kv, 1, N);
    for (uint32_t step = 1; step <= STEP; step++) {
        fill(tokens, N);
        tokens[0] = (int32_t)step;
        struct qr_sequence *s = begin(&m, tokens, N - 1, 0, 0);
        assert_int_equal(s->n_tokens, 0);
        grow(&m, s, tokens, N, step);
        check_blocks(&m, s);
        qr_sequence_end(&m, s, tokens, true);
        for (uint32_t g = 0; g < 2; g++)
            assert_int_equal(qr_sequence_blocks_available(&m, g), g ? windowed : full);
    }
    qr_sequence_memory_free(&m);
    qr_sequence_memory_free(&m);
    assert_int_equal(quire_kv_free_block_count(kv, 0), full);
    assert_int_equal(quire_kv_free_block_count(kv, 1), windowed);
    quire_kv_destroy(kv);
}

/* Prefixes end at the first token that differs, wherever it is and whichever bit differs. */
static void test_prefix_length(void **state)
{
    (void)state;
    enum { N = 100 };
    int32_t tokens[N], other[N];
    for (int i = 0; i < N; i++)
        tokens[i] = i % 7 * 16; /* equal in the lowest 4 bits */
    struct quire_kv_cache *kv = make_pool(2 * (N / BLOCK + 1), 0);
    struct qr_sequence_memory m;
    make_memory(&m, kv, 1, N);
    for (uint32_t at = 0; at < N; at++)
        for (int bit = 0; bit < 31; bit += 3) {
            struct qr_sequence *s = begin(&m, tokens, N, 0, 0);
            grow(&m, s, tokens, N, N);
            qr_sequence_end(&m, s, tokens, true);
            memcpy(other, tokens, sizeof other);
            other[at] ^= 1 << bit;
            s = begin(&m, other, N, 0, 0);
            assert_int_equal(s->n_tokens, at);
            check_blocks(&m, s);
            qr_sequence_end(&m, s, other, false);
        }
    /* another salt, another RoPE variant */
    assert_int_equal(begin(&m, tokens, N, 1, 0)->n_tokens, 0);
    qr_sequence_end(&m, &m.sequences[0], tokens, false);
    assert_int_equal(begin(&m, tokens, N, 0, 1)->n_tokens, 0);
    qr_sequence_end(&m, &m.sequences[0], tokens, false);
    const struct qr_sequence_prefix all = { tokens, N, 0, 0, 0 };
    assert_int_equal(qr_sequence_cached(&m, &all), N);
    qr_sequence_memory_free(&m);
    quire_kv_destroy(kv);
}

/* A windowed group keeps the end of a sequence; a far shorter prefix is no hit once its blocks are
 * needed elsewhere. */
static void test_window_hits(void **state)
{
    (void)state;
    enum { N = 400, ROLLBACK = 64 };
    int32_t tokens[N];
    fill(tokens, N);
    const uint32_t windowed = qr_sequence_blocks_needed(BLOCK, WINDOW, N, BLOCK, ROLLBACK);
    struct quire_kv_cache *kv = make_pool(N / BLOCK, windowed);
    struct qr_sequence_memory m;
    make_memory(&m, kv, 1, N);
    struct qr_sequence *s = begin(&m, tokens, N, 0, 0);
    grow(&m, s, tokens, N, BLOCK);
    qr_sequence_end(&m, s, tokens, true);
    for (uint32_t back = 0; back <= ROLLBACK; back++) {
        s = begin(&m, tokens, N - back, 0, 0);
        assert_int_equal(s->n_tokens, N - back);
        check_blocks(&m, s);
        qr_sequence_end(&m, s, tokens, false);
    }
    s = begin(&m, tokens, 60, 0, 0);
    assert_int_equal(s->n_tokens, 0);
    qr_sequence_memory_free(&m);
    quire_kv_destroy(kv);
}

/* Two sequences that began with the same tokens share the blocks, and the second one takes blocks
 * that the first has computed meanwhile. */
static void test_sharing(void **state)
{
    (void)state;
    enum { N = 5 * BLOCK };
    int32_t tokens[N];
    fill(tokens, N);
    struct quire_kv_cache *kv = make_pool(20, 0);
    struct qr_sequence_memory m;
    make_memory(&m, kv, 2, N);
    struct qr_sequence *a = begin(&m, tokens, N - 1, 0, 0), *b = begin(&m, tokens, N - 1, 0, 0);
    grow(&m, a, tokens, 3 * BLOCK + 5, BLOCK);
    qr_sequence_extend_from_cache(&m, b, tokens, N - 1);
    assert_int_equal(b->n_tokens, 3 * BLOCK);
    assert_memory_equal(a->groups[0].block_table, b->groups[0].block_table, 3 * sizeof(int32_t));
    grow(&m, b, tokens, N, BLOCK);
    grow(&m, a, tokens, N, 1); /* computes equal blocks, and keeps those of b */
    assert_memory_equal(a->groups[0].block_table, b->groups[0].block_table, 5 * sizeof(int32_t));
    assert_int_equal(quire_kv_free_block_count(kv, 0), 15);
    qr_sequence_end(&m, a, tokens, true);
    qr_sequence_end(&m, b, tokens, true);
    assert_int_equal(qr_sequence_blocks_available(&m, 0), 20);
    qr_sequence_memory_free(&m);
    quire_kv_destroy(kv);
}

/* A fork shares all blocks; the first that writes into the last one gets a copy. */
static void test_fork(void **state)
{
    (void)state;
    enum { N = 3 * BLOCK };
    int32_t tokens[N];
    fill(tokens, N);
    struct quire_kv_cache *kv = make_pool(8, 0);
    struct qr_sequence_memory m;
    make_memory(&m, kv, 3, N);
    struct qr_sequence *a = begin(&m, tokens, 0, 0, 0);
    grow(&m, a, tokens, BLOCK + 4, BLOCK);
    assert_status(QUIRE_OK, qr_sequence_reserve(&m, a, BLOCK, NULL)); /* beyond its tokens */
    struct qr_sequence *b = qr_sequence_fork(&m, a), *c = qr_sequence_fork(&m, b);
    assert_non_null(b);
    assert_non_null(c);
    assert_null(qr_sequence_fork(&m, a));
    assert_int_equal(b->n_tokens, BLOCK + 4);
    assert_true(qr_sequence_must_copy(&m, b));
    assert_int_equal(qr_sequence_blocks_missing(&m, b, 0, 1), 1);
    assert_status(QUIRE_OK, qr_sequence_reserve(&m, b, 1, NULL));
    assert_int_not_equal(b->groups[0].block_table[1], a->groups[0].block_table[1]);
    assert_int_equal(b->groups[0].block_table[0], a->groups[0].block_table[0]);
    qr_sequence_end(&m, a, tokens, false);
    assert_false(qr_sequence_must_copy(&m, c)); /* the last owner writes in place */
    qr_sequence_end(&m, b, tokens, true);
    qr_sequence_end(&m, c, tokens, true);
    assert_int_equal(qr_sequence_blocks_available(&m, 0), 8);
    qr_sequence_memory_free(&m);
    quire_kv_destroy(kv);
}

static void test_short_pool(void **state)
{
    (void)state;
    int32_t tokens[100];
    fill(tokens, 100);
    struct quire_kv_cache *kv = make_pool(2, 0);
    struct qr_sequence_memory m;
    make_memory(&m, kv, 2, 100);
    struct qr_sequence *s = begin(&m, tokens, 0, 0, 0);
    grow(&m, s, tokens, 32, 32);
    assert_status(QUIRE_E_AGAIN, qr_sequence_reserve(&m, s, 1, NULL));
    assert_status(QUIRE_E_LIMIT, qr_sequence_reserve(&m, s, 69, NULL));
    qr_sequence_end(&m, s, tokens, true);
    tokens[0]++;
    s = begin(&m, tokens, 0, 0, 0);
    grow(&m, s, tokens, 32, 32); /* evicts the other sequence */
    qr_sequence_memory_free(&m);
    assert_int_equal(quire_kv_free_block_count(kv, 0), 2);
    const struct qr_sequence_memory_params p = {
        .kv = kv, .n_sequences = 2, .max_tokens = 100, .hash_bits = 128
    };
    struct fail_alloc f;
    for (size_t at = 1;; at++) {
        fail_alloc_init(&f, at, false);
        struct qr_sequence_memory_params failing = p;
        failing.allocator = &f.hooks;
        const quire_status status = qr_sequence_memory_init(&m, &failing, NULL);
        if (status == QUIRE_OK)
            break;
        assert_int_equal(status, QUIRE_E_NOMEM);
        assert_int_equal(f.live_count, 0);
    }
    qr_sequence_memory_free(&m);
    assert_int_equal(f.live_count, 0);
    quire_kv_destroy(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),      cmocka_unit_test(test_prefix_length),
        cmocka_unit_test(test_window_hits), cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_fork),        cmocka_unit_test(test_short_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
