/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_confidence.c - acceptance by confidence, and the depth that follows from it. */
#include "engine/philox.h"
#include "engine/speculation/draft_confidence.h"
#include "quire_cmocka.h"
#include <math.h>

enum { MOST = 7, RANGES = QR_CONFIDENCE_RANGES };

/* A model bound by the stream of weights with few rows, a block drafter with a Markov head. */
static const struct qr_draft_costs costs = { { 1, 1.1, 1.3, 1.8, 3, 5.5 }, 6, 0.02, 0.3 };

static uint64_t n_random;
static double uniform(void) { return qr_philox_uniform(3, 0, n_random++); }

/* Steps of 1, 2, 4 and 8 rows are measured, those between are on lines. */
static double step_seconds(uint32_t depth)
{
    static const double seconds[] = { 1, 1.1, 1.2, 1.3, 1.425, 1.55, 1.675, 1.8 };
    return seconds[depth];
}

static void test_estimate(void **state)
{
    (void)state;
    struct qr_draft_confidence c = { 0 };
    const float all[] = { 0, 0.05f, 0.3f, 0.5f, 0.77f, 0.99f, 1 };
    for (int i = 0; i < 7; i++) {
        const double p = qr_draft_confidence_estimate(&c, all[i]);
        assert_true(fabs(p - (double)all[i]) < 1e-9);
    }
    const float doubtful[] = { 0.9f, 0.3f, 0.3f, 0.9f };
    for (int i = 0; i < 4000; i++) /* the second one is accepted in one of four drafts */
        qr_draft_confidence_record(&c, doubtful, 3, i % 4 ? 1 : 2);
    assert_true(qr_draft_confidence_estimate(&c, 0.9f) > 0.99);
    /* of five tries in four drafts, as the third one is tried once */
    assert_true(fabs(qr_draft_confidence_estimate(&c, 0.3f) - 0.2) < 0.03);
    assert_true(fabs(qr_draft_confidence_estimate(&c, 0.6f) - (double)0.6f) < 1e-9);
    for (int r = 0; r < RANGES; r++)
        assert_true(c.accepted[r] <= c.tried[r]);
}

/* The depth has the best rate of all, by a sum of its own. */
static void test_depth(void **state)
{
    (void)state;
    const struct qr_draft_confidence c = { 0 };
    uint32_t seen[MOST + 1] = { 0 };
    for (int round = 0; round < 2000; round++) {
        float confidence[MOST];
        const double level = uniform();
        for (int i = 0; i < MOST; i++)
            confidence[i] = (float)(level + (1 - level) * uniform());
        for (uint32_t n = 1; n <= MOST; n++) {
            const uint32_t got = qr_draft_confidence_depth(&c, &costs, confidence, n);
            double best = 0, rates[MOST + 1];
            for (uint32_t depth = 1; depth <= n; depth++) {
                double tokens = 1, reached = 1;
                for (uint32_t i = 0; i < depth; i++)
                    tokens += reached *= (double)confidence[i];
                rates[depth] = tokens / (step_seconds(depth) + 0.3 + n * 0.02);
                best = fmax(best, rates[depth]);
            }
            assert_in_range(got, 1, n);
            assert_true(rates[got] > best * (1 - 1e-9));
            seen[got] += n == MOST;
        }
    }
    for (int i = 1; i <= MOST; i++)
        assert_true(seen[i] > 0);
}

static void test_limits(void **state)
{
    (void)state;
    const struct qr_draft_confidence c = { 0 };
    const float none[40] = { 0 };
    struct qr_draft_costs few = costs;
    assert_int_equal(qr_draft_confidence_depth(&c, &costs, none, 0), 0);
    assert_int_equal(qr_draft_confidence_depth(&c, &costs, none, MOST), 1);
    few.n_costs = 3; /* of four rows at most */
    assert_int_equal(qr_draft_confidence_depth(&c, &few, none, 3), 1);
    assert_int_equal(qr_draft_confidence_depth(&c, &few, none, 4), 4);
    few.n_costs = 0;
    assert_int_equal(qr_draft_confidence_depth(&c, &few, none, MOST), MOST);
}

/* Tokens per second of drafts whose tokens are accepted with 0.95 or 0.4 each, in runs; the drafter
 * knows which, but is far too doubtful. depth 0: chosen, else fixed. */
static double speed(uint32_t depth)
{
    struct qr_draft_confidence c = { 0 };
    double tokens = 0, seconds = 0;
    bool easy = false;
    n_random = 0;
    for (int step = 0; step < 20000; step++) {
        float confidence[MOST];
        double p[MOST];
        for (int i = 0; i < MOST; i++) {
            if (uniform() < 0.15)
                easy = !easy;
            p[i] = easy ? 0.95 : 0.4;
            confidence[i] = easy ? 0.55f : 0.1f;
        }
        const uint32_t n = depth ? depth : qr_draft_confidence_depth(&c, &costs, confidence, MOST);
        uint32_t accepted = 0;
        while (accepted < n && uniform() < p[accepted])
            accepted++;
        qr_draft_confidence_record(&c, confidence, n, accepted);
        tokens += 1 + accepted;
        seconds += step_seconds(n) + 0.3 + 0.02 * (depth ? depth : MOST);
    }
    return tokens / seconds;
}

static void test_learns(void **state)
{
    (void)state;
    double best = 0;
    for (uint32_t depth = 1; depth <= MOST; depth++)
        best = fmax(best, speed(depth));
    printf("chosen %.3f, best fixed depth %.3f tokens per step of one row\n", speed(0), best);
    assert_true(speed(0) > 1.04 * best);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_estimate),
                                        cmocka_unit_test(test_depth), cmocka_unit_test(test_limits),
                                        cmocka_unit_test(test_learns) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
