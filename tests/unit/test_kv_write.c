/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_write.c - writes and reads of rows: dtypes, shapes, strides, invalid arguments. */
#include "test_kv_write.h"
#include "base/team.h"
#include "kv/rows.h"
#include "kv/types.h"

static const uint32_t BLOCK_SIZES[] = { 16, 32, 48, 64, 128 };
static const uint32_t HEAD_SIZES[] = { 1, 7, 8, 20, 24, 40, 64, 80, 128 };
/* Asserts the bytes of a row of K or V, by the index formula, zero padding included. */
static void expect_row(const struct quire_kv_cache *kv, unsigned char *block, int token, bool is_v,
                       const float *row)
{
    const struct qr_kv_layout *l = &kv->groups[0].layout;
    const struct qr_kv_dtype *type = is_v ? l->v_type : l->k_type;
    const int n = is_v ? l->v_size : l->k_size, padded = is_v ? l->v_padded : l->k_size;
    struct qr_kv_row codes = { { 0 } };
    float scale = 1;
    type->quantize(kv->kernels, codes.bytes, row, &scale, (size_t)n);
    for (int d = 0; d < padded; d++)
        memcpy(block + (is_v ? qr_kv_v_offset(l, token, d) : qr_kv_k_offset(l, token, d)),
               codes.bytes + (size_t)d * type->bytes, type->bytes);
    const size_t scales = is_v ? l->v_scales : l->k_scales;
    if (scales)
        memcpy(block + scales + (size_t)token * sizeof scale, &scale, sizeof scale);
}

/* One configuration: rows written to random slots of both layers read back equal, and no other byte
 * changes. */
static void round_trip(enum quire_kv_dtype kt, enum quire_kv_dtype vt, uint32_t bs, uint32_t kd,
                       uint32_t vd)
{
    struct quire_kv_group_config g = kv_group(kt, kd, 8);
    g.v_dtype = vt;
    g.v_head_size = vd;
    struct quire_kv_cache *kv = kv_make(&g, 1, bs, NULL);
    int32_t blocks[5];
    int64_t slots[TOKENS];
    kv_take(kv, 0, 5, blocks);
    memset(kv->pool, 0xa5, kv->pool_bytes);
    unsigned char *want = malloc(kv->pool_bytes);
    assert_non_null(want);
    memcpy(want, kv->pool, kv->pool_bytes);
    for (uint32_t layer = 0; layer < 2; layer++) {
        exact_rows(&in, kt, kd, vt, vd);
        kv_random_slots(slots, TOKENS, blocks, 5, bs, true);
        const struct quire_kv_write_args w = write_of(layer, &in, slots, TOKENS);
        assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
        memset(&out, 0x77, sizeof out);
        const struct rows before = out;
        const struct quire_kv_read_args r = read_of(layer, &out, slots, TOKENS);
        assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
        for (size_t t = 0; t < TOKENS; t++) {
            const struct rows *from = slots[t] == QUIRE_SLOT_PAD ? &before : &in;
            assert_memory_equal(&out.k[t * 2 * kd], &from->k[t * 2 * kd], 2 * kd * sizeof(float));
            assert_memory_equal(&out.v[t * 2 * vd], &from->v[t * 2 * vd], 2 * vd * sizeof(float));
            for (uint32_t h = 0; h < 2 && slots[t] != QUIRE_SLOT_PAD; h++) {
                unsigned char *block =
                    want + (qr_kv_block(kv, 0, layer, h, (int32_t)(slots[t] / bs)) - kv->pool);
                expect_row(kv, block, (int)(slots[t] % bs), false, &in.k[(t * 2 + h) * kd]);
                expect_row(kv, block, (int)(slots[t] % bs), true, &in.v[(t * 2 + h) * vd]);
            }
        }
    }
    assert_memory_equal(kv->pool, want, kv->pool_bytes);
    assert_int_equal(quire_kv_clipped(kv), 0);
    free(want);
    quire_kv_destroy(kv);
}

static void every_dtype_and_shape(void **state)
{
    (void)state;
    for (size_t d = 0; d < COUNT(KV_DTYPES); d++)
        for (size_t b = 0; b < COUNT(BLOCK_SIZES); b++)
            for (size_t h = 0; h < COUNT(HEAD_SIZES); h++) {
                round_trip(KV_DTYPES[d], KV_DTYPES[d], BLOCK_SIZES[b], HEAD_SIZES[h],
                           HEAD_SIZES[h]);
                round_trip(KV_DTYPES[d], KV_DTYPES[(d + 1 + h) % COUNT(KV_DTYPES)], BLOCK_SIZES[b],
                           HEAD_SIZES[h], HEAD_SIZES[(h + 4) % COUNT(HEAD_SIZES)]);
            }
}

/* Rows of every dtype, both orders of strides, misaligned addresses. */
static void strides_and_alignment(void **state)
{
    (void)state;
    enum { D = 24, H = 2, N = 20 };
    static unsigned char k_raw[N * H * 64 * 4 + 64], v_raw[N * H * 64 * 4 + 64];
    for (enum quire_kv_dtype dtype = QUIRE_KV_F32; dtype <= QUIRE_KV_F16; dtype++)
        for (size_t shift = 0; shift < 5; shift++)
            for (int heads_first = 0; heads_first < 2; heads_first++) {
                struct quire_kv_group_config g = kv_group(QUIRE_KV_BF16, D, 3);
                struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
                int32_t blocks[3];
                int64_t slots[N];
                kv_take(kv, 0, 3, blocks);
                kv_random_slots(slots, N, blocks, 3, 16, false);
                random_rows(&in);
                const size_t ts = heads_first ? D + 3 : H * (D + 5),
                             hs = heads_first ? N * (D + 3) : D + 5;
                const struct qr_kv_dtype *type = qr_kv_dtype(dtype);
                float scale = 1;
                for (size_t t = 0; t < N; t++)
                    for (size_t h = 0; h < H; h++)
                        for (size_t d = 0; d < D; d++) {
                            const size_t at = shift + (t * ts + h * hs + d) * type->bytes;
                            const size_t from = (t * H + h) * D + d;
                            uint32_t code;
                            type->quantize(kv->kernels, &code, &in.k[from], &scale, 1);
                            memcpy(k_raw + at, &code, type->bytes);
                            type->quantize(kv->kernels, &code, &in.v[from], &scale, 1);
                            memcpy(v_raw + at, &code, type->bytes);
                        }
                struct quire_kv_write_args w = write_of(1, &in, slots, N);
                w.dtype = dtype;
                w.k = k_raw + shift;
                w.v = v_raw + shift;
                w.k_token_stride = w.v_token_stride = ts;
                w.k_head_stride = w.v_head_stride = hs;
                assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
                struct quire_kv_read_args r = read_of(1, &out, slots, N);
                assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
                assert_memory_equal(out.k, in.k, N * H * D * 4);
                assert_memory_equal(out.v, in.v, N * H * D * 4);
                r.k_token_stride = ts; /* read with the same strides, V alone */
                r.v_token_stride = ts;
                r.k_head_stride = r.v_head_stride = hs;
                r.k = NULL;
                r.v = (float *)(void *)(v_raw + shift);
                assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
                for (size_t t = 0; t < N; t++)
                    for (size_t h = 0; h < H; h++)
                        assert_memory_equal(v_raw + shift + (t * ts + h * hs) * 4,
                                            &in.v[(t * H + h) * D], D * 4);
                quire_kv_destroy(kv);
            }
}

static struct quire_threads *busy_threads;
static struct quire_kv_cache *busy_kv;
static void write_inside_a_run(void *arg, const struct quire_team *team)
{
    if (quire_team_rank(team) == 0)
        assert_fails(QUIRE_E_BUSY, "threads", quire_kv_write(busy_kv, arg, busy_threads, &err));
}

/* Asserts that quire_kv_write and quire_kv_write_check reject the arguments with the same error. */
static void rejects(struct quire_kv_cache *kv, const struct quire_kv_write_args *args,
                    quire_status code, const char *text)
{
    assert_fails(code, text, quire_kv_write(kv, args, NULL, &err));
    assert_fails(code, text, quire_kv_write_check(kv, args, &err));
}

static void bad_arguments(struct quire_kv_cache *kv, const struct quire_kv_write_args *ok)
{
    struct quire_kv_write_args w;
#define REJECTS(field, value, code, text) (w = *ok, w.field = value, rejects(kv, &w, code, text))
    REJECTS(slot_mapping, NULL, QUIRE_E_INVALID_ARG, "args.slot_mapping is NULL");
    REJECTS(k, NULL, QUIRE_E_INVALID_ARG, "args.k is NULL");
    REJECTS(v, NULL, QUIRE_E_INVALID_ARG, "args.v is NULL");
    REJECTS(struct_size, ok->struct_size + (1u << 20), QUIRE_E_MISUSE, "struct_size");
    REJECTS(group, 1, QUIRE_E_INVALID_ARG, "group 1");
    REJECTS(layer, 2, QUIRE_E_INVALID_ARG, "layer 2");
    REJECTS(dtype, QUIRE_KV_INT8, QUIRE_E_INVALID_ARG, "dtype");
    REJECTS(dtype, (enum quire_kv_dtype)6, QUIRE_E_INVALID_ARG, "dtype");
    REJECTS(k_head_stride, 15, QUIRE_E_INVALID_ARG, "k: rows of 16 elements overlap");
    REJECTS(v_token_stride, 31, QUIRE_E_INVALID_ARG, "v: rows of 16 elements overlap");
    REJECTS(v_token_stride, 8, QUIRE_E_INVALID_ARG, "v: rows of 16 elements overlap");
    REJECTS(k_token_stride, SIZE_MAX / 2, QUIRE_E_INVALID_ARG, "k: 3 tokens");
    REJECTS(k_token_stride, SIZE_MAX / 16, QUIRE_E_INVALID_ARG,
            "k: 3 tokens"); /* overflows in bytes */
    REJECTS(v_head_stride, SIZE_MAX, QUIRE_E_INVALID_ARG, "v: 3 tokens");
    REJECTS(v_head_stride, SIZE_MAX / 2 - 9, QUIRE_E_INVALID_ARG, "v: 3 tokens");
    REJECTS(n_tokens, SIZE_MAX, QUIRE_E_INVALID_ARG, "overflow");
#undef REJECTS
    rejects(kv, NULL, QUIRE_E_INVALID_ARG, "args");
    rejects(NULL, ok, QUIRE_E_INVALID_ARG, "kv");
}

/* A failing call writes nothing. */
static void all_or_nothing(void **state)
{
    (void)state;
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_F16, 16, 4);
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t b[3];
    kv_take(kv, 0, 3, b);
    assert_status(QUIRE_OK, quire_kv_retain(kv, 0, &b[1], 1, NULL));
    memset(kv->pool, 0xa5, kv->pool_bytes);
    random_rows(&in);
    const int64_t good[] = { 0, 1, 32 }, twice[] = { 0, 1, 0 }, shared[] = { 0, 1, 16 },
                  unowned[] = { 0, 1, 48 }, beyond[] = { 0, 1, 64 };
    const struct quire_kv_write_args ok = write_of(1, &in, good, 3);
    struct quire_kv_write_args w = ok;
    w.slot_mapping = twice;
    rejects(kv, &w, QUIRE_E_INVALID_ARG, "appears twice");
    w.slot_mapping = shared;
    rejects(kv, &w, QUIRE_E_MISUSE, "2 references");
    w.slot_mapping = unowned;
    rejects(kv, &w, QUIRE_E_MISUSE, "free");
    w.slot_mapping = beyond;
    rejects(kv, &w, QUIRE_E_RANGE, "outside");
    bad_arguments(kv, &ok);
    kv->updating = true;
    rejects(kv, &ok, QUIRE_E_BUSY, "another call");
    kv->updating = false;
    const struct quire_threads_params p = { .struct_size = sizeof p,
                                            .backend = QUIRE_THREADS_PTHREAD,
                                            .n_threads = 2 };
    assert_status(QUIRE_OK, quire_threads_create(&p, &busy_threads, NULL));
    busy_kv = kv;
    assert_status(QUIRE_OK, quire_threads_run(busy_threads, write_inside_a_run, (void *)&ok));
    quire_threads_destroy(busy_threads);
    w = ok;
    w.k_head_stride = 1; /* even if the check was skipped */
    quire_kv_write_part(kv, &w, &(struct quire_team){ .size = 1 });
    for (size_t i = 0; i < kv->pool_bytes; i++)
        assert_int_equal(kv->pool[i], 0xa5);
    w = ok;
    w.n_tokens = 0;
    w.k = w.v = w.slot_mapping = NULL;
    assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
    assert_status(QUIRE_OK, quire_kv_write(kv, &ok, NULL, NULL));
    quire_kv_destroy(kv);
}

/* With one head, any head stride is valid. */
static void one_head(void **state)
{
    (void)state;
    struct quire_kv_group_config g = kv_group(QUIRE_KV_F32, 16, 1);
    g.n_kv_heads = 1;
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t b;
    kv_take(kv, 0, 1, &b);
    const int64_t slots[] = { 0, 1 };
    struct quire_kv_write_args w = write_of(0, &in, slots, 2);
    w.k_token_stride = 15;
    rejects(kv, &w, QUIRE_E_INVALID_ARG, "k: rows of 16 elements overlap");
    w.k_token_stride = 16;
    w.k_head_stride = 1;
    assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
    w.n_tokens = 1; /* with one token, any token stride is, too */
    w.k_token_stride = 1;
    assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
    quire_kv_destroy(kv);
}

static void bad_reads(void **state)
{
    (void)state;
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_BF16, 16, 4);
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t b[2];
    kv_take(kv, 0, 2, b);
    memset(&out, 0x77, sizeof out);
    const struct rows before = out;
    const int64_t good[] = { 0, 0, 17 }, unowned[] = { 0, 32 }, beyond[] = { 64 }, low[] = { -2 };
    const struct quire_kv_read_args ok = read_of(0, &out, good, 3);
    struct quire_kv_read_args r = ok;
    r.slots = unowned;
    r.n_tokens = 2;
    assert_fails(QUIRE_E_MISUSE, "slots[1]: block 2 is free", quire_kv_read(kv, &r, &err));
    r.slots = beyond;
    r.n_tokens = 1;
    assert_fails(QUIRE_E_RANGE, "slots[0] 64", quire_kv_read(kv, &r, &err));
    r.slots = low;
    assert_fails(QUIRE_E_RANGE, "slots[0] -2", quire_kv_read(kv, &r, &err));
    r.slots = NULL;
    assert_fails(QUIRE_E_INVALID_ARG, "slots", quire_kv_read(kv, &r, &err));
    r = ok;
    r.struct_size = 0;
    assert_fails(QUIRE_E_MISUSE, "struct_size", quire_kv_read(kv, &r, &err));
    r = ok;
    r.layer = 2;
    assert_fails(QUIRE_E_INVALID_ARG, "layer", quire_kv_read(kv, &r, &err));
    r = ok;
    r.group = 2;
    assert_fails(QUIRE_E_INVALID_ARG, "group", quire_kv_read(kv, &r, &err));
    r = ok;
    r.k_token_stride = 16;
    assert_fails(QUIRE_E_INVALID_ARG, "k: rows", quire_kv_read(kv, &r, &err));
    r = ok;
    r.v_head_stride = 1;
    assert_fails(QUIRE_E_INVALID_ARG, "v: rows", quire_kv_read(kv, &r, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "args", quire_kv_read(kv, NULL, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "kv", quire_kv_read(NULL, &ok, &err));
    assert_memory_equal(&out, &before, sizeof out);
    r = ok;
    r.n_tokens = 0;
    r.slots = NULL;
    assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
    assert_status(QUIRE_OK, quire_kv_retain(kv, 0, b, 2, NULL));
    assert_status(QUIRE_OK,
                  quire_kv_read(kv, &ok, NULL)); /* duplicates and shared blocks are allowed */
    quire_kv_destroy(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_and_shape),
        cmocka_unit_test(strides_and_alignment),
        cmocka_unit_test(one_head),
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(bad_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
