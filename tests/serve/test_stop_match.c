/* SPDX-License-Identifier: Apache-2.0 */
/* test_stop_match.c - which stop sequence the last token of an answer completed. */
#include "stop_match.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h requires headers above */
#include <cmocka.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */
#define THREE_BYTES REPLACEMENT REPLACEMENT REPLACEMENT

/* The sequence, from copies of the texts of exactly their sizes, so that ASan sees reads behind
 * them. */
static const char *completed(const char *before, const char *text, const char *const *stop,
                             uint32_t n)
{
    char *b = strdup(before), *t = strdup(text);
    assert_true(b && t);
    const char *found = stop_completed(b, t, stop, n);
    free(b), free(t);
    return found;
}

static void test_first_occurrence(void **state)
{
    (void)state;
    static const char *const stop[] = { "END", "N", "x" };
    assert_string_equal(completed("an E", "an END.", stop, 3), "END");
    assert_string_equal(completed("a", "abNx", stop, 3), "N");
    assert_string_equal(completed("", "x", stop, 3), "x");
    assert_null(completed("a", "ab", stop, 3));
    assert_null(completed("a", "ax", stop, 0));
}

static void test_earlier_text_is_skipped(void **state)
{
    (void)state;
    static const char *const stop[] = { "x", "ab" };
    assert_null(completed("x", "xy", stop, 2));
    assert_string_equal(completed("xa", "xab", stop, 2), "ab");
    /* the token gives no text */
    assert_null(completed("ab", "ab", stop, 2));
    assert_null(completed("", "", stop, 2));
}

/* The answer without its last token ends in bytes of an incomplete character, shown as U+FFFD. */
static void test_completed_character(void **state)
{
    (void)state;
    static const char *const stop[] = { "\xC3\xA9", "x" };
    assert_string_equal(completed("a" REPLACEMENT, "a\xC3\xA9", stop, 2), stop[0]);
    /* here longer than the answer with the token */
    assert_string_equal(completed(THREE_BYTES, "\xF0\x9F\x98\x80x", stop, 2), stop[1]);
    assert_string_equal(completed(THREE_BYTES, "\xC3\xA9", stop, 2), stop[0]);
    assert_null(completed("a" THREE_BYTES, "a\xE2\x82\xAC", stop, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_occurrence),
        cmocka_unit_test(test_earlier_text_is_skipped),
        cmocka_unit_test(test_completed_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
