/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_plain.c - import and export: plain layouts of other runtimes, conversions, bounds. */
#include "kv/rows.h"
#include "kv/types.h"
#include "test_kv.h"

enum { NB = 5, HEADS = 2 };

/* Oracle: index of element d of (block, token, head) of K (part 0) or V (part 1) in each layout. */
static size_t block_major(int part, size_t b, size_t t, size_t h, size_t d, size_t bs, size_t D)
{
    return ((((b * 2 + (size_t)part) * bs + t) * HEADS + h) * D) + d; /* [NB, 2, BS, Hkv, D] */
}

static size_t split(int part, size_t b, size_t t, size_t h, size_t d, size_t bs, size_t D)
{
    return (((((size_t)part * NB + b) * bs + t) * HEADS + h) * D) + d; /* [2, NB, BS, Hkv, D] */
}

static size_t flat(int part, size_t b, size_t t, size_t h, size_t d, size_t bs, size_t D)
{
    return ((size_t)part * NB + b) * (bs * HEADS * D) + (t * HEADS + h) * D +
           d; /* [2, NB, BS * Hkv * D] */
}

typedef size_t index_fn(int part, size_t b, size_t t, size_t h, size_t d, size_t bs, size_t D);

/* A tensor of n_rows rows of n elements, and their row scales (1 unless int8). */
struct tensor {
    unsigned char *codes;
    float *scales;
    size_t size;
};

static struct tensor make_tensor(const struct qr_kernels *k, enum quire_kv_dtype dtype,
                                 const float *x, size_t n_rows, size_t n)
{
    const struct qr_kv_dtype *type = qr_kv_dtype(dtype);
    struct tensor t = { .size = n_rows * n * type->bytes };
    t.codes = malloc(t.size);
    t.scales = malloc(n_rows * sizeof *t.scales);
    assert_true(t.codes && t.scales);
    for (size_t i = 0; i < n_rows; i++) {
        t.scales[i] = 1;
        type->quantize(k, t.codes + i * n * type->bytes, x + i * n, &t.scales[i], n);
    }
    return t;
}

static void free_tensor(struct tensor *t)
{
    free(t->codes);
    free(t->scales);
}

/* Row scales of K (part 0) or V (part 1), in the order of the call's arrays. */
static float *scales_of(const struct tensor *t, index_fn *at, int part, size_t bs, size_t D)
{
    float *scales = malloc(NB * bs * HEADS * sizeof *scales);
    assert_non_null(scales);
    for (size_t i = 0; i < NB * bs * HEADS; i++)
        scales[i] = t->scales[at(part, i / (bs * HEADS), i / HEADS % bs, i % HEADS, 0, bs, D) / D];
    return scales;
}

/* Asserts that the pool's block equals tensor block pb of x. */
static void check_block(const struct quire_kv_cache *kv, int32_t block, size_t pb, const float *x,
                        index_fn *at, size_t D)
{
    const size_t bs = quire_kv_block_size(kv);
    float *k = malloc(bs * HEADS * D * sizeof *k), *v = malloc(bs * HEADS * D * sizeof *v);
    int64_t *slots = malloc(bs * sizeof *slots);
    assert_true(k && v && slots);
    for (size_t t = 0; t < bs; t++)
        slots[t] = block * (int64_t)(bs) + (int64_t)t;
    const struct quire_kv_read_args r = {
        .struct_size = sizeof r, .layer = 1, .k = k, .v = v, .slots = slots, .n_tokens = bs
    };
    assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
    for (size_t i = 0; i < bs * HEADS * D; i++) {
        const size_t t = i / (HEADS * D), h = i / D % HEADS, d = i % D;
        assert_true(k[i] == x[at(0, pb, t, h, d, bs, D)]);
        assert_true(v[i] == x[at(1, pb, t, h, d, bs, D)]);
    }
    free(slots);
    free(v);
    free(k);
}

static void one_shape(enum quire_kv_dtype dtype, enum quire_kv_dtype plain, uint32_t bs, uint32_t D,
                      index_fn *at)
{
    struct quire_kv_group_config g = kv_group(dtype, D, 8);
    struct quire_kv_cache *kv = kv_make(&g, 1, bs, NULL);
    const size_t n_rows = (size_t)NB * 2 * bs * HEADS;
    float *x = malloc(n_rows * D * sizeof *x);
    assert_non_null(x);
    kv_exact_rows(plain == QUIRE_KV_INT8 ? plain : dtype, x, n_rows, D);
    struct tensor tensor = make_tensor(kv->kernels, plain, x, n_rows, D);
    int32_t all[8];
    kv_take(kv, 0, 8, all);
    const int32_t blocks[NB] = { 6, 1, 3, 0, 7 }, plain_blocks[NB] = { 4, 0, 3, 1, 2 };
    struct quire_kv_plain_args a = { .struct_size = sizeof a,
                                     .layer = 1,
                                     .blocks = blocks,
                                     .plain_blocks = plain_blocks,
                                     .n_blocks = NB,
                                     .size = tensor.size };
    a.layout = at == block_major ? quire_kv_plain_block_major(plain, bs, HEADS, D)
                                 : quire_kv_plain_split(plain, NB, bs, HEADS, D);
    float *const k_scales = scales_of(&tensor, at, 0, bs, D), *const v_scales =
                                                                  scales_of(&tensor, at, 1, bs, D);
    if (plain == QUIRE_KV_INT8) {
        a.k_scales = k_scales;
        a.v_scales = v_scales;
        a.n_scales = n_rows / 2;
    }
    assert_status(QUIRE_OK, quire_kv_import(kv, &a, tensor.codes, NULL));
    for (size_t i = 0; i < NB; i++)
        check_block(kv, blocks[i], (size_t)plain_blocks[i], x, at, D);
    unsigned char *back = malloc(tensor.size);
    float *scales_back = malloc(n_rows * sizeof *scales_back);
    assert_true(back && scales_back);
    memset(back, 0x3c, tensor.size);
    memset(scales_back, 0x3c, n_rows * sizeof *scales_back);
    if (plain == QUIRE_KV_INT8) {
        a.k_scales = scales_back;
        a.v_scales = scales_back + n_rows / 2;
    }
    assert_status(QUIRE_OK, quire_kv_export(kv, &a, back, NULL));
    assert_memory_equal(back, tensor.codes, tensor.size);
    if (plain == QUIRE_KV_INT8) {
        assert_memory_equal(scales_back, k_scales, n_rows / 2 * sizeof *k_scales);
        assert_memory_equal(scales_back + n_rows / 2, v_scales, n_rows / 2 * sizeof *v_scales);
    }
    free(scales_back);
    free(back);
    free(v_scales);
    free(k_scales);
    free_tensor(&tensor);
    free(x);
    quire_kv_destroy(kv);
}

static void the_three_shapes(void **state)
{
    (void)state;
    static index_fn *const shapes[] = { block_major, split, flat };
    static const uint32_t sizes[][2] = { { 16, 8 }, { 32, 7 }, { 64, 24 }, { 48, 20 } };
    for (size_t d = 0; d < COUNT(KV_DTYPES); d++)
        for (size_t s = 0; s < COUNT(shapes); s++)
            for (size_t i = 0; i < COUNT(sizes); i++) {
                one_shape(KV_DTYPES[d], KV_DTYPES[d], sizes[i][0], sizes[i][1], shapes[s]);
                one_shape(KV_DTYPES[d], KV_DTYPES[i % 3], sizes[i][0], sizes[i][1], shapes[s]);
                one_shape(KV_DTYPES[i % 3], QUIRE_KV_INT8, sizes[i][0], sizes[i][1], shapes[s]);
            }
}

/* No conversion between equal dtypes: bits, NaN payloads and scales are kept. */
static void same_dtype_keeps_bits(void **state)
{
    (void)state;
    for (size_t dt = 0; dt < COUNT(KV_DTYPES); dt++) {
        const float scale = 0.3f;
        struct quire_kv_group_config g = kv_group(KV_DTYPES[dt], 16, 2);
        g.k_scale = g.v_scale = &scale;
        g.n_k_scales = g.n_v_scales = 1;
        struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
        unsigned char raw[2 * 2 * 16 * 2 * 16 * 4], back[sizeof raw];
        const size_t size = sizeof raw / 4 * qr_kv_dtype(KV_DTYPES[dt])->bytes;
        float scales[4 * 2 * 16 * 2], *const scales_back = scales + COUNT(scales) / 2;
        for (size_t i = 0; i < size; i++)
            raw[i] = (unsigned char)kv_random();
        for (size_t i = 0; i < sizeof scales; i++)
            ((unsigned char *)scales)[i] = (unsigned char)kv_random();
        int32_t b[2];
        kv_take(kv, 0, 2, b);
        struct quire_kv_plain_args a = { .struct_size = sizeof a,
                                         .blocks = b,
                                         .n_blocks = 2,
                                         .size = size,
                                         .layout =
                                             quire_kv_plain_block_major(KV_DTYPES[dt], 16, 2, 16),
                                         .k_scales = scales,
                                         .v_scales = scales + 2 * 16 * 2,
                                         .n_scales = 2 * 16 * 2 };
        assert_status(QUIRE_OK, quire_kv_import(kv, &a, raw, NULL));
        a.k_scales = scales_back;
        a.v_scales = scales_back + 2 * 16 * 2;
        assert_status(QUIRE_OK, quire_kv_export(kv, &a, back, NULL));
        assert_memory_equal(back, raw, size);
        assert_int_equal(memcmp(scales_back, scales, sizeof scales / 2) == 0,
                         KV_DTYPES[dt] == QUIRE_KV_INT8); /* other dtypes ignore them */
        assert_int_equal(quire_kv_clipped(kv), 0);
        quire_kv_destroy(kv);
    }
}

static void fp8_values_are_scaled(void **state)
{
    (void)state;
    const float k_scale = 0.5f, v_scale = 4;
    struct quire_kv_group_config g = kv_group(QUIRE_KV_FP8_E4M3, 8, 1);
    g.n_layers = g.n_kv_heads = 1;
    g.k_scale = &k_scale;
    g.v_scale = &v_scale;
    g.n_k_scales = g.n_v_scales = 1;
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t b;
    kv_take(kv, 0, 1, &b);
    float x[2 * 16 * 8], back[COUNT(x)];
    for (size_t i = 0; i < COUNT(x); i++)
        x[i] = 1000;
    struct quire_kv_plain_args a = { .struct_size = sizeof a,
                                     .blocks = &b,
                                     .n_blocks = 1,
                                     .size = sizeof x,
                                     .layout = quire_kv_plain_split(QUIRE_KV_F32, 1, 16, 1, 8) };
    assert_status(QUIRE_OK, quire_kv_import(kv, &a, x, NULL));
    assert_status(QUIRE_OK, quire_kv_export(kv, &a, back, NULL));
    assert_true(back[0] == 224);          /* 1000 / 0.5 saturates at 448 */
    assert_true(back[16 * 8] == 256 * 4); /* 1000 / 4 = 250, nearest is 256 */
    assert_int_equal(quire_kv_clipped(kv), 16 * 8);
    quire_kv_destroy(kv);
}

static void v_of_another_size_and_gaps(void **state)
{
    (void)state;
    struct quire_kv_group_config g = kv_group(QUIRE_KV_F32, 16, 1);
    g.v_head_size = 8;
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t b;
    kv_take(kv, 0, 1, &b);
    enum { N = 16 * 2 * 40 };
    float x[N], back[N];
    for (size_t i = 0; i < N; i++) {
        x[i] = kv_exact();
        back[i] = 77;
    }
    /* rows of 16 K, 4 unused, 8 V, 12 unused elements, from element 1 of the buffer on */
    struct quire_kv_plain_args a = {
        .struct_size = sizeof a, .blocks = &b, .n_blocks = 1, .size = sizeof x
    };
    a.layout = (struct quire_kv_plain_layout){ QUIRE_KV_F32, 0, 80, 40, 20 };
    assert_status(QUIRE_OK, quire_kv_import(kv, &a, x, NULL));
    assert_status(QUIRE_OK, quire_kv_export(kv, &a, back, NULL));
    for (size_t i = 0; i < N; i++)
        assert_true(back[i] == (i % 40 < 16 || (i % 40 >= 20 && i % 40 < 28) ? x[i] : 77));
    quire_kv_destroy(kv);
}

static void misaligned_tensors(void **state)
{
    (void)state;
    for (size_t dt = 0; dt < 3; dt++)
        for (size_t shift = 0; shift < 4; shift++) {
            const struct quire_kv_group_config g = kv_group(QUIRE_KV_FP8_E5M2, 8, 1);
            struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
            int32_t b;
            kv_take(kv, 0, 1, &b);
            enum { N = 2 * 16 * 2 * 8 };
            float x[N];
            for (size_t i = 0; i < N; i++)
                x[i] = kv_exact();
            struct tensor tensor = make_tensor(kv->kernels, KV_DTYPES[dt], x, 1, N);
            const size_t size = tensor.size;
            unsigned char raw[N * 4 + 4], back[N * 4 + 4];
            memcpy(raw + shift, tensor.codes, size);
            struct quire_kv_plain_args a = { .struct_size = sizeof a,
                                             .blocks = &b,
                                             .n_blocks = 1,
                                             .size = size,
                                             .layout = quire_kv_plain_block_major(KV_DTYPES[dt], 16,
                                                                                  2, 8) };
            assert_status(QUIRE_OK, quire_kv_import(kv, &a, raw + shift, NULL));
            assert_status(QUIRE_OK, quire_kv_export(kv, &a, back + shift, NULL));
            assert_memory_equal(back + shift, tensor.codes, size);
            free_tensor(&tensor);
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

static void rejects_each(struct quire_kv_cache *kv, const struct quire_kv_plain_args *ok,
                         void *tensor)
{
    const int32_t unused[] = { 0, 3 }, beyond[] = { 0, 4 }, low[] = { -1, 0 },
                  plain_low[] = { 0, -1 }, plain_high[] = { 2, 0 };
    struct quire_kv_plain_args a;
#define REJECTS(field, value, code, text)                                                          \
    (a = *ok, a.field = value, rejects(kv, &a, tensor, code, text))
    REJECTS(struct_size, 8, QUIRE_E_MISUSE, "struct_size");
    REJECTS(group, 1, QUIRE_E_INVALID_ARG, "group 1");
    REJECTS(layer, 2, QUIRE_E_INVALID_ARG, "layer 2");
    REJECTS(blocks, NULL, QUIRE_E_INVALID_ARG, "blocks");
    REJECTS(blocks, unused, QUIRE_E_MISUSE, "args.blocks[1]: block 3 is free");
    REJECTS(blocks, beyond, QUIRE_E_RANGE, "args.blocks[1] 4");
    REJECTS(blocks, low, QUIRE_E_RANGE, "args.blocks[0] -1");
    REJECTS(plain_blocks, plain_low, QUIRE_E_RANGE, "plain_blocks[1] -1");
    REJECTS(plain_blocks, plain_high, QUIRE_E_RANGE, "block 2 of the tensor");
    REJECTS(size, ok->size - 1, QUIRE_E_RANGE, "block 1 of the tensor");
    REJECTS(size, 0, QUIRE_E_RANGE, "block 1 of the tensor");
    REJECTS(layout.dtype, (enum quire_kv_dtype)7, QUIRE_E_INVALID_ARG, "dtype");
    REJECTS(layout.dtype, QUIRE_KV_FP8_E4M3, QUIRE_E_UNSUPPORTED, "fp8_e4m3");
    REJECTS(layout.dtype, QUIRE_KV_INT8, QUIRE_E_INVALID_ARG,
            "k_scales is NULL, the tensor is int8");
    REJECTS(layout.stride_token, 0, QUIRE_E_INVALID_ARG, "stride_token");
    REJECTS(layout.stride_head, 0, QUIRE_E_INVALID_ARG, "stride_head");
    REJECTS(layout.stride_token, 15, QUIRE_E_INVALID_ARG, "overlap");
    REJECTS(layout.stride_head, 7, QUIRE_E_INVALID_ARG, "overlap");
    REJECTS(layout.v_offset, 7, QUIRE_E_INVALID_ARG, "v_offset");
    REJECTS(layout.v_offset, SIZE_MAX, QUIRE_E_RANGE, "tensor");
    REJECTS(layout.v_offset, SIZE_MAX - 100, QUIRE_E_RANGE, "tensor");
    REJECTS(layout.stride_block, SIZE_MAX, QUIRE_E_RANGE, "tensor");
    REJECTS(layout.stride_block, SIZE_MAX / 4 + 1, QUIRE_E_RANGE,
            "tensor"); /* overflows in bytes */
    REJECTS(layout.stride_token, SIZE_MAX / 8, QUIRE_E_INVALID_ARG, "overflow");
    REJECTS(layout, quire_kv_plain_block_major(QUIRE_KV_F32, SIZE_MAX / 30, 2, 8),
            QUIRE_E_INVALID_ARG, "overflow");
    REJECTS(layout, quire_kv_plain_block_major(QUIRE_KV_F32, SIZE_MAX / 17, 2, 8),
            QUIRE_E_INVALID_ARG, "overflow");
    REJECTS(layout, quire_kv_plain_split(QUIRE_KV_F32, 1, SIZE_MAX, 2, 8), QUIRE_E_INVALID_ARG,
            "overflow");
    REJECTS(layout, quire_kv_plain_split(QUIRE_KV_F32, SIZE_MAX / 9, 16, 2, 8), QUIRE_E_INVALID_ARG,
            "overflow");
    REJECTS(layout, quire_kv_plain_split(QUIRE_KV_F32, 1, 16, SIZE_MAX, 8), QUIRE_E_INVALID_ARG,
            "overflow");
#undef REJECTS
    rejects(kv, ok, NULL, QUIRE_E_INVALID_ARG, "plain");
    rejects(kv, NULL, tensor, QUIRE_E_INVALID_ARG, "args");
    rejects(NULL, ok, tensor, QUIRE_E_INVALID_ARG, "kv");
}

static void bad_arguments(void **state)
{
    (void)state;
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_BF16, 8, 4);
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t b[3];
    kv_take(kv, 0, 3, b);
    assert_status(QUIRE_OK, quire_kv_retain(kv, 0, &b[2], 1, NULL));
    memset(kv->pool, 0xa5, kv->pool_bytes);
    static float tensor[2 * 2 * 16 * 2 * 8];
    memset(tensor, 0x11, sizeof tensor);
    const int32_t two[] = { 0, 1 }, twice[] = { 0, 0 }, shared[] = { 0, 2 };
    const struct quire_kv_plain_args ok = {
        .struct_size = sizeof ok,
        .blocks = two,
        .n_blocks = 2,
        .size = sizeof tensor,
        .layout = quire_kv_plain_block_major(QUIRE_KV_F32, 16, 2, 8),
    };
    rejects_each(kv, &ok, tensor);
    struct quire_kv_plain_args a = ok;
    a.blocks = twice;
    assert_fails(QUIRE_E_INVALID_ARG, "args.blocks[1] 0 appears twice",
                 quire_kv_import(kv, &a, tensor, &err));
    a.blocks = shared;
    assert_fails(QUIRE_E_MISUSE, "2 references", quire_kv_import(kv, &a, tensor, &err));
    kv->updating = true;
    assert_fails(QUIRE_E_BUSY, "another call", quire_kv_import(kv, &ok, tensor, &err));
    kv->updating = false;
    for (size_t i = 0; i < kv->pool_bytes; i++)
        assert_int_equal(kv->pool[i], 0xa5);
    for (size_t i = 0; i < sizeof tensor; i++)
        assert_int_equal(((unsigned char *)tensor)[i], 0x11);
    assert_status(QUIRE_OK, quire_kv_export(kv, &a, tensor, NULL)); /* shared blocks may be read */
    a.n_blocks = 0;
    a.blocks = NULL;
    assert_status(QUIRE_OK, quire_kv_export(kv, &a, NULL, NULL));
    assert_status(QUIRE_OK, quire_kv_import(kv, &a, NULL, NULL));
    quire_kv_destroy(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_three_shapes),      cmocka_unit_test(same_dtype_keeps_bits),
        cmocka_unit_test(fp8_values_are_scaled), cmocka_unit_test(v_of_another_size_and_gaps),
        cmocka_unit_test(misaligned_tensors),    cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
