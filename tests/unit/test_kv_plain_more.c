/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_plain_more.c - plain tensors with a layer dimension, and int8 tensors with row scales. */
#include "kv/types.h"
#include "test_kv.h"

/* Memory orders of a tensor with a layer dimension, as strides. */
static void physical_orders(void **state)
{
    (void)state;
    enum { L = 3, B = 2, H = 2, BS = 16, D = 8, N = L * B * 2 * H * BS * D };
    static const struct {
        size_t block, head, layer, part, token;
    } orders[] = {
        { H * L * 2 * BS * D, L * 2 * BS * D, 2 * BS * D, BS * D, D }, /* [B, H, L, 2, BS, D] */
        { H * 2 * BS * D, 2 * BS * D, B * H * 2 * BS * D, BS * D, D }, /* [L][B, H, 2, BS, D] */
        { 2 * BS * H * D, D, B * 2 * BS * H * D, BS * H * D, H * D },  /* [L, B, 2, BS, H, D] */
        { BS * H * D, D, 2 * B * BS * H * D, B * BS * H * D, H * D },  /* [L, 2, B, BS, H, D] */
    };
    static float x[N], back[N];
    struct quire_kv_group_config g = kv_group(QUIRE_KV_F32, D, B);
    g.n_layers = L;
    for (size_t o = 0; o < COUNT(orders); o++) {
        struct quire_kv_cache *kv = kv_make(&g, 1, BS, NULL);
        int32_t blocks[B];
        kv_take(kv, 0, B, blocks);
        for (size_t i = 0; i < N; i++) {
            x[i] = (float)i;
            back[i] = -1;
        }
        for (uint32_t layer = 0; layer < L; layer++) {
            const size_t at = layer * orders[o].layer;
            const struct quire_kv_plain_args a = {
                .struct_size = sizeof a,
                .layer = layer,
                .blocks = blocks,
                .n_blocks = B,
                .size = (N - at) * sizeof *x,
                .layout = { QUIRE_KV_F32, orders[o].block, orders[o].token, orders[o].head,
                            orders[o].part },
            };
            assert_status(QUIRE_OK, quire_kv_import(kv, &a, x + at, NULL));
            assert_status(QUIRE_OK, quire_kv_export(kv, &a, back + at, NULL));
        }
        assert_memory_equal(back, x, sizeof x); /* each element belongs to one layer */
        for (uint32_t i = 0; i < L * B * BS; i++) {
            const uint32_t layer = i / (B * BS), b = i / BS % B, t = i % BS;
            const int64_t slot = (int64_t)blocks[b] * BS + t;
            float k[H * D], v[H * D];
            const struct quire_kv_read_args r = { .struct_size = sizeof r,
                                                  .layer = layer,
                                                  .k = k,
                                                  .v = v,
                                                  .slots = &slot,
                                                  .n_tokens = 1 };
            assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
            for (size_t j = 0; j < H * D; j++) {
                const size_t at = b * orders[o].block + t * orders[o].token +
                                  j / D * orders[o].head + layer * orders[o].layer + j % D;
                assert_true(k[j] == (float)at && v[j] == (float)(at + orders[o].part));
            }
        }
        quire_kv_destroy(kv);
    }
}

/* Asserts that import and export reject the arguments with the same error. */
static void rejects(struct quire_kv_cache *kv, const struct quire_kv_plain_args *args, void *tensor,
                    quire_status code, const char *text)
{
    assert_fails(code, text, quire_kv_import(kv, args, tensor, &err));
    assert_fails(code, text, quire_kv_export(kv, args, tensor, &err));
}

/* Each kind of invalid scales of an int8 tensor; nothing is written. */
static void bad_scales(void **state)
{
    (void)state;
    enum { SCALES = 2 * 16 * 2 };
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_INT8, 8, 4);
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t b[2];
    kv_take(kv, 0, 2, b);
    memset(kv->pool, 0xa5, kv->pool_bytes);
    /* one buffer: the tensor, k_scales, v_scales; adjacent ranges do not overlap */
    static float memory[2 * 2 * 16 * 2 * 8 / 4 + 2 * SCALES];
    memset(memory, 0x11, sizeof memory);
    float *const scales = memory + COUNT(memory) - 2 * SCALES;
    const struct quire_kv_plain_args ok = { .struct_size = sizeof ok,
                                            .blocks = b,
                                            .n_blocks = 2,
                                            .size = (size_t)((char *)scales - (char *)memory),
                                            .layout =
                                                quire_kv_plain_block_major(QUIRE_KV_INT8, 16, 2, 8),
                                            .k_scales = scales,
                                            .v_scales = scales + SCALES,
                                            .n_scales = SCALES };
    struct quire_kv_plain_args a;
#define REFUSES(field, value, code, text)                                                          \
    (a = ok, a.field = value, rejects(kv, &a, memory, code, text))
    REFUSES(k_scales, NULL, QUIRE_E_INVALID_ARG, "k_scales is NULL");
    REFUSES(v_scales, NULL, QUIRE_E_INVALID_ARG, "v_scales is NULL");
    REFUSES(n_scales, SCALES - 1, QUIRE_E_RANGE, "the 63 scales");
    REFUSES(n_scales, 0, QUIRE_E_RANGE, "the 0 scales");
    REFUSES(v_scales, scales, QUIRE_E_INVALID_ARG, "k_scales and v_scales overlap");
    REFUSES(v_scales, scales + SCALES - 1, QUIRE_E_INVALID_ARG, "k_scales and v_scales overlap");
    REFUSES(k_scales, scales - 1, QUIRE_E_INVALID_ARG, "scales and the tensor overlap");
    REFUSES(v_scales, scales - SCALES, QUIRE_E_INVALID_ARG, "scales and the tensor overlap");
#undef REFUSES
    a = ok;
    const int32_t far[] = { INT32_MAX, 0 };
    a.plain_blocks = far;
    a.layout.stride_block = 0; /* blocks of the tensor may coincide, scales may not */
    rejects(kv, &a, memory, QUIRE_E_RANGE, "the 64 scales");
    for (size_t i = 0; i < kv->pool_bytes; i++)
        assert_int_equal(kv->pool[i], 0xa5);
    for (size_t i = 0; i < sizeof memory; i++)
        assert_int_equal(((unsigned char *)memory)[i], 0x11);
    assert_status(QUIRE_OK, quire_kv_import(kv, &ok, memory, NULL));
    assert_status(QUIRE_OK, quire_kv_export(kv, &ok, memory, NULL));
    quire_kv_destroy(kv);
}

/* Conversion of an int8 tensor to other pool dtypes, and of other tensors to an int8 pool. */
static void int8_values_are_converted(void **state)
{
    (void)state;
    const float scale = 0.5f;
    struct quire_kv_group_config g = kv_group(QUIRE_KV_FP8_E4M3, 8, 1);
    g.v_dtype = QUIRE_KV_INT8;
    g.n_layers = g.n_kv_heads = 1;
    g.k_scale = &scale;
    g.n_k_scales = 1;
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t b;
    kv_take(kv, 0, 1, &b);
    int8_t codes[2 * 16 * 8];
    float scales[2 * 16], x[COUNT(codes)];
    for (size_t i = 0; i < COUNT(codes); i++)
        codes[i] = (int8_t)(i % 8 ? -12 : 100);
    for (size_t i = 0; i < COUNT(scales); i++)
        scales[i] = (float)(i + 1);
    struct quire_kv_plain_args a = { .struct_size = sizeof a,
                                     .blocks = &b,
                                     .n_blocks = 1,
                                     .size = sizeof codes,
                                     .layout = quire_kv_plain_split(QUIRE_KV_INT8, 1, 16, 1, 8),
                                     .k_scales = scales,
                                     .v_scales = scales + 16,
                                     .n_scales = 16 };
    assert_status(QUIRE_OK, quire_kv_import(kv, &a, codes, NULL));
    assert_int_equal(quire_kv_clipped(kv), 14); /* 100 * (3 .. 16) / 0.5 is beyond 448 */
    a.layout.dtype = QUIRE_KV_F32;
    a.size = sizeof x;
    assert_status(QUIRE_OK, quire_kv_export(kv, &a, x, NULL));
    assert_true(x[0] == 96 && x[1] == -12); /* 200 is a tie, rounded to 192; 24 is exact */
    assert_true(x[15 * 8] == 224);          /* saturated */
    assert_true(x[17 * 8] == 1800 && x[17 * 8 + 1] == -216); /* exact */
    x[16 * 8] = 254;
    assert_status(QUIRE_OK, quire_kv_import(kv, &a, x, NULL));
    a.layout.dtype = QUIRE_KV_INT8;
    a.size = sizeof codes;
    assert_status(QUIRE_OK, quire_kv_export(kv, &a, codes, NULL));
    assert_true(scales[16] == 2 && codes[16 * 8] == 127 &&
                codes[16 * 8 + 1] == -102); /* -204 / 2 */
    assert_true(scales[0] == 96.0f / 127);
    quire_kv_destroy(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(physical_orders),
        cmocka_unit_test(bad_scales),
        cmocka_unit_test(int8_values_are_converted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
