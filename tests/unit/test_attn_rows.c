/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_rows.c - the meaning of single options, by hand-computed examples: which keys a query
 * sees, and counts of a batch. */
#include "test_attn_board.h"

/* ---- visible keys */

static void causal_counts_from_the_end(void **state)
{
    (void)state;
    struct board b;
    open_board(&b);
    add(&b, 20, 5); /* tokens 15 .. 19 are new: query i sees keys up to 15 + i */
    play(&b);
    for (int i = 0; i < 5; i++)
        assert_sees(&b, i, 0, 16 + i);
    close_board(&b);
}

static void window_counts_the_token_itself(void **state)
{
    (void)state;
    struct board b;
    open_board(&b);
    add(&b, 20, 3);
    b.config.window_left = 4 - 1; /* a window of 4 */
    play(&b);
    for (int i = 0; i < 3; i++)
        assert_sees(&b, i, 14 + i, 18 + i);
    b.config.window_left = QUIRE_WINDOW_NONE;
    play(&b);
    assert_sees(&b, 0, 0, 18);
    b.config.kind = QUIRE_ATTENTION_ENCODER_ONLY; /* the window extends to both sides there */
    b.config.causal = 0;
    b.config.window_left = b.config.window_right = 4 - 1;
    play(&b);
    assert_sees(&b, 0, 14, 20);
    assert_sees(&b, 2, 16, 20);
    close_board(&b);
}

/* Queries at 9 .. 17 of 18 keys: each side ends at its own distance. */
static void windows_of_both_sides(void **state)
{
    (void)state;
    for (int kind = QUIRE_ATTENTION_DECODER; kind < QUIRE_ATTENTION_CROSS; kind++)
        for (int left = -1; left < 5; left++)
            for (int right = -1; right < 5; right++) {
                struct board b;
                open_board(&b);
                b.config.kind = (enum quire_attention_kind)kind;
                b.config.causal = false;
                b.config.window_left = left;
                b.config.window_right = right;
                add(&b, 18, 9);
                play(&b);
                for (int i = 0; i < 9; i++) {
                    const int pos = 9 + i;
                    assert_sees(&b, i, left < 0 ? 0 : pos - left,
                                right < 0 || pos + right >= 18 ? 18 : pos + right + 1);
                }
                close_board(&b);
            }
}

/* The flag of a sequence replaces that of the configuration in both directions, in decoder
 * attention. */
static void each_sequence_has_its_causality(void **state)
{
    (void)state;
    static const bool flags[] = { true, false, true };
    for (int kind = QUIRE_ATTENTION_DECODER; kind < QUIRE_ATTENTION_CROSS; kind++)
        for (int causal = 0; causal <= (kind == QUIRE_ATTENTION_DECODER); causal++) {
            struct board b;
            open_board(&b);
            b.config.kind = (enum quire_attention_kind)kind;
            b.config.causal = causal;
            b.batch.causal = flags;
            for (int i = 0; i < 3; i++)
                add(&b, 10, 3);
            play(&b);
            for (int t = 0; t < 9; t++)
                assert_sees(&b, t, 0,
                            kind == QUIRE_ATTENTION_DECODER && flags[t / 3] ? 8 + t % 3 : 10);
            b.batch.causal = NULL;
            play(&b);
            for (int t = 0; t < 9; t++)
                assert_sees(&b, t, 0, causal ? 8 + t % 3 : 10);
            close_board(&b);
        }
}

/* Several spans in several sequences, on top of a causal window of 2. */
static void spans_open_both_directions(void **state)
{
    (void)state;
    static const int32_t span_loc[] = { 0, 3, 3, 5 };
    static const struct quire_token_range spans[] = {
        { 2, 5 }, { 5, 5 }, { 6, 9 }, { 0, 3 }, { 40, 48 } /* after the end */
    };
    static const int lens[] = { 9, 4, 5 };
    struct board b;
    open_board(&b);
    b.config.window_left = 1;
    b.batch.span_loc = span_loc;
    b.batch.spans = spans;
    for (int i = 0; i < 3; i++)
        add(&b, lens[i], lens[i]);
    play(&b);
    for (int i = 0, t = 0; i < 3; i++)
        for (int pos = 0; pos < lens[i]; pos++, t++) {
            int lo = pos ? pos - 1 : 0, hi = pos + 1;
            for (int j = span_loc[i]; j < span_loc[i + 1]; j++)
                if (pos >= spans[j].begin && pos < spans[j].end) {
                    lo = spans[j].begin < lo ? spans[j].begin : lo;
                    hi = spans[j].end;
                }
            assert_sees(&b, t, lo, hi);
        }
    close_board(&b);
}

/* A prompt with a cached prefix, with a window and with chunks. */
static void cached_prefix_and_chunks(void **state)
{
    (void)state;
    struct board b;
    open_board(&b);
    b.config.window_left = 9;
    b.config.chunk_size = 8;
    add(&b, 30, 4);  /* cached prefix and new tokens */
    add(&b, 13, 13); /* all new */
    add(&b, 17, 1);  /* decode */
    play(&b);
    for (int i = 0; i < 4; i++)
        assert_sees(&b, i, 24, 27 + i);
    for (int i = 0; i < 13; i++)
        assert_sees(&b, 4 + i, i / 8 * 8, i + 1);
    assert_sees(&b, 17, 16, 17);
    close_board(&b);
}

static void any_number_of_new_tokens_decodes(void **state)
{
    (void)state;
    for (int n = 1; n <= 9; n++) {
        struct board b;
        open_board(&b);
        add(&b, 33, n);
        play(&b);
        for (int i = 0; i < n; i++)
            assert_sees(&b, i, 0, 34 - n + i);
        close_board(&b);
    }
}

/* Decodes, chunks and prompts in any order: results are in the order of the caller's queries. */
static void rows_keep_the_callers_order(void **state)
{
    (void)state;
    static const int32_t lens[] = { 40, 7, 25, 9 }, n_new[] = { 1, 7, 3, 1 };
    for (int turn = 0; turn < 4; turn++) {
        struct board b;
        open_board(&b);
        for (int i = 0; i < 4; i++)
            add(&b, lens[(i + turn) % 4], n_new[(i + turn) % 4]);
        play(&b);
        for (int i = 0, t = 0; i < 4; i++)
            for (int k = 0; k < n_new[(i + turn) % 4]; k++, t++)
                assert_sees(&b, t, 0, lens[(i + turn) % 4] - n_new[(i + turn) % 4] + k + 1);
        close_board(&b);
    }
}

static void every_kind_has_its_lengths(void **state)
{
    (void)state;
    static const int32_t encoder_lens[] = { 31, 2 };
    struct board b;
    for (int kind = QUIRE_ATTENTION_DECODER; kind <= QUIRE_ATTENTION_CROSS; kind++) {
        open_board(&b);
        b.config.kind = (enum quire_attention_kind)kind;
        b.config.causal = kind == QUIRE_ATTENTION_DECODER;
        b.batch.encoder_seq_lens = encoder_lens; /* ignored by other kinds */
        add(&b, 10, 2);
        add(&b, 5, 5);
        play(&b);
        for (int t = 0; t < 7; t++) {
            const int own = t < 2 ? 10 : 5, pos = t < 2 ? 8 + t : t - 2;
            assert_sees(&b, t, 0,
                        kind == QUIRE_ATTENTION_CROSS     ? encoder_lens[t >= 2]
                        : kind == QUIRE_ATTENTION_DECODER ? pos + 1
                                                          : own);
        }
        close_board(&b);
    }
}

/* The plan keeps its partition and reads other blocks. */
static void new_tables_take_effect(void **state)
{
    (void)state;
    struct board b;
    open_board(&b);
    add(&b, 20, 1);
    play(&b);
    assert_sees(&b, 0, 0, 20);
    float k[D] = { 0 }, v[KEYS] = { 0 }; /* a first key without a value, in another block */
    const int64_t slot = (int64_t)b.table[2][0] * BLOCK;
    const struct quire_kv_write_args w = {
        .struct_size = sizeof w, .k = k, .v = v, .slot_mapping = &slot, .n_tokens = 1
    };
    must(quire_kv_write(b.kv, &w, NULL, &err));
    b.group.block_table = b.table[2];
    must(quire_plan_set_tables(b.plan, 0, &b.group, &err));
    must(quire_attention_forward(b.plan, &b.args, NULL, &err));
    for (int j = 0; j < 20; j++)
        assert_true(fabsf(b.out[0][0][j] - (j ? 0.05f : 0)) < 1e-6f);
    close_board(&b);
}

static void counts_of_a_batch(void **state)
{
    (void)state;
    struct board b;
    struct quire_plan_info info = { .struct_size = sizeof info };
    open_board(&b);
    add(&b, 20, 0); /* no queries, but counted */
    add(&b, 12, 9);
    add(&b, 40, 1);
    add(&b, 7, 3);
    play(&b);
    assert_status(QUIRE_OK, quire_plan_get_info(b.plan, 0, &info));
    assert_int_equal(info.n_seqs, 4);
    assert_int_equal(info.n_tokens, 13);
    assert_int_equal(info.max_query_len, 9); /* neither the first nor the last, nor the longest */
    assert_int_equal(info.max_seq_len, 40);
    b.starts[2] = 5; /* a smaller batch in the same plan */
    b.lens[1] = 9;
    b.batch.n_seqs = 2;
    must(quire_plan_build(b.plan, &b.batch, &err));
    assert_status(QUIRE_OK, quire_plan_get_info(b.plan, 0, &info));
    assert_int_equal(info.n_tokens, 5);
    assert_int_equal(info.max_query_len, 5);
    assert_int_equal(info.max_seq_len, 20);
    close_board(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causal_counts_from_the_end),
        cmocka_unit_test(window_counts_the_token_itself),
        cmocka_unit_test(windows_of_both_sides),
        cmocka_unit_test(each_sequence_has_its_causality),
        cmocka_unit_test(spans_open_both_directions),
        cmocka_unit_test(cached_prefix_and_chunks),
        cmocka_unit_test(any_number_of_new_tokens_decodes),
        cmocka_unit_test(rows_keep_the_callers_order),
        cmocka_unit_test(every_kind_has_its_lengths),
        cmocka_unit_test(new_tables_take_effect),
        cmocka_unit_test(counts_of_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
