/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampling_params.c - checks and defaults of sampling parameters; lists of samplers. */
#include "quire_cmocka.h"
#include <float.h>
#include <math.h>
#include <quire/sampling.h>

enum { VOCAB = 10 };

static struct quire_sampling_params defaults(void)
{
    struct quire_sampling_params p;
    quire_sampling_params_init(&p, sizeof p);
    return p;
}

/* The message names the field and nothing is sampled. */
static void refused(const struct quire_sampling_params *p, const char *field)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampling_validate(p, VOCAB, &err));
    if (!strstr(err.msg, field))
        fail_msg("'%s' does not name %s", err.msg, field);
    struct quire_sampler *s;
    struct quire_sampling_state carried = { 0 };
    const float logits[VOCAB] = { 1, 2 };
    const struct quire_sample_args args = { .struct_size = sizeof args,
                                            .logits = logits,
                                            .state = &carried };
    int32_t token = 3;
    assert_status(QUIRE_OK, quire_sampler_create(VOCAB, NULL, &s, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_sampler_sample(s, p, &args, &token, NULL));
    assert_int_equal(token, -1);
    quire_sampler_destroy(s);
}

static void real_ranges(void **state)
{
    (void)state;
#define FIELD(name) offsetof(struct quire_sampling_params, name), #name
    static const struct {
        size_t offset;
        const char *name;
        float good[3], bad[3];
    } fields[] = {
        { FIELD(dynatemp_range), { 0, 0.5f, FLT_MAX }, { -0.1f, -1, -FLT_MAX } },
        { FIELD(dynatemp_exponent), { 0, 0.5f, FLT_MAX }, { -0.1f, -1, -FLT_MAX } },
        { FIELD(typical_p), { 0, 0.5f, 1 }, { -0.1f, 1.001f, FLT_MAX } },
        { FIELD(top_n_sigma), { -1, 0, FLT_MAX }, { NAN, NAN, NAN } },
        { FIELD(xtc_probability), { 0, 0.5f, 1 }, { -0.1f, 1.001f, FLT_MAX } },
        { FIELD(xtc_threshold), { 0, 0.5f, 1 }, { -0.1f, 1.001f, FLT_MAX } },
        { FIELD(dry_multiplier), { 0, 0.8f, FLT_MAX }, { -0.1f, -1, -FLT_MAX } },
        { FIELD(dry_base), { 0, 1, FLT_MAX }, { 0.999f, 0.1f, -1 } },
        { FIELD(mirostat_tau), { 0, 3, FLT_MAX }, { -0.1f, -1, -FLT_MAX } },
        { FIELD(mirostat_eta), { 0, 3, FLT_MAX }, { -0.1f, -1, -FLT_MAX } },
    };
#undef FIELD
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
        struct quire_sampling_params p = defaults();
        float *field = (float *)(void *)((char *)&p + fields[f].offset);
        for (int i = 0; i < 3; i++) {
            *field = fields[f].good[i];
            assert_status(QUIRE_OK, quire_sampling_validate(&p, VOCAB, NULL));
        }
        const float never[] = { NAN, INFINITY, -INFINITY };
        for (int i = 0; i < 6; i++) {
            *field = i < 3 ? fields[f].bad[i] : never[i - 3];
            refused(&p, fields[f].name);
        }
    }
}

static void integer_ranges(void **state)
{
    (void)state;
    struct quire_sampling_params p = defaults();
    p.dry_allowed_length = -1;
    refused(&p, "dry_allowed_length -1");
    p.dry_allowed_length = QUIRE_DRY_MAX_REPEAT + 1;
    refused(&p, "dry_allowed_length 4097");
    p.dry_allowed_length = QUIRE_DRY_MAX_REPEAT;
    assert_status(QUIRE_OK, quire_sampling_validate(&p, VOCAB, NULL));
    p = defaults();
    p.dry_penalty_last_n = -2;
    refused(&p, "dry_penalty_last_n -2");
    p.dry_penalty_last_n = INT32_MAX;
    assert_status(QUIRE_OK, quire_sampling_validate(&p, VOCAB, NULL));
    p = defaults();
    p.mirostat = 1;
    refused(&p, "mirostat 1 must be 0 or 2: version 1 is not supported");
    p.mirostat = 3;
    refused(&p, "mirostat 3");
    p.mirostat = 2;
    assert_status(QUIRE_OK, quire_sampling_validate(&p, VOCAB, NULL));
    p.samplers[0] = QUIRE_SAMPLER_TOP_K;
    refused(&p, "samplers cannot be combined with mirostat");
    p = defaults();
    p.min_keep = UINT32_MAX;
    assert_status(QUIRE_OK, quire_sampling_validate(&p, VOCAB, NULL));
}

static void breakers(void **state)
{
    (void)state;
    struct quire_sampling_params p = defaults();
    p.n_dry_breakers = 2;
    refused(&p, "dry_breakers is NULL");
    static const struct {
        int32_t list[4];
        uint32_t n;
        const char *message; /* NULL: valid */
    } cases[] = {
        { { 1, -1 }, 2, NULL },
        { { 0, 9, -1 }, 3, NULL },
        { { 1, -1, 2, -1 }, 4, NULL },
        { { 1 }, 1, "dry_breakers does not end with -1" },
        { { 1, -1, 2 }, 3, "dry_breakers does not end with -1" },
        { { -1 }, 1, "dry_breakers[0] -1 ends an empty sequence" },
        { { 1, -1, -1 }, 3, "dry_breakers[2] -1 ends an empty sequence" },
        { { 10, -1 }, 2, "dry_breakers[0] 10 is outside the vocabulary of 10" },
        { { 1, -2, -1 }, 3, "dry_breakers[1] -2 is outside the vocabulary of 10" },
        { { 1, -1, INT32_MAX, -1 }, 4, "dry_breakers[2]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        p.dry_breakers = cases[i].list;
        p.n_dry_breakers = cases[i].n;
        if (cases[i].message)
            refused(&p, cases[i].message);
        else
            assert_status(QUIRE_OK, quire_sampling_validate(&p, VOCAB, NULL));
    }
}

static void lists_of_samplers(void **state)
{
    (void)state;
    struct quire_sampling_params p = defaults();
    p.samplers[0] = QUIRE_SAMPLER_TEMPERATURE + 1;
    refused(&p, "samplers[0] 10 is not a sampler");
    p.samplers[0] = 255;
    refused(&p, "samplers[0] 255 is not a sampler");
    p.samplers[0] = QUIRE_SAMPLER_XTC;
    p.samplers[1] = QUIRE_SAMPLER_XTC;
    refused(&p, "samplers: xtc occurs twice");
    p.samplers[1] = QUIRE_SAMPLER_NONE;
    p.samplers[2] = QUIRE_SAMPLER_DRY;
    refused(&p, "samplers[2] comes after the end of the list");
    p = defaults();
    p.samplers[QUIRE_MAX_SAMPLERS - 1] = QUIRE_SAMPLER_DRY;
    refused(&p, "samplers[19] comes after the end of the list");
}

static void names(void **state)
{
    (void)state;
    static const char *const order[] = {
        NULL,    "penalties", "dry",   "top_n_sigma", "top_k",
        "typ_p", "top_p",     "min_p", "xtc",         "temperature"
    };
    uint8_t list[QUIRE_MAX_SAMPLERS];
    char all[200] = "";
    for (int i = -1; i < 12; i++) {
        const char *name = quire_sampler_name(i);
        if (i < 1 || i > QUIRE_SAMPLER_TEMPERATURE) {
            assert_null(name);
            continue;
        }
        assert_string_equal(name, order[i]);
        memset(list, 0xff, sizeof list);
        assert_status(QUIRE_OK, quire_samplers_parse(name, list, NULL));
        assert_int_equal(list[0], i);
        for (int j = 1; j < QUIRE_MAX_SAMPLERS; j++)
            assert_int_equal(list[j], 0);
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i > 1 ? ";" : "", name);
    }
    assert_status(QUIRE_OK, quire_samplers_parse(all, list, NULL));
    for (int i = 0; i < QUIRE_MAX_SAMPLERS; i++)
        assert_int_equal(list[i], i < QUIRE_SAMPLER_TEMPERATURE ? i + 1 : 0);
    assert_status(QUIRE_OK, quire_samplers_parse("temp;typical_p;dry", list, NULL));
    assert_int_equal(list[0], QUIRE_SAMPLER_TEMPERATURE);
    assert_int_equal(list[1], QUIRE_SAMPLER_TYPICAL_P);
    assert_int_equal(list[2], QUIRE_SAMPLER_DRY);
    assert_int_equal(list[3], 0);
}

static void bad_names(void **state)
{
    (void)state;
    static const struct {
        const char *names, *message;
    } cases[] = {
        { "", "'' is not a sampler" },
        { ";", "'' is not a sampler" },
        { "top_k;", "'' is not a sampler" },
        { ";top_k", "'' is not a sampler" },
        { "top_k;;top_p", "'' is not a sampler" },
        { "top_k,top_p", "'top_k,top_p' is not a sampler" },
        { "top_k; top_p", "' top_p' is not a sampler" },
        { "Top_k", "'Top_k' is not a sampler" },
        { "top", "'top' is not a sampler" },
        { "top_kk", "'top_kk' is not a sampler" },
        { "mirostat", "'mirostat' is not a sampler" },
        { "top_k;xtc;top_k", "top_k occurs twice" },
        { "temp;temperature", "temperature occurs twice" },
    };
    uint8_t list[QUIRE_MAX_SAMPLERS], before[QUIRE_MAX_SAMPLERS];
    struct quire_error err = QUIRE_ERROR_INIT;
    memset(list, 9, sizeof list);
    memset(before, 9, sizeof before);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_status(QUIRE_E_INVALID_ARG, quire_samplers_parse(cases[i].names, list, &err));
        if (!strstr(err.msg, cases[i].message))
            fail_msg("'%s': %s", cases[i].names, err.msg);
        assert_memory_equal(list, before, sizeof list);
    }
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_status(QUIRE_E_INVALID_ARG, quire_samplers_parse(longest, list, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_samplers_parse(NULL, list, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_samplers_parse("dry", NULL, &err));
}

/* 0 is the default of every member of later versions. */
static void zeros_are_defaults(void **state)
{
    (void)state;
    const struct quire_sampling_params p = defaults();
    const unsigned char *bytes = (const unsigned char *)&p;
    for (size_t i = offsetof(struct quire_sampling_params, dynatemp_range); i < sizeof p; i++)
        assert_int_equal(bytes[i], 0);
    struct quire_sampling_params off = p, explicit = p;
    off.temperature = explicit.temperature = 1;
    explicit.dynatemp_exponent = explicit.typical_p = 1;
    explicit.xtc_threshold = 0.1f;
    explicit.dry_base = 1.75f;
    explicit.dry_allowed_length = 2;
    explicit.dry_penalty_last_n = -1;
    explicit.mirostat_tau = 5;
    explicit.mirostat_eta = 0.1f;
    explicit.min_keep = 1;
    for (int i = 0; i < QUIRE_SAMPLER_TEMPERATURE; i++)
        explicit.samplers[i] = (uint8_t)(i + 1);
    off.dry_multiplier = explicit.dry_multiplier = 0.5f;
    off.xtc_probability = explicit.xtc_probability = 0.5f;
    off.dynatemp_range = explicit.dynatemp_range = 0.5f;
    const int32_t history[] = { 1, 2, 3, 1, 2 };
    struct quire_sampler *s;
    assert_status(QUIRE_OK, quire_sampler_create(VOCAB, NULL, &s, NULL));
    const float logits[VOCAB] = { 0, 1, 2, 2.5f, 1, 0.5f, 1.5f, 2, 2.5f, 1 };
    for (uint64_t i = 0; i < 200; i++) {
        struct quire_sampling_state states[2] = { { 0 } };
        struct quire_sample_args args = { .struct_size = sizeof args,
                                          .logits = logits,
                                          .history = history,
                                          .n_history = 5,
                                          .index = i };
        int32_t a, b;
        off.mirostat = explicit.mirostat = i % 2 ? 2 : 0;
        memset(explicit.samplers, 0, sizeof explicit.samplers);
        for (int j = 0; i % 2 == 0 && j < QUIRE_SAMPLER_TEMPERATURE; j++)
            explicit.samplers[j] = (uint8_t)(j + 1);
        args.state = &states[0];
        assert_status(QUIRE_OK, quire_sampler_sample(s, &off, &args, &a, NULL));
        args.state = &states[1];
        assert_status(QUIRE_OK, quire_sampler_sample(s, &explicit, &args, &b, NULL));
        assert_int_equal(a, b);
        assert_memory_equal(&states[0], &states[1], sizeof states[0]);
    }
    quire_sampler_destroy(s);
}

/* Overflow in the middle of a chain. */
static void numeric_errors_in_a_chain(void **state)
{
    (void)state;
    struct quire_sampler *s;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, quire_sampler_create(2, NULL, &s, NULL));
    const float logits[] = { 1, 2 };
    const int32_t history[] = { 0, 1, 0, 1 };
    const struct quire_sample_args args = {
        .struct_size = sizeof args, .logits = logits, .history = history, .n_history = 4
    };
    int32_t token = 5;
    struct quire_sampling_params p = defaults();
    assert_status(QUIRE_OK, quire_samplers_parse("top_k;temperature;penalties", p.samplers, NULL));
    p.temperature = 1e-38f; /* 2 / 1e-38 is not a float */
    p.presence_penalty = 1;
    assert_status(QUIRE_OK, quire_sampler_sample(s, &p, &args, &token, &err));
    p.temperature = 1e-39f;
    assert_status(QUIRE_E_NUMERIC, quire_sampler_sample(s, &p, &args, &token, &err));
    assert_non_null(strstr(err.msg, "infinite"));
    assert_int_equal(token, -1);
    p.temperature = 1;
    p.presence_penalty = FLT_MAX;
    p.frequency_penalty = FLT_MAX;
    assert_status(QUIRE_E_NUMERIC, quire_sampler_sample(s, &p, &args, &token, &err));
    assert_non_null(strstr(err.msg, "exclude all"));
    quire_sampler_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_ranges),
        cmocka_unit_test(integer_ranges),
        cmocka_unit_test(breakers),
        cmocka_unit_test(lists_of_samplers),
        cmocka_unit_test(names),
        cmocka_unit_test(bad_names),
        cmocka_unit_test(zeros_are_defaults),
        cmocka_unit_test(numeric_errors_in_a_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
