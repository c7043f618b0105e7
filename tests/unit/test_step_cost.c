/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_cost.c - estimates of the duration of a step by its rows. */
#include "engine/step_cost.h"
#include "quire_cmocka.h"
#include <math.h>

static void expect(const struct qr_step_cost *c, uint32_t rows, double seconds)
{
    const double got = qr_step_cost_estimate(c, rows);
    if (fabs(got - seconds) > 1e-12)
        fail_msg("%u rows: %g, expected %g", rows, got, seconds);
}

/* Before a measurement nothing is known; beyond the measured sizes a tenth more per doubling;
 * between them a line. */
static void estimates(void **state)
{
    (void)state;
    struct qr_step_cost c = { 0 };
    expect(&c, 1, 0);
    qr_step_cost_record(&c, 0, 7); /* no rows: not a step */
    expect(&c, 1, 0);
    qr_step_cost_record(&c, 1, 1);
    expect(&c, 1, 1);
    expect(&c, 2, 1.1);
    expect(&c, 8, 1.1 * 1.1 * 1.1);
    qr_step_cost_record(&c, 8, 3);
    expect(&c, 1, 1);
    expect(&c, 4, 1 + 2.0 * 3 / 7);
    expect(&c, 8, 3);
    expect(&c, 16, 3.3);
    qr_step_cost_record(&c, UINT32_MAX, 50); /* the last class takes all larger steps */
    expect(&c, UINT32_MAX, 50);
}

/* Averages follow a change of speed, and steps of one class share an average. */
static void averages(void **state)
{
    (void)state;
    struct qr_step_cost c = { 0 };
    qr_step_cost_record(&c, 2, 1);
    for (int i = 0; i < 200; i++)
        qr_step_cost_record(&c, 3, 2);
    assert_true(fabs(qr_step_cost_estimate(&c, 3) - 2) < 1e-6);
    qr_step_cost_record(&c, 3, 12);
    assert_true(fabs(qr_step_cost_estimate(&c, 3) - 3) < 1e-6);
}

/* A request drafts in a step that the others share: its 2^i rows come on top of theirs. */
static void costs_of_a_request(void **state)
{
    (void)state;
    struct qr_step_cost c = { 0 };
    struct qr_draft_costs costs;
    qr_step_cost_of_rows(&c, 1, &costs);
    assert_int_equal(costs.n_costs, 0); /* nothing measured: no draft */
    for (uint32_t rows = 1; rows <= 64; rows *= 2)
        qr_step_cost_record(&c, rows, rows);
    qr_step_cost_of_rows(&c, 1, &costs);
    assert_int_equal(costs.n_costs, QR_DRAFT_COSTS);
    for (uint32_t i = 0; i < QR_DRAFT_COSTS; i++)
        assert_true(fabs(costs.step_seconds[i] - (1u << i)) < 1e-12);
    qr_step_cost_of_rows(&c, 5, &costs);
    for (uint32_t i = 0; i < QR_DRAFT_COSTS; i++)
        assert_true(fabs(costs.step_seconds[i] - (4 + (1u << i))) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates),
        cmocka_unit_test(averages),
        cmocka_unit_test(costs_of_a_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
