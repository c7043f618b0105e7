/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_int4.c - caches of int4: refused configurations, memory, rows that are read back, import
 * and export, sections. */
#include "kv/section.h"
#include "test_kv.h"
#include <math.h>

enum { SIZE = 96, V_SIZE = 64, HEADS = 2, TOKENS = 48 };

static struct quire_kv_group_config group_of(uint32_t flags)
{
    return (struct quire_kv_group_config){ .n_layers = 2,
                                           .n_kv_heads = HEADS,
                                           .head_size = SIZE,
                                           .v_head_size = V_SIZE,
                                           .k_dtype = QUIRE_KV_INT4,
                                           .v_dtype = QUIRE_KV_INT4,
                                           .n_blocks = 4,
                                           .flags = flags };
}

static quire_status bytes_of(const struct quire_kv_group_config *g, uint32_t block_size,
                             uint64_t *pool, struct quire_error *err)
{
    const struct quire_kv_params params = {
        .struct_size = sizeof params, .block_size = block_size, .groups = g, .n_groups = 1
    };
    struct quire_kv_memory m = { .struct_size = sizeof m };
    const quire_status s = quire_kv_bytes(&params, &m, err);
    *pool = m.pool;
    return s;
}

static void refuses_what_int4_cannot_hold(void **state)
{
    (void)state;
    uint64_t pool;
    struct quire_kv_group_config g = group_of(0);
    g.head_size = 80;
    assert_fails(QUIRE_E_UNSUPPORTED, "groups[0].k_dtype int4: the head size 80",
                 bytes_of(&g, 64, &pool, &err));
    g = group_of(0);
    g.v_head_size = 40;
    assert_fails(QUIRE_E_UNSUPPORTED, "groups[0].v_dtype int4: the head size 40",
                 bytes_of(&g, 64, &pool, &err));
    g = group_of(QUIRE_KV_LATENT);
    assert_fails(QUIRE_E_UNSUPPORTED, "the group is latent", bytes_of(&g, 64, &pool, &err));
    g = group_of(QUIRE_KV_ROTATE_K);
    g.k_dtype = QUIRE_KV_INT8;
    assert_fails(QUIRE_E_INVALID_ARG, "groups[0].flags 0x2", bytes_of(&g, 64, &pool, &err));
    g = group_of(QUIRE_KV_ROTATE_V);
    g.v_dtype = QUIRE_KV_F16;
    assert_fails(QUIRE_E_INVALID_ARG, "groups[0].flags 0x4", bytes_of(&g, 64, &pool, &err));
    g.flags = 8;
    assert_fails(QUIRE_E_INVALID_ARG, "unknown bits", bytes_of(&g, 64, &pool, &err));
}

static void takes_four_and_a_half_bits(void **state)
{
    (void)state;
    uint64_t pool;
    const struct quire_kv_group_config g = group_of(QUIRE_KV_ROTATE_K);
    assert_status(QUIRE_OK, bytes_of(&g, 64, &pool, NULL));
    assert_int_equal(pool, 2 * HEADS * 4 * 64 * (SIZE + V_SIZE) * 9 / 16);
}

static struct quire_kv_cache *create(uint32_t flags, uint32_t block_size, const char *isa)
{
    const struct quire_kv_group_config g = group_of(flags);
    const struct quire_kv_params params = { .struct_size = sizeof params,
                                            .block_size = block_size,
                                            .groups = &g,
                                            .n_groups = 1,
                                            .isa = isa };
    struct quire_kv_cache *kv;
    int32_t ids[4];
    struct quire_kv_group_config got;
    assert_status(QUIRE_OK, quire_kv_create(&params, &kv, NULL));
    assert_status(QUIRE_OK, quire_kv_alloc(kv, 0, -1, 4, ids, NULL));
    assert_status(QUIRE_OK, quire_kv_get_group(kv, 0, &got, NULL));
    assert_int_equal(got.flags, flags);
    return kv;
}

static void write_rows(struct quire_kv_cache *kv, const float *k, const float *v)
{
    int64_t slots[TOKENS];
    for (int t = 0; t < TOKENS; t++)
        slots[t] = t;
    const struct quire_kv_write_args args = { .struct_size = sizeof args,
                                              .layer = 1,
                                              .dtype = QUIRE_KV_F32,
                                              .k = k,
                                              .v = v,
                                              .slot_mapping = slots,
                                              .n_tokens = TOKENS };
    assert_status(QUIRE_OK, quire_kv_write(kv, &args, NULL, NULL));
}

static void read_rows(const struct quire_kv_cache *kv, float *k, float *v)
{
    int64_t slots[TOKENS];
    for (int t = 0; t < TOKENS; t++)
        slots[t] = t;
    const struct quire_kv_read_args args = {
        .struct_size = sizeof args, .layer = 1, .k = k, .v = v, .slots = slots, .n_tokens = TOKENS
    };
    assert_status(QUIRE_OK, quire_kv_read(kv, &args, NULL));
}

static double norm(const float *x, const float *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)x[i] - (y ? (double)y[i] : 0)) * ((double)x[i] - (y ? (double)y[i] : 0));
    return sqrt(sum);
}

static float k_in[TOKENS * HEADS * SIZE], v_in[TOKENS * HEADS * V_SIZE];
static float k_out[2][TOKENS * HEADS * SIZE], v_out[2][TOKENS * HEADS * V_SIZE];

static void fill(void)
{
    for (size_t i = 0; i < TOKENS * HEADS * SIZE; i++)
        k_in[i] = (float)((int)kv_below(2001) - 1000) / 500;
    for (size_t i = 0; i < TOKENS * HEADS * V_SIZE; i++)
        v_in[i] = (float)((int)kv_below(2001) - 1000) / 500;
}

/* Values are read back as they were written, whether transformed or not, within the error of int4;
 * the block size changes no bit. */
static void rows_are_read_back(void **state)
{
    (void)state;
    static const uint32_t flags[] = { 0, QUIRE_KV_ROTATE_K, QUIRE_KV_ROTATE_K | QUIRE_KV_ROTATE_V };
    fill();
    for (size_t i = 0; i < COUNT(flags); i++) {
        for (int j = 0; j < 2; j++) {
            struct quire_kv_cache *kv = create(flags[i], j ? 64 : 16, NULL);
            write_rows(kv, k_in, v_in);
            read_rows(kv, k_out[j], v_out[j]);
            quire_kv_destroy(kv);
        }
        assert_memory_equal(k_out[0], k_out[1], sizeof k_out[0]);
        assert_memory_equal(v_out[0], v_out[1], sizeof v_out[0]);
        assert_true(norm(k_out[0], k_in, COUNT(k_in)) < 0.09 * norm(k_in, NULL, COUNT(k_in)));
        assert_true(norm(v_out[0], v_in, COUNT(v_in)) < 0.09 * norm(v_in, NULL, COUNT(v_in)));
    }
}

static struct quire_kv_plain_args plain_args(const int32_t *ids, size_t size,
                                             enum quire_kv_dtype dtype)
{
    const size_t heads = HEADS, block = 16;
    struct quire_kv_plain_args a = { .struct_size = sizeof a, .layer = 1, .blocks = ids };
    a.layout = quire_kv_plain_block_major(dtype, block, heads, SIZE);
    a.n_blocks = 3;
    a.size = size;
    return a;
}

static void exports_rows_without_the_transform(void **state)
{
    (void)state;
    static float plain[3 * 2 * 16 * HEADS * SIZE];
    static const int32_t ids[] = { 0, 1, 2 };
    struct quire_kv_cache *kv = create(QUIRE_KV_ROTATE_K | QUIRE_KV_ROTATE_V, 16, NULL);
    struct quire_kv_plain_args a = plain_args(ids, sizeof plain, QUIRE_KV_F32);
    fill();
    write_rows(kv, k_in, v_in);
    read_rows(kv, k_out[0], v_out[0]);
    assert_status(QUIRE_OK, quire_kv_export(kv, &a, plain, NULL));
    for (size_t t = 0; t < TOKENS; t++)
        assert_memory_equal(plain + t / 16 * a.layout.stride_block + t % 16 * HEADS * SIZE,
                            k_out[0] + t * HEADS * SIZE, HEADS * SIZE * sizeof *plain);
    assert_status(QUIRE_OK, quire_kv_import(kv, &a, plain, NULL));
    read_rows(kv, k_out[1], v_out[1]);
    /* quantized again, which is not exact */
    assert_true(norm(k_out[1], k_in, COUNT(k_in)) < 0.1 * norm(k_in, NULL, COUNT(k_in)));
    a.layout.dtype = QUIRE_KV_INT4;
    assert_fails(QUIRE_E_UNSUPPORTED, "layout.dtype int4", quire_kv_export(kv, &a, plain, &err));
    quire_kv_destroy(kv);
}

/* A section from one block size, put into blocks of another, gives the same rows. */
static void sections_do_not_depend_on_the_block_size(void **state)
{
    (void)state;
    static uint8_t section[1 << 16];
    size_t bytes;
    struct quire_kv_cache *from = create(QUIRE_KV_ROTATE_K, 16, "generic"),
                          *to = create(QUIRE_KV_ROTATE_K, 64, NULL);
    fill();
    write_rows(from, k_in, v_in);
    assert_true(qr_kv_section_bytes(from, 0, TOKENS, &bytes));
    assert_int_equal(bytes, TOKENS * HEADS * (SIZE + V_SIZE) * 9 / 16);
    for (uint32_t block = 0; block < 3; block++) {
        struct qr_kv_section_rows rows = {
            .layer = 1, .block = (int32_t)block, .first = block * 16, .n = 16, .n_rows = TOKENS
        };
        qr_kv_get_section(from, &rows, section);
    }
    const struct qr_kv_section_rows all = { .layer = 1, .n = TOKENS, .n_rows = TOKENS };
    qr_kv_put_section(to, &all, section);
    read_rows(from, k_out[0], v_out[0]);
    read_rows(to, k_out[1], v_out[1]);
    assert_memory_equal(k_out[0], k_out[1], sizeof k_out[0]);
    assert_memory_equal(v_out[0], v_out[1], sizeof v_out[0]);
    quire_kv_destroy(from);
    quire_kv_destroy(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_int4_cannot_hold),
        cmocka_unit_test(takes_four_and_a_half_bits),
        cmocka_unit_test(rows_are_read_back),
        cmocka_unit_test(exports_rows_without_the_transform),
        cmocka_unit_test(sections_do_not_depend_on_the_block_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
