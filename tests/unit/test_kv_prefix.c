/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_prefix.c - length of prefix-cache hits, against the definition and by example. */
#include "test_kv.h"

enum { MAX_GROUPS = 4, MAX_BLOCKS = 24 };

/* Definition: the group holds the block of every key that the query at position n attends to, those
 * at most window - 1 tokens back. */
static bool serves(const struct quire_kv_prefix_group *g, uint32_t bs, uint32_t n)
{
    for (uint32_t pos = 0; pos < n; pos++) {
        const uint32_t block = pos / bs;
        if (g->window && n - pos > g->window - 1)
            continue;
        if (block < g->first_block || block >= g->first_block + g->n_blocks)
            return false;
        if (g->blocks && g->blocks[block - g->first_block] < 0)
            return false;
    }
    return true;
}

static uint32_t longest(const struct quire_kv_prefix_args *p)
{
    for (uint32_t n = p->n_tokens; n > 0; n--) {
        bool all = !p->multiple_of || n % p->multiple_of == 0;
        for (uint32_t g = 0; g < p->n_groups; g++)
            all = all && serves(&p->groups[g], p->block_size, n);
        if (all)
            return n;
    }
    return 0;
}

static void by_definition(void **state)
{
    (void)state;
    uint32_t n_partial = 0;
    kv_rng = 11;
    for (int round = 0; round < 20000; round++) {
        struct quire_kv_prefix_group groups[MAX_GROUPS];
        int32_t blocks[MAX_GROUPS][MAX_BLOCKS];
        const uint32_t bs = 1 + kv_below(20), holes = kv_below(12);
        struct quire_kv_prefix_args p = { .struct_size = sizeof p,
                                          .block_size = bs,
                                          .groups = groups,
                                          .n_groups = kv_below(MAX_GROUPS + 1),
                                          .n_tokens = kv_below(bs * MAX_BLOCKS + 1),
                                          .multiple_of = kv_below(3) ? 0 : 1 + kv_below(2 * bs) };
        if (kv_below(4) == 0)
            p.multiple_of = bs;
        for (uint32_t g = 0; g < p.n_groups; g++) {
            const uint32_t first = kv_below(3) ? 0 : kv_below(6);
            groups[g] =
                (struct quire_kv_prefix_group){ .window = kv_below(2) ? kv_below(60) : 0,
                                                .first_block = first,
                                                .n_blocks = MAX_BLOCKS - first - kv_below(3),
                                                .blocks = kv_below(5) ? blocks[g] : NULL };
            for (uint32_t b = 0; b < MAX_BLOCKS; b++)
                blocks[g][b] = kv_below(100) < holes ? -1 - (int32_t)kv_below(9) : (int32_t)b;
        }
        uint32_t n = 12345;
        const uint32_t want = longest(&p);
        assert_status(QUIRE_OK, quire_kv_prefix_hit(&p, &n, NULL));
        assert_int_equal(n, want);
        n_partial += want > 0 && want < p.n_tokens;
    }
    assert_true(n_partial > 2000); /* else the test has little power */
}

/* Block size 4. A full group needs all blocks, a windowed one only those at the end of the
 * prefix. */
static void examples(void **state)
{
    (void)state;
    const int32_t all[] = { 7, 3, 5, 0 }, hole[] = { 7, -1, 5, 0 };
    struct quire_kv_prefix_group groups[2] = { { 0, 0, 4, all }, { 5, 0, 4, hole } };
    struct quire_kv_prefix_args p = {
        .struct_size = sizeof p, .block_size = 4, .groups = groups, .n_groups = 2, .n_tokens = 15
    };
    uint32_t n;
    assert_status(QUIRE_OK, quire_kv_prefix_hit(&p, &n, NULL));
    assert_int_equal(n, 15); /* the last 4 tokens are 11 .. 14: block 1 is not needed */
    p.n_tokens = 11;         /* the last 4 tokens are 7 .. 10 */
    assert_status(QUIRE_OK, quire_kv_prefix_hit(&p, &n, NULL));
    assert_int_equal(n, 4);
    groups[0].blocks = hole; /* a full group needs block 1 */
    p.n_tokens = 15;
    assert_status(QUIRE_OK, quire_kv_prefix_hit(&p, &n, NULL));
    assert_int_equal(n, 4);
    groups[0] = (struct quire_kv_prefix_group){ 0, 0, 4, NULL };
    groups[1] = (struct quire_kv_prefix_group){ 5, 2, 2, NULL }; /* blocks 0 and 1 were freed */
    assert_status(QUIRE_OK, quire_kv_prefix_hit(&p, &n, NULL));
    assert_int_equal(n, 15);
    p.n_tokens = 11;
    assert_status(QUIRE_OK, quire_kv_prefix_hit(&p, &n, NULL));
    assert_int_equal(n, 0);
    groups[1].window = 1; /* a query attends to itself only */
    assert_status(QUIRE_OK, quire_kv_prefix_hit(&p, &n, NULL));
    assert_int_equal(n, 11);
    p.multiple_of = 4; /* whole blocks */
    assert_status(QUIRE_OK, quire_kv_prefix_hit(&p, &n, NULL));
    assert_int_equal(n, 8);
    p.n_groups = 0;
    p.groups = NULL;
    p.n_tokens = UINT32_MAX;
    p.multiple_of = 0;
    assert_status(QUIRE_OK, quire_kv_prefix_hit(&p, &n, NULL));
    assert_int_equal(n, UINT32_MAX);
}

static void bad_arguments(void **state)
{
    (void)state;
    const struct quire_kv_prefix_group group = { 0, 0, 4, NULL };
    const struct quire_kv_prefix_args good = {
        .struct_size = sizeof good, .block_size = 16, .groups = &group, .n_groups = 1, .n_tokens = 9
    };
    struct quire_kv_prefix_args p = good;
    uint32_t n = 77;
    assert_fails(QUIRE_E_INVALID_ARG, "args is NULL", quire_kv_prefix_hit(NULL, &n, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "n_tokens is NULL", quire_kv_prefix_hit(&p, NULL, &err));
    p.struct_size = 4;
    assert_fails(QUIRE_E_MISUSE, "struct_size", quire_kv_prefix_hit(&p, &n, &err));
    p = good;
    p.block_size = 0;
    assert_fails(QUIRE_E_INVALID_ARG, "block_size", quire_kv_prefix_hit(&p, &n, &err));
    p = good;
    p.groups = NULL;
    assert_fails(QUIRE_E_INVALID_ARG, "groups", quire_kv_prefix_hit(&p, &n, &err));
    assert_int_equal(n, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_definition),
        cmocka_unit_test(examples),
        cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
