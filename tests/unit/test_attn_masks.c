/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_masks.c - bidirectional spans, trees of draft tokens and sparse block lists: against
 * the double-precision oracle, and identical bits in all variants. Keys that no query sees are
 * NaN. */
#include "test_attn_variants.h"

/* ---- problems */

/* Options of decoder attention. */
static struct problem decoder_scene(void)
{
    struct problem s = random_scene();
    if (s.config.kind != QUIRE_ATTENTION_DECODER)
        s.config.causal = 1;
    s.config.kind = QUIRE_ATTENTION_DECODER;
    return s;
}

/* Draws up to four spans in each sequence, some adjacent, some empty. */
static void add_spans(struct problem *s)
{
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        uint32_t at = problem_below(s->len[i] + 1);
        for (s->n_spans[i] = 0; s->n_spans[i] < MAX_PROBLEM_SPANS && at < s->len[i];) {
            const uint32_t room = s->len[i] - at, n = problem_below(room < 90 ? room + 1 : 90);
            s->spans[i][s->n_spans[i]++] =
                (struct quire_token_range){ (int32_t)at, (int32_t)(at + n) };
            at += n + problem_below(3) * problem_below(50);
        }
    }
}

enum tree_shape { CHAIN, TREE, ANY_MASK };

/* Turns the last tokens of each sequence, at most 64, into a tree. */
static void add_tree(struct problem *s, enum tree_shape shape)
{
    s->has_tree = true;
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        const uint32_t most = s->len[i] < 64 ? s->len[i] : 64;
        s->n_tree[i] = shape == CHAIN || !most ? most : 1 + problem_below(most);
        for (uint32_t t = 0; t < s->n_tree[i]; t++) {
            const uint64_t below = ((uint64_t)1 << t) - 1;
            const uint32_t parent = t - 1 - (shape == TREE ? problem_below(t < 4 ? t + 1 : 4) : 0);
            s->tree[i][t] = (uint64_t)1 << t;
            if (shape == ANY_MASK)
                s->tree[i][t] |= below & ((uint64_t)problem_random() << 32 | problem_random());
            else if (parent < t)
                s->tree[i][t] |= s->tree[i][parent];
        }
    }
}

static void add_lists(struct problem *s, uint32_t percent)
{
    s->has_lists = true;
    for (uint32_t i = 0; i < s->n_seqs; i++)
        for (uint32_t h = 0; h < MAX_PROBLEM_LISTS; h++)
            for (uint32_t j = 0; j < MAX_PROBLEM_LIST; j++)
                s->listed[i][h][j] = problem_below(100) < percent;
}

/* Sets keys and values that no query of a whole run sees to NaN. */
static void spoil_unseen(struct problem *s)
{
    const uint32_t heads = s->config.n_kv_heads, dk = s->config.head_size, dv = problem_v_size(s);
    for (uint32_t i = 0; i < s->n_seqs; i++)
        for (uint32_t h = 0; h < heads; h++)
            for (uint32_t k = 0; k < s->key_len[i]; k++) {
                bool seen = false;
                for (uint32_t q = s->has_tree ? s->len[i] - s->n_tree[i] : 0;
                     q < s->len[i] && !seen; q++)
                    seen = sees(s, i, h, q, k);
                const size_t at = (size_t)(s->key_first[i] + k) * heads + h;
                for (uint32_t d = 0; d < dk && !seen; d++)
                    s->k[at * dk + d] = NAN;
                for (uint32_t d = 0; d < dv && !seen; d++)
                    s->v[at * dv + d] = NAN;
            }
}

static struct result checked(const struct problem *s)
{
    struct result want = whole(s, NULL);
    check_oracle(s, &want);
    check_threads(s, &want);
    check_alone(s, &want);
    return want;
}

/* ---- tests */

static void spans(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 150, 1, 0, 66 }, long_lens[] = { 1100, 530 };
    problem_rng = 31;
    for (int round = 0; round < 40; round++) {
        const bool is_long = round % 10 == 9;
        struct problem s = decoder_scene();
        problem_fill(&s, is_long ? long_lens : lens, is_long ? 2 : 4);
        problem_point(&s, problem_below(3) == 0, problem_below(3) == 0);
        add_spans(&s);
        spoil_unseen(&s);
        struct result want = checked(&s);
        check_tail(&s, &want, 1);
        check_tail(&s, &want, 1 + problem_below(100));
        if (chunks_are_possible(&s.config)) {
            check_chunks(&s, &want, 1 + problem_below(is_long ? 300 : 20), 32);
            check_chunks(&s, &want, 64, 64);
        }
        result_free(&want);
        problem_free(&s);
    }
}

/* A bidirectional prefix (prefix LM) in a minimal case. */
static void span_by_hand(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 4 };
    struct problem s = problem_of(1, 1, 8, QUIRE_KV_F32, QUIRE_COMPUTE_F32);
    problem_fill(&s, lens, 1);
    s.n_spans[0] = 1;
    s.spans[0][0] = (struct quire_token_range){ 1, 3 };
    s.config.scale = 0; /* out is the mean of the visible values */
    struct result r = whole(&s, NULL);
    const uint32_t from[] = { 0, 0, 0, 0 }, to[] = { 1, 3, 3, 4 };
    for (uint32_t i = 0; i < 4; i++) {
        float mean = 0;
        for (uint32_t t = from[i]; t < to[i]; t++)
            mean += s.v[t * 8] / (float)(to[i] - from[i]);
        assert_true(fabsf(r.out[i * 8] - mean) < 1e-6f);
    }
    result_free(&r);
    problem_free(&s);
}

static void trees(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 150, 1, 0, 66 }, long_lens[] = { 1100, 520 };
    problem_rng = 32;
    for (int round = 0; round < 48; round++) {
        struct problem s = decoder_scene();
        if (round % 8 == 5) { /* names only the blocks of the queries */
            s.config.kind = QUIRE_ATTENTION_CROSS;
            s.config.causal = 0;
        }
        problem_fill(&s, round % 10 == 9 ? long_lens : lens, round % 10 == 9 ? 2 : 4);
        problem_point(&s, problem_below(2) == 0, problem_below(3) == 0);
        add_tree(&s, (enum tree_shape)(round % 3));
        if (round % 4 == 0)
            add_spans(&s);
        spoil_unseen(&s);
        struct result want = checked(&s);
        result_free(&want);
        problem_free(&s);
    }
}

static void encoders_have_no_spans(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 150, 66 };
    for (int kind = QUIRE_ATTENTION_ENCODER; kind <= QUIRE_ATTENTION_CROSS; kind++) {
        struct problem s = problem_of(4, 2, 16, QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE);
        s.config.kind = (enum quire_attention_kind)kind;
        s.config.causal = 0;
        s.config.window_left = s.config.window_right = 9;
        problem_fill(&s, lens, 2);
        struct result want = whole(&s, NULL);
        add_spans(&s);
        struct result got = whole(&s, NULL);
        assert_true(s.n_spans[0] > 0);
        assert_same_result(&got, &want);
        result_free(&want), result_free(&got);
        problem_free(&s);
    }
}

/* Encoders ignore a tree mask, also where positions matter: windows, slopes, relative bias. */
static void encoders_ignore_trees(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 60, 40, 1 };
    problem_rng = 36;
    for (int round = 0; round < 8; round++) {
        struct problem s = problem_of(4, 2, 16, QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE);
        s.config.kind = round % 2 ? QUIRE_ATTENTION_ENCODER : QUIRE_ATTENTION_ENCODER_ONLY;
        s.config.causal = 0;
        if (round < 4)
            s.config.window_left = s.config.window_right = 9;
        problem_fill(&s, lens, 3);
        problem_point(&s, round >= 2, round >= 6);
        struct result want = whole(&s, NULL);
        add_tree(&s, TREE);
        for (uint32_t i = 0; i < 3; i++) /* all tokens, on branches of depth 1 */
            for (s.n_tree[i] = 0; s.n_tree[i] < lens[i]; s.n_tree[i]++)
                s.tree[i][s.n_tree[i]] = 1 | (uint64_t)1 << s.n_tree[i];
        struct result got = whole(&s, NULL);
        assert_same_result(&got, &want);
        result_free(&want), result_free(&got);
        problem_free(&s);
    }
}

/* A tree mask equal to the causal mask changes no bit. An additional branch changes no bit of
 * the rows of the first branch. */
static void chains_are_plain(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 200, 40, 600 };
    problem_rng = 33;
    for (int round = 0; round < 20; round++) {
        struct problem s = decoder_scene();
        s.config.causal = 1;
        problem_fill(&s, lens, 3);
        problem_point(&s, round % 2, round % 3 == 0);
        struct result plain = whole(&s, NULL), got = result_new(&s);
        memcpy(got.out, plain.out, plain.n_out * sizeof *got.out);
        memcpy(got.lse, plain.lse, plain.n_lse * sizeof *got.lse);
        add_tree(&s, CHAIN);
        struct variant r = variant_whole(&s);
        run_problem(&s, &r, &got);
        assert_same_result(&got, &plain);
        /* tokens from 20 on see 0 .. 9 and themselves; the first 20 remain a chain */
        for (uint32_t i = 0; i < 3; i++)
            for (uint32_t t = 20; t < s.n_tree[i]; t++)
                s.tree[i][t] = ((uint64_t)1 << t) | 0x3ff;
        struct result branches = whole(&s, NULL);
        for (uint32_t i = 0; i < 3; i++) {
            const uint32_t h = s.config.n_heads, n = problem_v_size(&s) * h;
            const size_t row = s.first[i] + s.len[i] - s.n_tree[i];
            assert_same_bits(branches.out + row * n, plain.out + row * n, 20 * n);
            assert_same_bits(branches.lse + row * h, plain.lse + row * h, 20 * h);
        }
        result_free(&plain), result_free(&got), result_free(&branches);
        problem_free(&s);
    }
}

static void lists(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 150, 1, 0, 500 }, long_lens[] = { 2000, 1000 };
    problem_rng = 34;
    for (int round = 0; round < 36; round++) {
        const bool is_long = round % 6 == 5;
        struct problem s = random_scene();
        s.config.head_size = is_long ? 16 : s.config.head_size;
        problem_fill(&s, is_long ? long_lens : lens, is_long ? 2 : 4);
        problem_point(&s, problem_below(3) == 0, problem_below(3) == 0);
        add_lists(&s, (uint32_t[]){ 10, 50, 95, 0 }[round % 4]);
        if (s.config.kind == QUIRE_ATTENTION_DECODER && round % 2)
            add_spans(&s);
        else if (s.config.kind == QUIRE_ATTENTION_DECODER && round % 5 == 0)
            add_tree(&s, TREE);
        spoil_unseen(&s);
        struct result want = checked(&s);
        if (!s.has_tree) {
            check_tail(&s, &want, 1);
            check_tail(&s, &want, 30);
            if (chunks_are_possible(&s.config))
                check_chunks(&s, &want, 100, 32);
        }
        result_free(&want);
        problem_free(&s);
    }
}

static void lists_of_everything_are_plain(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 700, 30 };
    problem_rng = 35;
    for (int round = 0; round < 10; round++) {
        struct problem s = random_scene();
        problem_fill(&s, lens, 2);
        problem_point(&s, round % 2, round % 3 == 0);
        struct result plain = whole(&s, NULL);
        add_lists(&s, 100); /* includes blocks past the end */
        struct result got = whole(&s, NULL);
        assert_same_result(&got, &plain);
        result_free(&plain), result_free(&got);
        problem_free(&s);
    }
}

/* The partition counts listed keys only: a long sequence that attends to its first and last
 * blocks. */
static void splits_follow_the_lists(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 2300 };
    struct quire_plan_info info = { .struct_size = sizeof info };
    struct problem s = problem_of(2, 1, 16, QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE);
    problem_fill(&s, lens, 1);
    add_lists(&s, 0);
    s.listed[0][0][0] = s.listed[0][0][11] = true; /* spans 0 and 4 */
    spoil_unseen(&s);
    struct variant r = variant_whole(&s);
    struct testbed st;
    r.from[0] = 2299;
    r.n_plan_threads = 4;
    testbed_open(&st, &s, &r);
    assert_status(QUIRE_OK, quire_plan_get_info(st.plan, 0, &info));
    assert_int_equal(info.n_items, 2);
    assert_int_equal(info.n_splits, 1);
    testbed_close(&st);
    s.listed[0][0][11] = false;
    testbed_open(&st, &s, &r);
    assert_status(QUIRE_OK, quire_plan_get_info(st.plan, 0, &info));
    assert_int_equal(info.n_items, 1);
    testbed_close(&st);
    problem_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans),
        cmocka_unit_test(span_by_hand),
        cmocka_unit_test(encoders_have_no_spans),
        cmocka_unit_test(trees),
        cmocka_unit_test(encoders_ignore_trees),
        cmocka_unit_test(chains_are_plain),
        cmocka_unit_test(lists),
        cmocka_unit_test(lists_of_everything_are_plain),
        cmocka_unit_test(splits_follow_the_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
