/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_slots.c - slot mappings of positions and windows, and their validation. */
#include "kv/types.h"
#include "test_kv.h"

static struct quire_kv_slot_args map_of(uint32_t block_size, const int32_t *table, size_t n,
                                        size_t n_tokens)
{
    return (struct quire_kv_slot_args){ .struct_size = sizeof(struct quire_kv_slot_args),
                                        .block_size = block_size,
                                        .block_table = table,
                                        .n_entries = n,
                                        .n_tokens = n_tokens };
}

/* Prompt 10, window 8, block size 4: block 0 is reused as a ring. */
static void ring_example(void **state)
{
    (void)state;
    const int32_t table[] = { 0, 1, 0 };
    struct quire_kv_slot_args m = map_of(4, table, 3, 10);
    m.window = 8;
    int64_t slots[10];
    const int64_t want[] = { -1, -1, 2, 3, 4, 5, 6, 7, 0, 1 };
    assert_status(QUIRE_OK, quire_kv_map_slots(&m, slots, NULL));
    assert_memory_equal(slots, want, sizeof want);
}

/* Windows use absolute positions: for the last chunk of a prompt, the sequence length counts, not
 * the chunk length. */
static void window_of_a_chunk(void **state)
{
    (void)state;
    const int32_t table[] = { 7, 3, 5, 1 };
    struct quire_kv_slot_args m = map_of(4, table, 4, 6);
    m.window = 8;
    m.first_pos = 8; /* positions 8 .. 13, seq_len 14, window from 6 */
    int64_t slots[6];
    const int64_t want[] = { 20, 21, 22, 23, 4, 5 };
    assert_status(QUIRE_OK, quire_kv_map_slots(&m, slots, NULL));
    assert_memory_equal(slots, want, sizeof want);
    m.window = 3; /* from 11 */
    const int64_t cut[] = { -1, -1, -1, 23, 4, 5 };
    assert_status(QUIRE_OK, quire_kv_map_slots(&m, slots, NULL));
    assert_memory_equal(slots, cut, sizeof cut);
}

static void any_block_size_and_offset(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        int32_t table[40];
        int64_t slots[200];
        for (size_t j = 0; j < COUNT(table); j++)
            table[j] = (int32_t)kv_below(1u << 31);
        const uint32_t bs = 1 + kv_below(20), first_block = kv_below(100);
        struct quire_kv_slot_args m = map_of(bs, table, COUNT(table), 0);
        m.first_block = first_block;
        m.first_pos = first_block * bs + kv_below(bs * 10);
        m.n_tokens = kv_below(bs * 10);
        assert_status(QUIRE_OK, quire_kv_map_slots(&m, slots, NULL));
        for (uint32_t t = 0; t < m.n_tokens; t++) {
            const uint32_t pos = m.first_pos + t;
            assert_int_equal(slots[t], (int64_t)table[pos / bs - first_block] * bs + pos % bs);
        }
    }
}

/* Context parallelism: the ranks' slots are consecutive, and each token has one on one rank. */
static void ranks_share_the_tokens(void **state)
{
    (void)state;
    enum { N = 100, BS = 4 };
    int32_t table[N];
    for (int i = 0; i < N; i++)
        table[i] = i;
    for (uint32_t world = 1; world <= 5; world++)
        for (uint32_t interleave = 0; interleave <= 7; interleave++) {
            const uint32_t run = interleave ? interleave : 1;
            int64_t next[5] = { 0 }, slots[N];
            for (uint32_t rank = 0; rank < world; rank++) {
                struct quire_kv_slot_args m = map_of(BS, table, N, N);
                m.cp_world_size = world;
                m.cp_rank = rank;
                m.cp_interleave = interleave;
                assert_status(QUIRE_OK, quire_kv_map_slots(&m, slots, NULL));
                for (uint32_t t = 0; t < N; t++)
                    assert_int_equal(slots[t],
                                     t / run % world == rank ? next[rank]++ : QUIRE_SLOT_PAD);
                /* the same slots in chunks; a table of exactly the rank's blocks suffices */
                m.n_entries = (size_t)(next[rank] + BS - 1) / BS;
                int64_t chunk[9];
                m.n_tokens = 9;
                for (m.first_pos = 0; m.first_pos + 9 <= N; m.first_pos += 9) {
                    assert_status(QUIRE_OK, quire_kv_map_slots(&m, chunk, NULL));
                    assert_memory_equal(chunk, slots + m.first_pos, sizeof chunk);
                }
            }
        }
}

static void only_entries_in_use_are_read(void **state)
{
    (void)state;
    const int32_t table[] = { -9, -9, 2, -9 };
    struct quire_kv_slot_args m = map_of(16, table, 4, 3);
    m.first_pos = 40;
    int64_t slots[3];
    assert_status(QUIRE_OK, quire_kv_map_slots(&m, slots, NULL));
    assert_int_equal(slots[0], 40);
    m = map_of(16, table, 4, 40);
    m.window = 8; /* positions below 32 get no slot, their entries are not read */
    int64_t many[40];
    assert_status(QUIRE_OK, quire_kv_map_slots(&m, many, NULL));
    assert_int_equal(many[31], QUIRE_SLOT_PAD);
    assert_int_equal(many[32], 32);
}

static void bad_maps(void **state)
{
    (void)state;
    const int32_t table[] = { 0, 1, 5, -1 };
    const struct quire_kv_slot_args good = map_of(16, table, 2, 32);
    int64_t slots[64];
    memset(slots, 0x5a, sizeof slots);
    struct quire_kv_slot_args m = good;
    assert_fails(QUIRE_E_INVALID_ARG, "args", quire_kv_map_slots(NULL, slots, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "slots", quire_kv_map_slots(&m, NULL, &err));
    m.struct_size = 0;
    assert_fails(QUIRE_E_MISUSE, "struct_size", quire_kv_map_slots(&m, slots, &err));
    m = good;
    m.block_size = 0;
    assert_fails(QUIRE_E_INVALID_ARG, "block_size", quire_kv_map_slots(&m, slots, &err));
    m = good;
    m.block_table = NULL;
    assert_fails(QUIRE_E_INVALID_ARG, "block_table", quire_kv_map_slots(&m, slots, &err));
    m = good;
    m.n_tokens = 33;
    assert_fails(QUIRE_E_RANGE, "entry 2 is needed", quire_kv_map_slots(&m, slots, &err));
    m.n_entries = 4;
    m.n_tokens = 49;
    assert_fails(QUIRE_E_RANGE, "block_table[3] -1", quire_kv_map_slots(&m, slots, &err));
    m = good;
    m.first_block = 1;
    assert_fails(QUIRE_E_RANGE, "first_block", quire_kv_map_slots(&m, slots, &err));
    m = good;
    m.n_tokens = SIZE_MAX;
    assert_fails(QUIRE_E_LIMIT, "position", quire_kv_map_slots(&m, slots, &err));
    m = good;
    m.first_pos = UINT32_MAX;
    m.n_tokens = 1;
    assert_fails(QUIRE_E_LIMIT, "position", quire_kv_map_slots(&m, slots, &err));
    m = good;
    m.cp_rank = 1;
    assert_fails(QUIRE_E_INVALID_ARG, "args.cp_rank", quire_kv_map_slots(&m, slots, &err));
    m.cp_world_size = 1025;
    assert_fails(QUIRE_E_INVALID_ARG, "args.cp_world_size", quire_kv_map_slots(&m, slots, &err));
    m.cp_world_size = 2;
    m.cp_interleave = 65537;
    assert_fails(QUIRE_E_INVALID_ARG, "args.cp_interleave", quire_kv_map_slots(&m, slots, &err));
    m = good;
    m.reserved = 1;
    assert_fails(QUIRE_E_INVALID_ARG, "args.reserved", quire_kv_map_slots(&m, slots, &err));
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(slots[i], 0x5a5a5a5a5a5a5a5all);
    m = good;
    m.n_tokens = 0;
    m.block_table = NULL;
    assert_status(QUIRE_OK, quire_kv_map_slots(&m, NULL, NULL));
}

/* Definition: a block can be freed if no query at n_past or later attends to its positions. */
static void first_block_by_definition(void **state)
{
    (void)state;
    for (uint32_t window = 0; window < 40; window++)
        for (uint32_t bs = 1; bs < 20; bs += 3)
            for (uint32_t n_past = 0; n_past < 120; n_past++) {
                uint32_t want = 0;
                /* block `want` ends at position want * bs + bs - 1; a query at p attends to
                 * positions > p - window */
                while (window && (int64_t)want * bs + bs - 1 <= (int64_t)n_past - window)
                    want++;
                assert_int_equal(quire_kv_first_block(bs, window, n_past), want);
            }
    assert_int_equal(quire_kv_first_block(0, 8, 100), 0);
    assert_int_equal(quire_kv_first_block(16, 1, UINT32_MAX), UINT32_MAX / 16);
    assert_int_equal(quire_kv_first_block(16, UINT32_MAX, UINT32_MAX), 0);
}

static void check_slots(void **state)
{
    (void)state;
    const struct quire_kv_group_config g[2] = { kv_group(QUIRE_KV_F32, 8, 6),
                                                kv_group(QUIRE_KV_F32, 8, 2) };
    struct quire_kv_cache *kv = kv_make(g, 2, 16, NULL);
    int32_t b[4];
    kv_take(kv, 0, 3, b); /* 0, 1, 2 */
    assert_status(QUIRE_OK, quire_kv_retain(kv, 0, &b[1], 1, NULL));
    const int64_t good[] = { 0, -1, 15, 47, -1, 32 };
    for (int i = 0; i < 3; i++)
        assert_status(QUIRE_OK, quire_kv_check_slots(kv, 0, good, COUNT(good), NULL));
    const int64_t twice[] = { 5, 0, 5 }, shared[] = { 0, 16 }, unused[] = { 48 }, high[] = { 96 },
                  low[] = { -2 }, huge[] = { INT64_MAX }, lowest[] = { INT64_MIN };
    assert_fails(QUIRE_E_INVALID_ARG, "slot_mapping[2] 5 appears twice",
                 quire_kv_check_slots(kv, 0, twice, 3, &err));
    assert_fails(QUIRE_E_MISUSE, "slot_mapping[1]: block 1 has 2 references",
                 quire_kv_check_slots(kv, 0, shared, 2, &err));
    assert_fails(QUIRE_E_MISUSE, "block 3 is free", quire_kv_check_slots(kv, 0, unused, 1, &err));
    assert_fails(QUIRE_E_RANGE, "slot_mapping[0] 96", quire_kv_check_slots(kv, 0, high, 1, &err));
    assert_fails(QUIRE_E_RANGE, "slot_mapping[0] -2", quire_kv_check_slots(kv, 0, low, 1, &err));
    assert_fails(QUIRE_E_RANGE, "slot_mapping[0]", quire_kv_check_slots(kv, 0, huge, 1, &err));
    assert_fails(QUIRE_E_RANGE, "slot_mapping[0]", quire_kv_check_slots(kv, 0, lowest, 1, &err));
    assert_fails(QUIRE_E_RANGE, "slot_mapping[0] 47",
                 quire_kv_check_slots(kv, 1, &good[3], 1, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "slot_mapping", quire_kv_check_slots(kv, 0, NULL, 1, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "group 2", quire_kv_check_slots(kv, 2, good, 1, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "kv", quire_kv_check_slots(NULL, 0, good, 1, &err));
    assert_status(QUIRE_OK, quire_kv_check_slots(kv, 0, NULL, 0, NULL));
    /* entries of 2^32 checks ago must not look visited */
    kv->groups[0].visit_epoch = UINT32_MAX - 1;
    for (int i = 0; i < 4; i++)
        assert_status(QUIRE_OK, quire_kv_check_slots(kv, 0, good, COUNT(good), NULL));
    assert_int_equal(kv->groups[0].visit_epoch, 3);
    quire_kv_destroy(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_example),
        cmocka_unit_test(window_of_a_chunk),
        cmocka_unit_test(any_block_size_and_offset),
        cmocka_unit_test(ranks_share_the_tokens),
        cmocka_unit_test(only_entries_in_use_are_read),
        cmocka_unit_test(bad_maps),
        cmocka_unit_test(first_block_by_definition),
        cmocka_unit_test(check_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
