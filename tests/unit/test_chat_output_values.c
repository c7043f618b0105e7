/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_output_values.c - values of arguments: Python literals, escapes of JSON strings, types
 * by schema, and all of these without memory. */
#include "chat_format/output/json_arguments.h"
#include "chat_format/output/json_scan.h"
#include "chat_format/output/python_literal.h"
#include "chat_format/output/tools.h"
#include "quire_cmocka.h"
#include "test_chat_output.h"

/* Text and the JSON it becomes; NULL: refused. */
static const struct {
    const char *text, *json;
} literals[] = {
    { "'''it's ''a'''", "\"it's ''a\"" },
    { "\"\"\"a\"\"b\"\"\"", "\"a\\\"\\\"b\"" },
    { "'''a''", NULL },
    { "'''a'b", NULL },
    { "''", "\"\"" },
    { "'''''", "\"'''\"" },
    { "'ab\\", NULL },
    { "r'a\\d'", "\"a\\\\d\"" },
    { "u\"\\x41\\u00e9\\U0001F600\"", "\"Aé😀\"" },
    { "'\\U7fffffff'", "\"\xef\xbf\xbd\"" },
    { "'\\ud83d\\ude00'", "\"\\ud83d\\ude00\"" },
    { "'\\x4g'", NULL },
    { "'\\x4'", NULL },
    { "'\\101\\7\\18\\1x\\778'", "\"A\\u0007\\u00018\\u0001x?8\"" },
    { "'\\1\\/'", "\"\\u0001\\\\/\"" },
    { "'a\\\nb\\q\\a\\v'", "\"ab\\\\q\\u0007\\u000b\"" },
    { "b'x'", NULL },
    { "rb'x'", NULL },
    { "x", NULL },
    { " \r\n\t1\r", "1" },
    { "'\\1 x'", "\"\\u0001 x\"" },
    { "+0012_3", "123" },
    { "1__2", "12" },
    { "-.5e-3", "-0.5e-3" },
    { "5.e+2", "5.0e2" },
    { ".", NULL },
    { "-", NULL },
    { "1e", NULL },
    { "1e+", NULL },
    { "1e308", "1e308" },
    { "1e309", NULL },
    { "1e99999999999999999999", NULL },
    { "1e-999999", "1e-999999" },
    { "1x", NULL },
    { "1 2", NULL },
    { "None", "null" },
    { "true", "true" },
    { "{}", "{}" },
    { "{'a': 1, 2: [True,], None: (),}", "{\"a\": 1, \"2\": [true], \"null\": []}" },
    { "{1}", "[1]" },
    { "{1,}", "[1]" },
    { "{1, 2,}", "[1, 2]" },
    { "{1 2}", NULL },
    { "{1, 2", NULL },
    { "{1, x}", NULL },
    { "{1", NULL },
    { "{", NULL },
    { "{[1]: 2}", NULL },
    { "{{}: 2}", NULL },
    { "{'a': x}", NULL },
    { "{'a': 1 'b': 2}", NULL },
    { "{'a': 1, x: 2}", NULL },
    { "{'a': 1, {}: 2}", NULL },
    { "{'a': 1, [2]: 2}", NULL },
    { "{'a': 1, 2}", NULL },
    { "[1 2]", NULL },
    { "(1,", NULL },
    { "", NULL },
};

/* The text as JSON behind `before` bytes; asserts that the memory is freed. */
static bool converted(const char *text, size_t before, size_t fail_at, struct joined_text *got,
                      bool *memory)
{
    struct fail_alloc f;
    struct qr_bytes out = { 0 };
    char blank[128] = { 0 };
    fail_alloc_init(&f, 0, false);
    assert_true(qr_bytes_append(&f.hooks, &out, blank, before));
    f.fail_at = fail_at ? f.calls + fail_at : 0;
    *memory = true;
    const bool ok = qr_python_literal(&f.hooks, &out, text, strlen(text), memory);
    joined_add(got, ok ? out.data + before : "", ok ? out.size - before : 0);
    qr_bytes_free(&f.hooks, &out);
    assert_int_equal(f.live_count, 0);
    return ok;
}

static void python_literals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++)
        for (size_t before = 0; before < 48; before++)
            for (size_t fail_at = 0; fail_at < 4; fail_at++) {
                struct joined_text got = { 0 };
                bool memory;
                const bool ok = converted(literals[i].text, before, fail_at, &got, &memory);
                const char *const want = literals[i].json;
                /* out of memory: refused, else what it is */
                if (memory ? ok != (want != NULL) || (ok && strcmp(got.text, want) != 0) : ok)
                    fail_msg("%s behind %zu: %d %s", literals[i].text, before, ok, got.text);
                if (!fail_at)
                    assert_true(memory);
                free(got.text);
            }
}

static void python_depth(void **state)
{
    (void)state;
    for (size_t n = 64; n <= 65; n++) {
        char text[2 * 65 + 1] = { 0 };
        struct joined_text got = { 0 };
        bool memory;
        memset(text, '[', n);
        memset(text + n, ']', n);
        assert_int_equal(converted(text, 0, 0, &got, &memory), n == 64);
        free(got.text);
    }
}

/* Numbers up to 1e308, the limit of doubles. */
static void python_digits(void **state)
{
    (void)state;
    for (size_t n = 309; n <= 310; n++) {
        char text[311] = { 0 };
        struct joined_text got = { 0 };
        bool memory;
        memset(text, '1', n);
        assert_int_equal(converted(text, 0, 0, &got, &memory), n == 309);
        free(got.text);
    }
}

static void python_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *text, *json;
    } cases[] = {
        { "", "{}" },
        { "a=1", "{\"a\": 1}" },
        { " a = 'x', b=(1,), ", "{\"a\": \"x\", \"b\": [1]}" },
        { "a=1 b=2", NULL },
        { "a", NULL },
        { "=1", NULL },
        { "a=x", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qr_bytes out = { 0 };
        bool memory = true;
        const char *const text = cases[i].text;
        const bool ok = qr_python_arguments(NULL, &out, text, strlen(text), &memory);
        assert_int_equal(ok, cases[i].json != NULL);
        if (ok)
            assert_string_equal(qr_bytes_text(NULL, &out), cases[i].json);
        qr_bytes_free(NULL, &out);
    }
}

/* ---- JSON strings */

static void json_escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *plain;
        size_t plain_size;
    } cases[] = {
        { "a\\n\\/b", 6, "a\n/b", 4 },
        { "\\ud83d\\ude00", 12, "😀", 4 },
        { "\\ud83d\\uffff", 12, "\xef\xbf\xbd\xef\xbf\xbf", 6 },
        { "\\ud83d\\u0041", 12,
          "\xef\xbf\xbd"
          "A",
          4 },
        { "\\ud83d\\n", 8, "\xef\xbf\xbd\n", 4 },
        { "\\udc00", 6, "\xef\xbf\xbd", 3 },
        { "\\u12", 4, "\\u12", 4 },
        { "\\u", 2, "\\u", 2 },
        { "\\", 1, "\\", 1 },
        { "\\\0x", 3, "\\\0x", 3 },
        { "\\q", 2, "\\q", 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t before = 0; before < 48; before++)
            for (int fails = 0; fails < 2; fails++) {
                struct fail_alloc f;
                struct qr_bytes out = { 0 };
                char blank[64] = { 0 };
                fail_alloc_init(&f, 0, false);
                assert_true(qr_bytes_append(&f.hooks, &out, blank, before));
                f.fail_at = fails ? f.calls + 1 : 0;
                const size_t calls = f.calls;
                const bool ok = qr_append_unescaped(&f.hooks, &out, cases[i].text, cases[i].size);
                assert_int_equal(ok, !fails || f.calls == calls);
                if (ok) {
                    assert_int_equal(out.size, before + cases[i].plain_size);
                    assert_memory_equal(out.data + before, cases[i].plain, cases[i].plain_size);
                }
                qr_bytes_free(&f.hooks, &out);
                assert_int_equal(f.live_count, 0);
            }
    struct qr_json_scan scan = { 0 };
    assert_int_equal(qr_json_scan_byte(&scan, '"'), QR_JSON_SCAN_MORE);
    assert_int_equal(qr_json_scan_byte(&scan, '\\'), QR_JSON_SCAN_MORE);
    assert_int_equal(qr_json_scan_byte(&scan, 0), QR_JSON_SCAN_ERROR);
    assert_false(qr_json_scan_valid("\"\\\0\"", 4));
}

/* ---- Types */

static const char typed_tools[] =
    "[{\"name\":\"f\",\"parameters\":{\"$ref\":\"#/$defs/all\",\"$defs\":{\"all\":{\"properties\":{"
    "\"enum\":{\"enum\":[\"a\",1,1.5,true,null,[],{},2,\"b\"]},\"const\":{\"const\":2.5},"
    "\"object\":{\"properties\":{}},\"array\":{\"items\":{}},"
    "\"both\":{\"const\":\"a\",\"properties\":{},\"items\":{}},"
    "\"ref\":{\"$ref\":\"#/$defs/text\"},\"lost\":{\"$ref\":\"#/$defs/none/at/all\"},"
    "\"remote\":{\"$ref\":\"other.json\"},\"number\":{\"$ref\":1},\"self\":{\"$ref\":\"#/$defs/"
    "self\"},"
    "\"union\":{\"anyOf\":[{\"type\":\"int\"},{\"type\":[\"float\",\"null\",7,\"?\"]},true]},"
    "\"python\":{\"type\":[\"str\",\"bool\",\"list\",\"dict\"]},\"any\":{}}},"
    "\"text\":{\"type\":\"string\"},\"self\":{\"$ref\":\"#/$defs/self\"}}}},"
    "{\"name\":\"loop\",\"parameters\":{\"$ref\":\"#\"}},{\"name\":\"odd\",\"parameters\":{"
    "\"$ref\":\"#/$defs/none/at\"}}]";

static void types_of_schemas(void **state)
{
    (void)state;
    static const struct {
        const char *key, *types; /* s(tring) i(nteger) n(umber) b(oolean) 0 a(rray) o(bject) */
    } cases[] = {
        { "enum", "sinb0ao" }, { "const", "n" }, { "object", "o" },  { "array", "a" },
        { "both", "s" },       { "ref", "s" },   { "lost", "" },     { "remote", "" },
        { "number", "" },      { "self", "" },   { "union", "in0" }, { "python", "sbao" },
        { "any", "" },         { "absent", "" },
    };
    struct qr_tools t;
    assert_status(QUIRE_OK, qr_tools_read(&t, typed_tools, NULL, NULL));
    const struct qr_tool *const f = qr_tools_find(&t, "f", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const key = cases[i].key;
        const struct qr_value_types got = qr_tool_property_types(f, key, strlen(key));
        char letters[8] = { 0 };
        for (unsigned k = 0; k < got.n; k++)
            letters[k] = "?sinb0ao"[got.types[k]];
        if (strcmp(letters, cases[i].types) != 0)
            fail_msg("%s: %s", key, letters);
        assert_int_equal(qr_tool_declares(f, key, strlen(key)), strcmp(key, "absent") != 0);
    }
    assert_false(qr_tool_declares(qr_tools_find(&t, "loop", 4), "a", 1));
    assert_false(qr_tool_declares(qr_tools_find(&t, "odd", 3), "a", 1));
    assert_false(qr_tool_declares(NULL, "a", 1));
    qr_tools_free(&t);
}

static void duplicate_keys(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_tools t;
    const char *const json = "[{\"name\":\"f\",\"name\":\"g\"}]";
    assert_int_not_equal(QUIRE_OK, qr_tools_read(&t, json, NULL, &err));
    assert_non_null(strstr(err.msg, ": name"));
    assert_null(t.document);
}

#define DIGITS40 "0123456789012345678901234567890123456789"

static void typed_values(void **state)
{
    (void)state;
    static const struct {
        struct qr_value_types types;
        const char *text, *json;
    } cases[] = {
        { { 0 }, " 12 ", "12" },
        { { 0 }, "twelve \"12\"", "\"twelve \\\"12\\\"\"" },
        { { 1, { QR_TYPE_STRING } }, "12", "\"12\"" },
        { { 1, { QR_TYPE_STRING } }, DIGITS40, "\"" DIGITS40 "\"" }, /* grows behind the quote */
        { { 1, { QR_TYPE_INTEGER } }, "12", "12" },
        { { 1, { QR_TYPE_INTEGER } }, "\r\n\t12\t\r", "12" },
        { { 1, { QR_TYPE_INTEGER } }, "5.0", "5.0" },
        { { 1, { QR_TYPE_INTEGER } }, "5.5", "\"5.5\"" },
        { { 1, { QR_TYPE_NUMBER } }, ".5", "0.5" },
        { { 2, { QR_TYPE_BOOLEAN, QR_TYPE_NULL } }, "True", "true" },
        { { 2, { QR_TYPE_BOOLEAN, QR_TYPE_NULL } }, "None", "null" },
        { { 2, { QR_TYPE_ARRAY, QR_TYPE_STRING } }, "('a', 1)", "[\"a\", 1]" },
        { { 1, { QR_TYPE_OBJECT } }, "{'a': 1}", "{\"a\": 1}" },
        { { 1, { QR_TYPE_OBJECT } }, "[1]", "\"[1]\"" },
        { { 1, { QR_TYPE_OBJECT } }, " ", "\" \"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t before = 0; before < 48; before++)
            for (size_t fail_at = 0; fail_at < 4; fail_at++) {
                struct fail_alloc f;
                struct qr_bytes out = { 0 };
                char blank[64] = { 0 };
                fail_alloc_init(&f, 0, false);
                assert_true(qr_bytes_append(&f.hooks, &out, blank, before));
                f.fail_at = fail_at ? f.calls + fail_at : 0;
                const bool failed = !qr_tools_append_typed(&f.hooks, &out, &cases[i].types,
                                                           cases[i].text, strlen(cases[i].text));
                assert_int_equal(failed, f.fail_at && f.calls >= f.fail_at);
                if (!failed) {
                    assert_int_equal(out.size, before + strlen(cases[i].json));
                    assert_memory_equal(out.data + before, cases[i].json, out.size - before);
                }
                qr_bytes_free(&f.hooks, &out);
                assert_int_equal(f.live_count, 0);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_literals),  cmocka_unit_test(python_depth),
        cmocka_unit_test(python_arguments), cmocka_unit_test(json_escapes),
        cmocka_unit_test(types_of_schemas), cmocka_unit_test(duplicate_keys),
        cmocka_unit_test(python_digits),    cmocka_unit_test(typed_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
