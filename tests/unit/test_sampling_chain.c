/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampling_chain.c - samplers alone and in chains of random order, against an oracle. */
#include "engine/philox.h"
#include "quire_cmocka.h"
#include "sampling_oracle.h"

enum { SEED = 11, MAX_HISTORY = 120 };

static struct quire_sampling_params all_off(void)
{
    struct quire_sampling_params p;
    quire_sampling_params_init(&p, sizeof p);
    p.temperature = 1;
    p.top_k = 0;
    p.top_p = 1;
    p.min_p = 0;
    p.seed = SEED;
    return p;
}

/* ---- Random cases; the numbers are functions of the case and the order of use. */

static uint64_t case_id, n_drawn;

static void begin_case(uint64_t id)
{
    case_id = id;
    n_drawn = 0;
}

static double uniform(void) { return qr_philox_uniform(case_id, 77, n_drawn++); }

static uint32_t below(uint32_t n) { return (uint32_t)(uniform() * n); }

static float between(double a, double b) { return (float)(a + (b - a) * uniform()); }

struct problem {
    struct quire_sampling_params p;
    uint32_t n_vocab;
    float logits[ORACLE_MAX_V];
    int32_t history[MAX_HISTORY];
    size_t n_history;
    struct quire_logit_bias bias[3];
    int32_t breakers[16];
};

static void random_row(struct problem *m, uint32_t max_vocab)
{
    m->n_vocab = 1 + below(below(4) ? 40 : max_vocab);
    const double spread = below(3) ? 4 : 12;
    const bool ties = below(2), holes = below(3) == 0;
    for (uint32_t i = 0; i < m->n_vocab; i++) {
        m->logits[i] = between(-spread, spread);
        if (ties)
            m->logits[i] = roundf(m->logits[i]);
        if (holes && below(3) == 0)
            m->logits[i] = -INFINITY;
    }
    m->logits[below(m->n_vocab)] = 1;
    /* few different tokens: repeats of all lengths */
    m->n_history = below(MAX_HISTORY);
    const uint32_t different = 1 + below(below(2) ? 3 : m->n_vocab);
    for (size_t i = 0; i < m->n_history; i++)
        m->history[i] = below(30) ? (int32_t)below(different) : (int32_t)below(1000) - 20;
}

/* A sequence of 1 to 3 tokens, mostly one that occurs late in the history. */
static void add_breaker(struct problem *m)
{
    const uint32_t n = 1 + below(3), back = 1 + below(16);
    for (uint32_t i = 0; i < n; i++) {
        int32_t token = (int32_t)below(m->n_vocab);
        if (back >= n && back <= m->n_history && below(20))
            token = m->history[m->n_history - back + i];
        if (token < 0 || (uint32_t)token >= m->n_vocab)
            token = 0;
        m->breakers[m->p.n_dry_breakers++] = token;
    }
    m->breakers[m->p.n_dry_breakers++] = -1;
}

static void set_random(struct problem *m, int kind)
{
    struct quire_sampling_params *p = &m->p;
    switch (kind) {
    case QUIRE_SAMPLER_PENALTIES:
        p->repetition_penalty = below(3) ? between(0.8, 1.6) : 1;
        p->presence_penalty = below(2) ? between(-1, 1) : 0;
        p->frequency_penalty = below(2) ? between(-0.2, 0.4) : 0;
        p->penalty_last_n = (int32_t)below(MAX_HISTORY) - 1;
        break;
    case QUIRE_SAMPLER_DRY:
        p->dry_multiplier = between(0.1, 1.5);
        p->dry_base = below(2) ? 0 : between(1, 3);
        p->dry_allowed_length = (int32_t)below(5);
        p->dry_penalty_last_n = (int32_t)below(MAX_HISTORY) - 1;
        p->dry_breakers = m->breakers;
        for (uint32_t n = below(4); n; n--)
            add_breaker(m);
        break;
    case QUIRE_SAMPLER_TOP_N_SIGMA:
        p->top_n_sigma = between(0.1, 2.5);
        break;
    case QUIRE_SAMPLER_TOP_K:
        p->top_k = 1 + (int32_t)below(30);
        break;
    case QUIRE_SAMPLER_TYPICAL_P:
        p->typical_p = between(0.01, 0.999);
        break;
    case QUIRE_SAMPLER_TOP_P:
        p->top_p = between(0, 0.999);
        break;
    case QUIRE_SAMPLER_MIN_P:
        p->min_p = below(3) ? between(0.001, 0.3) : between(0, 1);
        break;
    case QUIRE_SAMPLER_XTC:
        p->xtc_probability = between(0.1, 1);
        p->xtc_threshold = below(3) ? between(0.01, 0.3) : 0;
        break;
    default:
        p->temperature = between(0.3, 2);
        p->dynatemp_range = below(2) ? between(0.05, 2.5) : 0;
        p->dynatemp_exponent = below(2) ? between(0.3, 2) : 0;
    }
}

static void random_order(uint8_t *samplers)
{
    for (int i = 0; i < QUIRE_SAMPLER_TEMPERATURE; i++)
        samplers[i] = (uint8_t)(i + 1);
    for (uint32_t i = QUIRE_SAMPLER_TEMPERATURE; i > 1; i--) {
        const uint32_t j = below(i);
        const uint8_t t = samplers[i - 1];
        samplers[i - 1] = samplers[j];
        samplers[j] = t;
    }
    for (uint32_t i = 1 + below(12); i < QUIRE_MAX_SAMPLERS; i++)
        samplers[i] = 0;
}

/* ---- Comparison */

/* Chi-square statistic of counts with few expected ones summed up; *dof gets its degrees of
 * freedom. */
static double chi_square(const uint32_t *seen, const double *want, size_t n, int *dof)
{
    double sum = 0, rest_want = 0, rest_seen = 0;
    *dof = -1;
    for (size_t i = 0; i < n; i++) {
        if (want[i] < 8) {
            rest_want += want[i];
            rest_seen += seen[i];
            continue;
        }
        sum += (seen[i] - want[i]) * (seen[i] - want[i]) / want[i];
        ++*dof;
    }
    if (rest_want >= 8) {
        sum += (rest_seen - rest_want) * (rest_seen - rest_want) / rest_want;
        ++*dof;
    }
    return sum;
}

/* Six standard deviations of the normal approximation by Wilson and Hilferty. The numbers are
 * fixed, so a test passes always or never. */
static bool chi_square_is_plausible(double x, int dof)
{
    if (dof < 1)
        return true;
    const double v = 2.0 / (9.0 * dof);
    return (cbrt(x / dof) - (1 - v)) / sqrt(v) < 6;
}

static struct oracle with, without; /* with XTC acting, and without */
static struct oracle_token by_id[2][ORACLE_MAX_V];

static void spread(const struct oracle *o, uint32_t n_vocab, struct oracle_token *t)
{
    for (uint32_t i = 0; i < n_vocab; i++)
        t[i].p = 0;
    for (size_t i = 0; i < o->n; i++)
        t[o->t[i].id].p = o->t[i].p;
}

/* Draws `draws` tokens; false when the oracle cannot tell what is right. */
static bool check_problem(const struct problem *m, uint32_t draws)
{
    static uint32_t seen[ORACLE_MAX_V];
    static double want[ORACLE_MAX_V];
    const struct quire_sampling_params *p = &m->p;
    oracle_run(&with, p, m->logits, m->n_vocab, m->history, m->n_history, true);
    oracle_run(&without, p, m->logits, m->n_vocab, m->history, m->n_history, false);
    if (with.ambiguous || without.ambiguous)
        return false;
    spread(&with, m->n_vocab, by_id[1]);
    spread(&without, m->n_vocab, by_id[0]);
    memset(seen, 0, sizeof seen);
    memset(want, 0, sizeof want);
    struct quire_sampler *s;
    assert_status(QUIRE_OK, quire_sampler_create(m->n_vocab, NULL, &s, NULL));
    for (uint64_t i = 0; i < draws; i++) {
        const bool acts = qr_philox_draw(p->seed, 5, i, QR_DRAW_XTC) < (double)p->xtc_probability;
        const struct quire_sample_args args = { .struct_size = sizeof args,
                                                .logits = m->logits,
                                                .history = m->history,
                                                .n_history = m->n_history,
                                                .stream = 5,
                                                .index = i };
        int32_t token;
        assert_status(QUIRE_OK, quire_sampler_sample(s, p, &args, &token, NULL));
        if (by_id[acts][token].p == 0)
            fail_msg("case %llu, draw %llu: token %d is not possible", (unsigned long long)case_id,
                     (unsigned long long)i, token);
        seen[token]++;
        for (uint32_t t = 0; t < m->n_vocab; t++)
            want[t] += by_id[acts][t].p;
    }
    quire_sampler_destroy(s);
    int dof;
    const double x = chi_square(seen, want, m->n_vocab, &dof);
    if (!chi_square_is_plausible(x, dof))
        fail_msg("case %llu: chi-square %g with %d degrees of freedom", (unsigned long long)case_id,
                 x, dof);
    return true;
}

static void start_problem(struct problem *m, uint64_t id, uint32_t max_vocab)
{
    begin_case(id);
    memset(m, 0, sizeof *m);
    m->p = all_off();
    random_row(m, max_vocab);
}

static struct problem problem;

/* Each sampler alone, then with the temperature. */
static void each_alone(void **state)
{
    (void)state;
    struct problem *m = &problem;
    for (int kind = 1; kind <= QUIRE_SAMPLER_TEMPERATURE; kind++) {
        uint32_t checked = 0;
        for (uint64_t i = 0; i < 60; i++) {
            start_problem(m, (uint64_t)kind * 1000 + i, 300);
            set_random(m, kind);
            if (i % 3 == 0)
                set_random(m, QUIRE_SAMPLER_TEMPERATURE);
            checked += check_problem(m, 1000);
        }
        print_message("%s: %u rows\n", quire_sampler_name(kind), checked);
        assert_true(checked > 40);
    }
}

static void random_chain(struct problem *m, uint64_t i, uint32_t max_vocab)
{
    start_problem(m, 100000 + i, max_vocab);
    for (int kind = 1; kind <= QUIRE_SAMPLER_TEMPERATURE; kind++)
        if (below(2))
            set_random(m, kind);
    if (below(2))
        random_order(m->p.samplers);
    if (below(4) == 0)
        m->p.min_keep = 1 + below(8);
    m->p.n_logit_bias = below(4);
    m->p.logit_bias = m->bias;
    for (uint32_t j = 0; j < m->p.n_logit_bias; j++)
        m->bias[j] = (struct quire_logit_bias){ (int32_t)below(m->n_vocab), between(-3, 3) };
}

static void chains_in_random_orders(void **state)
{
    (void)state;
    uint32_t checked = 0;
    for (uint64_t i = 0; i < 1500; i++) {
        random_chain(&problem, i, 300);
        checked += check_problem(&problem, 250);
    }
    print_message("%u chains\n", checked);
    assert_true(checked > 1000);
}

/* Selection in lists that are longer than those that insertion sort handles. */
static void long_rows(void **state)
{
    (void)state;
    struct problem *m = &problem;
    uint32_t checked = 0;
    for (uint64_t i = 0; i < 60; i++) {
        random_chain(m, 5000 + i, 300);
        m->n_vocab = 1000 + below(ORACLE_MAX_V - 1000);
        for (uint32_t j = 0; j < m->n_vocab; j++)
            m->logits[j] = i % 4 ? between(-8, 8) : roundf(between(-8, 8));
        checked += check_problem(m, 100);
    }
    print_message("%u rows\n", checked);
    assert_true(checked > 20);
}

/* Rows in order, in reverse order and of equal logits: bad inputs of a quicksort. */
static void sorted_rows(void **state)
{
    (void)state;
    struct problem *m = &problem;
    for (int shape = 0; shape < 4; shape++)
        for (int kind = QUIRE_SAMPLER_TOP_N_SIGMA; kind <= QUIRE_SAMPLER_MIN_P; kind++) {
            start_problem(m, 900 + (uint64_t)shape, 10);
            m->n_vocab = ORACLE_MAX_V;
            for (uint32_t i = 0; i < m->n_vocab; i++)
                m->logits[i] = 1e-3f * (float)(shape == 0   ? i
                                               : shape == 1 ? ORACLE_MAX_V - i
                                               : shape == 2 ? 7
                                                            : (i < 2048 ? i : 4096 - i));
            m->p.typical_p = kind == QUIRE_SAMPLER_TYPICAL_P ? 0.7123f : 0;
            m->p.top_p = kind == QUIRE_SAMPLER_TOP_P ? 0.7123f : 1;
            m->p.top_k = kind == QUIRE_SAMPLER_TOP_K ? 3000 : 0;
            m->p.top_n_sigma = kind == QUIRE_SAMPLER_TOP_N_SIGMA ? 0.7123f : 0;
            m->p.min_p = kind == QUIRE_SAMPLER_MIN_P ? 0.1123f : 0;
            m->p.min_keep = shape == 3 ? 5 : 0;
            (void)check_problem(m, 200);
        }
}

/* Dynamic temperatures so low that the weights of all tokens but the first are 0 and their
 * logarithms -infinity. */
static void vanishing_weights(void **state)
{
    (void)state;
    struct problem *m = &problem;
    start_problem(m, 4, 300);
    m->n_vocab = 100;
    for (uint32_t i = 0; i < m->n_vocab; i++)
        m->logits[i] = 50 - (float)i;
    struct quire_sampler *s;
    assert_status(QUIRE_OK, quire_sampler_create(m->n_vocab, NULL, &s, NULL));
    for (int kind = QUIRE_SAMPLER_TOP_N_SIGMA; kind < QUIRE_SAMPLER_TEMPERATURE; kind++)
        for (uint32_t i = 0; i < 60 * 4; i++) {
            struct quire_sampling_params p = m->p;
            p.samplers[0] = QUIRE_SAMPLER_TEMPERATURE;
            p.samplers[1] = (uint8_t)kind;
            p.dynatemp_range = p.temperature;
            p.dynatemp_exponent = (float)(450 + i / 4);
            p.min_keep = i % 4 * 45;
            p.top_k = 30;
            p.top_n_sigma = 1;
            p.typical_p = p.top_p = p.min_p = 0.5f;
            p.xtc_probability = 1;
            const struct quire_sample_args args = { .struct_size = sizeof args,
                                                    .logits = m->logits };
            int32_t token;
            assert_status(QUIRE_OK, quire_sampler_sample(s, &p, &args, &token, NULL));
            assert_int_equal(token, 0);
        }
    quire_sampler_destroy(s);
}

/* A sampler that does not act changes no draw: each has random numbers of its own. */
static void draws_are_separate(void **state)
{
    (void)state;
    struct problem *m = &problem;
    start_problem(m, 3, 300);
    m->n_vocab = 200;
    for (uint32_t i = 0; i < m->n_vocab; i++)
        m->logits[i] = between(-1, 1);
    struct quire_sampling_params xtc = m->p;
    xtc.xtc_probability = 0.3f;
    xtc.xtc_threshold = 0.004f;
    struct quire_sampler *s;
    assert_status(QUIRE_OK, quire_sampler_create(m->n_vocab, NULL, &s, NULL));
    int equal[2] = { 0, 0 }, n[2] = { 0, 0 };
    for (uint64_t i = 0; i < 1000; i++) {
        const struct quire_sample_args args = { .struct_size = sizeof args,
                                                .logits = m->logits,
                                                .index = i };
        const bool acts = qr_philox_draw(SEED, 0, i, QR_DRAW_XTC) < (double)xtc.xtc_probability;
        int32_t a, b;
        assert_status(QUIRE_OK, quire_sampler_sample(s, &m->p, &args, &a, NULL));
        assert_status(QUIRE_OK, quire_sampler_sample(s, &xtc, &args, &b, NULL));
        equal[acts] += a == b;
        n[acts]++;
    }
    quire_sampler_destroy(s);
    assert_true(n[0] > 600 && n[1] > 200);
    assert_int_equal(equal[0], n[0]);
    assert_true(equal[1] < n[1] / 2);
}

/* The default order draws the tokens of version 0.2, in every combination of its parameters. */
static void draws_of_version_0_2(void **state)
{
    (void)state;
    struct problem *m = &problem;
    uint64_t hash = 0xcbf29ce484222325;
    for (uint64_t i = 0; i < 400; i++) {
        start_problem(m, 7000 + i, 300);
        static const int first[] = { QUIRE_SAMPLER_PENALTIES, QUIRE_SAMPLER_TOP_K,
                                     QUIRE_SAMPLER_TOP_P, QUIRE_SAMPLER_MIN_P };
        for (int j = 0; j < 4; j++)
            if (i >> j & 1)
                set_random(m, first[j]);
        m->p.temperature = i % 5 ? between(0.2, 2) : 0;
        struct quire_sampler *s;
        assert_status(QUIRE_OK, quire_sampler_create(m->n_vocab, NULL, &s, NULL));
        for (uint64_t index = 0; index < 8; index++) {
            const struct quire_sample_args args = { .struct_size = sizeof args,
                                                    .logits = m->logits,
                                                    .history = m->history,
                                                    .n_history = m->n_history,
                                                    .index = index };
            int32_t token;
            assert_status(QUIRE_OK, quire_sampler_sample(s, &m->p, &args, &token, NULL));
            hash = (hash ^ (uint32_t)token) * 0x100000001b3;
        }
        quire_sampler_destroy(s);
    }
    assert_int_equal(hash, 0xf9449d83f4611a88); /* computed by version 0.2 */
}

/* Greedy choice: penalties and DRY act, other samplers do not. */
static void greedy(void **state)
{
    (void)state;
    struct problem *m = &problem;
    for (uint64_t i = 0; i < 300; i++) {
        random_chain(m, i, 300);
        struct quire_sampling_params penalties = m->p;
        m->p.temperature = 0;
        for (uint32_t j = 0; j < QUIRE_MAX_SAMPLERS; j++)
            if (penalties.samplers[j] > QUIRE_SAMPLER_DRY)
                penalties.samplers[j] = QUIRE_SAMPLER_NONE;
        uint8_t *list = penalties.samplers;
        const bool all = !m->p.samplers[0];
        const bool has_temperature =
            all || memchr(m->p.samplers, QUIRE_SAMPLER_TEMPERATURE, QUIRE_MAX_SAMPLERS) != NULL;
        if (!has_temperature)
            continue;
        uint8_t kept[2] = { 0, 0 };
        for (uint32_t j = 0, n = 0; j < QUIRE_MAX_SAMPLERS && n < 2; j++)
            if (list[j])
                kept[n++] = list[j];
        memset(list, 0, QUIRE_MAX_SAMPLERS);
        memcpy(list, all ? (uint8_t[]){ QUIRE_SAMPLER_PENALTIES, QUIRE_SAMPLER_DRY } : kept, 2);
        if (!list[0])
            list[0] = QUIRE_SAMPLER_TEMPERATURE; /* changes no order */
        penalties.temperature = 1;
        penalties.dynatemp_range = 0;
        oracle_run(&with, &penalties, m->logits, m->n_vocab, m->history, m->n_history, false);
        struct quire_sampler *s;
        assert_status(QUIRE_OK, quire_sampler_create(m->n_vocab, NULL, &s, NULL));
        const struct quire_sample_args args = { .struct_size = sizeof args,
                                                .logits = m->logits,
                                                .history = m->history,
                                                .n_history = m->n_history };
        int32_t token;
        assert_status(QUIRE_OK, quire_sampler_sample(s, &m->p, &args, &token, NULL));
        if (with.n == 1 || with.t[0].logit - with.t[1].logit > 1e-4)
            assert_int_equal(token, with.t[0].id);
        quire_sampler_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_alone),         cmocka_unit_test(chains_in_random_orders),
        cmocka_unit_test(long_rows),          cmocka_unit_test(sorted_rows),
        cmocka_unit_test(draws_are_separate), cmocka_unit_test(draws_of_version_0_2),
        cmocka_unit_test(vanishing_weights),  cmocka_unit_test(greedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
