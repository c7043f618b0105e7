/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_threads.c - quire_kv_write_part on teams: same bytes as one thread, one writer per cache
 * line. */
#include "kv/types.h"
#include "test_kv.h"

/* The pool's bytes do not depend on the team size. */
static void same_bytes_for_every_team(struct quire_kv_cache *kv,
                                      const struct quire_kv_write_args *w)
{
    unsigned char *want = malloc(kv->pool_bytes);
    assert_non_null(want);
    memset(kv->pool, 0, kv->pool_bytes);
    assert_status(QUIRE_OK, quire_kv_write(kv, w, NULL, NULL));
    memcpy(want, kv->pool, kv->pool_bytes);
    for (uint32_t n = 1; n < 12; n++) {
        memset(kv->pool, 0, kv->pool_bytes);
        assert_status(QUIRE_OK, quire_kv_write_check(kv, w, NULL));
        /* the part has no barrier, so its threads can be simulated in sequence */
        for (uint32_t rank = 0; rank < n; rank++)
            quire_kv_write_part(kv, w, &(struct quire_team){ .rank = rank, .size = n });
        assert_memory_equal(kv->pool, want, kv->pool_bytes);
    }
    const struct quire_threads_params p = { .struct_size = sizeof p,
                                            .backend = QUIRE_THREADS_PTHREAD,
                                            .n_threads = 3 };
    struct quire_threads *threads;
    assert_status(QUIRE_OK, quire_threads_create(&p, &threads, NULL));
    memset(kv->pool, 0, kv->pool_bytes);
    assert_status(QUIRE_OK, quire_kv_write(kv, w, threads, NULL));
    assert_memory_equal(kv->pool, want, kv->pool_bytes);
    quire_threads_destroy(threads);
    free(want);
}

/* Tokens in slot order: no two threads write to the same cache line. */
static void lines_have_one_writer(void **state)
{
    (void)state;
    enum { N = 150, LINE = 64 };
    int64_t slots[N];
    for (int64_t i = 0; i < N; i++)
        slots[i] = i + 7;
    static float rows[N * 16];
    for (size_t d = 0; d < COUNT(KV_DTYPES); d++) {
        kv_exact_rows(KV_DTYPES[d], rows, N, 16);
        struct quire_kv_group_config g = kv_group(KV_DTYPES[d], 16, 10);
        g.n_kv_heads = 1;
        struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
        int32_t blocks[10];
        kv_take(kv, 0, 10, blocks);
        const struct quire_kv_write_args w = {
            .struct_size = sizeof w, .k = rows, .v = rows, .slot_mapping = slots, .n_tokens = N
        };
        const size_t n_lines = kv->pool_bytes / LINE;
        unsigned char *writers = calloc(n_lines, 1);
        assert_non_null(writers);
        for (uint32_t rank = 0; rank < 3; rank++) {
            memset(kv->pool, 0, kv->pool_bytes); /* no row is all zeros */
            quire_kv_write_part(kv, &w, &(struct quire_team){ .rank = rank, .size = 3 });
            for (size_t l = 0; l < n_lines; l++) {
                static const unsigned char zero[LINE];
                if (memcmp(kv->pool + l * LINE, zero, LINE) != 0)
                    writers[l]++;
            }
        }
        for (size_t l = 0; l < n_lines; l++)
            assert_true(writers[l] <= 1);
        free(writers);
        quire_kv_destroy(kv);
    }
}

static void independent_of_threads_with(enum quire_kv_dtype k_dtype, enum quire_kv_dtype v_dtype)
{
    enum { N = 200, D = 16, H = 3 };
    static float k[N * H * D], v[N * H * D];
    static int64_t slots[N];
    struct quire_kv_group_config g = kv_group(k_dtype, D, 40);
    g.v_dtype = v_dtype;
    g.n_kv_heads = H;
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
    int32_t blocks[40];
    kv_take(kv, 0, 40, blocks);
    for (size_t i = 0; i < N * H * D; i++) {
        k[i] = kv_exact() * 1.01f;
        v[i] = kv_exact() * 7.3f;
    }
    const size_t lengths[] = { N, 3, 40 };
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (int ordered = 0; ordered < 2; ordered++) {
            kv_random_slots(slots, N, blocks, 40, 16, true);
            for (size_t j = 0; ordered && j < N; j++)
                slots[j] = (int64_t)j + 7;
            const struct quire_kv_write_args w = { .struct_size = sizeof w,
                                                   .k = k,
                                                   .v = v,
                                                   .slot_mapping = slots,
                                                   .n_tokens = lengths[i] };
            same_bytes_for_every_team(kv, &w);
        }
    quire_kv_destroy(kv);
}

static void independent_of_threads(void **state)
{
    (void)state;
    independent_of_threads_with(QUIRE_KV_FP8_E4M3, QUIRE_KV_INT8);
    independent_of_threads_with(QUIRE_KV_INT8, QUIRE_KV_BF16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_of_threads),
        cmocka_unit_test(lines_have_one_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
