/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_number.c - expressions of ranges of numbers against exact arithmetic. */
#include "grammar/core/limited_memory.h"
#include "grammar/regex/number_range.h"
#include "quire_cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Values: even multiples of 10^-SCALE / 2, or odd between them */

typedef __int128 wide;
enum { SCALE = 10, MAX_EXPONENT = 14 };

static uint32_t seed;

static uint32_t draw(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

static wide power(int e)
{
    wide p = 1;
    while (e-- > 0)
        p *= 10;
    return p;
}

struct value {
    wide value, mantissa; /* the mantissa with its sign */
    bool negative, has_point, has_exponent, normalized;
};

/* Reads a JSON number without a table, so that it shares nothing with the library. */
static bool read_value(const char *t, struct value *v)
{
    *v = (struct value){ .negative = *t == '-' };
    t += *t == '-';
    const char *first = t;
    wide m = 0;
    int places = 0, e = 0;
    if (*t < '0' || *t > '9' || (*t == '0' && t[1] >= '0' && t[1] <= '9'))
        return false;
    while (*t >= '0' && *t <= '9')
        m = m * 10 + (*t++ - '0');
    v->normalized = t == first + 1 && *first != '0';
    if (*t == '.') {
        v->has_point = true;
        if (*++t < '0' || *t > '9')
            return false;
        for (; *t >= '0' && *t <= '9'; places++)
            m = m * 10 + (*t++ - '0');
    }
    if (*t == 'e' || *t == 'E') {
        const bool down = *++t == '-';
        v->has_exponent = true;
        t += *t == '-' || *t == '+';
        if (*t < '0' || *t > '9')
            return false;
        while (*t >= '0' && *t <= '9')
            e = e * 10 + (*t++ - '0');
        e = down ? -e : e;
    }
    m *= power(SCALE - places);
    v->value = e > MAX_EXPONENT    ? (m > 0 ? power(36) : 0)
               : e >= 0            ? 2 * m * power(e)
               : e < -MAX_EXPONENT ? m > 0
                                   : 2 * (m / power(-e)) + (m % power(-e) > 0);
    v->mantissa = 2 * (v->negative ? -m : m);
    v->value = v->negative ? -v->value : v->value;
    return *t == 0;
}

static bool inside(const struct qr_number_range *r, wide x)
{
    struct value b;
    if (r->min && read_value(r->min, &b) && (x < b.value || (r->min_exclusive && x == b.value)))
        return false;
    return !(r->max && read_value(r->max, &b) &&
             (x > b.value || (r->max_exclusive && x == b.value)));
}

static bool is_zero_bound(const char *text)
{
    struct value b;
    return text == NULL || (read_value(text, &b) && b.value == 0);
}

static bool expected(const struct qr_number_range *r, const char *text)
{
    struct value v, b;
    if (!read_value(text, &v) || !inside(r, v.value))
        return false;
    if (v.negative && v.value == 0 && r->min && read_value(r->min, &b) && b.value >= 0)
        return false;
    if (r->kind == QR_NUMBER_INTEGER && v.has_point)
        return false;
    if (r->kind == QR_NUMBER_FRACTIONAL && v.value % (2 * power(SCALE)) == 0)
        return false;
    for (size_t i = 0; i < r->n_multiples; i++)
        if (!read_value(r->multiples[i].divisor, &b) ||
            (v.value % b.value == 0) == r->multiples[i].negated)
            return false;
    if (!v.has_exponent)
        return true;
    if (r->kind != QR_NUMBER_ANY || r->n_multiples > 0)
        return false;
    /* the bounds of this sign */
    const char *near = v.negative ? r->max : r->min, *far = v.negative ? r->min : r->max;
    const bool ignored = near && read_value(near, &b) && b.negative != v.negative && b.value != 0;
    if (far == NULL && (ignored || is_zero_bound(near)))
        return true;
    return v.normalized && inside(r, v.mantissa);
}

/* ---- Matching */

static bool matches(struct qr_regex_set *set, qr_regex r, const char *text)
{
    for (; *text; text++)
        r = qr_regex_derivative(set, r, (uint8_t)*text);
    return qr_regex_nullable(set, r);
}

static void describe(const struct qr_number_range *r, const char *text)
{
    fprintf(stderr, "%s: min %s%s max %s%s kind %d", text, r->min ? r->min : "-",
            r->min_exclusive ? " (open)" : "", r->max ? r->max : "-",
            r->max_exclusive ? " (open)" : "", (int)r->kind);
    for (size_t i = 0; i < r->n_multiples; i++)
        fprintf(stderr, " %smultiple of %s", r->multiples[i].negated ? "no " : "",
                r->multiples[i].divisor);
    fputc('\n', stderr);
}

static void check(struct qr_regex_set *set, const struct qr_number_range *r, qr_regex e,
                  const char *text)
{
    if (matches(set, e, text) == expected(r, text))
        return;
    describe(r, text);
    assert_true(false);
}

/* All texts of up to `left` more characters. */
static void check_all(struct qr_regex_set *set, const struct qr_number_range *r, qr_regex e,
                      char *text, size_t n, int left)
{
    text[n] = 0;
    if (qr_regex_nullable(set, e) != expected(r, text)) {
        describe(r, text);
        assert_true(false);
    }
    for (const char *c = "-01359.e"; *c && left > 0; c++) {
        text[n] = *c;
        check_all(set, r, qr_regex_derivative(set, e, (uint8_t)*c), text, n + 1, left - 1);
        text[n] = 0;
    }
}

/* ---- Random ranges */

static const char *random_number(char *out, bool with_exponent)
{
    char *p = out;
    if (draw(3) == 0)
        *p++ = '-';
    const uint32_t whole = draw(4) == 0 ? 0 : draw(draw(2) ? 20 : 20000);
    p += sprintf(p, "%u", whole);
    if (draw(2))
        p += sprintf(p, ".%0*u", 1 + (int)draw(3), draw(draw(2) ? 2 : 10));
    if (with_exponent && draw(3) == 0)
        sprintf(p, "%c%s%s%u", draw(2) ? 'e' : 'E',
                draw(2)   ? "-"
                : draw(2) ? "+"
                          : "",
                draw(3) ? "" : "0", draw(6));
    return out;
}

/* A text near a bound: digits changed, appended or cut. */
static void vary(char *out, const char *text)
{
    strcpy(out, text);
    for (uint32_t i = 0; i < 1 + draw(3); i++) {
        size_t n = strlen(out), at = draw((uint32_t)n);
        switch (draw(6)) {
        case 0:
            strcat(out, draw(2) ? "0" : "1");
            break;
        case 1:
            if (n > 1)
                out[n - 1] = 0;
            break;
        case 2:
            if (strpbrk(out, ".eE") == NULL)
                strcat(out, draw(2) ? ".0" : ".5");
            break;
        case 3:
            if (strpbrk(out, "eE") == NULL && n < 12)
                strcat(out, draw(2) ? "e0" : draw(2) ? "e-1" : "E+02");
            break;
        case 4:
            memmove(out + (*out != '-'), out + (*out == '-'), n + 1);
            if (*out != '-' && strlen(out) == n + 1)
                *out = '-';
            if (*text != '-' && strlen(out) == n + 1)
                *out = '-';
            break;
        default:
            if (out[at] >= '0' && out[at] <= '9')
                out[at] = (char)('0' + draw(10));
            break;
        }
    }
}

static void random_range(int rounds, int length, bool with_multiples)
{
    char min[64], max[64], text[96], other[64];
    static const char *const divisors[] = { "1", "2",   "5",    "0.5",  "0.25", "2.5",
                                            "7", "1e1", "0.01", "3e-1", "12" };
    for (int i = 0; i < rounds; i++) {
        struct qr_regex_set *set = qr_regex_set_new(NULL);
        struct qr_number_multiple m[2];
        struct qr_number_range r = { .kind = (enum qr_number_kind)draw(3) };
        qr_regex e;
        if (draw(5))
            r.min = draw(5) ? random_number(min, true) : "0";
        if (draw(5))
            r.max = draw(5) ? random_number(max, true) : "0.0";
        r.min_exclusive = draw(3) == 0;
        r.max_exclusive = draw(3) == 0;
        r.multiples = m;
        r.n_multiples = with_multiples ? 1 + draw(2) : 0;
        for (size_t k = 0; k < r.n_multiples; k++)
            m[k] = (struct qr_number_multiple){ divisors[draw(11)], draw(4) == 0 };
        assert_int_equal(qr_number_range(set, &r, &e, NULL), QUIRE_OK);
        check_all(set, &r, e, text, 0, length);
        for (int k = 0; k < 300; k++) {
            const char *base = draw(3) == 0       ? random_number(other, true)
                               : draw(2) && r.min ? r.min
                               : r.max            ? r.max
                                                  : "10";
            vary(text, base);
            check(set, &r, e, text);
        }
        assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
        qr_regex_set_free(set);
    }
}

static void ranges(void **state)
{
    (void)state;
    seed = 1;
    random_range(400, 5, false);
}

static void multiples(void **state)
{
    (void)state;
    seed = 2;
    random_range(300, 5, true);
}

/* ---- Single cases */

static void is(const char *min, const char *max, const char *text, bool yes)
{
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    const struct qr_number_range r = { .min = min, .max = max };
    qr_regex e;
    assert_int_equal(qr_number_range(set, &r, &e, NULL), QUIRE_OK);
    assert_int_equal(matches(set, e, text), yes);
    qr_regex_set_free(set);
}

static void large(void **state)
{
    (void)state;
    char digits[400];
    memset(digits, '9', sizeof digits);
    digits[309] = 0;
    is("-1.7976931348623157e308", "1.7976931348623157E+308", "1.7976931348623157e308", true);
    is("-1.7976931348623157e308", "1.7976931348623157E+308", "1.7976931348623158e308", false);
    is("-1.7976931348623157e308", "1.7976931348623157E+308", "9.9e307", true);
    is("-1.7976931348623157e308", "1.7976931348623157E+308", digits, false);
    is("-1.7976931348623157e308", "1.7976931348623157E+308", digits + 1, true);
    is("0", "9223372036854775807", "9223372036854775807", true);
    is("0", "9223372036854775807", "9223372036854775808", false);
    is("4.9e-324", "1", "0.0", false);
    is("4.9e-324", "1", "1e-324", false);
    is("4.9e-324", "5", "4.9e-324", true);
    is("4.9e-324", "5", "4.8e-324", false);
    is("100000000000000000000000000000000000000001", NULL,
       "100000000000000000000000000000000000000000", false);
    is("100000000000000000000000000000000000000001", NULL,
       "100000000000000000000000000000000000000001.0", true);
    is(NULL, NULL, "-0.0E-0", true);
}

static void empty_ranges(void **state)
{
    (void)state;
    static const struct qr_number_range none[] = {
        { .min = "1", .max = "0" },
        { .min = "0", .max = "-0.0", .max_exclusive = true },
        { .min = "1.5", .max = "15e-1", .min_exclusive = true },
        { .min = "1.25", .max = "1.75", .kind = QR_NUMBER_INTEGER },
        { .min = "-3", .max = "-3.1" },
        { .min = "10", .max = "9" },
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct qr_regex_set *set = qr_regex_set_new(NULL);
        qr_regex e;
        assert_int_equal(qr_number_range(set, &none[i], &e, NULL), QUIRE_OK);
        assert_int_equal(e, QR_REGEX_NONE);
        qr_regex_set_free(set);
    }
}

static void bad_texts(void **state)
{
    (void)state;
    static const char *const malformed[] = { "",    "-",  "+1",   "01",   "1.", ".5",  "1e",
                                             "1e+", "1x", "0x10", "1.e1", "1 ", "--1", "1.5.2" };
    char zeros[2000];
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    const char *which = NULL;
    qr_regex e;
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        struct qr_number_range r = { .min = malformed[i] };
        assert_int_equal(qr_number_range(set, &r, &e, &which), QUIRE_E_INVALID_ARG);
        assert_ptr_equal(which, malformed[i]);
        const struct qr_number_multiple m = { .divisor = malformed[i] };
        r = (struct qr_number_range){ .multiples = &m, .n_multiples = 1 };
        assert_int_equal(qr_number_range(set, &r, &e, &which), QUIRE_E_INVALID_ARG);
    }
    static const char *const huge[] = { "1e701", "1e-701", "-1e99999999999999999999",
                                        "1e-2147483649" };
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        const struct qr_number_range r = { .max = huge[i] };
        assert_int_equal(qr_number_range(set, &r, &e, &which), QUIRE_E_UNSUPPORTED);
        assert_ptr_equal(which, huge[i]);
    }
    static const char *const divisors[] = { "1e-401", "2147483648", "1e10", "0.12345678912" };
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
        const struct qr_number_multiple m = { .divisor = divisors[i] };
        const struct qr_number_range r = { .multiples = &m, .n_multiples = 1 };
        assert_int_equal(qr_number_range(set, &r, &e, &which), QUIRE_E_UNSUPPORTED);
    }
    static const char *const not_positive[] = { "0", "-0.0", "-1", "0e5" };
    for (size_t i = 0; i < sizeof not_positive / sizeof *not_positive; i++) {
        const struct qr_number_multiple m = { .divisor = not_positive[i] };
        const struct qr_number_range r = { .multiples = &m, .n_multiples = 1 };
        assert_int_equal(qr_number_range(set, &r, &e, &which), QUIRE_E_INVALID_ARG);
    }
    /* zeros before and after the digits are no digits */
    memset(zeros, '0', sizeof zeros);
    memcpy(zeros, "1.5", 3);
    zeros[sizeof zeros - 1] = 0;
    const struct qr_number_range long_text = { .min = zeros, .max = "0e99999999999" };
    assert_int_equal(qr_number_range(set, &long_text, &e, &which), QUIRE_OK);
    memset(zeros, '1', sizeof zeros - 1);
    const struct qr_number_range too_long = { .min = zeros };
    assert_int_equal(qr_number_range(set, &too_long, &e, &which), QUIRE_E_UNSUPPORTED);
    qr_regex_set_free(set);
}

/* A fraction that no digits make a multiple is refused at the digit after which there are none, so
 * that no answer ends in front of an endless row of zeros. */
static void no_dead_ends(void **state)
{
    (void)state;
    enum { DIVISOR = 123, PLACES = 4, ALL = 10000 };
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    const struct qr_number_multiple m = { .divisor = "0.0123" };
    const struct qr_number_range r = { .multiples = &m, .n_multiples = 1 };
    qr_regex e;
    assert_int_equal(qr_number_range(set, &r, &e, NULL), QUIRE_OK);
    for (unsigned value = 0; value < ALL; value++) {
        char text[16];
        qr_regex rest = e;
        unsigned before = 0, count = ALL;
        snprintf(text, sizeof text, "7.%04u", value);
        for (size_t i = 0; text[i] && rest != QR_REGEX_NONE; i++) {
            rest = qr_regex_derivative(set, rest, (uint8_t)text[i]);
            if (i > 1)
                count /= 10;
            before = i > 1 ? value / count * count : 0;
            bool possible = i == 0;
            for (unsigned k = 0; k < count && !possible; k++)
                possible = (7 * ALL + before + k) % DIVISOR == 0;
            if ((rest != QR_REGEX_NONE) != possible)
                fail_msg("%.*s: %d", (int)i + 1, text, possible);
        }
    }
    assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
    qr_regex_set_free(set);
}

static void small_memory(void **state)
{
    (void)state;
    const struct qr_number_range r = { .min = "1e-300", .max = "1.7976931348623157e308" };
    struct qr_limited_memory memory;
    qr_regex e;
    qr_limited_memory_init(&memory, NULL, 16 << 10);
    struct qr_regex_set *set = qr_regex_set_new(&memory.allocator);
    assert_non_null(set);
    assert_int_equal(qr_number_range(set, &r, &e, NULL), QUIRE_E_NOMEM);
    assert_int_equal(qr_limited_memory_failure(&memory), QUIRE_E_LIMIT);
    qr_regex_set_free(set);
    assert_int_equal(memory.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges),       cmocka_unit_test(multiples), cmocka_unit_test(large),
        cmocka_unit_test(empty_ranges), cmocka_unit_test(bad_texts), cmocka_unit_test(small_memory),
        cmocka_unit_test(no_dead_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
