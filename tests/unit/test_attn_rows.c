/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_rows.c - the meaning of single options, by hand-computed examples: which keys a
 * query weighs and by how much. */
#include "quire_cmocka.h"
#include <math.h>
#include <quire/attention.h>
#include <quire/cpu.h>

enum { KEYS = 48, BLOCK = 16, BLOCKS = 12, MAX_T = 24, HEADS = 2, D = 8 };

/* Queries and keys are 0 and value j is unit vector j: the output is the weight of each key. */
struct board {
    struct quire_attention_config config;
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    int32_t starts[5], lens[4], table[4][KEYS / BLOCK];
    struct quire_attention_batch_group group;
    struct quire_attention_batch batch;
    struct quire_attention_args args;
    float q[MAX_T][HEADS][D], out[MAX_T][HEADS][KEYS], lse[MAX_T][HEADS];
};

#define must(call)                                                                                 \
    do {                                                                                           \
        struct quire_error err = QUIRE_ERROR_INIT;                                                 \
        if ((call) != QUIRE_OK)                                                                    \
            fail_msg("%s: %s", #call, err.msg);                                                    \
    } while (0)

static void fill_cache(struct board *b)
{
    static float k[KEYS][D], v[KEYS][KEYS];
    int64_t slots[KEYS];
    for (int j = 0; j < KEYS; j++)
        v[j][j] = 1;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < KEYS; j++)
            slots[j] = (int64_t)b->table[i][j / BLOCK] * BLOCK + j % BLOCK;
        const struct quire_kv_write_args w = { .struct_size = sizeof w,
                                               .dtype = QUIRE_KV_F32,
                                               .k = k,
                                               .v = v,
                                               .slot_mapping = slots,
                                               .n_tokens = KEYS };
        must(quire_kv_write(b->kv, &w, NULL, &err));
    }
}

static void open_board(struct board *b)
{
    memset(b, 0, sizeof *b);
    quire_attention_config_init(&b->config, sizeof b->config, HEADS, 1, D);
    b->config.v_head_size = KEYS;
    const struct quire_kv_group_config g = {
        .n_layers = 1, .n_kv_heads = 1, .head_size = D, .v_head_size = KEYS, .n_blocks = BLOCKS
    };
    const struct quire_kv_params c = {
        .struct_size = sizeof c, .block_size = BLOCK, .groups = &g, .n_groups = 1
    };
    must(quire_kv_create(&c, &b->kv, &err));
    must(quire_kv_alloc(b->kv, 0, -1, BLOCKS, b->table[0], &err));
    fill_cache(b);
    b->group = (struct quire_attention_batch_group){ .block_table = b->table[0],
                                                     .max_blocks = KEYS / BLOCK };
    b->batch = (struct quire_attention_batch){ .struct_size = sizeof b->batch,
                                               .query_start_loc = b->starts,
                                               .seq_lens = b->lens,
                                               .n_groups = 1,
                                               .groups = &b->group };
    b->args = (struct quire_attention_args){
        .struct_size = sizeof b->args, .q = b->q, .out = b->out, .lse = b->lse[0]
    };
}

static void close_board(struct board *b)
{
    quire_plan_destroy(b->plan);
    quire_kv_destroy(b->kv);
}

/* Appends a sequence of `len` tokens, the last `n_new` of which are queries. */
static void add(struct board *b, int32_t len, int32_t n_new)
{
    const uint32_t i = b->batch.n_seqs++;
    b->lens[i] = len;
    b->starts[i + 1] = b->starts[i] + n_new;
}

static void play(struct board *b)
{
    const struct quire_plan_group group = { .config = &b->config };
    const struct quire_plan_params params = { .struct_size = sizeof params,
                                              .kv = b->kv,
                                              .groups = &group,
                                              .n_groups = 1,
                                              .max_tokens = MAX_T,
                                              .max_seqs = 4,
                                              .max_seq_len = KEYS,
                                              .n_threads = 1,
                                              .max_spans = 4,
                                              .max_tree_tokens = MAX_T,
                                              .max_sparse_blocks = 12 };
    quire_plan_destroy(b->plan);
    must(quire_plan_create(&params, &b->plan, &err));
    must(quire_plan_build(b->plan, &b->batch, &err));
    must(quire_attention_forward(b->plan, &b->args, NULL, &err));
}

/* Checks that row t weighs keys [lo, hi) equally and no other. */
static void assert_sees(const struct board *b, int t, int lo, int hi)
{
    for (int h = 0; h < HEADS; h++)
        for (int j = 0; j < KEYS; j++) {
            const float want = j >= lo && j < hi ? 1.0f / (float)(hi - lo) : 0;
            if (fabsf(b->out[t][h][j] - want) > 1e-6f)
                fail_msg("row %d, key %d weighs %g, not %g", t, j, (double)b->out[t][h][j],
                         (double)want);
        }
}

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
    add(&b, 40, 1);
    add(&b, 20, 0); /* no queries, but counted */
    add(&b, 12, 12);
    play(&b);
    assert_status(QUIRE_OK, quire_plan_get_info(b.plan, 0, &info));
    assert_int_equal(info.n_seqs, 3);
    assert_int_equal(info.n_tokens, 13);
    assert_int_equal(info.max_query_len, 12);
    assert_int_equal(info.max_seq_len, 40);
    close_board(&b);
}

/* ---- weights */

/* Scores consist of the bias only: a weight is exp(bias) over the sum of all. */
static void slopes_follow_the_distance(void **state)
{
    (void)state;
    static const float slopes[] = { 0.5f, -0.25f };
    struct board b;
    open_board(&b);
    b.config.alibi_slopes = slopes;
    add(&b, 6, 1);
    play(&b);
    for (int h = 0; h < HEADS; h++) {
        double sum = 0;
        for (int j = 0; j < 6; j++)
            sum += exp((double)slopes[h] * (j - 5));
        for (int j = 0; j < 6; j++)
            assert_true(fabs((double)b.out[0][h][j] - exp((double)slopes[h] * (j - 5)) / sum) <
                        1e-6);
        assert_true(fabs((double)b.lse[0][h] - log(sum)) < 1e-6);
    }
    close_board(&b);
}

/* Queries of 1 and keys of 0 or 1 give two scores: scale first, then soft cap, then ALiBi. */
static void soft_cap_lies_between_scale_and_slopes(void **state)
{
    (void)state;
    static const float slopes[] = { 3, 3 };
    struct board b;
    open_board(&b);
    const int64_t slot = (int64_t)b.table[0][0] * BLOCK + 1;
    float k[D], v[KEYS] = { 0, 1 };
    for (int d = 0; d < D; d++)
        k[d] = b.q[0][0][d] = b.q[0][1][d] = 1;
    const struct quire_kv_write_args w = {
        .struct_size = sizeof w, .k = k, .v = v, .slot_mapping = &slot, .n_tokens = 1
    };
    must(quire_kv_write(b.kv, &w, NULL, &err));
    b.config.scale = 2;
    b.config.logits_soft_cap = 10;
    b.config.alibi_slopes = slopes;
    add(&b, 2, 1);
    play(&b);
    const double s1 = 10 * tanh(2 * D / 10.0), s0 = 0 + 3 * -1.0,
                 w1 = exp(s1) / (exp(s0) + exp(s1));
    assert_true(fabs((double)b.out[0][0][1] - w1) < 1e-6);
    assert_true(fabs((double)b.lse[0][0] - log(exp(s0) + exp(s1))) < 1e-5);
    close_board(&b);
}

/* A sink adds to the denominator only; the LSE excludes it. */
static void sinks_join_the_denominator_only(void **state)
{
    (void)state;
    static const float sinks[] = { 1, -INFINITY };
    struct board b;
    open_board(&b);
    b.config.sinks = sinks;
    add(&b, 4, 1);
    play(&b);
    for (int j = 0; j < 4; j++) {
        assert_true(fabs((double)b.out[0][0][j] - 1 / (4 + exp(1))) < 1e-6);
        assert_true(fabsf(b.out[0][1][j] - 0.25f) < 1e-6f);
    }
    for (int h = 0; h < HEADS; h++)
        assert_true(fabs((double)b.lse[0][h] - log(4)) < 1e-6);
    close_board(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causal_counts_from_the_end),
        cmocka_unit_test(window_counts_the_token_itself),
        cmocka_unit_test(cached_prefix_and_chunks),
        cmocka_unit_test(any_number_of_new_tokens_decodes),
        cmocka_unit_test(rows_keep_the_callers_order),
        cmocka_unit_test(every_kind_has_its_lengths),
        cmocka_unit_test(new_tables_take_effect),
        cmocka_unit_test(counts_of_a_batch),
        cmocka_unit_test(slopes_follow_the_distance),
        cmocka_unit_test(soft_cap_lies_between_scale_and_slopes),
        cmocka_unit_test(sinks_join_the_denominator_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
