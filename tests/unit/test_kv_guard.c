/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_guard.c - out-of-bounds access of pool, tables and rows faults on guard pages. */
#include "test_kv.h"
#include <sys/mman.h>
#include <unistd.h>

static const uint32_t SIZES[] = { 1, 7, 8, 20, 24, 40, 64, 128 };

/* Allocator whose blocks end at a guard page. */
static void *guarded_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (size + page - 1) / page * page;
    unsigned char *map =
        mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + page, inner, PROT_READ | PROT_WRITE) || align > page)
        return NULL;
    memset(map + page, 0xff, inner);
    return map + page + (inner - size) / align * align;
}

static void guarded_free(void *user, void *ptr, size_t size)
{
    (void)user;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (size + page - 1) / page * page;
    munmap((void *)((uintptr_t)ptr / page * page - page), inner + 2 * page);
}

static void no_access_out_of_bounds(void **state)
{
    (void)state;
    const struct quire_allocator hooks = { NULL, guarded_alloc, guarded_free };
    for (size_t d = 0; d < COUNT(KV_DTYPES); d++)
        for (size_t h = 0; h < COUNT(SIZES); h++) {
            const struct quire_kv_group_config g = kv_group(KV_DTYPES[d], SIZES[h], 2);
            struct quire_kv_cache *kv = kv_make(&g, 1, d % 2 ? 16 : 64, &hooks);
            const uint32_t bs = quire_kv_block_size(kv), row = 2 * SIZES[h];
            int32_t b[2];
            kv_take(kv, 0, 2, b);
            /* rows that end at a guard page, too */
            float *k = guarded_alloc(NULL, row * 4, 4), *v = guarded_alloc(NULL, row * 4, 4);
            assert_true(k && v);
            kv_exact_rows(KV_DTYPES[d], k, 2, SIZES[h]);
            memcpy(v, k, row * 4);
            for (int64_t slot = 0; slot < 2 * bs; slot++) {
                struct quire_kv_write_args w = { .struct_size = sizeof w,
                                                 .layer = 1,
                                                 .k = k,
                                                 .v = v,
                                                 .slot_mapping = &slot,
                                                 .n_tokens = 1 };
                assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
            }
            /* the rows of token 1 would be on the guard page; its slot is a pad */
            const int64_t last[] = { 2 * bs - 1, QUIRE_SLOT_PAD };
            const struct quire_kv_write_args w = { .struct_size = sizeof w,
                                                   .layer = 1,
                                                   .k = k,
                                                   .v = v,
                                                   .slot_mapping = last,
                                                   .n_tokens = 2 };
            assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
            struct quire_kv_read_args r = {
                .struct_size = sizeof r, .layer = 1, .k = v, .slots = last, .n_tokens = 2
            };
            assert_status(QUIRE_OK, quire_kv_read(kv, &r, NULL));
            assert_memory_equal(k, v, row * 4);
            guarded_free(NULL, k, row * 4);
            guarded_free(NULL, v, row * 4);
            quire_kv_destroy(kv);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_access_out_of_bounds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
