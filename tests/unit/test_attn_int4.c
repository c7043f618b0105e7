/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_int4.c - attention over caches of int4: the same bits at every level and for every
 * division of the work, results near those of double precision over the stored values, and what the
 * transform of keys and values does. */
#include "test_attn_variants.h"

/* Types of keys and values, with int4 on one side at least. */
static const struct {
    enum quire_kv_dtype k, v;
    uint32_t rotation;
} CACHES[] = {
    { QUIRE_KV_INT4, QUIRE_KV_INT4, 0 },
    { QUIRE_KV_INT4, QUIRE_KV_INT4, QUIRE_KV_ROTATE_K },
    { QUIRE_KV_INT4, QUIRE_KV_INT4, QUIRE_KV_ROTATE_K | QUIRE_KV_ROTATE_V },
    { QUIRE_KV_INT4, QUIRE_KV_INT8, QUIRE_KV_ROTATE_K },
    { QUIRE_KV_INT8, QUIRE_KV_INT4, QUIRE_KV_ROTATE_V },
    { QUIRE_KV_INT4, QUIRE_KV_FP8_E4M3, 0 },
    { QUIRE_KV_BF16, QUIRE_KV_INT4, 0 },
    { QUIRE_KV_INT4, QUIRE_KV_F32, QUIRE_KV_ROTATE_K },
    { QUIRE_KV_F16, QUIRE_KV_INT4, QUIRE_KV_ROTATE_V },
};
enum { N_CACHES = sizeof CACHES / sizeof CACHES[0] };

/* A random set of options for cache number i, whose head sizes are multiples of 32. */
static struct problem scene(uint32_t i)
{
    struct problem s = random_scene();
    s.config.head_size = 32 * (1 + problem_below(problem_below(4) ? 2 : 6));
    s.config.v_head_size = problem_below(3) ? 0 : 32 * (1 + problem_below(3));
    s.config.scale = 1 / sqrtf((float)s.config.head_size);
    s.k_dtype = CACHES[i % N_CACHES].k;
    s.v_dtype = CACHES[i % N_CACHES].v;
    s.rotation = CACHES[i % N_CACHES].rotation;
    s.k_scale = s.v_scale = 1;
    return s;
}

/* Sequences of more than a span of keys, for few and small heads: they take most of the time. */
static void fill_long(struct problem *s)
{
    static const uint32_t lens[] = { 530, 1, 70 };
    s->config.n_kv_heads = 1;
    s->config.n_heads = 1 + problem_below(2);
    s->config.head_size = 32 * (1 + problem_below(2));
    s->config.v_head_size = 0;
    problem_fill(s, lens, 3);
}

static void every_option_in_every_way(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 90, 1, 70 };
    problem_rng = 31;
    for (uint32_t i = 0; i < 3 * N_CACHES; i++) {
        struct problem s = scene(i);
        const bool is_long = i < N_CACHES;
        if (is_long)
            fill_long(&s);
        else
            problem_fill(&s, lens, 3);
        problem_point(&s, problem_below(3) == 0, problem_below(3) == 0);
        struct result want = whole(&s, NULL);
        check_oracle(&s, &want);
        check_threads(&s, &want);
        check_alone(&s, &want);
        check_tail(&s, &want, 1);
        check_tail(&s, &want, 30);
        if (chunks_are_possible(&s.config))
            check_chunks(&s, &want, is_long ? 301 : 37, 64);
        result_free(&want);
        problem_free(&s);
    }
}

static void levels_agree(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 150, 17 };
    problem_rng = 32;
    for (uint32_t round = 0; round < 3 * N_CACHES; round++) {
        struct problem s = scene(round);
        problem_fill(&s, lens, 2);
        problem_point(&s, problem_below(3) == 0, problem_below(3) == 0);
        struct result want = whole(&s, "generic");
        int i = 0;
        for (const char *level; (level = usable_level(&i));) {
            struct result got = whole(&s, level);
            if (has_own_bits(&s, level))
                check_oracle(&s, &got);
            else
                assert_same_result(&got, &want);
            result_free(&got);
        }
        result_free(&want);
        problem_free(&s);
    }
}

/* Squared error of a result against that of an f32 cache. */
static double error_of(const struct problem *s, enum quire_kv_dtype dtype, uint32_t rotation)
{
    struct problem f32 = *s, own = *s;
    f32.k_dtype = f32.v_dtype = QUIRE_KV_F32;
    f32.rotation = 0;
    own.k_dtype = own.v_dtype = dtype;
    own.rotation = rotation;
    struct result want = whole(&f32, NULL), got = whole(&own, NULL);
    double sum = 0, all = 0;
    for (size_t i = 0; i < want.n_out; i++) {
        const double e = (double)got.out[i] - (double)want.out[i];
        sum += e * e;
        all += (double)want.out[i] * (double)want.out[i];
    }
    result_free(&want);
    result_free(&got);
    return sum / all;
}

/* One element of the keys is far larger than the others, as in many models. */
static void rotation_spreads_outliers(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 300 };
    problem_rng = 33;
    struct problem s = problem_of(4, 1, 128, QUIRE_KV_INT4, QUIRE_COMPUTE_NATIVE);
    problem_fill(&s, lens, 1);
    for (size_t t = 0; t < 300; t++)
        for (size_t d = 5; d < 128; d += 32)
            s.k[t * 128 + d] = 30 + problem_uniform(-1, 1);
    const double plain = error_of(&s, QUIRE_KV_INT4, 0),
                 rotated = error_of(&s, QUIRE_KV_INT4, QUIRE_KV_ROTATE_K),
                 int8 = error_of(&s, QUIRE_KV_INT8, 0);
    if (!(rotated < plain / 2 && int8 < rotated))
        fail_msg("squared errors: plain %g, rotated %g, int8 %g", plain, rotated, int8);
    problem_free(&s);
}

/* A key that holds a NaN reaches the queries that see it, and no other. */
static void nan_reaches_its_queries_only(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 200 };
    problem_rng = 34;
    for (uint32_t rotation = 0; rotation <= QUIRE_KV_ROTATE_K; rotation += QUIRE_KV_ROTATE_K) {
        struct problem s = problem_of(2, 1, 64, QUIRE_KV_INT4, QUIRE_COMPUTE_NATIVE);
        s.rotation = rotation;
        problem_fill(&s, lens, 1);
        struct result clean = whole(&s, NULL);
        s.k[150 * 64 + 3] = NAN;
        struct result got = whole(&s, NULL);
        for (size_t i = 0; i < got.n_out; i++) {
            if (i < 150 * 2 * 64)
                assert_memory_equal(&got.out[i], &clean.out[i], sizeof got.out[i]);
            else
                assert_true(isnan(got.out[i]));
        }
        result_free(&clean);
        result_free(&got);
        problem_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_in_every_way),
        cmocka_unit_test(levels_agree),
        cmocka_unit_test(rotation_spreads_outliers),
        cmocka_unit_test(nan_reaches_its_queries_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
