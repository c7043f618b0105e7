/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_blocks.c - block allocation, reference counts, copy-on-write, and a random walk against a
 * model. */
#include "kv/types.h"
#include "test_kv.h"

static struct quire_kv_cache *pool_of(uint32_t n_blocks)
{
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_FP8_E4M3, 8, n_blocks);
    return kv_make(&g, 1, 16, NULL);
}

static bool consecutive(const int32_t *b, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (b[i] != b[0] + (int32_t)i)
            return false;
    return true;
}

static void whole_pool_is_in_order(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 200; n++) {
        struct quire_kv_cache *kv = pool_of(n);
        int32_t b[200];
        kv_take(kv, 0, n, b);
        assert_int_equal(b[0], 0);
        assert_true(consecutive(b, n));
        assert_int_equal(quire_kv_free_block_count(kv, 0), 0);
        assert_status(QUIRE_OK, quire_kv_release(kv, 0, b, n, NULL));
        assert_int_equal(quire_kv_free_block_count(kv, 0), n);
        quire_kv_destroy(kv);
    }
}

/* Eight sequences that grow in turn, one block at a time, still get consecutive ids. */
static void growing_sequences_stay_consecutive(void **state)
{
    (void)state;
    struct quire_kv_cache *kv = pool_of(1024);
    int32_t b[8][64];
    for (int s = 0; s < 8; s++)
        kv_take(kv, 0, 4, b[s]);
    for (size_t n = 4; n < 64; n++)
        for (int s = 0; s < 8; s++)
            assert_status(QUIRE_OK, quire_kv_alloc(kv, 0, b[s][n - 1], 1, &b[s][n], NULL));
    for (int s = 0; s < 8; s++)
        assert_true(consecutive(b[s], 64));
    quire_kv_destroy(kv);
}

static void longest_ranges_first(void **state)
{
    (void)state;
    struct quire_kv_cache *kv = pool_of(100);
    int32_t all[100], b[60];
    kv_take(kv, 0, 100, all);
    /* free ranges: 10 .. 12, 20 .. 39, 50 .. 59, 99 */
    assert_status(QUIRE_OK, quire_kv_release(kv, 0, &all[10], 3, NULL));
    assert_status(QUIRE_OK, quire_kv_release(kv, 0, &all[20], 20, NULL));
    assert_status(QUIRE_OK, quire_kv_release(kv, 0, &all[50], 10, NULL));
    assert_status(QUIRE_OK, quire_kv_release(kv, 0, &all[99], 1, NULL));
    assert_status(QUIRE_OK, quire_kv_alloc(kv, 0, -1, 20, b, NULL));
    assert_true(b[0] == 20 && consecutive(b, 20));
    assert_status(QUIRE_OK, quire_kv_release(kv, 0, b, 20, NULL));
    assert_status(QUIRE_OK, quire_kv_alloc(kv, 0, 9, 32, b,
                                           NULL)); /* 10 .. 12 follows block 9, then the longest */
    assert_true(b[0] == 10 && consecutive(b, 3));
    assert_true(b[3] == 20 && consecutive(b + 3, 20));
    assert_true(b[23] == 50 && consecutive(b + 23, 9));
    assert_status(QUIRE_OK,
                  quire_kv_alloc(kv, 0, 99, 2, b, NULL)); /* no block after the last one */
    assert_true(b[0] == 59 && b[1] == 99);
    assert_int_equal(quire_kv_free_block_count(kv, 0), 0);
    quire_kv_destroy(kv);
}

/* Sequences that begin use extents in their order, two each as long as they are short. */
static void short_sequences_share_extents(void **state)
{
    (void)state;
    struct quire_kv_cache *kv = pool_of(1);
    const int32_t n = (int32_t)kv->groups[0].extent_blocks;
    quire_kv_destroy(kv);
    kv = pool_of(3 * (uint32_t)n + 9);
    const int32_t first[] = { 0, n / 2, n, n + n / 2, 2 * n, 2 * n + n / 2 };
    int32_t b;
    for (int i = 0; i < 6; i++) {
        kv_take(kv, 0, 1, &b);
        assert_int_equal(b, first[i]);
    }
    int32_t *many = test_malloc((size_t)n * sizeof *many);
    kv_take(kv, 0, 9, many);
    assert_int_equal(many[0], 3 * n); /* the last extent, of 9 blocks */
    kv_take(kv, 0, (size_t)n / 4, many);
    assert_true(many[0] < 3 * n && consecutive(many, (size_t)n / 4));
    test_free(many);
    quire_kv_destroy(kv);
}

/* Every layer and head of every block has a place of its own in the pool. */
static void blocks_fill_the_pool(void **state)
{
    (void)state;
    const uint32_t extent = 256; /* blocks of 2 KiB */
    static const uint32_t n_blocks[] = { 1, 255, 256, 257, 512, 700 };
    for (size_t i = 0; i < sizeof n_blocks / sizeof *n_blocks; i++) {
        const struct quire_kv_group_config c = kv_group(QUIRE_KV_F32, 16, n_blocks[i]);
        struct quire_kv_cache *kv = kv_make(&c, 1, 16, NULL);
        const struct qr_kv_group *g = &kv->groups[0];
        assert_int_equal(g->extent_blocks, extent);
        const size_t n = (size_t)n_blocks[i] * g->n_layers * g->n_kv_heads;
        assert_int_equal(n * g->layout.block_bytes, kv->pool_bytes);
        bool *seen = test_calloc(n, sizeof *seen);
        for (size_t k = 0; k < n; k++) {
            const size_t at = (size_t)(qr_kv_block(kv, 0, (uint32_t)(k % g->n_layers),
                                                   (uint32_t)(k / g->n_layers % g->n_kv_heads),
                                                   (int32_t)(k / g->n_layers / g->n_kv_heads)) -
                                       kv->pool);
            assert_int_equal(at % g->layout.block_bytes, 0);
            assert_true(at / g->layout.block_bytes < n && !seen[at / g->layout.block_bytes]);
            seen[at / g->layout.block_bytes] = true;
        }
        test_free(seen);
        quire_kv_destroy(kv);
    }
}

static void same_calls_same_ids(void **state)
{
    (void)state;
    int32_t first[300];
    for (int run = 0; run < 2; run++) {
        struct quire_kv_cache *kv = pool_of(300);
        int32_t b[300];
        size_t n = 0;
        kv_rng = 5;
        while (n < 250) {
            const size_t m = 1 + kv_below(9);
            kv_take(kv, 0, m, b + n);
            n += m;
            if (kv_below(3) == 0) {
                assert_status(QUIRE_OK, quire_kv_release(kv, 0, &b[n - 1], 1, NULL));
                n--;
            }
        }
        if (run)
            assert_memory_equal(b, first, 250 * sizeof *b);
        else
            memcpy(first, b, 250 * sizeof *b);
        quire_kv_destroy(kv);
    }
}

static void failures_change_nothing(void **state)
{
    (void)state;
    struct quire_kv_cache *kv = pool_of(8);
    int32_t b[9] = { 0 };
    kv_take(kv, 0, 5, b);
    assert_status(QUIRE_OK, quire_kv_retain(kv, 0, &b[1], 1, NULL));
    int32_t out[9] = { 77, 77, 77, 77, 77, 77, 77, 77, 77 };
    assert_fails(QUIRE_E_AGAIN, "4 blocks requested, 3 of 8 are free",
                 quire_kv_alloc(kv, 0, -1, 4, out, &err));
    assert_fails(QUIRE_E_LIMIT, "9 blocks requested", quire_kv_alloc(kv, 0, -1, 9, out, &err));
    assert_fails(QUIRE_E_LIMIT, "blocks requested", quire_kv_alloc(kv, 0, -1, SIZE_MAX, out, &err));
    assert_fails(QUIRE_E_RANGE, "after 8", quire_kv_alloc(kv, 0, 8, 1, out, &err));
    assert_fails(QUIRE_E_RANGE, "after -2", quire_kv_alloc(kv, 0, -2, 1, out, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "blocks", quire_kv_alloc(kv, 0, -1, 1, NULL, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "group 1", quire_kv_alloc(kv, 1, -1, 1, out, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "kv", quire_kv_alloc(NULL, 0, -1, 1, out, &err));
    for (int i = 0; i < 9; i++)
        assert_int_equal(out[i], 77);

    const int32_t twice[] = { b[0], b[1], b[0] }, thrice[] = { b[1], b[1], b[1] },
                  bad[] = { b[0], 8 }, negative[] = { b[0], -1 }, unused[] = { b[0], 7 };
    assert_fails(QUIRE_E_MISUSE, "blocks[2]: block 0 is free",
                 quire_kv_release(kv, 0, twice, 3, &err));
    assert_fails(QUIRE_E_MISUSE, "blocks[2]", quire_kv_release(kv, 0, thrice, 3, &err));
    assert_fails(QUIRE_E_RANGE, "blocks[1] 8", quire_kv_release(kv, 0, bad, 2, &err));
    assert_fails(QUIRE_E_RANGE, "blocks[1] -1", quire_kv_release(kv, 0, negative, 2, &err));
    assert_fails(QUIRE_E_MISUSE, "block 7 is free", quire_kv_release(kv, 0, unused, 2, &err));
    assert_fails(QUIRE_E_MISUSE, "block 7 is free", quire_kv_retain(kv, 0, unused, 2, &err));
    assert_fails(QUIRE_E_RANGE, "blocks[1] 8", quire_kv_retain(kv, 0, bad, 2, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "blocks", quire_kv_release(kv, 0, NULL, 1, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "blocks", quire_kv_retain(kv, 0, NULL, 1, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "kv", quire_kv_release(NULL, 0, b, 1, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "group 9", quire_kv_retain(kv, 9, b, 1, &err));
    kv->groups[0].ref_counts[b[2]] = UINT32_MAX;
    const int32_t full[] = { b[0], b[2] };
    assert_fails(QUIRE_E_LIMIT, "blocks[1]", quire_kv_retain(kv, 0, full, 2, &err));
    kv->groups[0].ref_counts[b[2]] = 1;
    const uint32_t want[] = { 1, 2, 1, 1, 1, 0, 0, 0 };
    assert_memory_equal(kv->groups[0].ref_counts, want, sizeof want);
    assert_int_equal(quire_kv_free_block_count(kv, 0), 3);
    assert_int_equal(quire_kv_ref_count(kv, 0, b[1]), 2);
    assert_int_equal(quire_kv_ref_count(kv, 0, 8), 0);
    assert_int_equal(quire_kv_ref_count(kv, 0, -1), 0);
    assert_int_equal(quire_kv_ref_count(kv, 1, 0), 0);
    assert_int_equal(quire_kv_ref_count(NULL, 0, 0), 0);
    assert_status(QUIRE_OK, quire_kv_alloc(kv, 0, -1, 0, NULL, NULL));
    assert_status(QUIRE_OK, quire_kv_release(kv, 0, NULL, 0, NULL));
    quire_kv_destroy(kv);
}

/* One call may drop two references of a block, which then returns to the free list once. */
static void freed_twice_in_one_call(void **state)
{
    (void)state;
    struct quire_kv_cache *kv = pool_of(4);
    int32_t b;
    kv_take(kv, 0, 1, &b);
    const int32_t twice[] = { b, b };
    assert_status(QUIRE_OK, quire_kv_retain(kv, 0, twice, 2, NULL));
    assert_int_equal(quire_kv_ref_count(kv, 0, b), 3);
    assert_status(QUIRE_OK, quire_kv_release(kv, 0, twice, 1, NULL));
    assert_status(QUIRE_OK, quire_kv_release(kv, 0, twice, 2, NULL));
    assert_int_equal(quire_kv_ref_count(kv, 0, b), 0);
    assert_int_equal(quire_kv_free_block_count(kv, 0), 4);
    quire_kv_destroy(kv);
}

/* While a call changes the cache, concurrent updates fail. */
static void concurrent_updates_fail(void **state)
{
    (void)state;
    struct quire_kv_cache *kv = pool_of(8);
    int32_t b[2] = { 0, 1 };
    int64_t slot = 0;
    kv_take(kv, 0, 2, b);
    kv->updating = true;
    assert_fails(QUIRE_E_BUSY, "another call", quire_kv_alloc(kv, 0, -1, 1, b, &err));
    assert_fails(QUIRE_E_BUSY, "another call", quire_kv_retain(kv, 0, b, 1, &err));
    assert_fails(QUIRE_E_BUSY, "another call", quire_kv_release(kv, 0, b, 1, &err));
    assert_fails(QUIRE_E_BUSY, "another call", quire_kv_copy(kv, 0, &b[0], &b[1], 1, &err));
    assert_fails(QUIRE_E_BUSY, "another call", quire_kv_make_writable(kv, 0, -1, b, &err));
    assert_fails(QUIRE_E_BUSY, "another call", quire_kv_check_slots(kv, 0, &slot, 1, &err));
    kv->updating = false;
    assert_status(QUIRE_OK, quire_kv_release(kv, 0, b, 2, NULL));
    quire_kv_destroy(kv);
}

/* ---- Contents */

static void stamp(struct quire_kv_cache *kv, uint32_t group, int32_t block, uint8_t value)
{
    const struct qr_kv_group *g = &kv->groups[group];
    for (uint32_t l = 0; l < g->n_layers; l++)
        for (uint32_t h = 0; h < g->n_kv_heads; h++)
            memset(qr_kv_block(kv, group, l, h, block), (int)(value ^ (l * 16 + h)),
                   g->layout.block_bytes);
}

static bool stamped(const struct quire_kv_cache *kv, uint32_t group, int32_t block, uint8_t value)
{
    const struct qr_kv_group *g = &kv->groups[group];
    for (uint32_t l = 0; l < g->n_layers; l++)
        for (uint32_t h = 0; h < g->n_kv_heads; h++)
            for (size_t i = 0; i < g->layout.block_bytes; i++)
                if (qr_kv_block(kv, group, l, h, block)[i] != (uint8_t)(value ^ (l * 16 + h)))
                    return false;
    return true;
}

static void copies(void **state)
{
    (void)state;
    const struct quire_kv_group_config g[2] = { kv_group(QUIRE_KV_BF16, 24, 6),
                                                kv_group(QUIRE_KV_F32, 7, 6) };
    struct quire_kv_cache *kv = kv_make(g, 2, 32, NULL);
    for (uint32_t group = 0; group < 2; group++) {
        int32_t b[6];
        kv_take(kv, group, 5, b);
        for (int i = 0; i < 5; i++)
            stamp(kv, group, b[i], (uint8_t)(b[i] + 100));
        assert_status(QUIRE_OK, quire_kv_retain(kv, group, &b[0], 1, NULL));
        const int32_t src[] = { b[0], b[0] }, dst[] = { b[3], b[4] };
        assert_status(QUIRE_OK, quire_kv_copy(kv, group, src, dst, 2, NULL));
        const uint8_t want[] = { 100, 101, 102, 100, 100 };
        for (int i = 0; i < 5; i++)
            assert_true(stamped(kv, group, b[i], want[i]));
        const int32_t to_shared[] = { b[0] }, same[] = { b[3], b[3] }, chain_src[] = { b[1], b[2] },
                      chain_dst[] = { b[2], b[3] }, unused[] = { 5 }, out[] = { 6 }, low[] = { -1 };
        assert_fails(QUIRE_E_MISUSE, "dst[0]: block 0 has 2 references",
                     quire_kv_copy(kv, group, src + 1, to_shared, 1, &err));
        assert_fails(QUIRE_E_INVALID_ARG, "dst[1] 3 appears twice",
                     quire_kv_copy(kv, group, src, same, 2, &err));
        assert_fails(QUIRE_E_INVALID_ARG, "is a destination too",
                     quire_kv_copy(kv, group, chain_src, chain_dst, 2, &err));
        assert_fails(QUIRE_E_INVALID_ARG, "is a destination too",
                     quire_kv_copy(kv, group, &b[1], &b[1], 1, &err));
        assert_fails(QUIRE_E_MISUSE, "src[0]: block 5 is free",
                     quire_kv_copy(kv, group, unused, &b[1], 1, &err));
        assert_fails(QUIRE_E_MISUSE, "dst[0]: block 5 is free",
                     quire_kv_copy(kv, group, &b[1], unused, 1, &err));
        assert_fails(QUIRE_E_RANGE, "src[0] 6", quire_kv_copy(kv, group, out, &b[1], 1, &err));
        assert_fails(QUIRE_E_RANGE, "dst[0] -1", quire_kv_copy(kv, group, &b[1], low, 1, &err));
        assert_fails(QUIRE_E_INVALID_ARG, "src", quire_kv_copy(kv, group, NULL, &b[1], 1, &err));
        assert_fails(QUIRE_E_INVALID_ARG, "dst", quire_kv_copy(kv, group, &b[1], NULL, 1, &err));
        for (int i = 0; i < 5; i++)
            assert_true(stamped(kv, group, b[i], want[i]));
    }
    assert_fails(QUIRE_E_INVALID_ARG, "kv", quire_kv_copy(NULL, 0, NULL, NULL, 0, &err));
    quire_kv_destroy(kv);
}

static void copy_on_write(void **state)
{
    (void)state;
    struct quire_kv_cache *kv = pool_of(3);
    int32_t b[3], mine;
    kv_take(kv, 0, 2, b);
    stamp(kv, 0, b[0], 9);
    mine = b[0];
    assert_status(QUIRE_OK,
                  quire_kv_make_writable(kv, 0, -1, &mine, NULL)); /* a single reference: no copy */
    assert_int_equal(mine, b[0]);
    assert_status(QUIRE_OK, quire_kv_retain(kv, 0, &b[0], 1, NULL));
    assert_status(QUIRE_OK, quire_kv_make_writable(kv, 0, -1, &mine, NULL));
    assert_int_equal(mine, 2);
    assert_true(stamped(kv, 0, 2, 9));
    assert_int_equal(quire_kv_ref_count(kv, 0, b[0]), 1);
    assert_int_equal(quire_kv_ref_count(kv, 0, 2), 1);
    assert_status(QUIRE_OK, quire_kv_retain(kv, 0, &b[0], 1, NULL));
    mine = b[0];
    assert_fails(QUIRE_E_AGAIN, "free", quire_kv_make_writable(kv, 0, -1, &mine, &err));
    assert_int_equal(mine, b[0]);
    assert_int_equal(quire_kv_ref_count(kv, 0, b[0]), 2);
    mine = 3;
    assert_fails(QUIRE_E_RANGE, "block[0] 3", quire_kv_make_writable(kv, 0, -1, &mine, &err));
    assert_status(QUIRE_OK, quire_kv_release(kv, 0, &b[1], 1, NULL));
    mine = b[1];
    assert_fails(QUIRE_E_MISUSE, "free", quire_kv_make_writable(kv, 0, -1, &mine, &err));
    mine = b[0];
    assert_fails(QUIRE_E_RANGE, "after", quire_kv_make_writable(kv, 0, 3, &mine, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "block is NULL",
                 quire_kv_make_writable(kv, 0, -1, NULL, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "kv", quire_kv_make_writable(NULL, 0, -1, &mine, &err));
    quire_kv_destroy(kv);
}

/* ---- Random walk: sequences grow, fork, write (copy-on-write), free blocks before their window,
 * end */

enum { WALK_BLOCKS = 150, MAX_SEQS = 24, MAX_LEN = 40 };
struct walker {
    int32_t blocks[MAX_LEN];
    uint8_t contents[MAX_LEN]; /* expected stamp of each block */
    size_t n;
};

static void check_invariants(const struct quire_kv_cache *kv, const struct walker *seqs,
                             bool contents)
{
    uint32_t owners[WALK_BLOCKS] = { 0 };
    const struct qr_kv_group *g = &kv->groups[0];
    for (int s = 0; s < MAX_SEQS; s++)
        for (size_t i = 0; i < seqs[s].n; i++) {
            owners[seqs[s].blocks[i]]++;
            if (contents)
                assert_true(stamped(kv, 0, seqs[s].blocks[i], seqs[s].contents[i]));
        }
    uint32_t n_free = 0;
    for (uint32_t b = 0; b < WALK_BLOCKS; b++) {
        const bool is_free = g->free_bits[b / 64] >> b % 64 & 1;
        if (owners[b] != g->ref_counts[b] || is_free != (owners[b] == 0))
            fail_msg("block %u: %u references, %u in the pool, free bit %d", b, owners[b],
                     g->ref_counts[b], is_free);
        n_free += is_free;
    }
    assert_int_equal(n_free, quire_kv_free_block_count(kv, 0));
    assert_int_equal(g->free_bits[WALK_BLOCKS / 64] >> WALK_BLOCKS % 64, 0);
}

static void walk_grow(struct quire_kv_cache *kv, struct walker *s)
{
    const size_t want = 1 + kv_below(6);
    if (s->n + want > MAX_LEN)
        return;
    const quire_status st =
        quire_kv_alloc(kv, 0, s->n ? s->blocks[s->n - 1] : -1, want, s->blocks + s->n, NULL);
    assert_true(st == QUIRE_OK || (st == QUIRE_E_AGAIN && quire_kv_free_block_count(kv, 0) < want));
    if (st != QUIRE_OK)
        return;
    for (size_t i = 0; i < want; i++) {
        s->contents[s->n] = (uint8_t)kv_random();
        stamp(kv, 0, s->blocks[s->n], s->contents[s->n]);
        s->n++;
    }
}

static void walk_write(struct quire_kv_cache *kv, struct walker *s)
{
    const size_t i = kv_below((uint32_t)s->n);
    const int64_t slot = (int64_t)s->blocks[i] * 16;
    const bool shared = quire_kv_ref_count(kv, 0, s->blocks[i]) > 1;
    assert_int_equal(quire_kv_check_slots(kv, 0, &slot, 1, NULL),
                     shared ? QUIRE_E_MISUSE : QUIRE_OK);
    if (quire_kv_make_writable(kv, 0, i ? s->blocks[i - 1] : -1, &s->blocks[i], NULL) != QUIRE_OK)
        return;
    assert_true(stamped(kv, 0, s->blocks[i], s->contents[i]));
    s->contents[i] = (uint8_t)kv_random();
    stamp(kv, 0, s->blocks[i], s->contents[i]);
}

static void walk_step(struct quire_kv_cache *kv, struct walker *seqs)
{
    struct walker *s = &seqs[kv_below(MAX_SEQS)], *other = &seqs[kv_below(MAX_SEQS)];
    const uint32_t what = kv_below(100);
    if (what < 40 || !s->n) {
        walk_grow(kv, s);
    } else if (what < 60) {
        walk_write(kv, s);
    } else if (what < 70 && !other->n) { /* fork a prefix */
        const size_t n = 1 + kv_below((uint32_t)s->n);
        assert_status(QUIRE_OK, quire_kv_retain(kv, 0, s->blocks, n, NULL));
        memcpy(other->blocks, s->blocks, n * sizeof *s->blocks);
        memcpy(other->contents, s->contents, n);
        other->n = n;
    } else if (what < 80) { /* blocks before a window */
        const size_t n = kv_below((uint32_t)s->n + 1);
        assert_status(QUIRE_OK, quire_kv_release(kv, 0, s->blocks, n, NULL));
        s->n -= n;
        memmove(s->blocks, s->blocks + n, s->n * sizeof *s->blocks);
        memmove(s->contents, s->contents + n, s->n);
    } else if (what < 90) { /* failing calls */
        int32_t bad[3] = { s->blocks[0], s->blocks[0], (int32_t)kv_below(WALK_BLOCKS) };
        if (quire_kv_ref_count(kv, 0, s->blocks[0]) == 1)
            assert_status(QUIRE_E_MISUSE, quire_kv_release(kv, 0, bad, 3, NULL));
        bad[2] = WALK_BLOCKS;
        assert_status(QUIRE_E_RANGE, quire_kv_retain(kv, 0, bad, 3, NULL));
    } else {
        assert_status(QUIRE_OK, quire_kv_release(kv, 0, s->blocks, s->n, NULL));
        s->n = 0;
    }
}

static void random_walk(void **state)
{
    (void)state;
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_FP8_E4M3, 8, WALK_BLOCKS);
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, &f.hooks);
    struct walker seqs[MAX_SEQS] = { 0 };
    kv_rng = 42;
    f.fail_at = 3; /* any allocation after create fails */
    f.forever = true;
    for (int i = 0; i < 100000; i++) {
        walk_step(kv, seqs);
        if (i % 10 == 0)
            check_invariants(kv, seqs, i % 1000 == 0);
    }
    assert_int_equal(f.calls, 2);
    for (int s = 0; s < MAX_SEQS; s++)
        assert_status(QUIRE_OK, quire_kv_release(kv, 0, seqs[s].blocks, seqs[s].n, NULL));
    assert_int_equal(quire_kv_free_block_count(kv, 0), WALK_BLOCKS);
    quire_kv_destroy(kv);
    assert_int_equal(f.live_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_pool_is_in_order),
        cmocka_unit_test(growing_sequences_stay_consecutive),
        cmocka_unit_test(longest_ranges_first),
        cmocka_unit_test(short_sequences_share_extents),
        cmocka_unit_test(blocks_fill_the_pool),
        cmocka_unit_test(same_calls_same_ids),
        cmocka_unit_test(failures_change_nothing),
        cmocka_unit_test(freed_twice_in_one_call),
        cmocka_unit_test(concurrent_updates_fail),
        cmocka_unit_test(copies),
        cmocka_unit_test(copy_on_write),
        cmocka_unit_test(random_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
