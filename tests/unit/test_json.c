/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c - the JSON parser: conformance, values, and memory on hostile texts. */
#include "../../chat/conversation.c"
#include "../../chat/conversation_file.c"
#include "../../chat/json_text.c"
#include "../../chat/messages_json.c"
#include "../../chat/numbers.c"
#include "../../chat/option_table.c"
#include "../../chat/options.c"
#include "../../chat/path.c"
#include "../../chat/settings.c"
#include "../../chat/text.c"
#include "format/json.h"
#include "quire_cmocka.h"
#include "json/parse.h"
#include <math.h>
#include <quire/tokenizer.h>
#include <stdlib.h>
#include <string.h>

void print_message(const char *format, ...) { (void)format; }

/* ---- An allocator that counts */

struct counter {
    size_t now, peak, calls;
};

static void *count_alloc(void *user, size_t bytes, size_t align)
{
    struct counter *c = user;
    c->calls++;
    c->now += bytes;
    c->peak = c->now > c->peak ? c->now : c->peak;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void count_free(void *user, void *p, size_t bytes)
{
    ((struct counter *)user)->now -= bytes;
    free(p);
}

static struct quire_allocator counting(struct counter *c)
{
    *c = (struct counter){ 0 };
    return (struct quire_allocator){ .user = c, .alloc = count_alloc, .free = count_free };
}

/* ---- Conformance */

static struct qr_json *parse(const char *text, uint32_t flags, struct qr_json_error *e)
{
    return qr_json_parse(text, strlen(text), flags, NULL, e);
}

static void accepted(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "0e99999999999999999999",
        "1e-99999999999999999999",
        "-0",
        "-0.0",
        "1e308",
        "1e-9999",
        "0e99999",
        "0.0000e+400",
        "1E+2",
        "1.5e-3",
        "9223372036854775807",
        "-9223372036854775808",
        "\"\"",
        "\"\\u00e9\\ud83d\\ude00\"",
        "\"\x7f\xc2\x80\xf4\x8f\xbf\xbf\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "[]",
        "{}",
        "[ ]",
        "{ }",
        "[[],{},[[]]]",
        " \t\r\n null \n",
        "true",
        "false",
        "{\"\":0,\"a\":{\"\":1}}",
        "[1,\"2\",null,{\"a\":[true]}]",
        "\"\\uFFFF\\uffff\"",
    };
    struct qr_json_error e;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct qr_json *v = parse(texts[i], 0, &e);
        if (!v)
            fail_msg("%s: %s at %zu", texts[i], e.text, e.offset);
        qr_json_free(v);
    }
}

static void rejected(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
        quire_status code;
    } cases[] = {
        { "", 0, QUIRE_E_FORMAT },
        { " ", 1, QUIRE_E_FORMAT },
        { "nul", 0, QUIRE_E_FORMAT },
        { "True", 0, QUIRE_E_FORMAT },
        { "NaN", 0, QUIRE_E_FORMAT },
        { "-Infinity", 1, QUIRE_E_FORMAT },
        { "01", 0, QUIRE_E_FORMAT },
        { "-", 1, QUIRE_E_FORMAT },
        { "+1", 0, QUIRE_E_FORMAT },
        { ".5", 0, QUIRE_E_FORMAT },
        { "1.", 2, QUIRE_E_FORMAT },
        { "1e", 2, QUIRE_E_FORMAT },
        { "1e+", 3, QUIRE_E_FORMAT },
        { "1 2", 2, QUIRE_E_FORMAT },
        { "[1 2]", 3, QUIRE_E_FORMAT },
        { "[1,]", 3, QUIRE_E_FORMAT },
        { "[,1]", 1, QUIRE_E_FORMAT },
        { "[1}", 2, QUIRE_E_FORMAT },
        { "[1", 2, QUIRE_E_FORMAT },
        { "]", 0, QUIRE_E_FORMAT },
        { "{]", 1, QUIRE_E_FORMAT },
        { "{\"a\"}", 4, QUIRE_E_FORMAT },
        { "{\"a\":}", 5, QUIRE_E_FORMAT },
        { "{\"a\":1,}", 7, QUIRE_E_FORMAT },
        { "{a:1}", 1, QUIRE_E_FORMAT },
        { "{1:1}", 1, QUIRE_E_FORMAT },
        { "{},{}", 2, QUIRE_E_FORMAT },
        { "\"a", 2, QUIRE_E_FORMAT },
        { "\"\\", 1, QUIRE_E_FORMAT },
        { "\"\\x41\"", 1, QUIRE_E_FORMAT },
        { "\"\\u12\"", 1, QUIRE_E_FORMAT },
        { "\"\\u12g4\"", 1, QUIRE_E_FORMAT },
        { "\"a\nb\"", 2, QUIRE_E_FORMAT },
        { "\"\\u0000\"", 1, QUIRE_E_FORMAT },
        { "\"\\ud800\"", 1, QUIRE_E_FORMAT },
        { "\"\\udc00\"", 1, QUIRE_E_FORMAT },
        { "\"\\ud800\\u0041\"", 1, QUIRE_E_FORMAT },
        { "\"\\ud800\\ud800\"", 1, QUIRE_E_FORMAT },
        { "\"\xff\"", 1, QUIRE_E_FORMAT },
        { "\"\xc0\xaf\"", 1, QUIRE_E_FORMAT },
        { "\"\xed\xa0\x80\"", 1, QUIRE_E_FORMAT },
        { "\"\xe2\x82\"", 1, QUIRE_E_FORMAT },
        { "\xef\xbb\xbf{}", 0, QUIRE_E_FORMAT },
        { "1e9999", 0, QUIRE_E_RANGE },
        { "1e99999999999999999999", 0, QUIRE_E_RANGE },
        { "-1.5e+18446744073709551999", 0, QUIRE_E_RANGE },
        { "-1e309", 0, QUIRE_E_RANGE },
        { "0.001e313", 0, QUIRE_E_RANGE },
        { "9223372036854775808", 0, QUIRE_E_RANGE },
        { "[18446744073709551616]", 1, QUIRE_E_RANGE },
        { "-9223372036854775809", 0, QUIRE_E_RANGE },
        { "{\"a\":1,\"b\":2,\"a\":3}", 13, QUIRE_E_FORMAT },
        { "[{\"\\u0061\":1,\"a\":2}]", 13, QUIRE_E_FORMAT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qr_json_error e = { .offset = SIZE_MAX };
        struct qr_json *v = parse(cases[i].text, 0, &e);
        if (v || e.code != cases[i].code || e.offset != cases[i].offset || !e.text)
            fail_msg("%s: %d at %zu", cases[i].text, (int)e.code, e.offset);
    }
    struct qr_json_error e;
    char digits[406] = "1"; /* 400 digits, with the exponent on both sides of the limit */
    memset(digits + 1, '0', 399);
    strcpy(digits + 400, "e-80");
    assert_null(parse(digits, 0, &e));
    assert_int_equal(e.code, QUIRE_E_RANGE);
    strcpy(digits + 400, "e-200");
    struct qr_json *v = parse(digits, 0, &e);
    assert_true(qr_json_number(v) == 1e199);
    qr_json_free(v);
    assert_null(qr_json_parse("\"a\0b\"", 5, 0, NULL, &e));
    assert_null(qr_json_parse("[1]\0", 4, 0, NULL, &e));
    assert_null(qr_json_parse("\n\n [1,\nx]", 9, 0, NULL, &e));
    assert_int_equal(e.line, 4);
}

/* A duplicate key that is long is cut after a whole character. */
static void long_duplicate(void **state)
{
    (void)state;
    for (size_t before = 0; before < 3; before++) {
        struct qr_json_error e;
        char key[128] = "ab", text[300];
        key[before] = 0;
        for (int i = 0; i < 30; i++)
            strcat(key, "\u65e5");
        snprintf(text, sizeof text, "{\"%s\":1,\"%s\":2}", key, key);
        assert_null(parse(text, 0, &e));
        const size_t n = before + (sizeof e.key - 1 - before) / 3 * 3;
        assert_int_equal(strlen(e.key), n);
        assert_memory_equal(e.key, key, n);
    }
}

/* Every prefix and every changed byte of a text is refused or parsed, within its bytes. */
static void mutated(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\":[1,-2.5e3,\"\\ud83d\\ude00\\n\xc3\xa9\",{}],\"b\":{\"c\":null}}";
    struct qr_json_error e;
    for (size_t n = 0; n < sizeof text - 1; n++) {
        char *copy = malloc(n + 1); /* exact, for the sanitizer */
        memcpy(copy, text, n);
        assert_null(qr_json_parse(copy, n, 0, NULL, &e));
        assert_true(e.offset <= n);
        free(copy);
    }
    for (size_t i = 0; i < sizeof text - 1; i++)
        for (int c = 0; c < 256; c++) {
            char copy[sizeof text];
            memcpy(copy, text, sizeof text);
            copy[i] = (char)c;
            struct qr_json *v = qr_json_parse(copy, sizeof text - 1, 0, NULL, &e);
            for (struct qr_json_iter k = qr_json_iterate(v); qr_json_next(&k);)
                assert_int_equal(strlen(k.key), strlen(k.key));
            qr_json_free(v);
        }
}

static void depth(void **state)
{
    (void)state;
    struct qr_json_error e;
    for (int n = 63; n <= 66; n++) {
        char text[200];
        memset(text, '[', (size_t)n);
        memset(text + n, ']', (size_t)n);
        struct qr_json *v = qr_json_parse(text, 2 * (size_t)n, 0, NULL, &e);
        assert_int_equal(v != NULL, n <= QR_JSON_MAX_DEPTH);
        if (!v)
            assert_int_equal(e.offset, QR_JSON_MAX_DEPTH);
        qr_json_free(v);
    }
    char *deep = malloc(100000);
    memset(deep, '[', 100000);
    assert_null(qr_json_parse(deep, 100000, 0, NULL, &e));
    free(deep);
}

/* ---- Values */

static void values(void **state)
{
    (void)state;
    struct qr_json_error e;
    struct qr_json *v =
        parse("{ \"s\" : \"a\\u00e9\\n\" , \"i\":-12,\"big\":1e3,\"t\":true,\"n\":null,"
              "\"list\":[1,[2,3],{\"x\":4},5],\"empty\":{},\"none\":[]}",
              0, &e);
    assert_non_null(v);
    assert_true(qr_json_is_object(v) && !qr_json_is_array(v));
    assert_int_equal(qr_json_size(v), 8);
    assert_string_equal(qr_json_string(qr_json_get(v, "s")), "a\xc3\xa9\n");
    assert_int_equal(qr_json_string_size(qr_json_get(v, "s")), 4);
    assert_int_equal(qr_json_integer(qr_json_get(v, "i")), -12);
    assert_true(qr_json_number(qr_json_get(v, "i")) == -12);
    const struct qr_json *big = qr_json_get(v, "big");
    assert_true(qr_json_is_number(big) && !qr_json_is_integer(big) && qr_json_number(big) == 1000);
    assert_int_equal(qr_json_integer(big), 0);
    assert_true(qr_json_is_bool(qr_json_get(v, "t")) && qr_json_is_true(qr_json_get(v, "t")));
    assert_true(qr_json_is_null(qr_json_get(v, "n")) && !qr_json_is_null(qr_json_get(v, "m")));
    const struct qr_json *list = qr_json_get(v, "list");
    assert_int_equal(qr_json_size(list), 4);
    assert_int_equal(qr_json_integer(qr_json_at(list, 3)), 5);
    assert_int_equal(qr_json_integer(qr_json_get(qr_json_at(list, 2), "x")), 4);
    assert_int_equal(qr_json_integer(qr_json_at(qr_json_at(list, 1), 1)), 3);
    assert_null(qr_json_at(list, 4));
    assert_true(qr_json_is_object(qr_json_get(v, "empty")));
    assert_int_equal(qr_json_size(qr_json_get(v, "empty")), 0);
    assert_true(qr_json_is_array(qr_json_get(v, "none")));
    assert_non_null(qr_json_get_n(v, "listed", 4));
    assert_null(qr_json_get_n(v, "list", 3));
    assert_null(qr_json_get_n(v, "list\0of a text", 14));
    assert_null(qr_json_get(list, "x"));
    assert_null(qr_json_string(NULL));
    assert_true(qr_json_number(qr_json_get(v, "s")) == 0);
    int64_t none = 1;
    assert_true(qr_json_read_integer("", 0, &none) && none == 0);
    assert_int_equal(qr_json_size(NULL), 0);
    qr_json_free(v);
    qr_json_free(NULL);

    v = parse("[-0,-0.0,1e308,1.7976931348623159e308,5e-324,1e-9999]", 0, &e);
    assert_int_equal(qr_json_integer(qr_json_at(v, 0)), 0);
    assert_true(signbit(qr_json_number(qr_json_at(v, 1))));
    assert_true(qr_json_number(qr_json_at(v, 2)) == 1e308);
    assert_true(isinf(qr_json_number(qr_json_at(v, 3)))); /* above the largest double */
    assert_true(qr_json_number(qr_json_at(v, 4)) == 5e-324);
    assert_true(qr_json_number(qr_json_at(v, 5)) == 0);
    double f;
    assert_false(qr_json_is_f64(qr_json_at(v, 3), &f));
    qr_json_free(v);

    v = parse("{\"a\":1,\"b\":2,\"a\":3}", QR_JSON_ALLOW_DUPLICATES, &e);
    assert_int_equal(qr_json_integer(qr_json_get(v, "a")), 3);
    qr_json_free(v);
    v = parse("1000000000000000019884624838656", QR_JSON_ALLOW_BIG_INTEGERS, &e);
    assert_true(v && !qr_json_is_integer(v) && qr_json_number(v) == 1e30);
    qr_json_free(v);
}

static void quote(void **state)
{
    (void)state;
    char all[128], out[QR_JSON_QUOTED_MAX(sizeof all)];
    for (int i = 1; i < 128; i++)
        all[i - 1] = (char)i;
    struct qr_json_error e;
    struct qr_json *v = qr_json_parse(out, qr_json_quote(out, all, 127), 0, NULL, &e);
    assert_int_equal(qr_json_string_size(v), 127);
    assert_memory_equal(qr_json_string(v), all, 127);
    qr_json_free(v);
}

/* ---- Duplicate keys among many */

static void many_keys(void **state)
{
    (void)state;
    enum { N = 100000 };
    char *text = malloc(N * 16 + 16), *p = text;
    struct qr_json_error e;
    *p++ = '{';
    for (int i = 0; i < N; i++)
        p += sprintf(p, "\"%x\":%d,", i, i);
    char *last = p;
    p += sprintf(p, "\"x\":0}");
    struct qr_json *v = qr_json_parse(text, (size_t)(p - text), 0, NULL, &e);
    assert_int_equal(qr_json_size(v), N + 1);
    assert_int_equal(qr_json_integer(qr_json_get(v, "1869f")), 0x1869f);
    qr_json_free(v);
    p = last + sprintf(last, "\"7\":0}");
    assert_null(qr_json_parse(text, (size_t)(p - text), 0, NULL, &e));
    assert_int_equal(e.offset, last - text);
    assert_string_equal(e.key, "7");
    free(text);
}

/* ---- Hostile sizes */

enum { MIB = 1 << 20, HOSTILE = 32 * MIB };

/* size bytes: head, then pattern again and again, then tail. */
static char *repeat(const char *head, const char *pattern, const char *tail, size_t size)
{
    char *text = malloc(size + 1);
    size_t n = strlen(head), k = strlen(pattern);
    memcpy(text, head, n);
    for (; n + k + strlen(tail) + 1 < size; n += k)
        memcpy(text + n, pattern, k);
    n -= k ? 1 : 0; /* the last comma */
    memcpy(text + n, tail, strlen(tail));
    memset(text + n + strlen(tail), ' ', size - n - strlen(tail));
    text[size] = 0;
    return text;
}

static const struct hostile {
    const char *head, *pattern, *tail;
} hostile[] = {
    { "[", "{},", "]" },
    { "[", "0,", "]" },
    { "[", "\"\",", "]" },
    { "[", "[0],", "]" },
    { "[", "[[[[[[[[0]]]]]]]],", "]" },
    { "[", "{\"\":{\"\":{\"\":0}}},", "]" },
    { "", "{},", "" },
    { "{\"model\":{\"vocab\":{},\"merges\":[", "\"\",", "]}}" },
    { "{\"model\":{\"vocab\":{},\"merges\":[", "{},", "]}}" },
    { "{\"added_tokens\":[", "{},", "],\"model\":{\"type\":\"BPE\",\"vocab\":{}}}" },
};

/* Heap of the parser, and of a tokenizer that is opened with the same text. */
static void hostile_memory(void **state)
{
    (void)state;
    const size_t limit = 16 * (size_t)MIB + 4 * (size_t)HOSTILE;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        struct counter c;
        struct quire_allocator a = counting(&c);
        struct qr_json_error e;
        char *text = repeat(hostile[i].head, hostile[i].pattern, hostile[i].tail, HOSTILE);
        struct qr_json *v = qr_json_parse(text, HOSTILE, 0, &a, &e);
        if (!v)
            assert_true(e.code == QUIRE_E_LIMIT || e.code == QUIRE_E_FORMAT);
        qr_json_free(v);
        assert_int_equal(c.now, 0);
        assert_true(c.peak <= limit - HOSTILE); /* the text of a file takes the rest */
        assert_true(c.calls <= 2);

        struct quire_tokenizer_params params = { .struct_size = sizeof params, .allocator = &a };
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_tokenizer *t;
        a = counting(&c);
        const quire_status s =
            quire_tokenizer_open_memory(text, HOSTILE, NULL, 0, &params, &t, &err);
        if (s != QUIRE_E_FORMAT && s != QUIRE_E_LIMIT)
            fail_msg("%s%s: %d %s", hostile[i].head, hostile[i].pattern, (int)s, err.msg);
        assert_int_equal(c.now, 0);
        assert_true(c.peak <= limit - HOSTILE);
        free(text);
    }
}

/* The check of an object's keys is part of the bound. */
static void hostile_keys(void **state)
{
    (void)state;
    char *text = malloc(HOSTILE), *p = text;
    unsigned n = 0;
    *p++ = '{';
    for (; p - text < HOSTILE - 32; n++)
        p += sprintf(p, "\"%x\":0,", n);
    p[-1] = '}';
    const size_t size = (size_t)(p - text);
    struct counter c;
    struct quire_allocator a = counting(&c);
    struct qr_json_error e;
    struct qr_json *v = qr_json_parse(text, size, 0, &a, &e);
    assert_int_equal(qr_json_size(v), n);
    qr_json_free(v);
    assert_true(c.peak + size <= 16 * (size_t)MIB + 4 * size);
    free(text);
}

/* The n-th allocation fails. */
static void *failing_alloc(void *user, size_t bytes, size_t align)
{
    int *left = user;
    return (*left)-- > 0 ? aligned_alloc(align, (bytes + align - 1) / align * align) : NULL;
}

static void plain_free(void *user, void *p, size_t bytes)
{
    (void)user, (void)bytes;
    free(p);
}

static void no_memory(void **state)
{
    (void)state;
    static const char keys[] = "{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,"
                               "\"h\":0,\"i\":0}";
    struct qr_json_error e;
    for (int n = 0; n <= 2; n++) {
        int left = n;
        const struct quire_allocator a = { .user = &left,
                                           .alloc = failing_alloc,
                                           .free = plain_free };
        struct qr_json *v = qr_json_parse(keys, sizeof keys - 1, 0, &a, &e);
        assert_int_equal(v != NULL, n == 2);
        assert_true(v || e.code == QUIRE_E_NOMEM);
        qr_json_free(v);
    }
    assert_null(qr_json_parse(keys, (size_t)QR_JSON_MAX_BYTES + 1, 0, NULL, &e));
    assert_int_equal(e.code, QUIRE_E_LIMIT);
}

/* A large file is refused; its memory is that of the parser. */
static void hostile_conversation(void **state)
{
    (void)state;
    char path[] = "/tmp/quire_json_XXXXXX";
    const int fd = mkstemp(path);
    char *text = repeat("[", "{},", "]", HOSTILE);
    assert_int_equal(write(fd, text, HOSTILE), HOSTILE);
    close(fd);
    free(text);
    struct conversation c = { 0 };
    struct settings s = { 0 };
    assert_int_equal(conversation_load(path, &c, &s), EX_DATAERR);
    assert_int_equal(c.n, 0);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted),       cmocka_unit_test(rejected),
        cmocka_unit_test(long_duplicate), cmocka_unit_test(mutated),
        cmocka_unit_test(depth),          cmocka_unit_test(values),
        cmocka_unit_test(quote),          cmocka_unit_test(many_keys),
        cmocka_unit_test(hostile_memory), cmocka_unit_test(hostile_keys),
        cmocka_unit_test(no_memory),      cmocka_unit_test(hostile_conversation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
