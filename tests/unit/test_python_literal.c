/* SPDX-License-Identifier: Apache-2.0 */
/* test_python_literal.c - Python literals as JSON: values, what is no literal, and every
 * allocation. */
#include "chat_format/output/python_literal.h"
#include "quire_cmocka.h"
#include "json/parse.h"

static const struct {
    const char *python, *json;
} good[] = {
    { "1", "1" },
    { " +1 ", "1" },
    { "-1_000", "-1000" },
    { "007", "7" },
    { ".5", "0.5" },
    { "5.", "5.0" },
    { "-0.5e-3", "-0.5e-3" },
    { "1E+5", "1e5" },
    { "1e308", "1e308" },
    { "1e-99999999999", "1e-99999999999" },
    { "None", "null" },
    { "True", "true" },
    { "False", "false" },
    { "null", "null" },
    { "true", "true" },
    { "''", "\"\"" },
    { "'a\"b'", "\"a\\\"b\"" },
    { "\"it's\"", "\"it's\"" },
    { "'\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"'", "\"\\u0007\\b\\f\\n\\r\\t\\u000b\\\\'\\\"\"" },
    { "'\\x41\\u00e9\\U0001F600\\U00110000'", "\"A\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd\"" },
    { "'\\ud83d\\ude00'", "\"\\ud83d\\ude00\"" },
    { "'\\101\\7z\\1234'", "\"A\\u0007zS4\"" },
    { "'a\\\nb'", "\"ab\"" },
    { "'\\q'", "\"\\\\q\"" },
    { "'a' 'b'", "\"a' 'b\"" }, /* no value ends before a quote */
    { "r'\\n'", "\"\\\\n\"" },
    { "u'x'", "\"x\"" },
    { "'''a'b''c\n'''", "\"a'b''c\\n\"" },
    { "\"\"\"x\"\"\"", "\"x\"" },
    { "[]", "[]" },
    { "()", "[]" },
    { "{}", "{}" },
    { "{ }", "{}" },
    { "[1, 'a', ]", "[1, \"a\"]" },
    { "(1, (2,), [3])", "[1, [2], [3]]" },
    { "{1}", "[1]" },
    { "{1, 2}", "[1, 2]" },
    { "{1,}", "[1]" },
    { "{'a': 1, 2: None, True: [], }", "{\"a\": 1, \"2\": null, \"true\": []}" },
    { "{'a': {'b': (1, {2, 3})}}", "{\"a\": {\"b\": [1, [2, 3]]}}" },
};

static const char *const bad[] = {
    "",        " ",       "+",       "-",      ".",         "1.e",     "1e",   "1e+",   "1e309",
    "1x",      "_1",      "0x1F",    "1j",     "name",      "Nones",   "b'x'", "rb'x'", "'",
    "'a",      "'''a''",  "'\\",     "'\\x4'", "'\\u12g4'", "'\\U1'",  "[",    "[1",    "[1 2]",
    "[1,,2]",  "[,]",     "(1",      "{",      "{1",        "{1 2}",   "{1:",  "{1:}",  "{1:2",
    "{1:2 3}", "{1:2,3}", "{[1]:2}", "{{}:2}", "{1:2,,}",   "{1,2:3}", "1 2",  "f(x)",  "1+2",
    "*x",      "{1:2,x}", "{1:x}",   "[x]",    "{x}",
};

static bool convert(const char *text, size_t filled, struct fail_alloc *f, struct qr_bytes *out,
                    bool *memory)
{
    *out = (struct qr_bytes){ 0 };
    *memory = true;
    for (size_t i = 0; i < filled; i++)
        if (!qr_bytes_append(&f->hooks, out, "x", 1))
            return *memory = false;
    return qr_python_literal(&f->hooks, out, text, strlen(text), memory);
}

static void literals(void **state)
{
    (void)state;
    struct fail_alloc f;
    struct qr_bytes out;
    bool memory;
    fail_alloc_init(&f, 0, false);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!convert(good[i].python, 0, &f, &out, &memory) || !memory ||
            out.size != strlen(good[i].json) || memcmp(out.data, good[i].json, out.size) != 0)
            fail_msg("%s: %.*s", good[i].python, (int)out.size, out.data);
        struct qr_json_error e;
        struct qr_json *v = qr_json_parse(out.data, out.size, 0, NULL, &e);
        assert_non_null(v);
        qr_json_free(v);
        qr_bytes_free(&f.hooks, &out);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (convert(bad[i], 0, &f, &out, &memory) || !memory)
            fail_msg("accepted: %s", bad[i]);
        qr_bytes_free(&f.hooks, &out);
    }
    assert_int_equal(f.live_count, 0);
}

static void depth(void **state)
{
    (void)state;
    struct fail_alloc f;
    struct qr_bytes out;
    bool memory;
    fail_alloc_init(&f, 0, false);
    for (size_t n = 1; n <= 200; n++) {
        char text[401] = "";
        memset(text, '[', n);
        memset(text + n, ']', n);
        text[2 * n] = 0;
        assert_int_equal(convert(text, 0, &f, &out, &memory), n <= 64);
        assert_true(memory);
        qr_bytes_free(&f.hooks, &out);
    }
    assert_int_equal(f.live_count, 0);
}

/* Bytes before the value move the growth of the output over every byte that is written. */
static void allocations(void **state)
{
    (void)state;
    enum { FILLED = 64 };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        for (size_t filled = 0; filled < FILLED; filled++)
            for (size_t n = 1;; n++) {
                struct fail_alloc f;
                struct qr_bytes out;
                bool memory;
                fail_alloc_init(&f, n, false);
                const bool ok = convert(good[i].python, filled, &f, &out, &memory);
                qr_bytes_free(&f.hooks, &out);
                assert_int_equal(f.live_count, 0);
                if (f.calls < n) {
                    assert_true(ok && memory);
                    break;
                }
                assert_false(ok || memory);
            }
}

static void arguments(void **state)
{
    (void)state;
    static const struct {
        const char *python, *json; /* NULL: refused */
    } cases[] = {
        { "", "{}" },
        { " a = 1 , b='x' ", "{\"a\": 1, \"b\": \"x\"}" },
        { "a=1,", "{\"a\": 1}" },
        { "a", NULL },
        { "a=", NULL },
        { "=1", NULL },
        { "1", NULL },
        { "a=1 b=2", NULL },
        { "a=1,,b=2", NULL },
        { "a=b'x'", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t filled = 0; filled < 64; filled++)
            for (size_t n = 0;; n++) {
                struct fail_alloc f;
                struct qr_bytes out = { 0 };
                bool memory = true, ok = true;
                fail_alloc_init(&f, n, false);
                for (size_t k = 0; ok && k < filled; k++)
                    ok = qr_bytes_append(&f.hooks, &out, "x", 1);
                memory = ok;
                ok = ok && qr_python_arguments(&f.hooks, &out, cases[i].python,
                                               strlen(cases[i].python), &memory);
                if (memory)
                    assert_int_equal(ok, cases[i].json != NULL);
                if (ok && (out.size - filled != strlen(cases[i].json) ||
                           memcmp(out.data + filled, cases[i].json, out.size - filled) != 0))
                    fail_msg("%s: %.*s", cases[i].python, (int)out.size, out.data);
                qr_bytes_free(&f.hooks, &out);
                assert_int_equal(f.live_count, 0);
                if (n && f.calls < n)
                    break;
                assert_true(!n || !memory);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals),
        cmocka_unit_test(depth),
        cmocka_unit_test(allocations),
        cmocka_unit_test(arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
