/* SPDX-License-Identifier: Apache-2.0 */
/* test_levels.c - the list of ISA levels: order, bases, and names of oneDNN. */
#include "kernels/dispatch.h"
#include "quire_cmocka.h"
#include <string.h>

/* Index of a level by name; of NONE: -1. */
static int index_of(const char *name)
{
    for (int i = 0; qr_level_name(i); i++)
        if (strcmp(qr_level_name(i), name) == 0)
            return i;
    assert_string_equal(name, "NONE");
    return -1;
}

static void base_precedes_its_levels(void **state)
{
    (void)state;
#define X(level, base, ...) assert_true(index_of(#base) < index_of(#level));
    QR_LEVELS(X, )
#undef X
}

static void level_runs_only_if_its_base_does(void **state)
{
    (void)state;
#define X(level, base, ...)                                                                        \
    if (index_of(#base) >= 0 && qr_level_table(index_of(#level)))                                  \
        assert_non_null(qr_level_table(index_of(#base)));
    QR_LEVELS(X, )
#undef X
}

static void onednn_isa(void **state)
{
    (void)state;
    assert_null(qr_level_onednn_isa("no level"));
#if defined(__x86_64__) && !defined(QUIRE_GENERIC_ONLY)
    assert_string_equal(qr_level_onednn_isa("generic"), "sse41");
    assert_string_equal(qr_level_onednn_isa("avx2"), "avx2");
#if !defined(QUIRE_UP_TO_AVX2)
    assert_string_equal(qr_level_onednn_isa("avx512_amx"), "avx512_core_amx");
#endif
#elif defined(__aarch64__)
    assert_null(qr_level_onednn_isa("neon"));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base_precedes_its_levels),
        cmocka_unit_test(level_runs_only_if_its_base_does),
        cmocka_unit_test(onednn_isa),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
