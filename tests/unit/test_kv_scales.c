/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_scales.c - pool scales, row scales, and rows with NaN or infinity. */
#include "kv/types.h"
#include "test_kv_write.h"
#include <float.h>
#include <math.h>
#include <quire/attention.h>

static void scales_per_layer_and_head(void **state)
{
    (void)state;
    const float k_scale[] = { 0.5f, 0.0137f, 3, 1.25f }, v_scale[] = { 2, 0.07f };
    struct quire_kv_group_config g = kv_group(QUIRE_KV_FP8_E4M3, 16, 2);
    g.v_dtype = QUIRE_KV_FP8_E5M2;
    g.k_scale = k_scale;
    g.n_k_scales = 4;
    g.v_scale = v_scale;
    g.n_v_scales = 2;
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t b;
    kv_take(kv, 0, 1, &b);
    const int64_t slot = 5;
    for (uint32_t layer = 0; layer < 2; layer++) {
        for (size_t i = 0; i < 32; i++) {
            in.k[i] = sinf((float)(i + 1)) * 9;
            in.v[i] = cosf((float)(i + 1)) * 9;
        }
        const struct quire_kv_write_args w = write_of(layer, &in, &slot, 1);
        const struct quire_kv_read_args r = read_of(layer, &out, &slot, 1);
        assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
        assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
        for (uint32_t i = 0; i < 32; i++) {
            const float ks = k_scale[layer * 2 + i / 16], vs = v_scale[layer];
            float x = in.k[i] / ks;
            uint8_t code;
            kv->kernels->quantize_fp8_e4m3(&code, &x, 1, 1);
            kv->kernels->dequantize_fp8_e4m3(&x, &code, 1, 1);
            assert_true(out.k[i] == x * ks);
            x = in.v[i] / vs;
            kv->kernels->quantize_fp8_e5m2(&code, &x, 1, 1);
            kv->kernels->dequantize_fp8_e5m2(&x, &code, 1, 1);
            assert_true(out.v[i] == x * vs);
        }
    }
    for (size_t i = 0; i < 32; i++)
        in.k[i] = in.v[i] = 1;
    const uint64_t clipped = quire_kv_clipped(kv);
    in.k[3] = -1e6f;
    in.v[9] = INFINITY;
    in.v[8] = NAN;
    const struct quire_kv_write_args w = write_of(0, &in, &slot, 1);
    const struct quire_kv_read_args r = read_of(0, &out, &slot, 1);
    assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
    assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
    assert_true(out.k[3] == -448 * 0.5f && out.v[9] == 57344 * 2.0f && isnan(out.v[8]));
    assert_int_equal(quire_kv_clipped(kv) - clipped, 2);
    quire_kv_destroy(kv);
}

/* Attention of one visible key: the LSE is the score, out is the value. Both are dequantized with
 * the scale of their layer and head, as a read of the row is. */
static void attention_uses_the_scales(void **state)
{
    (void)state;
    enum { D = 16, HEADS = 2, LAYERS = 2 };
    const float k_scale[] = { 0.5f, 0.0137f, 3, 1.25f }, v_scale[] = { 2, 0.07f, 0.3f, 5 };
    static const enum quire_kv_dtype dtypes[] = { QUIRE_KV_FP8_E4M3, QUIRE_KV_FP8_E5M2 };
    static const uint32_t counts[] = { 0, 1, LAYERS, LAYERS * HEADS };
    const int64_t slot = 0;
    const int32_t table[] = { 0 }, starts[] = { 0, 1 }, lens[] = { 1 };
    struct quire_attention_config c;
    quire_attention_config_init(&c, sizeof c, HEADS, HEADS, D);
    c.compute = QUIRE_COMPUTE_F32;
    for (int i = 0; i < 2 * 4; i++) {
        struct quire_kv_group_config g = kv_group(dtypes[i % 2], D, 1);
        g.k_scale = k_scale;
        g.v_scale = v_scale;
        g.n_k_scales = counts[i / 2];
        g.n_v_scales = counts[3 - i / 2];
        struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
        struct quire_plan *plan;
        int32_t block;
        kv_take(kv, 0, 1, &block);
        const struct quire_plan_group group = { .config = &c };
        const struct quire_plan_params params = { .struct_size = sizeof params,
                                                  .kv = kv,
                                                  .groups = &group,
                                                  .n_groups = 1,
                                                  .max_tokens = 1,
                                                  .max_seqs = 1,
                                                  .max_seq_len = 1,
                                                  .n_threads = 1 };
        const struct quire_attention_batch_group tables = { .block_table = table, .max_blocks = 1 };
        const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                     .n_seqs = 1,
                                                     .query_start_loc = starts,
                                                     .seq_lens = lens,
                                                     .n_groups = 1,
                                                     .groups = &tables };
        assert_status(QUIRE_OK, quire_plan_create(&params, &plan, NULL));
        assert_status(QUIRE_OK, quire_plan_build(plan, &batch, NULL));
        for (uint32_t layer = 0; layer < LAYERS; layer++) {
            float q[HEADS * D], got[HEADS * D], lse[HEADS];
            for (size_t j = 0; j < HEADS * D; j++) {
                in.k[j] = sinf((float)(j + 1)) * 9;
                in.v[j] = cosf((float)(j + 1)) * 9;
                q[j] = 0.5f + (float)j / 64;
            }
            const struct quire_kv_write_args w = write_of(layer, &in, &slot, 1);
            const struct quire_kv_read_args r = read_of(layer, &out, &slot, 1);
            const struct quire_attention_args args = {
                .struct_size = sizeof args, .layer = layer, .q = q, .out = got, .lse = lse
            };
            assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
            assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
            assert_status(QUIRE_OK, quire_attention_forward(plan, &args, NULL, NULL));
            for (int h = 0; h < HEADS; h++) {
                double score = 0;
                for (int d = 0; d < D; d++) {
                    score += (double)q[h * D + d] * (double)out.k[h * D + d];
                    assert_true(fabsf(got[h * D + d] - out.v[h * D + d]) <= 1e-5f);
                }
                assert_true(fabs((double)lse[h] - score * (double)c.scale) < 1e-4);
            }
        }
        quire_plan_destroy(plan);
        quire_kv_destroy(kv);
    }
}

/* All dtypes but fp8 ignore the pool scales. */
static void only_fp8_uses_the_pools_scales(void **state)
{
    (void)state;
    const float scale = 0.25f;
    for (size_t d = 0; d < COUNT(KV_DTYPES); d++) {
        const bool fp8 = KV_DTYPES[d] == QUIRE_KV_FP8_E4M3 || KV_DTYPES[d] == QUIRE_KV_FP8_E5M2;
        struct quire_kv_group_config g = kv_group(KV_DTYPES[d], 16, 1);
        g.k_scale = g.v_scale = &scale;
        g.n_k_scales = g.n_v_scales = 1;
        struct quire_kv_cache *scaled = kv_make(&g, 1, 16, NULL);
        g.n_k_scales = g.n_v_scales = 0;
        struct quire_kv_cache *plain = kv_make(&g, 1, 16, NULL);
        int32_t b;
        const int64_t slot = 3;
        exact_rows(&in, KV_DTYPES[d], 16, KV_DTYPES[d], 16);
        const struct quire_kv_write_args w = write_of(0, &in, &slot, 1);
        kv_take(scaled, 0, 1, &b);
        kv_take(plain, 0, 1, &b);
        memset(scaled->pool, 0, scaled->pool_bytes);
        memset(plain->pool, 0, plain->pool_bytes);
        assert_status(QUIRE_OK, quire_kv_write(scaled, &w, NULL, NULL));
        assert_status(QUIRE_OK, quire_kv_write(plain, &w, NULL, NULL));
        assert_int_equal(memcmp(scaled->pool, plain->pool, plain->pool_bytes) == 0, !fp8);
        quire_kv_destroy(scaled);
        quire_kv_destroy(plain);
    }
}

/* int8 has no code for them: the row reads back as NaN, its neighbors are unchanged. */
static void int8_rows_with_nan_or_infinity(void **state)
{
    (void)state;
    enum { D = 16, BAD = 5 };
    static const float bad[BAD] = { NAN, INFINITY, -INFINITY, -NAN, INFINITY };
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_INT8, D, 1);
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t b;
    int64_t slots[BAD + 1];
    kv_take(kv, 0, 1, &b);
    exact_rows(&in, QUIRE_KV_INT8, D, QUIRE_KV_INT8, D);
    for (size_t t = 0; t <= BAD; t++) {
        slots[t] = (int64_t)t;
        if (t < BAD) /* head 1 of K, head 0 of V */
            in.k[(t * 2 + 1) * D + t] = in.v[t * 2 * D + 3 * t] = bad[t];
        else
            for (size_t i = 0; i < 2 * D; i++)
                in.k[t * 2 * D + i] = i ? FLT_MAX : -FLT_MAX;
    }
    const struct quire_kv_write_args w = write_of(0, &in, slots, BAD + 1);
    const struct quire_kv_read_args r = read_of(0, &out, slots, BAD + 1);
    assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
    assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
    for (size_t t = 0; t < BAD; t++)
        for (size_t i = 0; i < D; i++) {
            assert_true(isnan(out.k[(t * 2 + 1) * D + i]) && isnan(out.v[t * 2 * D + i]));
            assert_true(out.k[t * 2 * D + i] == in.k[t * 2 * D + i]);
            assert_true(out.v[(t * 2 + 1) * D + i] == in.v[(t * 2 + 1) * D + i]);
        }
    for (size_t i = 0; i < 2 * D; i++) /* the largest finite values stay finite */
        assert_true(fabsf(out.k[BAD * 2 * D + i] / in.k[BAD * 2 * D + i] - 1) < 1e-6f);
    assert_int_equal(quire_kv_clipped(kv), 2 * 3);
    quire_kv_destroy(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_per_layer_and_head),
        cmocka_unit_test(attention_uses_the_scales),
        cmocka_unit_test(only_fp8_uses_the_pools_scales),
        cmocka_unit_test(int8_rows_with_nan_or_infinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
