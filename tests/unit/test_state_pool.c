/* SPDX-License-Identifier: Apache-2.0 */
/* test_state_pool.c - pools of recurrent states: sizes, slots, copies, bad arguments. */
#include "quire_cmocka.h"
#include <quire/state_pool.h>
#include <stdlib.h>
#include <string.h>

static struct quire_error err;

static struct quire_state_pool_params params(uint32_t n, uint64_t bytes)
{
    struct quire_state_pool_params p;
    quire_state_pool_params_init(&p, sizeof p);
    p.n_slots = n;
    p.state_bytes = bytes;
    return p;
}

static struct quire_state_pool_info info_of(const struct quire_state_pool *pool)
{
    struct quire_state_pool_info info;
    quire_state_pool_info_init(&info, sizeof info);
    assert_status(QUIRE_OK, quire_state_pool_get_info(pool, &info));
    return info;
}

static void slots(void **state)
{
    (void)state;
    const struct quire_state_pool_params p = params(3, 100);
    struct quire_state_pool *pool;
    uint64_t total;
    int32_t a, b, c, d = -7;
    float x[25], y[25];
    assert_status(QUIRE_OK, quire_state_pool_bytes(&p, &total, &err));
    assert_status(QUIRE_OK, quire_state_pool_create(&p, &pool, &err));
    assert_int_equal(info_of(pool).total_bytes, total);
    assert_int_equal(info_of(pool).state_bytes, 100);
    assert_status(QUIRE_OK, quire_state_pool_alloc(pool, &a, &err));
    assert_status(QUIRE_OK, quire_state_pool_alloc(pool, &b, &err));
    assert_status(QUIRE_OK, quire_state_pool_alloc(pool, &c, &err));
    assert_true(a == 0 && b == 1 && c == 2 && info_of(pool).n_free == 0);
    assert_status(QUIRE_E_AGAIN, quire_state_pool_alloc(pool, &d, &err));
    assert_int_equal(d, -7);
    for (int i = 0; i < 25; i++)
        x[i] = (float)i + 1;
    assert_status(QUIRE_OK, quire_state_pool_write(pool, b, x, sizeof x, &err));
    assert_status(QUIRE_OK, quire_state_pool_copy(pool, c, b, &err));
    assert_status(QUIRE_OK, quire_state_pool_copy(pool, b, b, &err));
    assert_status(QUIRE_OK, quire_state_pool_read(pool, c, y, sizeof y, &err));
    assert_memory_equal(x, y, sizeof x);
    assert_status(QUIRE_OK, quire_state_pool_free(pool, b, &err));
    assert_int_equal(info_of(pool).n_free, 1);
    assert_status(QUIRE_OK, quire_state_pool_alloc(pool, &d, &err)); /* a zero state again */
    assert_int_equal(d, b);
    assert_status(QUIRE_OK, quire_state_pool_read(pool, d, y, sizeof y, &err));
    for (int i = 0; i < 25; i++)
        assert_true(y[i] == 0);
    quire_state_pool_destroy(pool);
    quire_state_pool_destroy(NULL);
}

static void refused(const char *part, struct quire_state_pool_params p, quire_status status)
{
    struct quire_state_pool *pool = (void *)&p;
    uint64_t total = 7;
    assert_status(status, quire_state_pool_bytes(&p, &total, &err));
    assert_non_null(strstr(err.msg, part));
    assert_int_equal(total, 7);
    assert_status(status, quire_state_pool_create(&p, &pool, &err));
    assert_null(pool);
}

static void bad_parameters(void **state)
{
    (void)state;
    struct quire_state_pool_params p = params(1, 64);
    struct quire_state_pool *pool;
    uint64_t total;
    refused("n_slots", params(0, 64), QUIRE_E_INVALID_ARG);
    refused("n_slots", params((1 << 20) + 1, 64), QUIRE_E_INVALID_ARG);
    refused("state_bytes", params(1, 0), QUIRE_E_INVALID_ARG);
    refused("state_bytes", params(1, 66), QUIRE_E_INVALID_ARG);
    refused("address space", params(1, UINT64_MAX - 3), QUIRE_E_LIMIT);
    refused("address space", params(1 << 20, (uint64_t)1 << 44), QUIRE_E_LIMIT);
    p.flags = 1;
    refused("flags", p, QUIRE_E_INVALID_ARG);
    p.flags = 0;
    assert_status(QUIRE_E_INVALID_ARG, quire_state_pool_bytes(&p, NULL, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_state_pool_bytes(NULL, &total, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_state_pool_create(&p, NULL, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_state_pool_create(NULL, &pool, &err));
    p.struct_size = 8;
    refused("struct_size", p, QUIRE_E_MISUSE);
}

static void bad_slots(void **state)
{
    (void)state;
    static const int32_t outside[] = { -1, 2, INT32_MAX, INT32_MIN };
    const struct quire_state_pool_params p = params(2, 8);
    struct quire_state_pool *pool;
    int32_t a;
    float x[2] = { 0 };
    assert_status(QUIRE_OK, quire_state_pool_create(&p, &pool, &err));
    assert_status(QUIRE_OK, quire_state_pool_alloc(pool, &a, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_state_pool_alloc(pool, NULL, &err));
    for (size_t i = 0; i < 5; i++) {
        const int32_t s = i < 4 ? outside[i] : 1; /* slot 1 is free */
        const quire_status want = i < 4 ? QUIRE_E_RANGE : QUIRE_E_MISUSE;
        assert_status(want, quire_state_pool_free(pool, s, &err));
        assert_status(want, quire_state_pool_copy(pool, s, a, &err));
        assert_non_null(strstr(err.msg, "dst"));
        assert_status(want, quire_state_pool_copy(pool, a, s, &err));
        assert_non_null(strstr(err.msg, "src"));
        assert_status(want, quire_state_pool_read(pool, s, x, sizeof x, &err));
        assert_status(want, quire_state_pool_write(pool, s, x, sizeof x, &err));
    }
    assert_status(QUIRE_E_INVALID_ARG, quire_state_pool_read(pool, a, NULL, sizeof x, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_state_pool_write(pool, a, NULL, sizeof x, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_state_pool_read(pool, a, x, 4, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_state_pool_write(pool, a, x, 12, &err));
    assert_non_null(strstr(err.msg, "n_bytes"));
    assert_status(QUIRE_E_INVALID_ARG, quire_state_pool_get_info(pool, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_state_pool_get_info(NULL, NULL));
    quire_state_pool_destroy(pool);
}

static void *no_memory(void *user, size_t size, size_t align)
{
    (void)user;
    (void)size;
    (void)align;
    return NULL;
}

static void release_nothing(void *user, void *p, size_t size)
{
    (void)user;
    (void)p;
    (void)size;
}

static void out_of_memory(void **state)
{
    (void)state;
    const struct quire_allocator hooks = { NULL, no_memory, release_nothing };
    struct quire_state_pool_params p = params(2, 8);
    struct quire_state_pool *pool;
    p.allocator = &hooks;
    assert_status(QUIRE_E_NOMEM, quire_state_pool_create(&p, &pool, &err));
    assert_null(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(bad_slots),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
