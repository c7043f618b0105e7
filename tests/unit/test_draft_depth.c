/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_depth.c - depth of drafts under simulated acceptance and cost. */
#include "engine/philox.h"
#include "engine/speculation/draft_depth.h"
#include "quire_cmocka.h"
#include <math.h>

/* Costs of 1, 2, 4, .. 32 rows: bound by the stream of weights, by arithmetic, flat, with a step at
 * two rows, with a draft model, with a block drafter, and few measured. */
static const struct qr_draft_costs cost_tables[] = {
    { { 1, 1.02, 1.35, 2.5, 4, 6.5 }, 6, 0, 0 },
    { { 1, 1.9, 3.7, 7.2, 14, 28 }, 6, 0, 0 },
    { { 0.01, 0.0101, 0.0102, 0.0105, 0.011, 0.012 }, 6, 0, 0 },
    { { 3, 5.1, 5.2, 5.3, 5.4, 7 }, 6, 0, 0 },
    { { 1, 1.05, 1.3, 2, 3.5, 6 }, 6, 0.1, 0 },
    { { 1, 1.05, 1.3, 2, 3.5, 6 }, 6, 0, 0.3 },
    { { 1, 1.3, 1.8, 3.2 }, 4, 0, 0 },
};
enum { DEAR_SECOND_ROW = 3, N_TABLES = sizeof cost_tables / sizeof cost_tables[0] };

/* Acceptance of position i if those before it were accepted: first * ratio^i. */
static const struct acceptance {
    double first, ratio;
} acceptances[] = { { 0, 1 },      { 0.02, 1 }, { 0.1, 1 },    { 0.3, 1 },
                    { 0.5, 1 },    { 0.7, 1 },  { 0.8, 0.95 }, { 0.9, 0.9 },
                    { 0.9, 0.97 }, { 0.95, 1 }, { 0.99, 1 },   { 1, 1 } };
enum { N_ACCEPTANCES = sizeof acceptances / sizeof acceptances[0] };

/* Seconds of a step, computed apart from the module: linear between powers of two. */
static double step_seconds(const struct qr_draft_costs *costs, uint32_t depth)
{
    const uint32_t rows = depth + 1;
    const uint32_t i = (uint32_t)log2(rows);
    const double *s = costs->step_seconds, part = rows / exp2(i) - 1;
    return (part > 0 ? s[i] * (1 - part) + s[i + 1] * part : s[i]) + depth * costs->draft_seconds +
           (depth > 0) * costs->block_seconds;
}

static uint32_t max_depth(const struct qr_draft_costs *costs)
{
    return (1u << (costs->n_costs - 1)) - 1;
}

/* Expected tokens per second at a fixed depth, times that of depth 0. */
static double fixed_speedup(const struct qr_draft_costs *costs, struct acceptance p, uint32_t depth)
{
    double tokens = 1, reached = 1;
    for (uint32_t i = 0; i < depth; i++)
        tokens += reached *= p.first * pow(p.ratio, i);
    return tokens / (step_seconds(costs, depth) / costs->step_seconds[0]);
}

static double best_speedup(const struct qr_draft_costs *costs, struct acceptance p)
{
    double best = 1;
    for (uint32_t depth = 1; depth <= max_depth(costs); depth++)
        best = fmax(best, fixed_speedup(costs, p, depth));
    return best;
}

struct simulation {
    struct qr_draft_depth depth;
    const struct qr_draft_costs *costs;
    uint64_t n_random;
    double tokens, cost; /* simulated: cost adds up entries of a table, no clock */
    uint32_t drafts;
};

static void start(struct simulation *s, const struct qr_draft_costs *costs)
{
    *s = (struct simulation){ .costs = costs };
    qr_draft_depth_init(&s->depth);
}

static void simulate(struct simulation *s, struct acceptance p, uint32_t draft_class,
                     uint32_t steps)
{
    const uint32_t available = QR_DRAFT_MAX_DEPTH;
    for (uint32_t i = 0; i < steps; i++) {
        const uint32_t n = qr_draft_depth_choose(&s->depth, s->costs, draft_class, available);
        assert_in_range(n, 0, max_depth(s->costs));
        uint32_t accepted = 0;
        while (accepted < n &&
               qr_philox_uniform(7, 0, s->n_random++) < p.first * pow(p.ratio, accepted))
            accepted++;
        qr_draft_depth_record(&s->depth, s->costs, draft_class, available, n, accepted);
        s->tokens += accepted + 1;
        s->cost += step_seconds(s->costs, n);
        s->drafts += n > 0;
    }
}

/* Time over that of decoding without drafts. */
static double relative_time(const struct simulation *s)
{
    return s->cost / (s->tokens * s->costs->step_seconds[0]);
}

static void near_the_best_fixed_depth(void **state)
{
    (void)state;
    for (size_t t = 0; t < N_TABLES; t++)
        for (size_t a = 0; a < N_ACCEPTANCES; a++) {
            struct simulation s;
            start(&s, &cost_tables[t]);
            simulate(&s, acceptances[a], 0, 60000);
            const double best = best_speedup(&cost_tables[t], acceptances[a]);
            const double got = 1 / relative_time(&s);
            /* where the least draft risks 0.7 steps, the bound of losses blocks some that gain */
            const double least = (t == DEAR_SECOND_ROW ? 0.93 : 0.97) * best;
            if (got < least)
                print_error("costs %zu, acceptance %g * %g^i: %.4f of %.4f\n", t,
                            acceptances[a].first, acceptances[a].ratio, got, best);
            assert_true(got >= least);
        }
}

/* Losses stay within 2 % of the plain time plus half a step after every step, on random text and
 * against a text that rejects drafts exactly when they are deep. */
static void losses_are_bounded(void **state)
{
    (void)state;
    for (size_t t = 0; t < N_TABLES; t++)
        for (uint32_t hostile = 0; hostile < 2; hostile++) {
            struct simulation s;
            start(&s, &cost_tables[t]);
            const double plain = cost_tables[t].step_seconds[0];
            for (uint32_t i = 0; i < 20000; i++) {
                const uint32_t n =
                    qr_draft_depth_choose(&s.depth, s.costs, i % 3, QR_DRAFT_MAX_DEPTH);
                const uint32_t accepted = hostile && n == 1 && i % 7;
                qr_draft_depth_record(&s.depth, s.costs, i % 3, QR_DRAFT_MAX_DEPTH, n, accepted);
                s.tokens += accepted + 1;
                s.cost += step_seconds(s.costs, n);
                assert_true(s.cost <= (1.02 * s.tokens + 0.5) * plain * (1 + 1e-9));
            }
        }
}

/* Probes of rejected drafts become rare, also where they cost next to nothing. */
static void probes_at_growing_intervals(void **state)
{
    (void)state;
    const struct qr_draft_costs cheap = { { 1, 1.05, 1.1, 1.2, 1.3, 1.4 }, 6, 0, 0 };
    struct simulation s;
    start(&s, &cheap);
    simulate(&s, (struct acceptance){ 0, 1 }, 0, 2000);
    const uint32_t before = s.drafts;
    simulate(&s, (struct acceptance){ 0, 1 }, 0, 6500);
    assert_in_range(s.drafts - before, 6500 / 65 - 1, 6500 / 65 + 1);
}

/* A copy after random text is noticed within 200 tokens. Random text after a copy costs at most 35
 * steps of 500, of which the standing allowance is 10. A lower acceptance, without rejections in a
 * row, is noticed within 100 steps. */
static void follows_a_change(void **state)
{
    (void)state;
    const struct acceptance copy = { 0.99, 1 }, noise = { 0, 1 }, worse = { 0.6, 1 };
    for (size_t t = 0; t < N_TABLES; t++) {
        const struct qr_draft_costs *costs = &cost_tables[t];
        struct simulation s;
        start(&s, costs);
        simulate(&s, noise, 0, 3000);
        simulate(&s, copy, 0, 200);
        s.tokens = s.cost = 0;
        simulate(&s, copy, 0, 500);
        assert_true(1 / relative_time(&s) >= 0.9 * best_speedup(costs, copy));
        s.tokens = s.cost = 0;
        simulate(&s, noise, 0, 500);
        assert_true((relative_time(&s) - 1) * 500 <= 35);
        simulate(&s, copy, 0, 5000);
        simulate(&s, worse, 0, 100);
        s.tokens = s.cost = 0;
        simulate(&s, worse, 0, 4000);
        assert_true(1 / relative_time(&s) >= 0.94 * best_speedup(costs, worse));
    }
}

/* What one class learns does not change the depth of another. */
static void classes_are_separate(void **state)
{
    (void)state;
    struct simulation s;
    start(&s, &cost_tables[0]);
    for (uint32_t i = 0; i < 500; i++) {
        simulate(&s, (struct acceptance){ 0, 1 }, 0, 1);
        simulate(&s, (struct acceptance){ 1, 1 }, 5, 1);
    }
    assert_true(qr_draft_depth_choose(&s.depth, s.costs, 0, 31) <= 1);
    assert_int_equal(qr_draft_depth_choose(&s.depth, s.costs, 5, 31), 31);
    assert_int_equal(qr_draft_depth_choose(&s.depth, s.costs, 5, 4), 4);
    assert_int_equal(qr_draft_depth_choose(&s.depth, s.costs, 5, 0), 0);
}

static void class_of_a_match(void **state)
{
    (void)state;
    static const uint32_t expected[][2] = { { 0, 0 },  { 1, 0 },         { 2, 1 },  { 3, 1 },
                                            { 4, 2 },  { 8, 3 },         { 16, 4 }, { 31, 4 },
                                            { 32, 5 }, { UINT32_MAX, 5 } };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(qr_draft_class(expected[i][0]), expected[i][1]);
}

/* Depths whose cost is not measured, or is no time, are not chosen, and the state stays usable. */
static void unusable_costs(void **state)
{
    (void)state;
    static const double bad[] = { 0, -1, NAN, INFINITY, -INFINITY };
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++)
        for (uint32_t at = 0; at < QR_DRAFT_COSTS; at++) {
            struct qr_draft_costs costs = cost_tables[2];
            struct simulation s;
            start(&s, &cost_tables[2]);
            simulate(&s, (struct acceptance){ 1, 1 }, 0, 300);
            costs.step_seconds[at] = bad[b];
            const uint32_t n = qr_draft_depth_choose(&s.depth, &costs, 0, QR_DRAFT_MAX_DEPTH);
            assert_int_equal(n, at ? (1u << (at - 1)) - 1 : 0);
            qr_draft_depth_record(&s.depth, &costs, 0, QR_DRAFT_MAX_DEPTH, n, n);
            assert_int_equal(qr_draft_depth_choose(&s.depth, s.costs, 0, 31), 31);
        }
    struct simulation s;
    const struct qr_draft_costs none = { .n_costs = 0 };
    start(&s, &none);
    assert_int_equal(qr_draft_depth_choose(&s.depth, &none, 0, 31), 0);
    qr_draft_depth_record(&s.depth, &none, 0, 31, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_the_best_fixed_depth),
        cmocka_unit_test(losses_are_bounded),
        cmocka_unit_test(probes_at_growing_intervals),
        cmocka_unit_test(follows_a_change),
        cmocka_unit_test(classes_are_separate),
        cmocka_unit_test(class_of_a_match),
        cmocka_unit_test(unusable_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
