/* SPDX-License-Identifier: Apache-2.0 */
/* test_bias.c - dense bias builders against their formulas and against attention with the same
 * options. */
#include "test_plan.h"
#include <quire/bias.h>

/* Nearest f16, ties to even, of a value that is no NaN and 0 or at least 2^-14. */
static uint32_t f16_bits(double x)
{
    const uint32_t sign = signbit(x) ? 0x8000 : 0;
    int e;
    const double m = frexp(fabs(x), &e); /* .5 .. 1 */
    if (x == 0)
        return sign;
    const double units = nearbyint(m * 2048);
    return isinf(x) || units * exp2(e - 11) > 65504
               ? sign | 0x7c00
               : sign | (uint32_t)((e + 13) * 1024 + (int)units);
}

static void window_by_hand(void **state)
{
    (void)state;
    static const float inf = INFINITY;
    float out[3 * 5];
    /* 3 queries at positions 1, 2, 3 of 4 keys, one key to the left, none to the right */
    const float want[3][4] = { { 0, 0, -inf, -inf }, { -inf, 0, 0, -inf }, { -inf, -inf, 0, 0 } };
    for (int i = 0; i < 15; i++)
        out[i] = 77;
    must(quire_sliding_window_bias(3, 4, 1, 0, out, 5, &err));
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 4; j++)
            assert_true(out[i * 5 + j] == want[i][j]);
        assert_true(out[i * 5 + 4] == 77); /* beyond the row */
    }
}

static void window_everywhere(void **state)
{
    (void)state;
    float out[9 * 9];
    for (int64_t left = -1; left < 6; left++)
        for (int64_t right = -1; right < 6; right++)
            for (int n_q = 0; n_q <= 9; n_q++)
                for (int n_k = 0; n_k <= 9; n_k++) {
                    must(quire_sliding_window_bias((size_t)n_q, (size_t)n_k, left, right, out, 9,
                                                   &err));
                    for (int i = 0; i < n_q; i++)
                        for (int j = 0; j < n_k; j++) {
                            const int q = n_k - n_q + i;
                            const bool seen =
                                (left < 0 || j >= q - left) && (right < 0 || j <= q + right);
                            assert_true(out[i * 9 + j] == (seen ? 0 : -INFINITY));
                        }
                }
}

static void alibi_by_formula(void **state)
{
    (void)state;
    const float slopes[2] = { 0.5f, 0.125f };
    float out[2 * 40];
    for (int causal = 0; causal < 2; causal++) {
        must(quire_alibi_bias(slopes, 2, 3, 5, causal, out, 6, 40, &err));
        for (int h = 0; h < 2; h++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 5; j++) {
                    const int q = 2 + i;
                    const float want = causal && j > q ? -INFINITY : slopes[h] * (float)(j - q);
                    assert_true(out[h * 40 + i * 6 + j] == want);
                }
    }
    must(quire_alibi_bias(slopes, 2, 3, 5, 1, out, 5, 0, &err)); /* contiguous */
    assert_true(out[15] == slopes[1] * -2.0f);
}

static void slopes_by_formula(void **state)
{
    (void)state;
    float s[64];
    must(quire_alibi_slopes(8, s, &err));
    for (int h = 0; h < 8; h++)
        assert_true(s[h] == ldexpf(1, -(h + 1)));
    must(quire_alibi_slopes(12, s, &err)); /* 8 of 8, then every other of 16 */
    for (int h = 0; h < 8; h++)
        assert_true(s[h] == ldexpf(1, -(h + 1)));
    for (int h = 8; h < 12; h++)
        assert_float_equal(s[h], exp2(-0.5 * (2 * (h - 8) + 1)), 1e-7);
    must(quire_alibi_slopes(1, s, &err));
    assert_true(s[0] == ldexpf(1, -8));
    must(quire_alibi_slopes(64, s, &err));
    assert_float_equal(s[63], exp2(-8), 1e-9);
}

/* Buckets for T5's parameters, computed by hand from the definition. */
static void relative_by_hand(void **state)
{
    (void)state;
    enum { R = 200 };
    static float table[32 * 2], out[2 * (2 * R + 1)];
    static const struct {
        int d, both, left; /* bucket if bidirectional, and if not */
    } want[] = {
        { 0, 0, 0 },      { 1, 17, 0 },     { 7, 23, 0 },     { 8, 24, 0 },     { 11, 24, 0 },
        { 12, 25, 0 },    { 16, 26, 0 },    { 32, 28, 0 },    { 64, 30, 0 },    { 90, 30, 0 },
        { 91, 31, 0 },    { 128, 31, 0 },   { 200, 31, 0 },   { -1, 1, 1 },     { -7, 7, 7 },
        { -8, 8, 8 },     { -12, 9, 12 },   { -15, 9, 15 },   { -16, 10, 16 },  { -18, 10, 16 },
        { -19, 10, 17 },  { -32, 12, 21 },  { -64, 14, 26 },  { -112, 15, 30 }, { -113, 15, 31 },
        { -127, 15, 31 }, { -128, 15, 31 }, { -200, 15, 31 },
    };
    for (int b = 0; b < 32; b++) {
        table[b * 2] = (float)b;
        table[b * 2 + 1] = (float)(100 + b);
    }
    for (int both = 0; both < 2; both++) {
        must(quire_relative_bias(table, 32, 2, both, 128, R, out, &err));
        for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
            const int bucket = both ? want[i].both : want[i].left;
            if (out[R + want[i].d] != (float)bucket ||
                out[2 * R + 1 + R + want[i].d] != (float)(100 + bucket))
                fail_msg("distance %d: %g, not %d", want[i].d, (double)out[R + want[i].d], bucket);
        }
    }
    must(quire_relative_bias(table, 32, 2, 1, 128, 0, out, &err)); /* range 0: only distance 0 */
    assert_true(out[0] == 0 && out[1] == 100);
}

/* Softmax of score + dense bias equals attention with the mask as key ranges. */
static void attention_agrees_with_the_biases(void **state)
{
    (void)state;
    enum { N = 40, H = 3, D = 8 };
    static const uint32_t lens[] = { N };
    static float window[N * N], alibi[H * N * N];
    struct problem s = { .config.n_heads = 0,
                         .k_dtype = QUIRE_KV_F32,
                         .v_dtype = QUIRE_KV_F32,
                         .k_scale = 1,
                         .v_scale = 1 };
    quire_attention_config_init(&s.config, sizeof s.config, H, 1, D);
    s.config.compute = QUIRE_COMPUTE_F32;
    s.config.window_left = 9;
    s.config.window_right = 0;
    s.config.causal = 0;
    problem_fill(&s, lens, 1);
    s.config.alibi_slopes = s.slopes;
    must(quire_sliding_window_bias(N, N, 9, 0, window, N, &err));
    must(quire_alibi_bias(s.slopes, H, N, N, 1, alibi, N, 0, &err));
    struct result got = result_new(&s);
    const struct variant r = variant_whole(&s);
    run_problem(&s, &r, &got);
    for (int i = 0; i < N; i++)
        for (int h = 0; h < H; h++) {
            double p[N], sum = 0, out = 0;
            for (int j = 0; j < N; j++) {
                double x = 0;
                for (int d = 0; d < D; d++)
                    x += (double)s.q[(i * H + h) * D + d] * (double)s.k[j * D + d];
                p[j] = exp(x * s.config.scale + window[i * N + j] + alibi[(h * N + i) * N + j]);
                sum += p[j];
            }
            for (int j = 0; j < N; j++)
                out += p[j] / sum * (double)s.v[j * D];
            assert_float_equal(got.out[(i * H + h) * D], out, 1e-5);
        }
    result_free(&got);
    problem_free(&s);
}

/* The f32 values rounded: by the definition of the dtype, at misaligned addresses, in long rows. */
static void every_dtype(void **state)
{
    (void)state;
    enum { N_Q = 3, N_K = 700, LD = N_K + 5, H = 2 };
    static const enum quire_kv_dtype dtypes[] = { QUIRE_KV_F32, QUIRE_KV_BF16, QUIRE_KV_F16 };
    const float slopes[H] = { 0.7f, 300.1f }; /* the second overflows f16 */
    static float want[H * N_Q * LD];
    static unsigned char bytes[H * N_Q * LD * sizeof(float) + 1];
    for (int d = 0; d < 3; d++)
        for (int alibi = 0; alibi < 2; alibi++) {
            const size_t size = d ? 2 : 4, n = (size_t)(alibi ? H : 1) * N_Q * LD;
            for (size_t i = 0; i < n; i++)
                want[i] = 7;
            memset(bytes, 0x5a, sizeof bytes);
            if (alibi) {
                must(quire_alibi_bias(slopes, H, N_Q, N_K, true, want, LD, 0, &err));
                must(quire_alibi_bias_typed(slopes, H, N_Q, N_K, true, dtypes[d], bytes + 1, LD, 0,
                                            &err));
            } else {
                must(quire_sliding_window_bias(N_Q, N_K, 260, 0, want, LD, &err));
                must(quire_sliding_window_bias_typed(N_Q, N_K, 260, 0, dtypes[d], bytes + 1, LD,
                                                     &err));
            }
            for (size_t i = 0; i < n; i++) {
                uint32_t got = 0, bits;
                memcpy(&got, bytes + 1 + i * size, size);
                memcpy(&bits, &want[i], sizeof bits);
                if (i % LD >= N_K) /* beyond the row */
                    bits = 0x5a5a5a5a >> (32 - 8 * size);
                else if (dtypes[d] == QUIRE_KV_BF16)
                    bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
                else if (dtypes[d] == QUIRE_KV_F16)
                    bits = f16_bits((double)want[i]);
                if (got != bits)
                    fail_msg("%s, element %zu: %x, not %x", quire_kv_dtype_name(dtypes[d]), i, got,
                             bits);
            }
            assert_int_equal(bytes[0], 0x5a);
        }
}

static void bad_arguments(void **state)
{
    (void)state;
    float out[16], slopes[2] = { 1, 1 };
    for (int i = 0; i < 16; i++)
        out[i] = 5;
    assert_status(QUIRE_E_INVALID_ARG, quire_sliding_window_bias(2, 2, 0, 0, NULL, 2, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_sliding_window_bias(2, 3, 0, 0, out, 2, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_sliding_window_bias(2, 2, -2, 0, out, 2, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_sliding_window_bias(2, 2, 0, -2, out, 2, NULL));
    assert_status(QUIRE_E_INVALID_ARG,
                  quire_sliding_window_bias(SIZE_MAX / 4, 2, 0, 0, out, 2, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_alibi_bias(NULL, 2, 2, 2, 1, out, 2, 0, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_alibi_bias(slopes, 2, 2, 2, 1, NULL, 2, 0, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_alibi_bias(slopes, 2, 2, 3, 1, out, 2, 0, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_alibi_bias(slopes, 2, 2, 2, 1, out, 2, 3, NULL));
    assert_status(QUIRE_E_INVALID_ARG,
                  quire_alibi_bias(slopes, SIZE_MAX / 4, 2, 2, 1, out, 2, 0, NULL));
    for (int dtype = QUIRE_KV_FP8_E4M3; dtype <= QUIRE_KV_INT8 + 1; dtype++) {
        const enum quire_kv_dtype d = (enum quire_kv_dtype)dtype;
        assert_refused(QUIRE_E_INVALID_ARG, "dtype",
                       quire_sliding_window_bias_typed(2, 2, 0, 0, d, out, 2, &err));
        assert_refused(QUIRE_E_INVALID_ARG, "dtype",
                       quire_alibi_bias_typed(slopes, 2, 2, 2, 1, d, out, 2, 0, &err));
    }
    assert_refused(QUIRE_E_INVALID_ARG, "out is NULL",
                   quire_sliding_window_bias_typed(2, 2, 0, 0, QUIRE_KV_BF16, NULL, 2, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "slopes is NULL",
                   quire_alibi_bias_typed(NULL, 2, 2, 2, 1, QUIRE_KV_F16, out, 2, 0, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_alibi_slopes(0, slopes, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_alibi_slopes(2, NULL, NULL));
#define BAD(word, ...) assert_refused(QUIRE_E_INVALID_ARG, word, quire_relative_bias(__VA_ARGS__))
    BAD("table", NULL, 2, 1, 0, 8, 2, out, &err);
    BAD("out", slopes, 2, 1, 0, 8, 2, NULL, &err);
    BAD("n_buckets", slopes, 1, 1, 0, 8, 2, out, &err);
    BAD("n_buckets", slopes, 3, 1, 1, 8, 2, out, &err);
    BAD("max_distance", slopes, 2, 1, 0, 1, 2, out, &err);
    BAD("range", slopes, 2, 1, 0, 8, (1 << 20) + 1, out, &err);
    BAD("n_heads", slopes, 2, 0, 0, 8, 2, out, &err);
#undef BAD
    for (int i = 0; i < 16; i++)
        assert_true(out[i] == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window_by_hand),   cmocka_unit_test(window_everywhere),
        cmocka_unit_test(alibi_by_formula), cmocka_unit_test(slopes_by_formula),
        cmocka_unit_test(relative_by_hand), cmocka_unit_test(every_dtype),
        cmocka_unit_test(bad_arguments),    cmocka_unit_test(attention_agrees_with_the_biases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
