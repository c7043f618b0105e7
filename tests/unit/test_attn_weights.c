/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_weights.c - the meaning of options that weigh keys, by hand-computed examples: slopes,
 * soft cap, sinks. */
#include "test_attn_board.h"

/* Checks the weights of row t and head h over keys [0, n) with the given scores. */
static void assert_weighs(const struct board *b, int t, int h, const double *scores, int n)
{
    double sum = 0;
    for (int j = 0; j < n; j++)
        sum += exp(scores[j]);
    for (int j = 0; j < KEYS; j++) {
        const double want = j < n ? exp(scores[j]) / sum : 0;
        if (!(fabs((double)b->out[t][h][j] - want) < 2e-6))
            fail_msg("row %d, head %d, key %d weighs %g, not %g", t, h, j, (double)b->out[t][h][j],
                     want);
    }
    assert_true(fabs((double)b->lse[t][h] - log(sum)) < 1e-5);
}

/* Scores consist of the bias only, which is 0 at the query's own position. */
static void slopes_follow_the_distance(void **state)
{
    (void)state;
    static const float slopes[] = { 0.5f, -0.25f };
    static const int lens[] = { 6, 20 }, n_new[] = { 1, 4 };
    for (int causal = 0; causal < 2; causal++) {
        struct board b;
        open_board(&b);
        b.config.alibi_slopes = slopes;
        b.config.causal = causal;
        for (int i = 0; i < 2; i++)
            add(&b, lens[i], n_new[i]);
        play(&b);
        for (int i = 0, t = 0; i < 2; i++)
            for (int k = 0; k < n_new[i]; k++, t++)
                for (int h = 0; h < HEADS; h++) {
                    const int pos = lens[i] - n_new[i] + k;
                    double scores[KEYS];
                    for (int j = 0; j < KEYS; j++)
                        scores[j] = (double)slopes[h] * (j - pos);
                    assert_weighs(&b, t, h, scores, causal ? pos + 1 : lens[i]);
                }
        close_board(&b);
    }
}

/* Keys of magnitude j - 3, and queries of 1 and -1/2: scale first, then soft cap, then ALiBi, for
 * scores of both signs, far below and far above the cap. */
static void soft_cap_lies_between_scale_and_slopes(void **state)
{
    (void)state;
    enum { N = 9, NEW = 3 };
    static const float slopes[] = { 3, 0.5f }, q[] = { 1, -0.5f }, caps[] = { 0, 0.5f, 10, 1000 };
    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
        struct board b;
        open_board(&b);
        float k[N][D], v[N][KEYS] = { { 0 } };
        int64_t slots[N];
        for (int j = 0; j < N; j++) {
            slots[j] = (int64_t)b.table[0][0] * BLOCK + j;
            v[j][j] = 1;
            for (int d = 0; d < D; d++)
                k[j][d] = (float)(j - 3);
        }
        for (int t = 0; t < NEW; t++)
            for (int h = 0; h < HEADS; h++)
                for (int d = 0; d < D; d++)
                    b.q[t][h][d] = q[h];
        const struct quire_kv_write_args w = {
            .struct_size = sizeof w, .k = k, .v = v, .slot_mapping = slots, .n_tokens = N
        };
        must(quire_kv_write(b.kv, &w, NULL, &err));
        b.config.scale = 0.25f;
        b.config.logits_soft_cap = caps[c];
        b.config.alibi_slopes = slopes;
        add(&b, N, NEW);
        play(&b);
        for (int t = 0; t < NEW; t++)
            for (int h = 0; h < HEADS; h++) {
                const int pos = N - NEW + t;
                double scores[N];
                for (int j = 0; j < N; j++) {
                    const double s = 0.25 * D * (double)q[h] * (j - 3), cap = (double)caps[c];
                    scores[j] = (cap > 0 ? cap * tanh(s / cap) : s) + (double)slopes[h] * (j - pos);
                }
                assert_weighs(&b, t, h, scores, pos + 1);
            }
        close_board(&b);
    }
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
        cmocka_unit_test(slopes_follow_the_distance),
        cmocka_unit_test(soft_cap_lies_between_scale_and_slopes),
        cmocka_unit_test(sinks_join_the_denominator_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
