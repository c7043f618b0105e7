/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace.c - the header traceparent and the URL of a collector. tests/serve/traces.py receives
 * the spans of a server. */
#include "collector_url.h"
#include "traceparent.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* cmocka.h requires headers above */
#include <cmocka.h>

#define TRACE  "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"

static void reads_traceparent(void **state)
{
    (void)state;
    static const uint8_t trace[] = { 0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
                                     0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c };
    static const uint8_t parent[] = { 0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31 };
    struct traceparent p;
    assert_true(traceparent_parse(&p, "00-" TRACE "-" PARENT "-01"));
    assert_memory_equal(p.trace_id, trace, sizeof trace);
    assert_memory_equal(p.parent_id, parent, sizeof parent);
    assert_true(p.sampled);
    assert_true(traceparent_parse(&p, "00-" TRACE "-" PARENT "-00"));
    assert_false(p.sampled);
    assert_true(traceparent_parse(&p, "00-" TRACE "-" PARENT "-fe"));
    assert_false(p.sampled);
    assert_true(traceparent_parse(&p, "cc-" TRACE "-" PARENT "-01-what-the-future-has"));
    assert_true(p.sampled);
}

static void ignores_malformed_traceparent(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "00",
        "00-" TRACE "-" PARENT "-0",
        "00-" TRACE "-" PARENT "-01-x",
        "00-" TRACE "-" PARENT "-01 ",
        "cc-" TRACE "-" PARENT "-01.x",
        "ff-" TRACE "-" PARENT "-01",
        "0x-" TRACE "-" PARENT "-01",
        "00_" TRACE "-" PARENT "-01",
        "00-" TRACE "_" PARENT "-01",
        "00-" TRACE "-" PARENT "_01",
        "00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-" TRACE "-" PARENT "-0g",
        "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-001",
    };
    struct traceparent p;
    assert_false(traceparent_parse(&p, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (traceparent_parse(&p, cases[i]))
            fail_msg("accepted: %s", cases[i]);
}

static void reads_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url, *host, *authority, *path;
        int port;
    } cases[] = {
        { "http://collector:4319/v1/traces", "collector", "collector:4319", "/v1/traces", 4319 },
        { "http://10.0.0.1", "10.0.0.1", "10.0.0.1", "/v1/traces", 4318 },
        { "HTTP://h:1/", "h", "h:1", "/v1/traces", 1 },
        { "http://[::1]:65535/a/b?c=d", "::1", "[::1]:65535", "/a/b?c=d", 65535 },
        { "http://[fe80::1]", "fe80::1", "[fe80::1]", "/v1/traces", 4318 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct collector_url u;
        struct api_error e = { 0 };
        if (!collector_url_parse(&u, cases[i].url, &e))
            fail_msg("%s", e.message);
        assert_string_equal(u.host, cases[i].host);
        assert_string_equal(u.authority, cases[i].authority);
        assert_string_equal(u.path, cases[i].path);
        assert_int_equal(u.port, cases[i].port);
    }
}

static void refuses_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url, *message;
    } cases[] = {
        { "", "expected http://" },
        { "collector:4318", "expected http://" },
        { "ftp://h/", "expected http://" },
        { "https://h/v1/traces", "only http:// is supported" },
        { "http://", "has no host" },
        { "http:///v1/traces", "has no host" },
        { "http://:4318/", "has no host" },
        { "http://[::1/", "has no host" },
        { "http://[]:1/", "has no host" },
        { "http://user:password@h/", "a user name is not supported" },
        { "http://h:0/", "the port must be" },
        { "http://h:65536/", "the port must be" },
        { "http://h:/", "the port must be" },
        { "http://h:1x/", "the port must be" },
        { "http://h:000080/", "the port must be" },
        { "http://[::1]x/", "the port must be" },
        { "http://h/a b", "must not have" },
        { "http://h/a\r\nX: y", "must not have" },
        { "http://h/#f", "must not have" },
        { "http://h/\xc3\xa9", "must not have" },
        { "http://h?a=b", "lacks a path" },
    };
    struct collector_url u;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct api_error e = { 0 };
        assert_false(collector_url_parse(&u, cases[i].url, &e));
        if (strstr(e.message, cases[i].message) == NULL || strstr(e.message, "--otlp-end") == NULL)
            fail_msg("%s: %s", cases[i].url, e.message);
    }
    char text[1200] = "http://";
    struct api_error e = { 0 };
    memset(text + 7, 'h', sizeof text - 8);
    assert_false(collector_url_parse(&u, text, &e));
    assert_non_null(strstr(e.message, "too long"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_traceparent),
        cmocka_unit_test(ignores_malformed_traceparent),
        cmocka_unit_test(reads_urls),
        cmocka_unit_test(refuses_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
