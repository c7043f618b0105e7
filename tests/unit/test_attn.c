/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn.c - attention against a sum in double, and the same bits however a batch is cut, paged
 * or threaded. */
#include "test_attn_oracle.h"

/* ---- options, and ways to run them */

static struct scene scene_of(uint32_t heads, uint32_t kv_heads, uint32_t head_size,
                             enum quire_kv_dtype dtype, enum quire_compute compute)
{
    struct scene s = { .k_dtype = dtype, .v_dtype = dtype, .k_scale = 1, .v_scale = 1 };
    quire_attention_config_default(&s.config, heads, kv_heads, head_size);
    s.config.compute = compute;
    if (dtype == QUIRE_KV_FP8_E4M3 || dtype == QUIRE_KV_FP8_E5M2) {
        s.k_scale = 0.031f;
        s.v_scale = 0.5f;
    }
    return s;
}

/* A random set of options. Data must be filled in afterwards, and the pointers be set by
 * scene_point. */
static struct scene random_scene(void)
{
    static const enum quire_kv_dtype dtypes[] = { QUIRE_KV_F32, QUIRE_KV_BF16, QUIRE_KV_F16,
                                                  QUIRE_KV_FP8_E4M3, QUIRE_KV_FP8_E5M2 };
    const uint32_t kv_heads = 1 + scene_below(2), ratio = 1 + scene_below(8);
    const uint32_t head_size = scene_below(8) ? 8 * (1 + scene_below(10)) : 1 + scene_below(40);
    struct scene s = scene_of(kv_heads * ratio, kv_heads, head_size, dtypes[scene_below(5)],
                              scene_below(2) ? QUIRE_COMPUTE_F32 : QUIRE_COMPUTE_NATIVE);
    if (scene_below(6) == 0) {
        s.v_dtype = dtypes[scene_below(5)];
        s.config.v_head_size = 8 * (1 + scene_below(6));
    }
    if (scene_below(3) == 0)
        s.config.window_left = (int32_t)scene_below(scene_below(2) ? 20 : 600);
    if (scene_below(4) == 0)
        s.config.causal = 0;
    if (scene_below(4) == 0)
        s.config.window_right = (int32_t)scene_below(70);
    if (scene_below(3) == 0)
        s.config.logits_soft_cap = scene_uniform(1, 50);
    if (scene_below(4) == 0) {
        s.config.kind = (enum quire_attention_kind)(1 + scene_below(3));
        s.config.causal = 0;
    }
    if (scene_below(5) == 0)
        s.config.chunk_size = 1 + scene_below(scene_below(2) ? 90 : 700);
    return s;
}

static void scene_point(struct scene *s, bool alibi, bool sinks)
{
    if (scene_below(5) == 0) {
        s->config.relative_bias = s->relative;
        s->config.relative_range = scene_below(MAX_SCENE_RANGE + 1);
    }
    s->config.alibi_slopes = alibi ? s->slopes : NULL;
    s->config.sinks = sinks ? s->sinks : NULL;
}

/* Every row of a scene in one batch, checked. */
static struct result whole(const struct scene *s, const char *isa)
{
    struct result r = result_new(s);
    struct run run = run_whole(s);
    run.isa = isa;
    run_scene(s, &run, &r);
    return r;
}

static void assert_same_result(const struct result *a, const struct result *b)
{
    assert_same_bits(a->out, b->out, a->n_out);
    assert_same_bits(a->lse, b->lse, a->n_lse);
}

/* No row sees keys of later chunks. */
static bool chunks_are_possible(const struct quire_attention_config *c)
{
    return c->causal || c->window_right == 0 || c->kind == QUIRE_ATTENTION_CROSS;
}

/* Rows in chunks of n tokens. */
static void check_chunks(const struct scene *s, const struct result *want, uint32_t n,
                         uint32_t block_size)
{
    struct result got = result_new(s);
    uint32_t longest = 0;
    for (uint32_t i = 0; i < s->n_seqs; i++)
        longest = s->len[i] > longest ? s->len[i] : longest;
    for (uint32_t begin = 0; begin < longest; begin += n) {
        struct run r = run_whole(s);
        r.block_size = block_size;
        r.give_up = true;
        for (uint32_t i = 0; i < s->n_seqs; i++) {
            r.from[i] = begin < s->len[i] ? begin : s->len[i];
            r.to[i] = begin + n < s->len[i] ? begin + n : s->len[i];
        }
        run_scene(s, &r, &got);
    }
    assert_same_result(&got, want);
    result_free(&got);
}

/* The last tokens alone, as in decode: n of each sequence, all keys present. */
static void check_tail(const struct scene *s, const struct result *want, uint32_t n)
{
    struct result got = result_new(s);
    struct run r = run_whole(s);
    r.block_size = 16;
    r.reversed = true;
    r.shuffle = 99;
    for (uint32_t i = 0; i < s->n_seqs; i++)
        r.from[i] = s->len[i] > n ? s->len[i] - n : 0;
    memcpy(got.out, want->out, got.n_out * sizeof *got.out);
    memcpy(got.lse, want->lse, got.n_lse * sizeof *got.lse);
    for (uint32_t i = 0; i < s->n_seqs; i++)
        for (uint32_t t = r.from[i]; t < s->len[i]; t++) /* must be written again */
            memset(got.lse + (size_t)(s->first[i] + t) * s->config.num_heads, 0xee,
                   s->config.num_heads * sizeof(float));
    run_scene(s, &r, &got);
    assert_same_result(&got, want);
    result_free(&got);
}

static struct quire_threads *make_threads(uint32_t n)
{
    struct quire_threads_params p;
    struct quire_threads *t;
    quire_threads_params_default(&p);
    p.backend = QUIRE_THREADS_PTHREAD;
    p.n_threads = n;
    must(quire_threads_create(&p, &t, &err));
    return t;
}

static void check_threads(const struct scene *s, const struct result *want)
{
    static const uint32_t counts[] = { 1, 2, 3, 7 };
    static const uint32_t block_sizes[] = { 32, 128, 48, 16 };
    for (int i = 0; i < 4; i++) {
        struct result got = result_new(s);
        struct run r = run_whole(s);
        r.n_threads = counts[i];
        r.threads = counts[i] > 1 ? make_threads(counts[i]) : NULL;
        r.n_plan_threads = i == 2   ? 2
                           : i == 1 ? 64
                                    : counts[i]; /* fewer and more than there are, too */
        r.block_size = block_sizes[i];
        r.shuffle = (uint64_t)i + 5;
        r.flags = i == 3 ? QUIRE_PLAN_FAST : 0;
        run_scene(s, &r, &got);
        assert_same_result(&got, want);
        result_free(&got);
        quire_threads_destroy(r.threads);
    }
}

static void check_alone(const struct scene *s, const struct result *want)
{
    struct result got = result_new(s);
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        struct run r = run_whole(s);
        memset(r.to, 0, sizeof r.to);
        r.to[i] = s->len[i];
        r.block_size = 80;
        run_scene(s, &r, &got);
    }
    assert_same_result(&got, want);
    result_free(&got);
}

/* ---- tests */

static void every_option_in_every_way(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 3, 0, 140, 1, 65 };
    scene_rng = 7;
    for (int round = 0; round < 120; round++) {
        struct scene s = random_scene();
        scene_fill(&s, lens, 5);
        scene_point(&s, scene_below(3) == 0, scene_below(3) == 0);
        struct result want = whole(&s, NULL);
        check_oracle(&s, &want);
        if (chunks_are_possible(&s.config)) {
            check_chunks(&s, &want, 1 + scene_below(9), 32);
            check_chunks(&s, &want, 64, 64);
        }
        check_tail(&s, &want, 1);
        check_tail(&s, &want, 1 + scene_below(40));
        check_alone(&s, &want);
        result_free(&want);
        scene_free(&s);
    }
}

static void several_spans(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 1100, 513 };
    scene_rng = 3;
    for (int round = 0; round < 20; round++) {
        struct scene s = random_scene();
        s.config.head_size = round == 0 ? 7 : 8 * (1 + scene_below(4));
        scene_fill(&s, lens, 2);
        scene_point(&s, round % 3 == 1, round % 3 == 2);
        struct result want = whole(&s, NULL);
        check_oracle(&s, &want);
        check_threads(&s, &want);
        check_tail(&s, &want, 1);
        check_tail(&s, &want, 30);
        if (chunks_are_possible(&s.config))
            check_chunks(&s, &want, 333, 64);
        result_free(&want);
        scene_free(&s);
    }
}

/* Bits of every level. Native products may flush subnormals at avx512_bf16, which these data never
 * reach. */
static void levels_agree(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 90, 17 };
    scene_rng = 11;
    for (int round = 0; round < 40; round++) {
        struct scene s = random_scene();
        scene_fill(&s, lens, 2);
        scene_point(&s, scene_below(3) == 0, scene_below(3) == 0);
        struct result want = whole(&s, "generic");
        int i = 0;
        for (const char *level; (level = usable_level(&i));) {
            struct result got = whole(&s, level);
            assert_same_result(&got, &want);
            result_free(&got);
        }
        result_free(&want);
        scene_free(&s);
    }
}

static void every_group_and_head_size(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 70 };
    static const uint32_t sizes[] = { 8,   16,  24,  40,  48,  56,  64,  80,  88,  96,
                                      104, 112, 120, 128, 160, 192, 256, 512, 576, 1024,
                                      1,   2,   3,   7,   17,  65,  127, 513, 1023 };
    scene_rng = 5;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct scene s = scene_of(1 + (uint32_t)i % 9, 1, sizes[i],
                                  i % 2 ? QUIRE_KV_BF16 : QUIRE_KV_FP8_E4M3, QUIRE_COMPUTE_NATIVE);
        s.config.scale = 0.1f;
        scene_fill(&s, lens, 1);
        struct result want = whole(&s, NULL);
        check_oracle(&s, &want);
        check_tail(&s, &want, 2);
        result_free(&want);
        scene_free(&s);
    }
    struct scene s = scene_of(32, 1, 32, QUIRE_KV_F16, QUIRE_COMPUTE_F32);
    scene_fill(&s, lens, 1);
    struct result want = whole(&s, NULL);
    check_oracle(&s, &want);
    result_free(&want);
    scene_free(&s);
}

static void lse_does_not_change_out(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 600 };
    struct scene s = scene_of(4, 2, 32, QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE);
    scene_fill(&s, lens, 1);
    struct result want = whole(&s, NULL), got = result_new(&s);
    struct run r = run_whole(&s);
    r.no_lse = true;
    run_scene(&s, &r, &got);
    assert_same_bits(got.out, want.out, want.n_out);
    result_free(&want);
    result_free(&got);
    scene_free(&s);
}

static void set_all(float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; i++)
        x[i] = value;
}

static void huge_scores_stay_finite(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 200 };
    for (int i = 0; i < 4; i++) {
        struct scene s =
            scene_of(2, 1, 8, i < 2 ? QUIRE_KV_F32 : QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE);
        s.config.scale = 1;
        scene_fill(&s, lens, 1);
        set_all(s.q, 200 * 2 * 8, 0);
        for (uint32_t r = 0; r < 200 * 2; r++)
            s.q[r * 8] = 1e19f;
        for (uint32_t t = 0; t < 200; t++)
            s.k[t * 8] = i % 2 && t % 3 ? -1e19f : 1e19f;
        struct result got = whole(&s, NULL);
        for (size_t j = 0; j < got.n_out; j++)
            assert_true(isfinite(got.out[j]) && fabsf(got.out[j]) <= 2);
        for (size_t j = 0; j < got.n_lse; j++)
            assert_true(got.lse[j] > 0.99e38f && got.lse[j] < 1.01e38f);
        check_tail(&s, &got, 1);
        result_free(&got);
        scene_free(&s);
    }
}

static void rows_that_see_nothing(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 700 };
    struct scene s = scene_of(2, 1, 16, QUIRE_KV_F32, QUIRE_COMPUTE_F32);
    scene_fill(&s, lens, 1);
    s.config.sinks = s.sinks;
    set_all(s.k, 700 * 16, -3e38f); /* every score is -inf for the rows below */
    set_all(s.q + 600 * 2 * 16, 100 * 2 * 16, 3e38f);
    set_all(s.q, 600 * 2 * 16, 0);
    struct result got = whole(&s, NULL);
    for (uint32_t i = 0; i < 700 * 2; i++) {
        assert_true(i < 600 * 2 ? isfinite(got.lse[i]) : got.lse[i] == -INFINITY);
        for (uint32_t d = 0; d < 16; d++)
            assert_true(i < 600 * 2 ? isfinite(got.out[i * 16 + d]) : got.out[i * 16 + d] == 0);
    }
    check_threads(&s, &got);
    result_free(&got);
    scene_free(&s);
}

static void a_nan_query_spoils_only_its_row(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 100 };
    struct scene s = scene_of(4, 1, 64, QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE);
    scene_fill(&s, lens, 1);
    struct result want = whole(&s, NULL);
    s.q[(50 * 4 + 2) * 64 + 5] = NAN;
    struct result got = whole(&s, NULL);
    for (size_t row = 0; row < 400; row++) {
        if (row != 50 * 4 + 2)
            assert_same_bits(got.out + row * 64, want.out + row * 64, 64);
        for (size_t d = 0; row == 50 * 4 + 2 && d < 64; d++)
            assert_true(isnan(got.out[row * 64 + d]));
    }
    result_free(&want);
    result_free(&got);
    scene_free(&s);
}

/* The order of adds is a promise: these bits may change only together with docs/numerics.md. */
static void bits_are_pinned(void **state)
{
    (void)state;
    static const struct {
        enum quire_kv_dtype dtype;
        enum quire_compute compute;
        uint64_t hash;
    } pins[] = {
        { QUIRE_KV_F32, QUIRE_COMPUTE_F32, 0x0237f923e39d7fea },
        { QUIRE_KV_F16, QUIRE_COMPUTE_F32, 0x01d8729b3c5048b3 },
        { QUIRE_KV_BF16, QUIRE_COMPUTE_F32, 0xd7ac6c19c658fd9a },
        { QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE, 0x3b4a4ffc87e0f471 },
        { QUIRE_KV_FP8_E4M3, QUIRE_COMPUTE_F32, 0x4a3dee0858e66c9d },
        { QUIRE_KV_FP8_E4M3, QUIRE_COMPUTE_NATIVE, 0xedcf0bd1b1525833 },
        { QUIRE_KV_FP8_E5M2, QUIRE_COMPUTE_NATIVE, 0x2236f18a9c030c21 },
    };
    static const uint32_t lens[] = { 1200, 77 };
    for (size_t i = 0; i < sizeof pins / sizeof *pins; i++) {
        uint64_t hash = 1469598103934665603u;
        scene_rng = 2024;
        struct scene s = scene_of(6, 2, 72, pins[i].dtype, pins[i].compute);
        s.config.scale = 0.125f;
        s.config.logits_soft_cap = i % 3 == 1 ? 30 : 0;
        s.config.window_left = i % 3 == 2 ? 600 : -1;
        scene_fill(&s, lens, 2);
        s.config.alibi_slopes = i % 2 == 1 ? s.slopes : NULL;
        struct result r = whole(&s, NULL);
        for (size_t j = 0; j < r.n_out; j++) {
            uint32_t bits;
            memcpy(&bits, &r.out[j], sizeof bits);
            hash = (hash ^ bits) * 1099511628211u;
        }
        if (hash != pins[i].hash)
            fail_msg("case %zu: 0x%016llx", i, (unsigned long long)hash);
        result_free(&r);
        scene_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_in_every_way),
        cmocka_unit_test(several_spans),
        cmocka_unit_test(levels_agree),
        cmocka_unit_test(every_group_and_head_size),
        cmocka_unit_test(lse_does_not_change_out),
        cmocka_unit_test(huge_scores_stay_finite),
        cmocka_unit_test(rows_that_see_nothing),
        cmocka_unit_test(a_nan_query_spoils_only_its_row),
        cmocka_unit_test(bits_are_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
