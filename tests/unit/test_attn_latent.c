/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_latent.c - attention over latent groups: the bits of ordinary groups that store the
 * same keys and, separately, the same values. */
#include "test_attn.h"

static const struct {
    uint32_t heads, kv_heads, head_size, v_size;
} SHAPES[] = {
    { 16, 1, 576, 512 }, { 5, 1, 320, 256 }, { 4, 1, 48, 32 }, { 3, 1, 24, 24 },
    { 6, 2, 72, 40 },    { 2, 1, 40, 20 },   { 2, 1, 23, 16 }, { 3, 1, 19, 11 },
};
static const struct {
    enum quire_kv_dtype dtype;
    enum quire_compute compute;
} KINDS[] = {
    { QUIRE_KV_F32, QUIRE_COMPUTE_F32 },         { QUIRE_KV_F16, QUIRE_COMPUTE_NATIVE },
    { QUIRE_KV_BF16, QUIRE_COMPUTE_F32 },        { QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE },
    { QUIRE_KV_FP8_E4M3, QUIRE_COMPUTE_NATIVE }, { QUIRE_KV_FP8_E5M2, QUIRE_COMPUTE_F32 },
    { QUIRE_KV_INT8, QUIRE_COMPUTE_NATIVE },     { QUIRE_KV_INT8, QUIRE_COMPUTE_F32 },
};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES, N_KINDS = sizeof KINDS / sizeof *KINDS };

static struct problem latent_scene(size_t shape, size_t kind, const uint32_t *lens, uint32_t n)
{
    struct problem s = { .k_dtype = KINDS[kind].dtype, .v_dtype = KINDS[kind].dtype };
    quire_attention_config_init(&s.config, sizeof s.config, SHAPES[shape].heads,
                                SHAPES[shape].kv_heads, SHAPES[shape].head_size);
    s.config.v_head_size = SHAPES[shape].v_size;
    s.config.compute = KINDS[kind].compute;
    s.k_scale = s.v_scale = 0.3f;
    problem_fill(&s, lens, n);
    const size_t k = s.config.head_size, v = s.config.v_head_size;
    for (size_t i = 0; i < (size_t)s.n_rows * s.config.n_kv_heads; i++)
        s.k[i * k] =
            3; /* the row maximum: int8 values stored separately then have the scale of their key */
    for (size_t i = 0; i < (size_t)s.n_rows * s.config.n_kv_heads; i++)
        memcpy(s.v + i * v, s.k + i * k, v * sizeof *s.v);
    return s;
}

static void assert_same(const struct problem *s, const struct variant *r, const struct result *want)
{
    struct result got = result_new(s);
    memcpy(got.out, want->out, got.n_out * sizeof *got.out);
    memcpy(got.lse, want->lse, got.n_lse * sizeof *got.lse);
    for (uint32_t i = 0; i < s->n_seqs; i++) /* the run must write the rows it computes */
        for (uint32_t pos = r->from[i]; pos < r->to[i]; pos++)
            memset(got.out + (size_t)(s->first[i] + pos) * s->config.n_heads * problem_v_size(s),
                   0x77, s->config.n_heads * problem_v_size(s) * sizeof *got.out);
    run_problem(s, r, &got);
    assert_memory_equal(got.out, want->out, got.n_out * sizeof *got.out);
    assert_memory_equal(got.lse, want->lse, got.n_lse * sizeof *got.lse);
    result_free(&got);
}

static struct result ordinary(const struct problem *s, const char *isa)
{
    struct result want = result_new(s);
    struct variant r = variant_whole(s);
    r.isa = isa;
    run_problem(s, &r, &want);
    return want;
}

static void same_bits_as_two_copies(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 130, 0, 77 };
    static const uint32_t blocks[] = { 64, 16, 128, 48 };
    problem_rng = 3;
    for (size_t shape = 0; shape < N_SHAPES; shape++)
        for (size_t kind = 0; kind < N_KINDS; kind++) {
            struct problem s = latent_scene(shape, kind, lens, 3);
            struct result want = ordinary(&s, NULL);
            struct variant r = variant_whole(&s);
            r.latent = true;
            r.block_size = blocks[(shape + kind) % 4];
            r.shuffle = 9;
            assert_same(&s, &r, &want);
            result_free(&want);
            problem_free(&s);
        }
}

static void every_level(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 70 };
    problem_rng = 4;
    for (size_t shape = 0; shape < N_SHAPES; shape += 2)
        for (size_t kind = 0; kind < N_KINDS; kind++) {
            struct problem s = latent_scene(shape, kind, lens, 1);
            struct result want = ordinary(&s, "generic");
            int i = 0;
            for (const char *level; (level = usable_level(&i));) {
                struct result own = ordinary(&s, level);
                struct variant r = variant_whole(&s);
                r.latent = true;
                r.isa = level;
                assert_same(&s, &r, has_own_bits(&s, level) ? &own : &want);
                result_free(&own);
            }
            result_free(&want);
            problem_free(&s);
        }
}

/* Decode, chunks, windows with freed blocks, split keys and threads. */
static void every_way(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 1200, 40 };
    struct quire_threads *threads = make_threads(3);
    problem_rng = 5;
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        struct problem s = latent_scene(2, kind, lens, 2);
        s.config.window_left = kind % 2 ? 300 : -1;
        struct result want = ordinary(&s, NULL);
        struct variant r = variant_whole(&s);
        r.latent = true;
        r.from[0] = 1199, r.from[1] = 39;
        assert_same(&s, &r, &want); /* decode */
        r.omit_freed = true;
        assert_same(&s, &r, &want);
        r.from[0] = 1150, r.from[1] = 0, r.to[0] = 1180;
        assert_same(&s, &r, &want); /* a chunk */
        r = variant_whole(&s);
        r.latent = true;
        r.from[0] = 1100;
        r.n_threads = r.n_plan_threads = 3;
        r.threads = threads;
        assert_same(&s, &r, &want);
        result_free(&want);
        problem_free(&s);
    }
    quire_threads_destroy(threads);
}

/* A NaN in a slot that no query sees, and in the rotary part of a key, which is not a value. */
static void nan_stays_where_it_is(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 40 };
    struct problem s = latent_scene(2, 3, lens, 1);
    struct variant r = variant_whole(&s);
    r.latent = true; /* the rest of the block is NaN already */
    struct result got = result_new(&s);
    run_problem(&s, &r, &got);
    for (size_t i = 0; i < got.n_out; i++)
        assert_true(isfinite(got.out[i]));
    s.k[30 * 48 + 40] = NAN; /* key 30, beyond its 32 values */
    struct result spoilt = result_new(&s);
    run_problem(&s, &r, &spoilt);
    for (size_t row = 0; row < 40 * 4; row++)
        for (size_t d = 0; d < 32; d++)
            assert_true(row / 4 < 30 ? spoilt.out[row * 32 + d] == got.out[row * 32 + d]
                                     : isnan(spoilt.out[row * 32 + d]));
    result_free(&spoilt);
    result_free(&got);
    problem_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_as_two_copies),
        cmocka_unit_test(every_level),
        cmocka_unit_test(every_way),
        cmocka_unit_test(nan_stays_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
