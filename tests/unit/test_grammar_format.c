/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_format.c - expressions of the formats of JSON Schema. */
#include "grammar/core/limited_memory.h"
#include "grammar/regex/string_format.h"
#include "quire_cmocka.h"
#include <arpa/inet.h>

static uint32_t seed;

static uint32_t draw(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

struct format {
    struct qr_regex_set *set;
    qr_regex plain, json;
};

static struct format open_format(const char *name)
{
    struct format f = { .set = qr_regex_set_new(NULL) };
    assert_non_null(f.set);
    assert_int_equal(qr_string_format(f.set, name, false, &f.plain), QUIRE_OK);
    assert_int_equal(qr_string_format(f.set, name, true, &f.json), QUIRE_OK);
    assert_int_not_equal(f.plain, QR_REGEX_NONE);
    assert_int_not_equal(f.json, QR_REGEX_NONE);
    return f;
}

static bool matches(struct qr_regex_set *set, qr_regex r, const char *text)
{
    for (; *text; text++)
        r = qr_regex_derivative(set, r, (uint8_t)*text);
    return qr_regex_nullable(set, r);
}

/* Plain text, and the same as the contents of a JSON string. */
static bool accepts(const struct format *f, const char *text)
{
    char json[2048], *p = json;
    for (const char *t = text; *t; t++) {
        assert_true(p < json + sizeof json - 8);
        if (*t == '"' || *t == '\\')
            *p++ = '\\';
        if (*t == '\n') {
            *p++ = '\\';
            *p++ = 'n';
            continue;
        }
        *p++ = *t;
    }
    *p = 0;
    const bool plain = matches(f->set, f->plain, text);
    assert_int_equal(matches(f->set, f->json, json), plain);
    return plain;
}

static void check(const struct format *f, const char *text, bool valid)
{
    if (accepts(f, text) == valid)
        return;
    fprintf(stderr, "%s: \"%s\"\n", valid ? "refused" : "accepted", text);
    assert_true(false);
}

/* ---- Dates and times, exhaustively */

static bool leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

static void dates(void **state)
{
    (void)state;
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    struct format f = open_format("date"), t = open_format("date-time");
    char text[64];
    for (int year = 0; year <= 9999; year += year % 100 == 5 && year > 100 ? 90 : 1)
        for (int month = 0; month <= 13; month++)
            for (int day = 0; day <= 32; day += day == 1 ? 26 : 1) {
                const bool valid = year > 0 && month >= 1 && month <= 12 && day >= 1 &&
                                   day <= days[month - 1] + (month == 2 && leap(year));
                snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
                assert_int_equal(matches(f.set, f.plain, text), valid);
                strcat(text, "T00:00:00Z");
                assert_int_equal(matches(t.set, t.json, text), valid);
            }
    qr_regex_set_free(f.set);
    qr_regex_set_free(t.set);
}

static void leap_seconds(void **state)
{
    (void)state;
    struct format f = open_format("time");
    char text[64];
    for (int minute = 0; minute < 24 * 60; minute += minute % 60 == 0 ? 28 : 1)
        for (int offset = -1439; offset < 1440; offset++) {
            const int size = offset < 0 ? -offset : offset;
            if (minute % 60 > 31 && minute % 60 < 58)
                continue;
            snprintf(text, sizeof text, "%02d:%02d:60.5%c%02d:%02d", minute / 60, minute % 60,
                     offset < 0 ? '-' : '+', size / 60, size % 60);
            const bool valid = (minute - offset + 2880) % 1440 == 1439;
            /* offsets of other minutes are refused */
            assert_int_equal(matches(f.set, f.plain, text), valid && size % 30 == 0);
        }
    for (int i = 0; i < 26 * 62 * 62; i++) {
        const int h = i / 3844, m = i / 62 % 62, s = i % 62;
        snprintf(text, sizeof text, "%02d:%02d:%02dZ", h, m, s);
        const bool valid = h < 24 && m < 60 && (s < 60 || (h == 23 && m == 59 && s == 60));
        assert_int_equal(matches(f.set, f.json, text), valid);
    }
    qr_regex_set_free(f.set);
}

/* ---- Addresses against the C library */

static void addresses(void **state)
{
    (void)state;
    struct format four = open_format("ipv4"), six = open_format("ipv6");
    static const char *const parts[] = { ":", "::", "0",   "1",   "ab", "FFFF", "12345", ".",
                                         "9", "25", "256", "255", ".",  ":",    ":",     "g" };
    unsigned char address[16];
    char text[128];
    int n_valid = 0;
    seed = 3;
    for (int i = 0; i < 200000; i++) {
        text[0] = 0;
        if (draw(2)) { /* groups, mostly well-formed */
            const uint32_t n = 5 + draw(5), gap = draw(12);
            for (uint32_t k = 0; k < n; k++) {
                strcat(text, k == gap ? "::" : k > 0 && k != gap + 1 ? ":" : "");
                strcat(text, parts[2 + draw(4)]);
            }
            strcat(text, draw(4) ? "" : ":1.2.3.4");
        } else {
            for (uint32_t k = 0, n = draw(10); k < n; k++)
                strcat(text, parts[draw(16)]);
        }
        const bool valid = inet_pton(AF_INET6, text, address) == 1;
        n_valid += valid;
        check(&six, text, valid);
        check(&four, text, inet_pton(AF_INET, text, address) == 1);
    }
    assert_true(n_valid > 1000);
    for (int i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "%s%u.%u.%u%s%u", draw(9) ? "" : "0", draw(270), draw(270),
                 draw(270), draw(9) ? "." : "", draw(1030));
        check(&four, text, inet_pton(AF_INET, text, address) == 1);
    }
    qr_regex_set_free(four.set);
    qr_regex_set_free(six.set);
}

/* ---- Lists */

struct list {
    const char *name;
    const char *valid[24], *invalid[40];
};

static const struct list lists[] = {
    { "time",
      { "08:30:06Z", "08:30:06.283185z", "00:00:00+00:00", "23:59:59.1-23:59", "23:59:60Z",
        "01:29:60+01:30", "15:59:60-08:00", "12:00:00-00:00" },
      { "", "8:30:06Z", "08:30:06", "08:30Z", "24:00:00Z", "08:30:06.Z", "08:30:06+24:00",
        "08:30:06+00:60", "08:30:06,5Z", "08:30:06+0100", "22:59:60Z", "23:59:60+01:00",
        "08:30:06 Z", "23:59:61Z" } },
    { "date-time",
      { "1963-06-19T08:30:06.283185Z", "1963-06-19t08:30:06z", "1937-01-01T12:00:27.87+00:20",
        "1998-12-31T23:59:60Z", "2024-02-29T00:00:00-12:00" },
      { "1963-06-19 08:30:06Z", "1963-06-19", "2023-02-29T00:00:00Z", "2022-02-31T00:00:00Z",
        "1963-06-19T08:30:06", "2013-350T01:01:01", "1963-06-19T08:30:06+01", "T08:30:06Z",
        "+1963-06-19T08:30:06Z", "1998-12-31T22:59:60Z" } },
    { "duration",
      { "P4DT12H30M5S", "P4Y", "P1M", "P1Y2M3D", "PT0S", "P0D", "PT1M", "PT36H", "P2W", "PT1H2M3S",
        "P1DT5S", "P1Y2M" },
      { "", "P", "PT", "P1", "4DT12H", "P1D2H", "P2D1Y", "P1YT", "PT1D", "P2S", "P1Y2W", "P1W2D",
        "PT1H3S", "P1Y3D", "PT0.5S", "P-1D", "p1d", "P1DT" } },
    { "email",
      { "joe.bloggs@example.com", "te~st@example.com", "\"joe bloggs\"@example.com",
        "\"a\\\"b\"@example.com", "\"a..b@c\"@d.e", "joe@[127.0.0.1]", "joe@[IPv6:::1]",
        "joe@[IPv6:1:2:3:4:5:6:7:8]", "a@b", "a+b@c-d.org", "{x}|y@z.com", "\"\"@a.b" },
      { "",
        "2962",
        "@example.com",
        "joe@",
        ".test@example.com",
        "test.@example.com",
        "te..st@example.com",
        "joe@invalid=domain.com",
        "joe@[127.0.0.300]",
        "joe@[1.2.3]",
        "a@b, c@d",
        "joe bloggs@example.com",
        "joe@-a.com",
        "joe@a-.com",
        "joe@a..com",
        "joe@[IPv6:1:2:3:4:5:6:7::]",
        "joe@[IPv6:12345::]",
        "\"a\"b\"@c.d",
        "\"a\n\"@c.d",
        "a@b@c",
        "joe@a.com.",
        "j\xc3\xb6@a.com",
        "\"a\\\"@b.c",
        "1234567890123456789012345678901234567890123456789012345678901234x@example.com" } },
    { "hostname",
      { "www.example.com", "hostname", "1host", "a--b.com", "A-B", "a.b.c.d",
        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk.com", "127.0.0.1" },
      { "", ".", ".example", "example.", "-hostname", "hostname-", "host_name", "a..b", "a b",
        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl.com", "xn--X",
        "XN--aa---o47jg78q", "a.xn--a",
        "\xe2\x84\xaa"
        "elvin.com",
        "example.com\n" } },
    { "uuid",
      { "2EB8AA08-AA98-11EA-B4AA-73B441D16380", "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
        "00000000-0000-0000-0000-000000000000" },
      { "", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa73b441d16380",
        "2eb8aa08-aa98-11ea-b4aa-73b441d163800", "2gb8aa08-aa98-11ea-b4aa-73b441d16380",
        "2eb8aa0-8aa98-11ea-b4aa-73b441d16380", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}" } },
    { "uri",
      { "http://foo.bar/?baz=qux#quux", "ldap://[2001:db8::7]/c=GB?objectClass?one",
        "a:", "mailto:John.Doe@example.com", "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
        "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com", "http://223.255.255.254:80/",
        "tel:+1-816-555-1212", "file:///etc/passwd", "x://[v1.a:b]/",
        "http://foo.com/blah_(w)#c-1" },
      { "",
        "//foo.bar/?baz",
        "/abc",
        "abc",
        "\\\\WINDOWS\\fileshare",
        "http:// shouldfail.com",
        ":// should fail",
        "bar,baz:foo",
        "https://[@example.org/",
        "https://e.org/\xc2\xae",
        "https://e.org/\\",
        "https://e.org/\"",
        "https://e.org/<>",
        "https://e.org/{}",
        "https://e.org/^",
        "https://e.org/`",
        "https://e.org/ ",
        "https://e.org/|",
        "http://e.org/%6G",
        "http://e.org/%",
        "1http://e.org",
        "ht_tp://e.org",
        "http://e.org:abc/",
        "http://[::ffff:01.2.3.4]",
        "http:/[::1]",
        "a:#b#c",
        "http://a@b@c/",
        "http://[v1.]/" } },
    { "uri-reference",
      { "", "http://foo.bar/?baz=qux#quux", "//foo.bar/?baz", "/abc", "abc", "#fragment", "?q",
        "./a:b", "../..", "a/b:c" },
      { "\\\\WINDOWS\\fileshare", "abc\\def", "#frag\\ment", ":a", "1:b", "a b", "[", "a#b#c",
        "/\xc3\xa9" } },
    { "iri",
      { "http://\xc6\x92\xc3\xb8\xc3\xb8.\xc3\x9f\xc3\xa5r/?\xe2\x88\x82=q#\xc3\xbc",
        "http://[2001:db8::7]/", "http://a/?\xee\x80\x80" },
      { "", "/abc", "http://2001:0db8:85a3::7334", "http://a/\xee\x80\x80", "http://a/\xc2\x85",
        "http://a/<", "\xc3\xa9:a" } },
    { "iri-reference",
      { "", "//\xc6\x92\xc3\xb8\xc3\xb8.\xc3\x9f\xc3\xa5r/?\xe2\x88\x82=q#\xc3\xbc",
        "#\xc6\x92r\xc3\xa4gm\xc3\xaant", "\xc3\xa2ppe" },
      { "\\\\WINDOWS\\filesh\xc3\xa5re", "#\xc6\x92r\xc3\xa4g\\m", "a b" } },
    { "uri-template",
      { "", "http://example.com/dictionary/{term:1}/{term}", "{+path}/here", "{;x,y,empty}",
        "{?q*}", "dictionary/term", "{a.b}", "{%20}", "/\xc3\xa9", "{a:1234}", "a'b" },
      { "{term", "term}", "{}",  "{a,}", "{a:}", "{a:0}",  "{a:12345}",
        "{=a}",  "{a b}", "a b", "\"",   "%",    "%2",     "<",
        "\\",    "^",     "`",   "|",    "{.}",  "{a..b}", "{{a}}" } },
    { "json-pointer",
      { "", "/", "/foo/bar~0/baz~1/%a", "/foo//bar", "/ ", "/\"\\", "/\xc3\xa9", "/a\n", "/0/-" },
      { "foo", "/~", "/~2", "#", "#/", "/a~", "0", "/~-1" } },
    { "relative-json-pointer",
      { "1", "0/foo/bar", "0#", "120/foo", "0//", "10#" },
      { "", "/foo", "-1/foo", "+1/foo", "0##", "01/a", "01#", "0/~2", "1#/foo", "1 ", "a" } },
};

static void listed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct format f = open_format(lists[i].name);
        for (size_t k = 0; k < 24 && lists[i].valid[k]; k++)
            check(&f, lists[i].valid[k], true);
        for (size_t k = 0; k < 40 && lists[i].invalid[k]; k++)
            check(&f, lists[i].invalid[k], false);
        assert_int_equal(qr_regex_set_status(f.set), QUIRE_OK);
        qr_regex_set_free(f.set);
    }
}

/* The limits of whole names. */
static void lengths(void **state)
{
    (void)state;
    struct format host = open_format("hostname"), mail = open_format("email");
    char text[400];
    for (size_t size = 240; size < 270; size++) {
        for (size_t i = 0; i < size; i++)
            text[i] = i % 50 == 49 && i + 1 < size ? '.' : 'a';
        text[size] = 0;
        check(&host, text, size <= 253);
        text[10] = '@';
        check(&mail, text, size <= 254);
    }
    qr_regex_set_free(host.set);
    qr_regex_set_free(mail.set);
}

static void names(void **state)
{
    (void)state;
    static const char *const unsupported[] = { "regex", "idn-hostname", "idn-email" };
    static const char *const unknown[] = { "", "Date", "int64", "url", "octet", "leap-second" };
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    qr_regex r;
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        assert_int_equal(qr_string_format(set, unsupported[i], true, &r), QUIRE_E_UNSUPPORTED);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_int_equal(qr_string_format(set, unknown[i], true, &r), QUIRE_E_INVALID_ARG);
    qr_regex_set_free(set);
    struct qr_limited_memory memory;
    qr_limited_memory_init(&memory, NULL, 6 << 10);
    set = qr_regex_set_new(&memory.allocator);
    assert_non_null(set);
    assert_int_equal(qr_string_format(set, "uri", true, &r), QUIRE_E_NOMEM);
    qr_regex_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates),  cmocka_unit_test(leap_seconds), cmocka_unit_test(addresses),
        cmocka_unit_test(listed), cmocka_unit_test(lengths),      cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
