/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_latent.c - latent groups (MLA): values are the first elements of keys, stored once. */
#include "kv/rows.h"
#include "kv/types.h"
#include "test_kv.h"

enum { TOKENS = 37, BLOCKS = 5, MAX_HEAD = 576 };
static const uint32_t SIZES[][2] = { { 8, 8 },   { 48, 32 },   { 24, 24 },   { 20, 16 },
                                     { 72, 20 }, { 576, 512 }, { 320, 256 }, { 7, 3 } };
static const uint32_t BLOCK_SIZES[] = { 16, 48, 64, 128 };

static struct quire_kv_group_config latent_group(enum quire_kv_dtype dtype, uint32_t head_size,
                                                 uint32_t v_head_size)
{
    struct quire_kv_group_config g = kv_group(dtype, head_size, BLOCKS);
    g.n_kv_heads = 1;
    g.v_head_size = v_head_size;
    g.flags = QUIRE_KV_LATENT;
    return g;
}

/* V offsets equal K offsets, and the block holds no V. */
static void layout_has_no_values(void **state)
{
    (void)state;
    for (size_t d = 0; d < COUNT(KV_DTYPES); d++)
        for (size_t i = 0; i < COUNT(SIZES); i++)
            for (size_t b = 0; b < COUNT(BLOCK_SIZES); b++) {
                const int bs = (int)BLOCK_SIZES[b], k = (int)SIZES[i][0], v = (int)SIZES[i][1];
                struct qr_kv_layout l, whole;
                assert_true(qr_kv_layout_init_latent(&l, KV_DTYPES[d], bs, k, v));
                assert_true(qr_kv_layout_init(&whole, KV_DTYPES[d], KV_DTYPES[d], bs, k, v));
                for (int t = 0; t < bs; t++)
                    for (int e = 0; e < v; e++)
                        assert_int_equal(qr_kv_v_offset(&l, t, e), qr_kv_k_offset(&whole, t, e));
                size_t keys = (size_t)bs * (size_t)k * qr_kv_dtype(KV_DTYPES[d])->bytes;
                if (KV_DTYPES[d] == QUIRE_KV_INT8) /* plus the row scales of K */
                    keys += (size_t)bs * sizeof(float);
                assert_in_range(l.block_bytes, keys, keys + 63);
                assert_int_equal(l.v_scales, l.k_scales);
            }
    struct qr_kv_layout l = { .block_size = -7 };
    assert_false(qr_kv_layout_init_latent(&l, QUIRE_KV_BF16, 64, 64, 65));
    assert_false(qr_kv_layout_init_latent(&l, QUIRE_KV_BF16, 64, 1025, 512));
    assert_false(qr_kv_layout_init_latent(&l, QUIRE_KV_BF16, 64, 64, 0));
    assert_int_equal(l.block_size, -7);
}

static float in[TOKENS * MAX_HEAD], k_out[TOKENS * MAX_HEAD], v_out[TOKENS * MAX_HEAD];

static void check_read(const struct quire_kv_cache *kv, const int64_t *slots, size_t k, size_t v)
{
    const struct quire_kv_read_args r = { .struct_size = sizeof r,
                                          .layer = 1,
                                          .k = k_out,
                                          .v = v_out,
                                          .slots = slots,
                                          .n_tokens = TOKENS };
    assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
    for (size_t t = 0; t < TOKENS; t++) {
        if (slots[t] == QUIRE_SLOT_PAD)
            continue;
        assert_memory_equal(k_out + t * k, in + t * k, k * sizeof *in);
        assert_memory_equal(v_out + t * v, in + t * k, v * sizeof *in);
    }
}

static void round_trip(enum quire_kv_dtype dtype, uint32_t k, uint32_t v, uint32_t bs)
{
    const struct quire_kv_group_config g = latent_group(dtype, k, v);
    struct quire_kv_cache *kv = kv_make(&g, 1, bs, NULL);
    int32_t blocks[BLOCKS];
    int64_t slots[TOKENS];
    kv_take(kv, 0, BLOCKS, blocks);
    kv_random_slots(slots, TOKENS, blocks, 3, bs, true);
    kv_exact_rows(dtype, in, TOKENS, k);
    const struct quire_kv_write_args w = {
        .struct_size = sizeof w, .layer = 1, .k = in, .slot_mapping = slots, .n_tokens = TOKENS
    };
    assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
    check_read(kv, slots, k, v);
    /* a copied block has the same contents */
    assert_status(QUIRE_OK, quire_kv_copy(kv, 0, blocks, blocks + 3, 1, NULL));
    for (size_t t = 0; t < TOKENS; t++)
        if (slots[t] != QUIRE_SLOT_PAD && slots[t] / bs == blocks[0])
            slots[t] += (int64_t)(blocks[3] - blocks[0]) * bs;
    check_read(kv, slots, k, v);
    quire_kv_destroy(kv);
}

static void rows_round_trip(void **state)
{
    (void)state;
    for (size_t d = 0; d < COUNT(KV_DTYPES); d++)
        for (size_t i = 0; i < COUNT(SIZES); i++)
            round_trip(KV_DTYPES[d], SIZES[i][0], SIZES[i][1], BLOCK_SIZES[i % COUNT(BLOCK_SIZES)]);
}

/* [blocks][block size][head size], the latent layout of other runtimes. */
static void plain_tensors(void **state)
{
    (void)state;
    enum { K = 48, V = 32, BS = 16, N = 2 * BS * K };
    for (size_t d = 0; d < COUNT(KV_DTYPES); d++) {
        const struct quire_kv_group_config g = latent_group(KV_DTYPES[d], K, V);
        struct quire_kv_cache *kv = kv_make(&g, 1, BS, NULL);
        float x[N], back[N];
        int32_t blocks[2];
        kv_take(kv, 0, 2, blocks);
        kv_exact_rows(KV_DTYPES[d], x, 2 * BS, K);
        struct quire_kv_plain_args a = { .struct_size = sizeof a,
                                         .layer = 1,
                                         .blocks = blocks,
                                         .n_blocks = 2,
                                         .layout = quire_kv_plain_latent(QUIRE_KV_F32, BS, K),
                                         .size = sizeof x };
        assert_status(QUIRE_OK, quire_kv_import(kv, &a, x, NULL));
        assert_status(QUIRE_OK, quire_kv_export(kv, &a, back, NULL));
        assert_memory_equal(back, x, sizeof x);
        const int64_t slot = (int64_t)blocks[1] * BS + 3;
        float v[V];
        const struct quire_kv_read_args r = {
            .struct_size = sizeof r, .layer = 1, .v = v, .slots = &slot, .n_tokens = 1
        };
        assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
        assert_memory_equal(v, x + (BS + 3) * K, sizeof v);
        a.size--;
        assert_fails(QUIRE_E_RANGE, "block 1 of the tensor", quire_kv_export(kv, &a, back, &err));
        a.size++;
        a.layout.v_offset = K;
        assert_fails(QUIRE_E_INVALID_ARG, "v_offset", quire_kv_import(kv, &a, x, &err));
        assert_fails(QUIRE_E_INVALID_ARG, "v_offset", quire_kv_export(kv, &a, back, &err));
        quire_kv_destroy(kv);
    }
    const struct quire_kv_plain_layout huge = quire_kv_plain_latent(QUIRE_KV_F32, SIZE_MAX, 2);
    assert_true(huge.stride_token == SIZE_MAX);
}

/* An int8 tensor has row scales for K only. */
static void int8_tensors(void **state)
{
    (void)state;
    enum { K = 24, V = 16, BS = 16 };
    const struct quire_kv_group_config g = latent_group(QUIRE_KV_INT8, K, V);
    struct quire_kv_cache *kv = kv_make(&g, 1, BS, NULL);
    int8_t codes[BS * K], back[BS * K];
    float scales[BS], scales_back[BS] = { 0 }, v[V];
    int32_t block;
    kv_take(kv, 0, 1, &block);
    for (size_t i = 0; i < COUNT(codes); i++)
        codes[i] = (int8_t)(i % 251 - 125);
    for (size_t i = 0; i < BS; i++)
        scales[i] = (float)(i + 1);
    struct quire_kv_plain_args a = { .struct_size = sizeof a,
                                     .blocks = &block,
                                     .n_blocks = 1,
                                     .layout = quire_kv_plain_latent(QUIRE_KV_INT8, BS, K),
                                     .size = sizeof codes,
                                     .k_scales = scales,
                                     .n_scales = BS };
    assert_status(QUIRE_OK, quire_kv_import(kv, &a, codes, NULL));
    const int64_t slot = (int64_t)block * BS + 7;
    const struct quire_kv_read_args r = {
        .struct_size = sizeof r, .v = v, .slots = &slot, .n_tokens = 1
    };
    assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
    for (size_t d = 0; d < V; d++)
        assert_true(v[d] == 8 * (float)codes[7 * K + d]);
    a.k_scales = scales_back;
    assert_status(QUIRE_OK, quire_kv_export(kv, &a, back, NULL));
    assert_memory_equal(back, codes, sizeof codes);
    assert_memory_equal(scales_back, scales, sizeof scales);
    a.k_scales = NULL;
    assert_fails(QUIRE_E_INVALID_ARG, "k_scales is NULL", quire_kv_export(kv, &a, back, &err));
    quire_kv_destroy(kv);
}

/* fp8 values are dequantized with the scale of K, as in attention. */
static void one_scale_for_both(void **state)
{
    (void)state;
    const float scale = 0.5f;
    struct quire_kv_group_config g = latent_group(QUIRE_KV_FP8_E4M3, 16, 8), got;
    g.k_scale = &scale;
    g.n_k_scales = 1;
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t block;
    kv_take(kv, 0, 1, &block);
    const int64_t slot = (int64_t)block * 16;
    float k[16], v[8];
    for (size_t i = 0; i < 16; i++)
        k[i] = 300; /* 600 saturates at 448 */
    const struct quire_kv_write_args w = {
        .struct_size = sizeof w, .k = k, .slot_mapping = &slot, .n_tokens = 1
    };
    const struct quire_kv_read_args r = {
        .struct_size = sizeof r, .v = v, .slots = &slot, .n_tokens = 1
    };
    assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
    assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
    assert_true(v[0] == 224 && v[7] == 224);
    assert_int_equal(quire_kv_clipped(kv), 16);
    assert_status(QUIRE_OK, quire_kv_get_group(kv, 0, &got, NULL));
    assert_int_equal(got.flags, QUIRE_KV_LATENT);
    assert_true(got.k_scale[1] == scale && got.v_scale[1] == scale && got.n_v_scales == 0);
    struct quire_kv_cache *again =
        kv_make(&got, 1, 16, NULL); /* the result of get is a valid config */
    quire_kv_destroy(again);
    quire_kv_destroy(kv);
}

static void memory_of_keys_only(void **state)
{
    (void)state;
    struct quire_kv_group_config g = latent_group(QUIRE_KV_BF16, 576, 512);
    const struct quire_kv_params c = { .struct_size = sizeof c, .groups = &g, .n_groups = 1 };
    struct quire_kv_memory m = { .struct_size = sizeof m };
    assert_status(QUIRE_OK, quire_kv_bytes(&c, &m, NULL));
    assert_int_equal(m.pool, 2 * BLOCKS * 64 * 576 * 2);
}

static void bad_configurations(void **state)
{
    (void)state;
    const struct quire_kv_group_config ok = latent_group(QUIRE_KV_BF16, 64, 48);
    struct quire_kv_group_config g;
    const struct quire_kv_params c = { .struct_size = sizeof c, .groups = &g, .n_groups = 1 };
    struct quire_kv_memory m = { .struct_size = sizeof m };
    const float scale = 1;
#define REFUSES(field, value, text)                                                                \
    (g = ok, g.v_scale = &scale, g.field = value,                                                  \
     ({ assert_fails(QUIRE_E_INVALID_ARG, text, quire_kv_bytes(&c, &m, &err)); }))
    REFUSES(flags, 3, "groups[0].flags 0x3");
    REFUSES(v_head_size, 65, "groups[0].v_head_size 65");
    REFUSES(v_dtype, QUIRE_KV_F16, "groups[0].v_dtype");
    REFUSES(n_v_scales, 1, "groups[0].n_v_scales");
    REFUSES(reserved[0], 1, "groups[0].reserved[0]");
#undef REFUSES
    assert_int_equal(m.pool, 0);
}

static void values_cannot_be_written(void **state)
{
    (void)state;
    const struct quire_kv_group_config g = latent_group(QUIRE_KV_F32, 16, 8);
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t block;
    kv_take(kv, 0, 1, &block);
    memset(kv->pool, 0xa5, kv->pool_bytes);
    const int64_t slot = (int64_t)block * 16;
    const float x[16] = { 0 };
    struct quire_kv_write_args w = {
        .struct_size = sizeof w, .k = x, .v = x, .slot_mapping = &slot, .n_tokens = 1
    };
    assert_fails(QUIRE_E_INVALID_ARG, "args.v is not NULL", quire_kv_write(kv, &w, NULL, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "args.v is not NULL", quire_kv_write_check(kv, &w, &err));
    w.v = NULL;
    w.k = NULL;
    assert_fails(QUIRE_E_INVALID_ARG, "args.k is NULL", quire_kv_write(kv, &w, NULL, &err));
    w.k = x;
    w.slot_mapping = NULL;
    assert_fails(QUIRE_E_INVALID_ARG, "slot_mapping", quire_kv_write(kv, &w, NULL, &err));
    for (size_t i = 0; i < kv->pool_bytes; i++)
        assert_int_equal(kv->pool[i], 0xa5);
    quire_kv_destroy(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_has_no_values), cmocka_unit_test(rows_round_trip),
        cmocka_unit_test(plain_tensors),        cmocka_unit_test(int8_tensors),
        cmocka_unit_test(one_scale_for_both),   cmocka_unit_test(memory_of_keys_only),
        cmocka_unit_test(bad_configurations),   cmocka_unit_test(values_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
