/* SPDX-License-Identifier: Apache-2.0 */
/* test_jinja_clock.c - strftime_now with clocks of other centuries, and its rare directives. */
#include "test_jinja.h"
#include <limits.h>

/* Years around those that are leap years only if 400 divides them, and the first year of Python's
 * calendar; the expected text is that of Python. */
static void test_centuries(void **state)
{
    static const struct {
        struct tm date;
        const char *expected;
    } cases[] = {
        { { .tm_year = -1899, .tm_mon = 0, .tm_mday = 1 },
          "1-01-01 Mon 001 0001-01 -62135596800 am" },
        { { .tm_year = -199, .tm_mon = 0, .tm_mday = 1 },
          "1701-01-01 Sat 001 1700-52 -8488800000 am" },
        { { .tm_year = -199, .tm_mon = 11, .tm_mday = 31 },
          "1701-12-31 Sat 365 1701-52 -8457350400 am" },
        { { .tm_year = 0, .tm_mon = 0, .tm_mday = 1 },
          "1900-01-01 Mon 001 1900-01 -2208988800 am" },
        { { .tm_year = 100, .tm_mon = 1, .tm_mday = 29 },
          "2000-02-29 Tue 060 2000-09 951782400 am" },
        { { .tm_year = 200, .tm_mon = 11, .tm_mday = 31, .tm_hour = 12 },
          "2100-12-31 Fri 365 2100-52 4133937600 pm" },
        { { .tm_year = 201, .tm_mon = 0, .tm_mday = 1, .tm_hour = 13 },
          "2101-01-01 Sat 001 2100-52 4134027600 pm" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        char *text = jinja_render_date(&cases[i].date, "%Y-%m-%d %a %j %G-%V %s %P", &err);
        assert_non_null(text);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
}

static void test_years_before_the_first(void **state)
{
    static const int years[] = { -1900, -1901, -2300, INT_MIN };
    (void)state;
    for (size_t i = 0; i < sizeof years / sizeof *years; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        const struct tm date = { .tm_year = years[i], .tm_mday = 1 };
        assert_null(jinja_render_date(&date, "%G", &err));
        assert_int_equal(err.code, QUIRE_E_INVALID_ARG);
        assert_string_equal(err.msg, "template: the clock returned an invalid date");
    }
}

/* Flags with and without a directive, and characters that are no directives. */
static const struct jinja_case directives[] = {
    { "strftime_now('%\\x00x')|length", "3" },
    { "strftime_now('a%')", "a%" },
    { "strftime_now('%^')", "%^" },
    { "strftime_now('%^b')", "JAN" },
    { "strftime_now('%^%%-q')", "%%-q" },
};

static void test_directives(void **state)
{
    (void)state;
    JINJA_CHECK(directives, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_centuries),
        cmocka_unit_test(test_years_before_the_first),
        cmocka_unit_test(test_directives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
