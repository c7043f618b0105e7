/* SPDX-License-Identifier: Apache-2.0 */
/* test_chunk_size.c - prompt tokens of a step by the measured durations of earlier steps. */
#include "engine/chunk_size.h"
#include "quire_cmocka.h"
#include <math.h>

enum { MAX = 256, DECODING = 8 };

/* Steps of a machine: reading the weights takes 10 ms, arithmetic 0.1 ms a row. */
static double machine(uint32_t rows) { return 0.010 > 1e-4 * rows ? 0.010 : 1e-4 * rows; }

/* Plays n steps with prompts, each of the chosen size; the last size. */
static uint32_t play(struct qr_chunk_size *c, uint32_t n, double target)
{
    uint32_t tokens = 0;
    for (uint32_t i = 0; i < n; i++) {
        tokens = qr_chunk_size_choose(c, DECODING, 1, target, MAX);
        assert_in_range(tokens, 1, MAX);
        qr_chunk_size_record(c, tokens, tokens + DECODING, machine(tokens + DECODING));
    }
    return tokens;
}

static void without_limit(void **state)
{
    (void)state;
    struct qr_chunk_size c = { 0 };
    assert_int_equal(qr_chunk_size_choose(&c, DECODING, 1, 0.001, MAX), MAX); /* nothing measured */
    qr_chunk_size_record(&c, 16, 24, 1);
    assert_int_equal(qr_chunk_size_choose(&c, 0, 1, 0.001, MAX), MAX); /* nobody waits */
    assert_int_equal(qr_chunk_size_choose(&c, DECODING, 1, 0, MAX),
                     MAX); /* no default target yet */
    assert_int_equal(qr_chunk_size_choose(&c, DECODING, 1, INFINITY, MAX), MAX);
    assert_int_equal(qr_chunk_size_choose(&c, DECODING, 1, 0.001, 7), 7);
}

/* The size settles where a step takes the target, whatever was measured first: the average cost of
 * a token in small chunks, which is mostly the reading of the weights, does not keep them small. */
static void settles(void **state)
{
    (void)state;
    static const uint32_t first[] = { 16, 64, MAX };
    for (int i = 0; i < 3; i++) {
        struct qr_chunk_size c = { 0 };
        qr_chunk_size_record(&c, first[i], first[i] + DECODING, machine(first[i] + DECODING));
        assert_in_range(play(&c, 200, 0.015), 112, 144);    /* 150 rows */
        assert_int_equal(play(&c, 200, 0.001), 16);         /* cannot be met */
        assert_int_equal(play(&c, 400, 1), MAX - MAX % 16); /* always met */
    }
}

static void default_target(void **state)
{
    (void)state;
    struct qr_chunk_size c = { 0 };
    for (int i = 0; i < 100; i++)
        qr_chunk_size_record(&c, 0, DECODING, 0.008); /* 2.5 times: 20 ms, 200 rows */
    qr_chunk_size_record(&c, 16, 24, machine(24));
    assert_in_range(play(&c, 200, 0), 176, 192);
}

/* Steps are longer while more prompts are computed than answers, but not without bound. A target of
 * the caller stays what it is. */
static void many_prompts(void **state)
{
    (void)state;
    static const struct {
        uint32_t n_decoding, n_prompts;
        double slowdown;
    } cases[] = { { 8, 1, 2.5 }, { 8, 8, 2.5 }, { 8, 12, 3.75 }, { 1, 1, 2.5 },
                  { 1, 2, 5 },   { 3, 12, 10 }, { 1, 100, 10 },  { 1, UINT32_MAX, 10 } };
    struct qr_chunk_size c = { 0 };
    for (int i = 0; i < 100; i++)
        qr_chunk_size_record(&c, 0, DECODING, 0.002);
    for (uint32_t rows = 16; rows <= MAX; rows += 16)
        qr_chunk_size_record(&c, rows, rows, 1e-4 * rows);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t n = qr_chunk_size_choose(&c, cases[i].n_decoding, cases[i].n_prompts, 0,
                                                MAX),
                       rows = n + cases[i].n_decoding;
        assert_true(1e-4 * rows <= cases[i].slowdown * 0.002);
        assert_true(1e-4 * (rows + 32) > cases[i].slowdown * 0.002);
        assert_int_equal(
            qr_chunk_size_choose(&c, cases[i].n_decoding, cases[i].n_prompts, 0.005, MAX),
            (50 - cases[i].n_decoding) / 16 * 16);
    }
}

/* A size that was slow once, because of a disturbance, is tried again. */
static void forgets_a_disturbance(void **state)
{
    (void)state;
    struct qr_chunk_size c = { 0 };
    qr_chunk_size_record(&c, 64, 72, 5);
    assert_int_equal(play(&c, 1, 0.015), 16);
    assert_in_range(play(&c, 1000, 0.015), 112, 144);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_limit),         cmocka_unit_test(settles),
        cmocka_unit_test(default_target),        cmocka_unit_test(many_prompts),
        cmocka_unit_test(forgets_a_disturbance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
