/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampling_logprobs.c - log-probabilities against a sorted list in double precision. */
#include "engine/philox.h"
#include "quire_cmocka.h"
#include <float.h>
#include <math.h>
#include <quire/sampling.h>

enum { MAX_V = 3000 };

struct token {
    double logprob;
    int32_t id;
};

static int by_rank(const void *a, const void *b)
{
    const struct token *x = a, *y = b;
    if (x->logprob != y->logprob)
        return x->logprob > y->logprob ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static bool close_to(float got, double want)
{
    return fabs((double)got - want) <= 1e-6 * fabs(want) + 1e-12;
}

static void random_rows(void **state)
{
    (void)state;
    static float logits[MAX_V];
    static struct token sorted[MAX_V];
    static struct quire_token_logprob top[QUIRE_MAX_TOP_LOGPROBS + 1];
    static const uint32_t n_tops[] = { 0, 1, 5, 20, QUIRE_MAX_TOP_LOGPROBS };
    for (uint32_t row = 0; row < 400; row++) {
        const uint32_t n =
            1 + (uint32_t)(qr_philox_uniform(1, row, 0) * (row % 3 ? 60 : MAX_V - 1));
        for (uint32_t i = 0; i < n; i++) {
            const double u = qr_philox_uniform(2, row, i);
            logits[i] = (float)(row % 2 ? floor(u * 20 - 10) : u * 40 - 20);
            if (row % 4 == 0 && qr_philox_uniform(3, row, i) < 0.4)
                logits[i] = -INFINITY;
        }
        logits[n / 2] = 3;
        double sum = 0, max = -INFINITY;
        for (uint32_t i = 0; i < n; i++)
            max = fmax(max, (double)logits[i]);
        for (uint32_t i = 0; i < n; i++)
            sum += exp((double)logits[i] - max);
        for (uint32_t i = 0; i < n; i++)
            sorted[i] = (struct token){ (double)logits[i] - max - log(sum), (int32_t)i };
        const uint32_t asked = row % n, n_top = n_tops[row % 5];
        const double of_asked = sorted[asked].logprob;
        qsort(sorted, n, sizeof sorted[0], by_rank);
        struct quire_token_logprob chosen;
        top[n_top].token = 12345;
        assert_status(QUIRE_OK,
                      quire_logprobs(logits, n, (int32_t)asked, &chosen, n_top, top, NULL));
        assert_int_equal(chosen.token, asked);
        assert_true(logits[asked] == -INFINITY ? chosen.logprob == -INFINITY
                                               : close_to(chosen.logprob, of_asked));
        for (uint32_t i = 0; i < n_top; i++) {
            const bool possible = i < n && sorted[i].logprob > -INFINITY;
            assert_int_equal(top[i].token, possible ? sorted[i].id : -1);
            assert_true(possible ? close_to(top[i].logprob, sorted[i].logprob)
                                 : top[i].logprob == -INFINITY);
        }
        assert_int_equal(top[n_top].token, 12345);
    }
}

static void extremes(void **state)
{
    (void)state;
    struct quire_token_logprob chosen, top[3];
    const float one[] = { -INFINITY, -3e38f, -INFINITY };
    assert_status(QUIRE_OK, quire_logprobs(one, 3, 1, &chosen, 3, top, NULL));
    assert_true(chosen.logprob == 0 && !signbit(chosen.logprob) && top[0].logprob == 0);
    assert_true(top[0].token == 1 && top[1].token == -1 && top[2].token == -1);
    const float wide[] = { FLT_MAX, -FLT_MAX, 0 };
    assert_status(QUIRE_OK, quire_logprobs(wide, 3, 2, &chosen, 3, top, NULL));
    assert_true(chosen.logprob == -FLT_MAX && top[2].token == 1);
    /* a probability near 1 keeps its digits */
    const float sure[] = { 20, 0 };
    assert_status(QUIRE_OK, quire_logprobs(sure, 2, 0, &chosen, 0, NULL, NULL));
    assert_true(close_to(chosen.logprob, -log1p(exp(-20))));
    assert_status(QUIRE_OK, quire_logprobs(sure, 2, -7, NULL, 2, top, NULL));
    assert_true(top[0].token == 0 && top[1].token == 1);
}

static void bad_calls(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_token_logprob chosen = { 5, 6 }, top[2] = { { 7, 8 }, { 7, 8 } };
    float logits[] = { 1, 2 };
    const struct {
        quire_status status;
        const float *logits;
        uint32_t n_vocab;
        int32_t token;
        uint32_t n_top;
        struct quire_token_logprob *top;
        const char *message;
    } cases[] = {
        { QUIRE_E_INVALID_ARG, NULL, 2, 0, 2, top, "logits is NULL" },
        { QUIRE_E_INVALID_ARG, logits, 2, 0, 2, NULL, "top is NULL" },
        { QUIRE_E_INVALID_ARG, logits, 0, 0, 2, top, "n_vocab" },
        { QUIRE_E_INVALID_ARG, logits, 2, 0, QUIRE_MAX_TOP_LOGPROBS + 1, top, "n_top 257" },
        { QUIRE_E_RANGE, logits, 2, 2, 2, top, "token 2" },
        { QUIRE_E_RANGE, logits, 2, -1, 2, top, "token -1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_status(cases[i].status,
                      quire_logprobs(cases[i].logits, cases[i].n_vocab, cases[i].token, &chosen,
                                     cases[i].n_top, cases[i].top, &err));
        assert_non_null(strstr(err.msg, cases[i].message));
    }
    const float bad[] = { NAN, INFINITY, -INFINITY };
    for (int i = 0; i < 3; i++) {
        logits[1] = bad[i];
        logits[0] = i == 2 ? -INFINITY : 1;
        assert_status(QUIRE_E_NUMERIC, quire_logprobs(logits, 2, 0, &chosen, 2, top, &err));
        assert_non_null(strstr(err.msg, i == 0 ? "NaN" : i == 1 ? "infinite" : "-infinity"));
    }
    assert_true(chosen.token == 5 && top[0].token == 7 && top[1].token == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_rows),
        cmocka_unit_test(extremes),
        cmocka_unit_test(bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
