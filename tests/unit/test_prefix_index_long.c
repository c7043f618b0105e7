/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefix_index_long.c - ten million random operations on the prefix index. */
#include "test_prefix_random.h"

static void random_operations(void **state)
{
    (void)state;
    struct random_counts c;
    run_random(4711, RANDOM_OPERATIONS(10 * 1000 * 1000), &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_operations) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
