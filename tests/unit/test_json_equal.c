/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_equal.c - comparison of JSON values. */
#include "quire_cmocka.h"
#include "json/parse.h"

static struct qr_json *parse(const char *text)
{
    struct qr_json_error e;
    struct qr_json *v = qr_json_parse(text, strlen(text), 0, NULL, &e);
    if (!v)
        fail_msg("%s: %s at %zu", text, e.text, e.offset);
    return v;
}

/* Functions for a kind of value, called with another. */
static void other_kinds(void **state)
{
    (void)state;
    struct qr_json *v = parse("{\"a\":[1],\"b\":\"text\"}");
    assert_null(qr_json_at(v, 0));
    assert_null(qr_json_at(qr_json_get(v, "b"), 0));
    assert_null(qr_json_get(qr_json_get(v, "a"), "a"));
    assert_null(qr_json_string(qr_json_get(v, "a")));
    assert_int_equal(qr_json_string_size(v), 0);
    assert_int_equal(qr_json_size(qr_json_get(v, "b")), 0);
    assert_true(qr_json_number(v) == 0 && qr_json_integer(v) == 0);
    assert_false(qr_json_is_null(NULL) || qr_json_is_true(v) || qr_json_is_integer(v));
    qr_json_free(v);
}

/* Values compare by content: numbers by value, objects without regard to the order of keys. */
static void equality(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        { "1", "1", true },
        { "1", "1.0", true },
        { "1", "2", false },
        { "1.5", "1.5", true },
        { "1.5", "2", false },
        { "9007199254740993", "9007199254740992", false }, /* equal as doubles */
        { "1", "\"1\"", false },
        { "\"1\"", "1", false },
        { "\"a\"", "\"a\"", true },
        { "\"a\"", "\"b\"", false },
        { "true", "true", true },
        { "true", "false", false },
        { "null", "null", true },
        { "null", "false", false },
        { "null", "0", false },
        { "[]", "[]", true },
        { "{}", "{}", true },
        { "[]", "{}", false },
        { "{}", "[]", false },
        { "[]", "null", false },
        { "[1,2]", "[1,2]", true },
        { "[1,2]", "[2,1]", false },
        { "[1,2]", "[1]", false },
        { "[1]", "[1,2]", false },
        { "{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1}", true },
        { "{\"a\":1}", "{\"b\":1}", false },
        { "{\"a\":1}", "{\"a\":2}", false },
        { "{\"a\":1}", "{\"a\":1,\"b\":1}", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qr_json *a = parse(cases[i].a), *b = parse(cases[i].b);
        assert_true(a && b);
        if (qr_json_equal(a, b) != cases[i].equal)
            print_error("%s, %s\n", cases[i].a, cases[i].b);
        assert_true(qr_json_equal(a, b) == cases[i].equal);
        qr_json_free(a);
        qr_json_free(b);
    }
    assert_false(qr_json_equal(NULL, NULL)); /* a missing value equals none */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(equality), cmocka_unit_test(other_kinds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
