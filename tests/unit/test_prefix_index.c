/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefix_index.c - the index of the prefix cache. */
#include "test_prefix_random.h"

#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { OPERATIONS = 40000 };
#else
enum { OPERATIONS = 1000000 };
#endif

static void random_operations(void **state)
{
    (void)state;
    struct random_counts c;
    run_random(12, OPERATIONS, &c);
    printf("hits %llu partial %llu shortened %llu replaced %llu filled %llu equal %llu full %llu "
           "taken %llu evicted %llu %llu %llu refused %llu\n",
           (unsigned long long)c.hits, (unsigned long long)c.partial_hits,
           (unsigned long long)c.shortened, (unsigned long long)c.replaced,
           (unsigned long long)c.filled, (unsigned long long)c.equal, (unsigned long long)c.full,
           (unsigned long long)c.taken, (unsigned long long)c.evicted_full,
           (unsigned long long)c.evicted_out, (unsigned long long)c.evicted_in,
           (unsigned long long)c.refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
