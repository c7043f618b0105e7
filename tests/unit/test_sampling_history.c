/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampling_history.c - samplers that depend on earlier tokens: DRY by known answers, mirostat
 * and its state. */
#include "engine/philox.h"
#include "quire_cmocka.h"
#include <math.h>
#include <quire/sampling.h>

enum { VOCAB = 64, SEED = 5 };

/* ---- DRY */

static struct quire_sampling_params dry(void)
{
    struct quire_sampling_params p;
    quire_sampling_params_init(&p, sizeof p);
    p.temperature = 0;
    p.dry_multiplier = 1;
    p.dry_base = 2;
    p.dry_allowed_length = 2;
    return p;
}

/* The penalty of `token`: the gap to the best other logit at which the greedy choice changes. */
static double penalty_of(const struct quire_sampling_params *p, const int32_t *history, size_t n,
                         int32_t token)
{
    struct quire_sampler *s;
    double low = 0, high = 1 << 20;
    float logits[VOCAB];
    assert_status(QUIRE_OK, quire_sampler_create(VOCAB, NULL, &s, NULL));
    while (high - low > 1e-3 * (1 + low)) {
        const double gap = (low + high) / 2;
        for (int i = 0; i < VOCAB; i++)
            logits[i] = -INFINITY;
        logits[VOCAB - 1] = 0; /* a token without penalty */
        logits[token] = (float)gap;
        const struct quire_sample_args args = {
            .struct_size = sizeof args, .logits = logits, .history = history, .n_history = n
        };
        int32_t best;
        assert_status(QUIRE_OK, quire_sampler_sample(s, p, &args, &best, NULL));
        *(best == token ? &high : &low) = gap;
    }
    quire_sampler_destroy(s);
    return low < 1e-2 ? 0 : high;
}

static void check_penalty(const struct quire_sampling_params *p, const int32_t *history, size_t n,
                          int32_t token, double want)
{
    const double got = penalty_of(p, history, n, token);
    if (fabs(got - want) > 4e-3 * (1 + want))
        fail_msg("the penalty of token %d is %g, expected %g", token, got, want);
}

static void dry_known_answers(void **state)
{
    (void)state;
    const int32_t h[] = { 1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3 };
    struct quire_sampling_params p = dry();
    check_penalty(&p, h, 11, 4, 2); /* 1 2 3 -> 4: three tokens, 2^(3 - 2) */
    check_penalty(&p, h, 11, 5, 1); /* 2 3 -> 5: two tokens */
    check_penalty(&p, h, 11, 1, 0);
    p.dry_allowed_length = 3;
    check_penalty(&p, h, 11, 4, 1);
    check_penalty(&p, h, 11, 5, 0);
    p.dry_allowed_length = 1;
    check_penalty(&p, h, 11, 4, 4);
    p = dry();
    p.dry_multiplier = 0.5f;
    check_penalty(&p, h, 11, 4, 1);
    p.dry_base = 0; /* 1.75 */
    check_penalty(&p, h, 11, 4, 0.5 * 1.75);
    p = dry();
    p.dry_penalty_last_n = 10; /* 2 3 4 9 2 3 5 1 2 3: two tokens before the 4 */
    check_penalty(&p, h, 11, 4, 1);
    p.dry_penalty_last_n = 8; /* 4 9 2 3 5 1 2 3 */
    check_penalty(&p, h, 11, 4, 0);
    check_penalty(&p, h, 11, 5, 1);
    p.dry_penalty_last_n = -1;
    check_penalty(&p, h, 11, 4, 2);
    p.dry_multiplier = 0;
    check_penalty(&p, h, 11, 4, 0);
    check_penalty(&p, NULL, 0, 4, 0);
}

/* Ids outside the vocabulary equal nothing, not even each other: no repeat contains one. */
static void dry_unknown_ids(void **state)
{
    (void)state;
    const struct quire_sampling_params p = dry();
    const int32_t same[] = { 1, -1, -1, 4, 1, -1, -1 };
    check_penalty(&p, same, 7, 4, 0);
    const int32_t before[] = { -1, 2, 3, 4, -1, 2, 3 };
    check_penalty(&p, before, 7, 4, 1); /* 2 3 -> 4: two tokens */
    const int32_t between[] = { 1, -1, 3, 4, 1, -1, 3 };
    check_penalty(&p, between, 7, 4, 0);
}

static void dry_breakers(void **state)
{
    (void)state;
    const int32_t h[] = { 1, 2, 3, 4, 9, 1, 2, 3 };
    struct quire_sampling_params p = dry();
    check_penalty(&p, h, 8, 4, 2);
    static const struct {
        int32_t breakers[8];
        uint32_t n;
        double penalty;
    } cases[] = {
        { { 1, -1 }, 2, 1 },           /* the repeat is 2 3 */
        { { 2, -1 }, 2, 0 },           /* the repeat is 3 */
        { { 3, -1 }, 2, 0 },           /* nothing is left */
        { { 9, -1 }, 2, 2 },           /* before the repeat */
        { { 4, -1 }, 2, 0 },           /* the token itself */
        { { 4, 9, -1 }, 3, 2 },        /* more than the token */
        { { 1, 2, -1 }, 3, 0 },        /* two tokens: the repeat is 3 */
        { { 9, 1, -1 }, 3, 1 },        /* ends within the repeat */
        { { 1, 2, 9, -1 }, 4, 2 },     /* does not occur */
        { { 3, 4, -1 }, 3, 2 },        /* would end after the history */
        { { 1, -1, 1, 2, -1 }, 5, 0 }, /* the longest of one place */
        { { 1, 2, -1, 1, -1 }, 5, 0 }, /* in any order */
        { { 7, -1, 9, 1, -1, 8, -1 }, 7, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        p.dry_breakers = cases[i].breakers;
        p.n_dry_breakers = cases[i].n;
        check_penalty(&p, h, 8, 4, cases[i].penalty);
    }
}

/* Long repeats: the exponent stays in the range of float, and a token with any penalty stays
 * possible. */
static void dry_long_repeats(void **state)
{
    (void)state;
    enum { N = 3 * QUIRE_DRY_MAX_REPEAT };
    static int32_t same[N];
    for (int i = 0; i < N; i++)
        same[i] = 7;
    struct quire_sampling_params p = dry();
    p.dry_base = 1;
    check_penalty(&p, same, N, 7, 1);
    p.dry_base = 1.001f;
    check_penalty(&p, same, 1000, 7, pow((double)1.001f, 999 - 2));
    check_penalty(&p, same, N, 7, pow((double)1.001f, QUIRE_DRY_MAX_REPEAT - 2));
    p.dry_allowed_length = QUIRE_DRY_MAX_REPEAT;
    check_penalty(&p, same, QUIRE_DRY_MAX_REPEAT, 7, 0);
    check_penalty(&p, same, QUIRE_DRY_MAX_REPEAT + 1, 7, 1);
    p = dry();
    struct quire_sampler *s;
    assert_status(QUIRE_OK, quire_sampler_create(8, NULL, &s, NULL));
    float logits[8];
    for (int i = 0; i < 8; i++)
        logits[i] = i == 7 ? 1 : -INFINITY;
    const struct quire_sample_args args = {
        .struct_size = sizeof args, .logits = logits, .history = same, .n_history = N
    };
    int32_t token;
    p.dry_multiplier = 3e38f;
    assert_status(QUIRE_OK, quire_sampler_sample(s, &p, &args, &token, NULL));
    assert_int_equal(token, 7);
    logits[7] = NAN; /* not hidden by the penalty */
    assert_status(QUIRE_E_NUMERIC, quire_sampler_sample(s, &p, &args, &token, NULL));
    quire_sampler_destroy(s);
}

/* ---- Mirostat */

static struct quire_sampling_params mirostat(void)
{
    struct quire_sampling_params p;
    quire_sampling_params_init(&p, sizeof p);
    p.mirostat = 2;
    p.seed = SEED;
    p.temperature = 0.9f;
    return p;
}

static void row_of(uint64_t position, float *logits)
{
    for (uint32_t i = 0; i < VOCAB; i++)
        logits[i] = (float)(10 * qr_philox_uniform(31, (uint32_t)position, i) - 5);
    logits[(position * 7) % VOCAB] = -INFINITY;
}

/* One step by the definition. Gets the distribution and returns the new mu of every token. */
static void mirostat_oracle(const float *logits, const struct quire_sampling_params *p, double mu,
                            double prob[VOCAB], double next_mu[VOCAB])
{
    const double tau = p->mirostat_tau != 0 ? (double)p->mirostat_tau : 5,
                 eta = p->mirostat_eta != 0 ? (double)p->mirostat_eta : (double)0.1f;
    double total = 0, kept = 0;
    int best = 0, n = 0;
    for (int i = 0; i < VOCAB; i++) {
        total += prob[i] = exp((double)logits[i] / (double)p->temperature);
        best = logits[i] > logits[best] ? i : best;
    }
    for (int i = 0; i < VOCAB; i++) {
        if (-log2(prob[i] / total) > mu)
            prob[i] = 0;
        n += prob[i] > 0;
        kept += prob[i];
    }
    if (n == 0)
        kept = prob[best] = 1;
    for (int i = 0; i < VOCAB; i++) {
        prob[i] /= kept;
        next_mu[i] = mu - eta * (-log2(prob[i]) - tau);
    }
}

static void mirostat_steps(void **state)
{
    (void)state;
    static const struct {
        float tau, eta, temperature;
    } cases[] = { { 0, 0, 0.9f }, { 2, 0.5f, 1 }, { 0.01f, 1, 2 }, { 8, 0.02f, 0.3f } };
    struct quire_sampler *s;
    assert_status(QUIRE_OK, quire_sampler_create(VOCAB, NULL, &s, NULL));
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct quire_sampling_params p = mirostat();
        p.mirostat_tau = cases[c].tau;
        p.mirostat_eta = cases[c].eta;
        p.temperature = cases[c].temperature;
        struct quire_sampling_state carried = { 0 };
        double mu = 2 * (cases[c].tau != 0 ? (double)cases[c].tau : 5);
        for (uint64_t at = 0; at < 300; at++) {
            float logits[VOCAB];
            double prob[VOCAB], next_mu[VOCAB];
            row_of(at, logits);
            mirostat_oracle(logits, &p, mu, prob, next_mu);
            const struct quire_sample_args args = {
                .struct_size = sizeof args, .logits = logits, .index = at, .state = &carried
            };
            int32_t token;
            assert_status(QUIRE_OK, quire_sampler_sample(s, &p, &args, &token, NULL));
            assert_true(prob[token] > 0);
            mu = next_mu[token];
            assert_true(fabs(carried.mirostat_mu - mu) < 1e-9 * (1 + fabs(mu)));
            assert_int_equal(carried.n_sampled, at + 1);
            mu = carried.mirostat_mu;
        }
    }
    quire_sampler_destroy(s);
}

static void mirostat_distribution(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    struct quire_sampler *s;
    uint32_t seen[VOCAB] = { 0 };
    float logits[VOCAB];
    double prob[VOCAB], next_mu[VOCAB];
    const struct quire_sampling_params p = mirostat();
    row_of(3, logits);
    mirostat_oracle(logits, &p, 5.5, prob, next_mu);
    assert_status(QUIRE_OK, quire_sampler_create(VOCAB, NULL, &s, NULL));
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct quire_sampling_state carried = { 9, 5.5 };
        const struct quire_sample_args args = {
            .struct_size = sizeof args, .logits = logits, .index = i, .state = &carried
        };
        int32_t token;
        assert_status(QUIRE_OK, quire_sampler_sample(s, &p, &args, &token, NULL));
        seen[token]++;
    }
    quire_sampler_destroy(s);
    double x = 0;
    int n = 0;
    for (int i = 0; i < VOCAB; i++) {
        const double want = prob[i] * DRAWS;
        if (prob[i] == 0)
            assert_int_equal(seen[i], 0);
        n += want > 0;
        x += want > 0 ? (seen[i] - want) * (seen[i] - want) / want : 0;
    }
    assert_true(n > 8 && n < VOCAB / 2);
    assert_true(x < n - 1 + 6 * sqrt(2.0 * (n - 1)));
}

/* The state is a value: a copy resumes the sequence at its token, and other parameters and earlier
 * sequences of the sampler leave no trace. */
static void mirostat_resumes(void **state)
{
    (void)state;
    enum { N = 60, AT = 23 };
    struct quire_sampler *s;
    int32_t first[N], token;
    struct quire_sampling_state carried = { 0 }, saved = { 0 };
    const struct quire_sampling_params p = mirostat();
    assert_status(QUIRE_OK, quire_sampler_create(VOCAB, NULL, &s, NULL));
    for (int pass = 0; pass < 3; pass++) {
        const int begin = pass == 2 ? AT : 0;
        carried = pass == 2 ? saved : (struct quire_sampling_state){ 0 };
        for (int i = begin; i < N; i++) {
            float logits[VOCAB];
            row_of((uint64_t)i, logits);
            const struct quire_sample_args args = { .struct_size = sizeof args,
                                                    .logits = logits,
                                                    .index = (uint64_t)i,
                                                    .state = &carried };
            if (i == AT)
                saved = carried;
            assert_status(QUIRE_OK, quire_sampler_sample(s, &p, &args, &token, NULL));
            if (pass == 0)
                first[i] = token;
            assert_int_equal(token, first[i]);
        }
    }
    quire_sampler_destroy(s);
}

static void mirostat_state_errors(void **state)
{
    (void)state;
    struct quire_sampler *s;
    struct quire_error err = QUIRE_ERROR_INIT;
    float logits[VOCAB];
    int32_t token;
    row_of(0, logits);
    struct quire_sampling_state carried = { 1, NAN };
    struct quire_sampling_params p = mirostat();
    struct quire_sample_args args = { .struct_size = sizeof args, .logits = logits };
    assert_status(QUIRE_OK, quire_sampler_create(VOCAB, NULL, &s, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_sample(s, &p, &args, &token, &err));
    assert_non_null(strstr(err.msg, "args.state is NULL"));
    args.state = &carried;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_sample(s, &p, &args, &token, &err));
    assert_non_null(strstr(err.msg, "mirostat_mu"));
    carried.mirostat_mu = -INFINITY;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_sample(s, &p, &args, &token, &err));
    assert_int_equal(token, -1);
    carried.n_sampled = 0; /* before the first token mu is not read */
    assert_status(QUIRE_OK, quire_sampler_sample(s, &p, &args, &token, &err));
    assert_int_equal(carried.n_sampled, 1);
    /* a failure changes nothing */
    const struct quire_sampling_state before = carried;
    logits[5] = NAN;
    assert_status(QUIRE_E_NUMERIC, quire_sampler_sample(s, &p, &args, &token, &err));
    assert_memory_equal(&carried, &before, sizeof before);
    logits[5] = 0;
    /* greedy and other samplers neither need nor change it */
    p.temperature = 0;
    assert_status(QUIRE_OK, quire_sampler_sample(s, &p, &args, &token, &err));
    p = mirostat();
    p.mirostat = 0;
    assert_status(QUIRE_OK, quire_sampler_sample(s, &p, &args, &token, &err));
    assert_memory_equal(&carried, &before, sizeof before);
    args.state = NULL;
    assert_status(QUIRE_OK, quire_sampler_sample(s, &p, &args, &token, &err));
    quire_sampler_destroy(s);
}

/* Mirostat takes the place of the samplers that remove tokens; penalties, DRY and bias act. */
static void mirostat_replaces_samplers(void **state)
{
    (void)state;
    struct quire_sampler *s;
    assert_status(QUIRE_OK, quire_sampler_create(VOCAB, NULL, &s, NULL));
    struct quire_sampling_params plain = mirostat(), full = mirostat(), history = mirostat();
    full.top_k = 1;
    full.top_p = full.typical_p = 0.01f;
    full.min_p = full.xtc_probability = 1;
    full.top_n_sigma = 0.1f;
    full.dynatemp_range = 0.5f;
    history.presence_penalty = 50;
    const int32_t tokens[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    for (uint64_t i = 0; i < 100; i++) {
        float logits[VOCAB];
        int32_t a, b, c;
        struct quire_sampling_state carried[3] = { { 0 } };
        row_of(i, logits);
        struct quire_sample_args args = { .struct_size = sizeof args,
                                          .logits = logits,
                                          .history = tokens,
                                          .n_history = 10,
                                          .index = i,
                                          .state = &carried[0] };
        assert_status(QUIRE_OK, quire_sampler_sample(s, &plain, &args, &a, NULL));
        args.state = &carried[1];
        assert_status(QUIRE_OK, quire_sampler_sample(s, &full, &args, &b, NULL));
        args.state = &carried[2];
        assert_status(QUIRE_OK, quire_sampler_sample(s, &history, &args, &c, NULL));
        assert_int_equal(a, b);
        assert_true(c >= 10);
    }
    quire_sampler_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dry_known_answers),
        cmocka_unit_test(dry_unknown_ids),
        cmocka_unit_test(dry_breakers),
        cmocka_unit_test(dry_long_repeats),
        cmocka_unit_test(mirostat_steps),
        cmocka_unit_test(mirostat_distribution),
        cmocka_unit_test(mirostat_resumes),
        cmocka_unit_test(mirostat_state_errors),
        cmocka_unit_test(mirostat_replaces_samplers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
