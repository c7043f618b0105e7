/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampling.c - the sampler against directly computed probabilities; edge cases and errors. */
#include "engine/philox.h"
#include "quire_cmocka.h"
#include <math.h>
#include <quire/sampling.h>

enum { MAX_V = 512 };

static struct quire_sampling_params plain(void)
{
    struct quire_sampling_params p;
    quire_sampling_params_init(&p, sizeof p);
    p.temperature = 1;
    p.top_k = 0;
    p.top_p = 1;
    p.min_p = 0;
    return p;
}

static quire_status choose(uint32_t n, const float *logits, const struct quire_sampling_params *p,
                           const int32_t *history, size_t n_history, uint32_t stream,
                           uint64_t index, int32_t *token, struct quire_error *err)
{
    struct quire_sampler *s;
    assert_status(QUIRE_OK, quire_sampler_create(n, NULL, &s, NULL));
    const struct quire_sample_args step = { .struct_size = sizeof step,
                                            .logits = logits,
                                            .history = history,
                                            .n_history = n_history,
                                            .stream = stream,
                                            .index = index };
    const quire_status status = quire_sampler_sample(s, p, &step, token, err);
    quire_sampler_destroy(s);
    return status;
}

/* Known answers of Random123 (kat_vectors, philox4x32, 10 rounds). */
static void test_philox_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { ~0u, ~0u, ~0u, ~0u },
          { ~0u, ~0u },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t i = 0; i < 3; i++) {
        uint32_t c[4];
        memcpy(c, cases[i].counter, sizeof c);
        qr_philox4x32(c, cases[i].key);
        assert_memory_equal(c, cases[i].out, sizeof c);
    }
    double least = 1, most = 0, sum = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        const double u = qr_philox_uniform(42, 0, i);
        assert_true(u >= 0 && u < 1);
        least = u < least ? u : least;
        most = u > most ? u : most;
        sum += u;
    }
    assert_true(least < 1e-3 && most > 1 - 1e-3 && fabs(sum / 20000 - 0.5) < 0.01);
    assert_true(qr_philox_uniform(1, 0, 0) != qr_philox_uniform(1ull << 32 | 1, 0, 0));
    assert_true(qr_philox_uniform(1, 0, 7) != qr_philox_uniform(1, 1, 7));
}

static void random_logits(float *logits, uint32_t n, uint64_t seed)
{
    for (uint32_t i = 0; i < n; i++)
        logits[i] = (float)(8 * qr_philox_uniform(seed, 99, i) - 4);
}

struct ranked {
    double logit;
    int32_t id;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit > y->logit ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* Reference: sorts all tokens, truncates, normalizes. */
static void expected(const float *logits, uint32_t n, const struct quire_sampling_params *p,
                     double *prob)
{
    struct ranked r[MAX_V];
    for (uint32_t i = 0; i < n; i++)
        r[i] = (struct ranked){ logits[i], (int32_t)i };
    qsort(r, n, sizeof r[0], by_rank);
    uint32_t kept = p->top_k > 0 && (uint32_t)p->top_k < n ? (uint32_t)p->top_k : n;
    double total = 0, sum = 0;
    for (uint32_t i = 0; i < kept; i++)
        total += exp(r[i].logit - r[0].logit);
    if (p->top_p < 1) {
        uint32_t m = 0;
        while (m < kept && (m == 0 || sum < p->top_p * total))
            sum += exp(r[m++].logit - r[0].logit);
        kept = m;
    }
    while (kept > 1 && exp(r[kept - 1].logit - r[0].logit) < (double)p->min_p)
        kept--;
    for (uint32_t i = 0; i < n; i++)
        prob[i] = 0;
    total = 0;
    for (uint32_t i = 0; i < kept; i++)
        total += prob[r[i].id] = exp((r[i].logit - r[0].logit) / (double)p->temperature);
    for (uint32_t i = 0; i < n; i++)
        prob[i] /= total;
}

static void check_distribution(uint32_t n, const struct quire_sampling_params *p)
{
    enum { DRAWS = 4000 };
    float logits[MAX_V] = { 0 };
    double prob[MAX_V];
    uint32_t seen[MAX_V] = { 0 };
    random_logits(logits, n, 5);
    logits[3] = logits[1]; /* a tie */
    expected(logits, n, p, prob);
    struct quire_sampler *s;
    assert_status(QUIRE_OK, quire_sampler_create(n, NULL, &s, NULL));
    for (uint64_t i = 0; i < DRAWS; i++) {
        const struct quire_sample_args step = { .struct_size = sizeof step,
                                                .logits = logits,
                                                .index = i };
        int32_t token;
        assert_status(QUIRE_OK, quire_sampler_sample(s, p, &step, &token, NULL));
        assert_true(token >= 0 && (uint32_t)token < n);
        seen[token]++;
    }
    quire_sampler_destroy(s);
    for (uint32_t i = 0; i < n; i++) {
        if (prob[i] == 0)
            assert_int_equal(seen[i], 0);
        /* five standard deviations of the count, plus 3 for rare tokens */
        const double want = prob[i] * DRAWS, allowed = 5 * sqrt(want * (1 - prob[i])) + 3;
        if (fabs(seen[i] - want) > allowed)
            fail_msg("token %u of %u: drawn %u times, expected %.1f", i, n, seen[i], want);
    }
}

static void test_distributions(void **state)
{
    (void)state;
    static const struct {
        float temperature;
        int32_t top_k;
        float top_p, min_p;
    } cases[] = {
        { 1, 0, 1, 0 },          { 0.5f, 0, 1, 0 },
        { 2, 0, 1, 0 },          { 1, 5, 1, 0 },
        { 1, 1, 1, 0 },          { 1, 1000, 1, 0 },
        { 1, 0, 0.5f, 0 },       { 0.7f, 0, 0.9f, 0.05f },
        { 1, 0, 1, 0.2f },       { 0.8f, 40, 0.95f, 0.05f },
        { 1.5f, 7, 0.6f, 0.1f }, { 1, 0, 0, 0 },
        { 1, 0, 1, 1 },          { 1, 12, 0.99f, 0 },
        { 1, 0, 0.999f, 0 },
    };
    static const uint32_t sizes[] = { 5, 17, 64, MAX_V };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t j = 0; j < 4; j++) {
            struct quire_sampling_params p = plain();
            p.temperature = cases[i].temperature;
            p.top_k = cases[i].top_k;
            p.top_p = cases[i].top_p;
            p.min_p = cases[i].min_p;
            check_distribution(sizes[j], &p);
        }
}

static void test_greedy_and_ties(void **state)
{
    (void)state;
    const float logits[] = { -INFINITY, 2, 5, 5, 5, 1 };
    struct quire_sampling_params p = plain();
    int32_t token;
    p.temperature = 0;
    for (uint64_t i = 0; i < 20; i++) {
        assert_status(QUIRE_OK, choose(6, logits, &p, NULL, 0, 0, i, &token, NULL));
        assert_int_equal(token, 2);
    }
    /* top-k breaks ties by ascending id */
    p.temperature = 1;
    for (int32_t k = 1; k <= 3; k++) {
        p.top_k = k;
        uint32_t seen = 0;
        for (uint64_t i = 0; i < 200; i++) {
            assert_status(QUIRE_OK, choose(6, logits, &p, NULL, 0, 0, i, &token, NULL));
            seen |= 1u << token;
        }
        assert_int_equal(seen, k == 1 ? 0x4 : k == 2 ? 0xc : 0x1c);
    }
    /* tiny and huge temperatures stay finite */
    p.top_k = 0;
    p.temperature = 1e-30f;
    assert_status(QUIRE_OK, choose(6, logits, &p, NULL, 0, 0, 1, &token, NULL));
    assert_true(token >= 2 && token <= 4);
    p.temperature = 3e38f;
    assert_status(QUIRE_OK, choose(6, logits, &p, NULL, 0, 0, 1, &token, NULL));
    assert_true(token >= 1);
}

static void test_reproducible(void **state)
{
    (void)state;
    float logits[MAX_V];
    random_logits(logits, MAX_V, 3);
    struct quire_sampling_params p = plain();
    int32_t a, b;
    int other_seed = 0, other_stream = 0;
    for (uint64_t i = 0; i < 50; i++) {
        p.seed = 7;
        assert_status(QUIRE_OK, choose(MAX_V, logits, &p, NULL, 0, 0, i, &a, NULL));
        assert_status(QUIRE_OK, choose(MAX_V, logits, &p, NULL, 0, 0, i, &b, NULL));
        assert_int_equal(a, b);
        assert_status(QUIRE_OK, choose(MAX_V, logits, &p, NULL, 0, 1, i, &b, NULL));
        other_stream += a != b;
        p.seed = 8;
        assert_status(QUIRE_OK, choose(MAX_V, logits, &p, NULL, 0, 0, i, &b, NULL));
        other_seed += a != b;
    }
    assert_true(other_seed > 40 && other_stream > 40);
}

/* Draws from a whole vocabulary of several blocks: the token whose interval of the CDF has u. A
 * third of the tokens, a whole block and the last one are impossible. */
static void test_draws_of_a_large_vocabulary(void **state)
{
    (void)state;
    enum { N = 5000 };
    float *logits = malloc(N * sizeof *logits);
    assert_non_null(logits);
    random_logits(logits, N, 5);
    for (uint32_t i = 0; i < N; i++)
        if (i % 3 == 1 || (i >= 1024 && i < 2048) || i >= N - 2)
            logits[i] = -INFINITY;
    struct quire_sampling_params p = plain();
    for (uint64_t index = 0; index < 600; index++) {
        p.temperature = index % 2 ? 1 : 0.3f;
        double total = 0, sum = 0;
        for (uint32_t i = 0; i < N; i++)
            total += exp(logits[i] / (double)p.temperature);
        const double target = total * qr_philox_uniform(p.seed, 0, index);
        uint32_t want = 0;
        while ((sum += exp(logits[want] / (double)p.temperature)) <= target)
            want++;
        int32_t token;
        assert_status(QUIRE_OK, choose(N, logits, &p, NULL, 0, 0, index, &token, NULL));
        assert_int_equal(token, want);
    }
    free(logits);
}

/* The greedy choice shows the order of the penalized logits. */
static void test_penalties(void **state)
{
    (void)state;
    const float logits[] = { 4, 3, -1, -1.5f };
    struct quire_sampling_params p = plain();
    p.temperature = 0;
    const int32_t history[] = { 0, 0, 2, -7, 99 }; /* ids outside the vocabulary are ignored */
    int32_t token;
    p.repetition_penalty = 1.5f; /* 4 / 1.5 < 3 */
    assert_status(QUIRE_OK, choose(4, logits, &p, history, 5, 0, 0, &token, NULL));
    assert_int_equal(token, 1);
    p.repetition_penalty = 1.3f; /* 4 / 1.3 > 3: applied once per token, not per occurrence */
    assert_status(QUIRE_OK, choose(4, logits, &p, history, 5, 0, 0, &token, NULL));
    assert_int_equal(token, 0);
    const float negative[] = { -1, -1.2f };
    p.repetition_penalty = 1.5f; /* -1 * 1.5 < -1.2 */
    assert_status(QUIRE_OK, choose(2, negative, &p, history, 1, 0, 0, &token, NULL));
    assert_int_equal(token, 1);

    p.repetition_penalty = 1;
    p.presence_penalty = 1.1f;
    assert_status(QUIRE_OK, choose(4, logits, &p, history, 5, 0, 0, &token, NULL));
    assert_int_equal(token, 1);
    p.presence_penalty = 0.9f;
    assert_status(QUIRE_OK, choose(4, logits, &p, history, 5, 0, 0, &token, NULL));
    assert_int_equal(token, 0);
    p.presence_penalty = 0;
    p.frequency_penalty = 0.55f; /* twice */
    assert_status(QUIRE_OK, choose(4, logits, &p, history, 5, 0, 0, &token, NULL));
    assert_int_equal(token, 1);
    p.frequency_penalty = 0.45f;
    assert_status(QUIRE_OK, choose(4, logits, &p, history, 5, 0, 0, &token, NULL));
    assert_int_equal(token, 0);
    p.frequency_penalty = 0.55f; /* one occurrence in the last 4 tokens */
    p.penalty_last_n = 4;
    assert_status(QUIRE_OK, choose(4, logits, &p, history, 5, 0, 0, &token, NULL));
    assert_int_equal(token, 0);
    p.penalty_last_n = -1;
    assert_status(QUIRE_OK, choose(4, logits, &p, history, 5, 0, 0, &token, NULL));
    assert_int_equal(token, 1);
    p.penalty_last_n = 0;
    assert_status(QUIRE_OK, choose(4, logits, &p, history, 5, 0, 0, &token, NULL));
    assert_int_equal(token, 0);
}

static void test_logit_bias(void **state)
{
    (void)state;
    const float logits[] = { 4, 3, 2 };
    const struct quire_logit_bias bias[] = { { 0, -INFINITY }, { 2, 0.6f }, { 2, 0.6f } };
    struct quire_sampling_params p = plain();
    int32_t token;
    p.temperature = 0;
    p.logit_bias = bias;
    p.n_logit_bias = 3;
    assert_status(QUIRE_OK, choose(3, logits, &p, NULL, 0, 0, 0, &token, NULL));
    assert_int_equal(token, 2);
}

static void test_bad_logits(void **state)
{
    (void)state;
    struct quire_sampling_params p = plain();
    struct quire_error err = QUIRE_ERROR_INIT;
    int32_t token = 5;
    for (int greedy = 0; greedy < 2; greedy++) {
        p.temperature = greedy ? 0.0f : 1.0f;
        for (uint32_t bad = 0; bad < 3; bad++) {
            float logits[] = { 1, 2, 3 };
            logits[bad] = NAN;
            assert_status(QUIRE_E_NUMERIC, choose(3, logits, &p, NULL, 0, 0, 0, &token, &err));
            assert_non_null(strstr(err.msg, "NaN"));
            assert_int_equal(token, -1);
            logits[bad] = INFINITY;
            assert_status(QUIRE_E_NUMERIC, choose(3, logits, &p, NULL, 0, 0, 0, &token, &err));
        }
        const float none[] = { -INFINITY, -INFINITY };
        assert_status(QUIRE_E_NUMERIC, choose(2, none, &p, NULL, 0, 0, 0, &token, &err));
        assert_non_null(strstr(err.msg, "-infinity"));
        /* penalties that overflow to infinity are detected */
        const float big[] = { 3e38f, 1 };
        const int32_t history[] = { 0 };
        p.presence_penalty = -3e38f;
        assert_status(QUIRE_E_NUMERIC, choose(2, big, &p, history, 1, 0, 0, &token, &err));
        p.presence_penalty = 0;
    }
}

static void test_bad_params(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    const float bad_numbers[] = { NAN, INFINITY, -INFINITY, -0.5f };
    struct {
        size_t offset;
        const char *name;
        float above; /* another invalid value: too large, or NaN */
    } fields[] = {
        { offsetof(struct quire_sampling_params, temperature), "temperature", NAN },
        { offsetof(struct quire_sampling_params, top_p), "top_p", 1.01f },
        { offsetof(struct quire_sampling_params, min_p), "min_p", 1.01f },
        { offsetof(struct quire_sampling_params, repetition_penalty), "repetition_penalty", 0 },
    };
    for (size_t f = 0; f < 4; f++)
        for (size_t i = 0; i < 5; i++) {
            struct quire_sampling_params p = plain();
            *(float *)(void *)((char *)&p + fields[f].offset) =
                i < 4 ? bad_numbers[i] : fields[f].above;
            assert_status(QUIRE_E_INVALID_ARG, quire_sampling_validate(&p, 10, &err));
            assert_non_null(strstr(err.msg, fields[f].name));
        }
    struct quire_sampling_params p = plain();
    p.presence_penalty = NAN;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampling_validate(&p, 10, &err));
    p = plain();
    p.frequency_penalty = INFINITY;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampling_validate(&p, 10, &err));
    p = plain();
    p.penalty_last_n = -2;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampling_validate(&p, 10, &err));
    p = plain();
    p.n_logit_bias = 1;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampling_validate(&p, 10, &err));
    struct quire_logit_bias bias = { 10, 0 };
    p.logit_bias = &bias;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampling_validate(&p, 10, &err));
    bias = (struct quire_logit_bias){ 9, NAN };
    assert_status(QUIRE_E_INVALID_ARG, quire_sampling_validate(&p, 10, &err));
    bias.bias = -INFINITY;
    assert_status(QUIRE_OK, quire_sampling_validate(&p, 10, &err));
    p.struct_size = offsetof(struct quire_sampling_params, dynatemp_range) - 1;
    assert_status(QUIRE_E_MISUSE, quire_sampling_validate(&p, 10, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_sampling_validate(NULL, 10, &err));
}

static void test_bad_calls(void **state)
{
    (void)state;
    struct quire_sampler *s = (void *)1;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_create(0, NULL, &s, NULL));
    assert_null(s);
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_create(1u << 30, NULL, &s, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_create(4, NULL, NULL, NULL));
    for (size_t at = 1; at <= 4; at++) {
        struct fail_alloc f;
        fail_alloc_init(&f, at, false);
        assert_status(QUIRE_E_NOMEM, quire_sampler_create(64, &f.hooks, &s, NULL));
        assert_int_equal(f.live_count, 0);
    }
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    assert_status(QUIRE_OK, quire_sampler_create(4, &f.hooks, &s, NULL));
    const size_t calls = f.calls;
    const struct quire_sampling_params p = plain();
    const float logits[] = { 1, 2, 3, 4 };
    struct quire_sample_args step = { .struct_size = sizeof step, .logits = logits };
    int32_t token;
    assert_status(QUIRE_OK, quire_sampler_sample(s, &p, &step, &token, NULL));
    assert_int_equal(f.calls, calls); /* quire_sampler_sample() allocates nothing */
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_sample(NULL, &p, &step, &token, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_sample(s, NULL, &step, &token, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_sample(s, &p, NULL, &token, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_sample(s, &p, &step, NULL, NULL));
    step.n_history = 1;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_sample(s, &p, &step, &token, NULL));
    step.n_history = 0;
    step.logits = NULL;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_sample(s, &p, &step, &token, NULL));
    step.struct_size = 3;
    assert_status(QUIRE_E_MISUSE, quire_sampler_sample(s, &p, &step, &token, NULL));
    quire_sampler_destroy(s);
    quire_sampler_destroy(NULL);
    assert_int_equal(f.live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_known_answers),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_greedy_and_ties),
        cmocka_unit_test(test_reproducible),
        cmocka_unit_test(test_draws_of_a_large_vocabulary),
        cmocka_unit_test(test_penalties),
        cmocka_unit_test(test_logit_bias),
        cmocka_unit_test(test_bad_logits),
        cmocka_unit_test(test_bad_params),
        cmocka_unit_test(test_bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
