/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_sinks.c - sinks of every dtype and magnitude, at every level. */
#include "test_attn_variants.h"
#include "test_plan.h"
#include <float.h>
#include <quire/attention_merge.h>

static const uint32_t lens[] = { 70, 9, 1 };
enum { N_SEQS = 3 };

/* Sinks that are exact in bf16 and f16, in all dtypes. */
struct sinks {
    float f32[MAX_PROBLEM_HEADS];
    uint16_t bf16[MAX_PROBLEM_HEADS], f16[MAX_PROBLEM_HEADS];
};

/* Bits of m * 2^e with m = 0, or 16 .. 31 over 16, and e = -14 .. 15, for a mantissa of `bits`. */
static uint16_t half_bits(bool negative, uint32_t m, int e, int bits, int bias)
{
    return (uint16_t)((negative ? 0x8000u : 0) | (uint32_t)(e + bias) << bits |
                      (m - 16) << (bits - 4));
}

static struct sinks draw_sinks(void)
{
    struct sinks s;
    for (uint32_t h = 0; h < MAX_PROBLEM_HEADS; h++) {
        const uint32_t m = 16 + problem_below(16);
        const int e = (int)problem_below(5) - 3;
        const bool negative = problem_below(2);
        s.f32[h] = ldexpf((float)m / 16, e) * (negative ? -1.0f : 1.0f);
        s.bf16[h] = half_bits(negative, m, e, 7, 127);
        s.f16[h] = half_bits(negative, m, e, 10, 15);
        if (problem_below(5) == 0) {
            s.f32[h] = -INFINITY;
            s.bf16[h] = 0xff80;
            s.f16[h] = 0xfc00;
        }
    }
    return s;
}

static void set_sinks(struct problem *s, const float *f32, const void *typed,
                      enum quire_kv_dtype dtype)
{
    s->config.sinks = f32;
    s->config.typed_sinks = typed;
    s->config.sinks_dtype = dtype;
}

/* The same values in another dtype give the same bits, in whole prompts, in decode and in teams. */
static void every_dtype_at_every_level(void **state)
{
    (void)state;
    problem_rng = 41;
    for (int round = 0; round < 12; round++) {
        struct problem s = random_scene();
        problem_fill(&s, lens, N_SEQS);
        problem_point(&s, round % 3 == 0, false);
        const struct sinks sinks = draw_sinks();
        int i = 0;
        for (const char *level; (level = usable_level(&i));) {
            set_sinks(&s, sinks.f32, NULL, QUIRE_KV_F32);
            struct result want = whole(&s, level);
            if (i == 1 + round % 2)
                check_oracle(&s, &want);
            const void *const typed[] = { sinks.f32, sinks.bf16, sinks.f16 };
            static const enum quire_kv_dtype dtypes[] = { QUIRE_KV_F32, QUIRE_KV_BF16,
                                                          QUIRE_KV_F16 };
            for (int d = 0; d < 3; d++) {
                set_sinks(&s, NULL, typed[d], dtypes[d]);
                struct result got = whole(&s, level);
                assert_same_result(&got, &want);
                result_free(&got);
            }
            result_free(&want);
        }
        set_sinks(&s, NULL, sinks.bf16, QUIRE_KV_BF16);
        struct result want = whole(&s, NULL);
        check_tail(&s, &want, 1);
        check_threads(&s, &want);
        result_free(&want);
        problem_free(&s);
    }
}

/* A sink beyond 2.4e38 times log2(e) exceeds the range of f32; it takes all the weight, as a finite
 * sink does, and a very low one takes none. */
static void of_any_magnitude(void **state)
{
    (void)state;
    static const float high[] = { 2.3e38f, 2.4e38f, 3e38f, FLT_MAX }, low[] = { -3e38f, -FLT_MAX };
    static const uint16_t high_bf16[] = { 0x7f7f, 0x7f7f };
    struct problem s = problem_of(2, 1, 16, QUIRE_KV_F32, QUIRE_COMPUTE_F32);
    problem_fill(&s, lens, N_SEQS);
    struct result plain = whole(&s, NULL);
    int i = 0;
    for (const char *level; (level = usable_level(&i));) {
        for (int k = 0; k < 5; k++) {
            const float values[] = { k < 4 ? high[k] : 0, k < 4 ? high[k] : 0 };
            set_sinks(&s, k < 4 ? values : NULL, k < 4 ? NULL : high_bf16, QUIRE_KV_BF16);
            struct result r = whole(&s, level);
            for (size_t j = 0; j < r.n_out; j++)
                assert_true(r.out[j] == 0);
            assert_same_bits(r.lse, plain.lse, plain.n_lse);
            result_free(&r);
        }
        for (int k = 0; k < 2; k++) {
            const float values[] = { low[k], low[k] };
            set_sinks(&s, values, NULL, QUIRE_KV_F32);
            struct result r = whole(&s, level);
            for (size_t j = 0; j < r.n_out; j++)
                assert_true(fabsf(r.out[j] - plain.out[j]) <= 1e-6f);
            result_free(&r);
        }
    }
    result_free(&plain);
    problem_free(&s);
}

/* A merge takes sinks of every dtype too. */
static void merged(void **state)
{
    (void)state;
    enum { HEADS = 8, WIDTH = 4 };
    problem_rng = 42;
    const struct sinks sinks = draw_sinks();
    float out[2][HEADS * WIDTH], lse[2][HEADS], want[HEADS * WIDTH], got[HEADS * WIDTH];
    for (int i = 0; i < HEADS * WIDTH; i++)
        out[0][i] = out[1][i] = problem_uniform(-1, 1);
    for (int i = 0; i < HEADS; i++)
        lse[0][i] = lse[1][i] = problem_uniform(-2, 2);
    const struct quire_attention_partial parts[] = { { .out = out[0], .lse = lse[0] },
                                                     { .out = out[1], .lse = lse[1] } };
    struct quire_attention_merge_args args = { .struct_size = sizeof args,
                                               .n_parts = 2,
                                               .parts = parts,
                                               .n_tokens = 1,
                                               .n_heads = HEADS,
                                               .v_head_size = WIDTH,
                                               .sinks = sinks.f32,
                                               .out = want };
    must(quire_attention_merge(&args, NULL, &err));
    args.out = got;
    args.typed_sinks = sinks.bf16;
    assert_refused(QUIRE_E_INVALID_ARG, "both", quire_attention_merge(&args, NULL, &err));
    args.sinks = NULL;
    for (int d = 0; d < 2; d++) {
        args.typed_sinks = d ? sinks.f16 : sinks.bf16;
        args.sinks_dtype = d ? QUIRE_KV_F16 : QUIRE_KV_BF16;
        must(quire_attention_merge(&args, NULL, &err));
        assert_same_bits(got, want, HEADS * WIDTH);
    }
    const uint16_t nan_at_3[HEADS] = { [3] = 0x7fc0 };
    args.typed_sinks = nan_at_3;
    args.sinks_dtype = QUIRE_KV_BF16;
    assert_refused(QUIRE_E_INVALID_ARG, "args.typed_sinks[3]",
                   quire_attention_merge(&args, NULL, &err));
    args.sinks_dtype = QUIRE_KV_FP8_E4M3;
    assert_refused(QUIRE_E_INVALID_ARG, "sinks_dtype", quire_attention_merge(&args, NULL, &err));
}

/* The bounds are those of f32 sinks. */
static void bad_values(void **state)
{
    (void)state;
    static const struct {
        enum quire_kv_dtype dtype;
        uint16_t bits;
        bool ok;
    } cases[] = {
        { QUIRE_KV_BF16, 0x7f80, false }, { QUIRE_KV_BF16, 0x7fc0, false },
        { QUIRE_KV_BF16, 0xffc0, false }, { QUIRE_KV_BF16, 0xff80, true },
        { QUIRE_KV_BF16, 0x7f7f, true },  { QUIRE_KV_F16, 0x7c00, false },
        { QUIRE_KV_F16, 0x7e00, false },  { QUIRE_KV_F16, 0xfc00, true },
        { QUIRE_KV_F16, 0x7bff, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint16_t sinks[2] = { 0, cases[i].bits }; /* the last head's value counts */
        struct quire_attention_config c;
        struct quire_attention_report r = { .struct_size = sizeof r };
        quire_attention_config_init(&c, sizeof c, 2, 1, 8);
        c.typed_sinks = sinks;
        c.sinks_dtype = cases[i].dtype;
        assert_status(cases[i].ok ? QUIRE_OK : QUIRE_E_UNSUPPORTED,
                      quire_attention_validate(&c, QUIRE_KV_F32, QUIRE_KV_F32, 16, NULL, &r, NULL));
        assert_int_equal(r.reasons, cases[i].ok ? 0 : QUIRE_ATTENTION_NO_SINKS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_at_every_level),
        cmocka_unit_test(of_any_magnitude),
        cmocka_unit_test(merged),
        cmocka_unit_test(bad_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
