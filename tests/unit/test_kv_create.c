/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_create.c - valid and invalid configurations, exact sizes, failing allocators, pool
 * memory. */
#include "kv/types.h"
#include "test_kv.h"
#include <math.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct quire_kv_params config_of(const struct quire_kv_group_config *groups, uint32_t n)
{
    return (struct quire_kv_params){ .struct_size = sizeof(struct quire_kv_params),
                                     .groups = groups,
                                     .n_groups = n };
}

static void sizes_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct quire_kv_group_config groups[3];
        const uint32_t n = 1 + kv_below(3);
        for (uint32_t g = 0; g < n; g++) {
            groups[g] = kv_group(KV_DTYPES[kv_below(COUNT(KV_DTYPES))], 1 + kv_below(200),
                                 1 + kv_below(70));
            groups[g].v_dtype = KV_DTYPES[kv_below(COUNT(KV_DTYPES))];
            groups[g].v_head_size = kv_below(2) ? 1 + kv_below(200) : 0;
            groups[g].n_layers = 1 + kv_below(4);
            groups[g].n_kv_heads = 1 + kv_below(4);
        }
        struct quire_kv_params c = config_of(groups, n);
        c.block_size = 16 * (1 + kv_below(8));
        struct quire_kv_memory m = { .struct_size = sizeof m };
        assert_status(QUIRE_OK, quire_kv_bytes(&c, &m, NULL));
        assert_int_equal(m.total, m.pool + m.tables);
        struct fail_alloc f;
        fail_alloc_init(&f, 0, false);
        c.allocator = &f.hooks;
        struct quire_kv_cache *kv;
        assert_status(QUIRE_OK, quire_kv_create(&c, &kv, NULL));
        assert_int_equal(f.live_bytes, m.total);
        assert_int_equal(f.calls, 2);
        quire_kv_destroy(kv);
        assert_int_equal(f.live_bytes, 0);
        assert_int_equal(f.live_count, 0);
    }
}

/* bf16, D 128, block 64: 16 KiB of K and 16 KiB of V per layer and head. */
static void pool_size_by_hand(void **state)
{
    (void)state;
    struct quire_kv_group_config g = kv_group(QUIRE_KV_BF16, 128, 10);
    g.n_layers = 3;
    g.n_kv_heads = 5;
    struct quire_kv_params c = config_of(&g, 1);
    struct quire_kv_memory m = { .struct_size = sizeof m };
    assert_status(QUIRE_OK, quire_kv_bytes(&c, &m, NULL));
    assert_int_equal(m.pool, 10 * 3 * 5 * (16384 + 16384));
    g.v_dtype = QUIRE_KV_FP8_E4M3;
    g.v_head_size = 40; /* padded to 48 */
    assert_status(QUIRE_OK, quire_kv_bytes(&c, &m, NULL));
    assert_int_equal(m.pool, 10 * 3 * 5 * (16384 + 48 * 64));
    g.k_dtype = QUIRE_KV_INT8; /* plus 64 row scales */
    assert_status(QUIRE_OK, quire_kv_bytes(&c, &m, NULL));
    assert_int_equal(m.pool, 10 * 3 * 5 * (8192 + 48 * 64 + 64 * 4));
}

static void allocation_failures(void **state)
{
    (void)state;
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_F32, 64, 4);
    for (int forever = 0; forever < 2; forever++)
        for (size_t at = 1; at <= 3; at++) {
            struct fail_alloc f;
            fail_alloc_init(&f, at, forever);
            struct quire_kv_params c = config_of(&g, 1);
            c.allocator = &f.hooks;
            struct quire_kv_cache *kv = (void *)1;
            struct quire_error err = QUIRE_ERROR_INIT;
            const quire_status s = quire_kv_create(&c, &kv, &err);
            assert_int_equal(s, at <= 2 ? QUIRE_E_NOMEM : QUIRE_OK);
            if (s != QUIRE_OK) {
                assert_null(kv);
                assert_non_null(strstr(err.msg, "bytes"));
                f.fail_at = 0;
                assert_status(QUIRE_OK, quire_kv_create(&c, &kv, NULL)); /* a retry succeeds */
            }
            quire_kv_destroy(kv);
            assert_int_equal(f.live_bytes, 0);
        }
}

#define BAD_GROUP(field, value, code, text)                                                        \
    do {                                                                                           \
        struct quire_kv_group_config g_ = good, both_[2] = { good };                               \
        g_.field = value;                                                                          \
        both_[1] = g_;                                                                             \
        const struct quire_kv_params c_ = config_of(both_, 2);                                     \
        struct quire_kv_cache *kv_ = (void *)1;                                                    \
        struct quire_kv_memory m_ = { .struct_size = sizeof m_ };                                  \
        assert_fails(code, text, quire_kv_create(&c_, &kv_, &err));                                \
        assert_null(kv_);                                                                          \
        assert_fails(code, text, quire_kv_bytes(&c_, &m_, &err));                                  \
        assert_int_equal(m_.total, 0);                                                             \
    } while (0)

static void bad_groups(void **state)
{
    (void)state;
    const struct quire_kv_group_config good = kv_group(QUIRE_KV_BF16, 64, 4);
    const float scales[] = { 1, 0, -1, NAN, INFINITY, -INFINITY, 2, 2 };
    BAD_GROUP(n_layers, 0, QUIRE_E_INVALID_ARG, "groups[1].n_layers");
    BAD_GROUP(n_layers, 65536, QUIRE_E_INVALID_ARG, "groups[1].n_layers");
    BAD_GROUP(n_layers, (uint32_t)-1, QUIRE_E_INVALID_ARG, "groups[1].n_layers");
    BAD_GROUP(n_kv_heads, 0, QUIRE_E_INVALID_ARG, "groups[1].n_kv_heads");
    BAD_GROUP(n_kv_heads, 65536, QUIRE_E_INVALID_ARG, "groups[1].n_kv_heads");
    BAD_GROUP(head_size, 0, QUIRE_E_INVALID_ARG, "groups[1].head_size");
    BAD_GROUP(head_size, 1025, QUIRE_E_INVALID_ARG, "groups[1].head_size");
    BAD_GROUP(v_head_size, 1025, QUIRE_E_INVALID_ARG, "groups[1].v_head_size");
    BAD_GROUP(v_head_size, (uint32_t)-8, QUIRE_E_INVALID_ARG, "groups[1].v_head_size");
    BAD_GROUP(n_blocks, 0, QUIRE_E_INVALID_ARG, "groups[1].n_blocks");
    BAD_GROUP(n_blocks, 1u << 31, QUIRE_E_INVALID_ARG, "groups[1].n_blocks");
    BAD_GROUP(k_dtype, (enum quire_kv_dtype)7, QUIRE_E_INVALID_ARG, "groups[1].k_dtype");
    BAD_GROUP(v_dtype, (enum quire_kv_dtype) - 1, QUIRE_E_INVALID_ARG, "groups[1].v_dtype");
    BAD_GROUP(reserved[4], 1, QUIRE_E_INVALID_ARG, "groups[1].reserved[4]");
    BAD_GROUP(n_k_scales, 1, QUIRE_E_INVALID_ARG, "groups[1].k_scale is NULL");
    BAD_GROUP(n_v_scales, 4, QUIRE_E_INVALID_ARG, "groups[1].v_scale is NULL");
    BAD_GROUP(n_k_scales, 3, QUIRE_E_INVALID_ARG, "groups[1].n_k_scales");
    struct quire_kv_group_config huge = kv_group(QUIRE_KV_F32, 1024, INT32_MAX);
    huge.n_layers = huge.n_kv_heads = 65535;
    const struct quire_kv_params c = config_of(&huge, 1);
    struct quire_kv_memory m = { .struct_size = sizeof m };
    assert_fails(QUIRE_E_LIMIT, "groups[0]", quire_kv_bytes(&c, &m, &err));
    huge.n_layers = 1; /* fits in size_t, but exceeds the maximum object size */
    huge.n_kv_heads = 9;
    struct quire_kv_params wide = config_of(&huge, 1);
    wide.block_size = 65536;
    assert_fails(QUIRE_E_LIMIT, "groups[0]", quire_kv_bytes(&wide, &m, &err));
    for (size_t i = 0; i + 1 < COUNT(scales); i++) {
        struct quire_kv_group_config g = good;
        g.n_k_scales = g.n_v_scales = 1;
        g.k_scale = &scales[0];
        g.v_scale = &scales[i];
        const struct quire_kv_params one = config_of(&g, 1);
        if (i == 0 || i == 6)
            assert_status(QUIRE_OK, quire_kv_bytes(&one, &m, NULL));
        else
            assert_fails(QUIRE_E_INVALID_ARG, "groups[0].v_scale[0]",
                         quire_kv_bytes(&one, &m, &err));
    }
}

static void bad_configs(void **state)
{
    (void)state;
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_BF16, 64, 4);
    const struct quire_kv_params good = config_of(&g, 1);
    struct quire_kv_cache *kv;
    struct quire_kv_memory m = { .struct_size = sizeof m };
    assert_fails(QUIRE_E_INVALID_ARG, "params", quire_kv_create(NULL, &kv, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "out", quire_kv_create(&good, NULL, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "params", quire_kv_bytes(NULL, &m, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "out", quire_kv_bytes(&good, NULL, &err));
    m.struct_size = 4;
    assert_fails(QUIRE_E_MISUSE, "out.struct_size", quire_kv_bytes(&good, &m, &err));
    struct quire_kv_params c = good;
    c.struct_size--;
    assert_fails(QUIRE_E_MISUSE, "struct_size", quire_kv_create(&c, &kv, &err));
    c.struct_size = 1u << 20;
    assert_fails(QUIRE_E_MISUSE, "struct_size", quire_kv_create(&c, &kv, &err));
    c = good;
    c.groups = NULL;
    assert_fails(QUIRE_E_INVALID_ARG, "groups", quire_kv_create(&c, &kv, &err));
    c = good;
    c.n_groups = 0;
    assert_fails(QUIRE_E_INVALID_ARG, "n_groups", quire_kv_create(&c, &kv, &err));
    c.n_groups = 257;
    assert_fails(QUIRE_E_INVALID_ARG, "n_groups", quire_kv_create(&c, &kv, &err));
    c = good;
    c.flags = 4;
    assert_fails(QUIRE_E_INVALID_ARG, "flags", quire_kv_create(&c, &kv, &err));
    const uint32_t bad_sizes[] = { 1, 8, 17, 24, 65552, (uint32_t)-16 };
    for (size_t i = 0; i < COUNT(bad_sizes); i++) {
        c = good;
        c.block_size = bad_sizes[i];
        assert_fails(QUIRE_E_INVALID_ARG, "block_size", quire_kv_create(&c, &kv, &err));
    }
    c = good;
    c.isa = "pdp11";
    assert_fails(QUIRE_E_INVALID_ARG, "pdp11", quire_kv_create(&c, &kv, &err));
    assert_null(kv);
}

static void getters(void **state)
{
    (void)state;
    const float k_scale[] = { 0.5f, 2 }, v_scale[] = { 1, 2, 3, 4 };
    struct quire_kv_group_config g[2] = { kv_group(QUIRE_KV_FP8_E4M3, 64, 4),
                                          kv_group(QUIRE_KV_BF16, 80, 9) };
    g[0].v_head_size = 48;
    g[0].v_dtype = QUIRE_KV_FP8_E5M2;
    g[0].k_scale = k_scale;
    g[0].n_k_scales = 2; /* per layer */
    g[0].v_scale = v_scale;
    g[0].n_v_scales = 4; /* per layer and head */
    g[1].sliding_window = 100;
    g[1].k_scale = k_scale;
    g[1].n_k_scales = 1; /* bf16 ignores scales */
    struct quire_kv_cache *kv = kv_make(g, 2, 0, NULL);
    assert_int_equal(quire_kv_group_count(kv), 2);
    assert_int_equal(quire_kv_block_size(kv), 64);
    assert_int_equal(quire_kv_free_block_count(kv, 0), 4);
    assert_int_equal(quire_kv_free_block_count(kv, 1), 9);
    assert_int_equal(quire_kv_free_block_count(kv, 2), 0);
    struct quire_kv_group_config out;
    assert_status(QUIRE_OK, quire_kv_get_group(kv, 0, &out, NULL));
    assert_int_equal(out.v_head_size, 48);
    assert_int_equal(out.v_dtype, QUIRE_KV_FP8_E5M2);
    const float want_k[] = { 0.5f, 0.5f, 2, 2 };
    assert_memory_equal(out.k_scale, want_k, sizeof want_k);
    assert_memory_equal(out.v_scale, v_scale, sizeof v_scale);
    assert_status(QUIRE_OK, quire_kv_get_group(kv, 1, &out, NULL));
    assert_int_equal(out.v_head_size, 80);
    assert_int_equal(out.sliding_window, 100);
    for (int i = 0; i < 4; i++)
        assert_true(out.k_scale[i] == 1 && out.v_scale[i] == 1);
    assert_fails(QUIRE_E_INVALID_ARG, "group 2", quire_kv_get_group(kv, 2, &out, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "out", quire_kv_get_group(kv, 0, NULL, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "kv", quire_kv_get_group(NULL, 0, &out, &err));
    quire_kv_destroy(kv);
    assert_int_equal(quire_kv_group_count(NULL), 0);
    assert_int_equal(quire_kv_block_size(NULL), 0);
    assert_int_equal(quire_kv_clipped(NULL), 0);
    quire_kv_destroy(NULL);
}

static void dtype_names(void **state)
{
    (void)state;
    enum quire_kv_dtype d;
    for (size_t i = 0; i < COUNT(KV_DTYPES); i++) {
        assert_status(QUIRE_OK, quire_kv_dtype_parse(quire_kv_dtype_name(KV_DTYPES[i]), &d, NULL));
        assert_int_equal(d, KV_DTYPES[i]);
    }
    assert_status(QUIRE_OK, quire_kv_dtype_parse("fp8", &d, NULL));
    assert_int_equal(d, QUIRE_KV_FP8_E4M3);
    assert_status(QUIRE_OK, quire_kv_dtype_parse("q8_0", &d, NULL));
    assert_int_equal(d, QUIRE_KV_INT8);
    assert_status(QUIRE_OK, quire_kv_dtype_parse("q8", &d, NULL));
    assert_int_equal(d, QUIRE_KV_INT8);
    assert_null(quire_kv_dtype_name((enum quire_kv_dtype)99));
    assert_status(QUIRE_OK, quire_kv_dtype_parse("q4_0", &d, NULL));
    assert_int_equal(d, QUIRE_KV_INT4);
    assert_status(QUIRE_OK, quire_kv_dtype_parse("int4", &d, NULL));
    assert_int_equal(d, QUIRE_KV_INT4);
    assert_string_equal(quire_kv_dtype_name(QUIRE_KV_INT4), "int4");
    assert_fails(QUIRE_E_INVALID_ARG, "or int4 (or q4_0)", quire_kv_dtype_parse("q5_0", &d, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "\"\"", quire_kv_dtype_parse("", &d, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "name", quire_kv_dtype_parse(NULL, &d, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "out", quire_kv_dtype_parse("f32", NULL, &err));
}

/* Number of resident pages of the pool. */
static size_t resident_pages(const void *pool, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = bytes / page;
    unsigned char *map = malloc(n);
    assert_non_null(map);
    assert_int_equal(mincore((void *)pool, n * page, map), 0);
    size_t resident = 0;
    for (size_t i = 0; i < n; i++)
        resident += map[i] & 1;
    free(map);
    return resident;
}

static void pages_are_touched_on_first_use(void **state)
{
    (void)state;
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_BF16, 128, 1024); /* 128 MiB */
    struct quire_kv_params c = config_of(&g, 1);
    struct quire_kv_cache *kv;
    assert_status(QUIRE_OK, quire_kv_create(&c, &kv, NULL));
    assert_int_equal((uintptr_t)kv->pool % (2 << 20), 0);
    assert_true(resident_pages(kv->pool, kv->pool_bytes) <=
                1024); /* malloc's header may touch a huge page or two */
    quire_kv_destroy(kv);
    c.flags = QUIRE_KV_TOUCH;
    assert_status(QUIRE_OK, quire_kv_create(&c, &kv, NULL));
    assert_int_equal(resident_pages(kv->pool, kv->pool_bytes),
                     kv->pool_bytes / (size_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(kv->pool[kv->pool_bytes - 1], 0);
    quire_kv_destroy(kv);
}

/* One token of every layer and head makes a few pages of a small pool resident, not all of them. */
static void small_pools_grow_by_small_pages(void **state)
{
    (void)state;
    char enabled[64] = "";
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (f && fgets(enabled, sizeof enabled, f) && strstr(enabled, "[always]")) {
        fclose(f);
        print_message("skipped: the system gives huge pages to every mapping\n");
        skip();
    }
    if (f)
        fclose(f);
    /* 31 MiB: glibc maps a block of that size and 2 MiB for its alignment anew */
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_F16, 128, 248);
    const struct quire_kv_params c = config_of(&g, 1);
    struct quire_kv_cache *kv;
    assert_status(QUIRE_OK, quire_kv_create(&c, &kv, NULL));
    for (uint32_t layer = 0; layer < 2; layer++)
        for (uint32_t head = 0; head < 2; head++)
            *qr_kv_block(kv, 0, layer, head, 0) = 1;
    assert_in_range(resident_pages(kv->pool, kv->pool_bytes), 1, 64);
    quire_kv_destroy(kv);
}

/* Tries to lock 8 MiB; the result is the exit code. */
static int lock_once(void)
{
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_BF16, 128, 64);
    struct quire_kv_params c = config_of(&g, 1);
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    c.flags = QUIRE_KV_LOCK;
    c.allocator = &f.hooks;
    struct quire_kv_cache *kv;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = quire_kv_create(&c, &kv, &err);
    if (s != QUIRE_OK && (kv || !strstr(err.msg, "lock") || !err.detail))
        return 100;
    const bool there = !kv || resident_pages(kv->pool, kv->pool_bytes) ==
                                  kv->pool_bytes / (size_t)sysconf(_SC_PAGESIZE);
    quire_kv_destroy(kv);
    return f.live_bytes ? 102 : there ? (int)s : 101;
}

/* A failing mlock is an error with the reason, and leaks nothing. It fails only without privileges,
 * so a child process drops them. */
static void locking(void **state)
{
    (void)state;
    const int free_to_lock = lock_once();
    if (free_to_lock == 101) {
        printf("skipped: mlock does nothing in this build (sanitizers replace it)\n");
        skip();
    }
    assert_true(free_to_lock == QUIRE_OK || free_to_lock == QUIRE_E_LIMIT);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit none = { 0, 0 };
        if (setrlimit(RLIMIT_MEMLOCK, &none) || (geteuid() == 0 && setuid(65534)))
            _exit(103);
        _exit(lock_once());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 103) {
        printf("skipped: this process cannot drop its privileges\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), QUIRE_E_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_exact),
        cmocka_unit_test(pool_size_by_hand),
        cmocka_unit_test(allocation_failures),
        cmocka_unit_test(bad_groups),
        cmocka_unit_test(bad_configs),
        cmocka_unit_test(getters),
        cmocka_unit_test(dtype_names),
        cmocka_unit_test(pages_are_touched_on_first_use),
        cmocka_unit_test(small_pools_grow_by_small_pages),
        cmocka_unit_test(locking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
