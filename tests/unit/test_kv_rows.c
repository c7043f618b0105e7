/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_rows.c - single capabilities of the cache with hand-computed results. */
#include "test_kv.h"
#include <math.h>
#include <quire/attention.h>

enum { D = 8, BLOCK = 16, N = 20 };

/* Writes n rows of one head whose elements are all value(token), and reads them back. */
static void write_rows(struct quire_kv_cache *kv, uint32_t layer, const float *values,
                       const int64_t *slots, size_t n)
{
    float rows[N][D];
    for (size_t t = 0; t < n; t++)
        for (int d = 0; d < D; d++)
            rows[t][d] = values[t];
    const struct quire_kv_write_args w = { .struct_size = sizeof w,
                                           .layer = layer,
                                           .k = rows,
                                           .v = rows,
                                           .slot_mapping = slots,
                                           .n_tokens = n };
    assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
}

static float read_back(struct quire_kv_cache *kv, uint32_t layer, int64_t slot)
{
    float k[D], v[D];
    const struct quire_kv_read_args r = {
        .struct_size = sizeof r, .layer = layer, .k = k, .v = v, .slots = &slot, .n_tokens = 1
    };
    assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
    for (int d = 0; d < D; d++)
        assert_true(memcmp(&k[d], &v[d], sizeof *k) == 0);
    return v[0];
}

static struct quire_kv_cache *one_head(enum quire_kv_dtype dtype, const float *scales, uint32_t n)
{
    struct quire_kv_group_config g = kv_group(dtype, D, 4);
    g.n_kv_heads = 1;
    g.k_scale = g.v_scale = scales;
    g.n_k_scales = g.n_v_scales = n;
    struct quire_kv_cache *kv = kv_make(&g, 1, BLOCK, NULL);
    int32_t blocks[4];
    kv_take(kv, 0, 4, blocks);
    return kv;
}

/* Pool scales apply to fp8 only: f32, bf16 and f16 ignore them. */
static void wide_types_ignore_scales(void **state)
{
    (void)state;
    static const enum quire_kv_dtype types[] = { QUIRE_KV_F32, QUIRE_KV_BF16, QUIRE_KV_F16 };
    const float scale = 0.3f, value = 1.25f;
    const int64_t slot = 3;
    for (size_t i = 0; i < COUNT(types); i++) {
        struct quire_kv_cache *kv = one_head(types[i], &scale, 1);
        write_rows(kv, 0, &value, &slot, 1);
        assert_true(read_back(kv, 0, slot) == value);
        quire_kv_destroy(kv);
    }
    struct quire_kv_cache *kv = one_head(QUIRE_KV_FP8_E4M3, &scale, 1);
    write_rows(kv, 0, &value, &slot, 1); /* 1.25 / 0.3 = 4.17 rounds to 4 */
    assert_true(read_back(kv, 0, slot) == 4 * scale);
    quire_kv_destroy(kv);
}

/* e4m3 has more precision, e5m2 more range; both saturate. */
static void fp8_types_differ(void **state)
{
    (void)state;
    static const struct {
        enum quire_kv_dtype dtype;
        float in, out;
    } cases[] = {
        { QUIRE_KV_FP8_E4M3, 1.125f, 1.125f },   { QUIRE_KV_FP8_E5M2, 1.125f, 1 },
        { QUIRE_KV_FP8_E4M3, 1000, 448 },        { QUIRE_KV_FP8_E5M2, 1000, 1024 },
        { QUIRE_KV_FP8_E4M3, -INFINITY, -448 },  { QUIRE_KV_FP8_E5M2, 1e6f, 57344 },
        { QUIRE_KV_FP8_E4M3, 0x1p-9f, 0x1p-9f }, { QUIRE_KV_FP8_E5M2, 0x1p-16f, 0x1p-16f },
        { QUIRE_KV_FP8_E4M3, 0x1p-16f, 0 },      { QUIRE_KV_FP8_E5M2, -0.875f, -0.875f },
    };
    const int64_t slot = 9;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct quire_kv_cache *kv = one_head(cases[i].dtype, NULL, 0);
        write_rows(kv, 0, &cases[i].in, &slot, 1);
        const float got = read_back(kv, 0, slot);
        if (got != cases[i].out)
            fail_msg("case %zu: %g, not %g", i, (double)got, (double)cases[i].out);
        quire_kv_destroy(kv);
    }
}

/* One scale for all layers equals the same scale given per layer. */
static void one_scale_spreads_over_layers(void **state)
{
    (void)state;
    const float scales[] = { 0.25f, 0.3f }, value = 3.4f; /* a single scale is the first */
    const int64_t slot = 7;
    for (uint32_t layer = 0; layer < 2; layer++) {
        struct quire_kv_cache *kv = one_head(QUIRE_KV_FP8_E5M2, scales, 1);
        write_rows(kv, layer, &value, &slot, 1);
        assert_true(read_back(kv, layer, slot) == 3.5f); /* 13.6 rounds to 14 */
        quire_kv_destroy(kv);
        kv = one_head(QUIRE_KV_FP8_E5M2, scales, 2);
        write_rows(kv, layer, &value, &slot, 1); /* in layer 1, 11.3 rounds to 12 */
        assert_true(read_back(kv, layer, slot) == (layer ? 12 * scales[1] : 3.5f));
        quire_kv_destroy(kv);
        kv = one_head(QUIRE_KV_FP8_E5M2, scales, 0); /* no scale: 1 */
        write_rows(kv, layer, &value, &slot, 1);
        assert_true(read_back(kv, layer, slot) == 3.5f);
        quire_kv_destroy(kv);
    }
}

/* K and V may have more rows than n_tokens, which bounds the rows that are written. */
static void rows_beyond_n_tokens_are_not_written(void **state)
{
    (void)state;
    struct quire_kv_cache *kv = one_head(QUIRE_KV_F32, NULL, 0);
    const float before[] = { 1, 1, 1 }, rows[] = { 5, 6, NAN };
    const int64_t slots[] = { 4, 5, 6 };
    write_rows(kv, 0, before, slots, 3);
    write_rows(kv, 0, rows, slots, 2);
    assert_true(read_back(kv, 0, 4) == 5 && read_back(kv, 0, 5) == 6 && read_back(kv, 0, 6) == 1);
    quire_kv_destroy(kv);
}

/* All slots of a sequence without blocks are QUIRE_SLOT_PAD. */
static void pads_are_not_written(void **state)
{
    (void)state;
    struct quire_kv_cache *kv = one_head(QUIRE_KV_F32, NULL, 0);
    float values[N];
    int64_t slots[N];
    for (int i = 0; i < N; i++) {
        slots[i] = i;
        values[i] = 2;
    }
    write_rows(kv, 0, values, slots, N);
    for (int i = 0; i < N; i++) {
        slots[i] = QUIRE_SLOT_PAD;
        values[i] = NAN;
    }
    write_rows(kv, 0, values, slots, N);
    slots[11] = 11; /* pads next to a valid slot */
    values[11] = 9;
    write_rows(kv, 0, values, slots, N);
    for (int i = 0; i < N; i++)
        assert_true(read_back(kv, 0, i) == (i == 11 ? 9 : 2));
    for (int64_t slot = -3; slot < QUIRE_SLOT_PAD; slot++) { /* no other negative slot is a pad */
        slots[4] = slot;
        assert_status(QUIRE_E_RANGE, quire_kv_check_slots(kv, 0, slots, N, NULL));
        float rows[N][D] = { { 0 } };
        const struct quire_kv_write_args w = {
            .struct_size = sizeof w, .k = rows, .v = rows, .slot_mapping = slots, .n_tokens = N
        };
        assert_status(QUIRE_E_RANGE, quire_kv_write(kv, &w, NULL, NULL));
        assert_true(read_back(kv, 0, 11) == 9);
    }
    quire_kv_destroy(kv);
}

/* Attention of a zero query of `group` to the first n tokens of a layer: the mean of the values. */
static float mean_of_layer(struct quire_plan *plan, uint32_t group, uint32_t layer)
{
    float q[D] = { 0 }, out[D];
    const struct quire_attention_args args = {
        .struct_size = sizeof args, .group = group, .layer = layer, .q = q, .out = out
    };
    assert_status(QUIRE_OK, quire_attention_forward(plan, &args, NULL, NULL));
    return out[0];
}

/* Two layers of a model, one with a window, read the KV that one of them wrote. */
static void cross_layer_kv_sharing(void **state)
{
    (void)state;
    struct quire_kv_cache *kv = one_head(QUIRE_KV_F32, NULL, 0);
    float values[N];
    int64_t slots[N];
    for (int i = 0; i < N; i++) {
        slots[i] = i;
        values[i] = (float)i;
    }
    write_rows(kv, 0, values, slots, N);
    struct quire_attention_config full, windowed;
    quire_attention_config_init(&full, sizeof full, 1, 1, D);
    windowed = full;
    windowed.window_left = 3;
    const struct quire_plan_group groups[] = { { &full, 0, 0 },
                                               { &windowed, 0, 0 },
                                               { &full, 0, 0 } };
    const struct quire_plan_params params = { .struct_size = sizeof params,
                                              .kv = kv,
                                              .groups = groups,
                                              .n_groups = 2,
                                              .max_tokens = 1,
                                              .max_seqs = 1,
                                              .max_seq_len = N,
                                              .n_threads = 1 };
    struct quire_plan_params turned = params; /* in either order, each layer keeps its window */
    turned.groups = groups + 1;
    const int32_t table[] = { 0, 1 }, starts[] = { 0, 1 }, lens[] = { N };
    const struct quire_attention_batch_group tables = { .block_table = table, .max_blocks = 2 };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = lens,
                                                 .n_groups = 1,
                                                 .groups = &tables };
    struct quire_plan *plan;
    assert_status(QUIRE_OK, quire_plan_create(&params, &plan, NULL));
    assert_status(QUIRE_OK, quire_plan_build(plan, &batch, NULL));
    assert_true(fabsf(mean_of_layer(plan, 0, 0) - 9.5f) < 1e-5f);
    assert_true(fabsf(mean_of_layer(plan, 1, 0) - 17.5f) < 1e-5f);
    quire_plan_destroy(plan);
    assert_status(QUIRE_OK, quire_plan_create(&turned, &plan, NULL));
    assert_status(QUIRE_OK, quire_plan_build(plan, &batch, NULL));
    assert_true(fabsf(mean_of_layer(plan, 0, 0) - 17.5f) < 1e-5f);
    assert_true(fabsf(mean_of_layer(plan, 1, 0) - 9.5f) < 1e-5f);
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_types_ignore_scales),
        cmocka_unit_test(fp8_types_differ),
        cmocka_unit_test(one_scale_spreads_over_layers),
        cmocka_unit_test(rows_beyond_n_tokens_are_not_written),
        cmocka_unit_test(pads_are_not_written),
        cmocka_unit_test(cross_layer_kv_sharing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
