/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_regex_set.c - random expressions against sets of strings. */
#include "grammar/core/limited_memory.h"
#include "grammar/regex/regex_set.h"
#include "quire_cmocka.h"
#include "test_language.h"

/* Whether all strings from s on agree. */
static bool agrees(struct qr_regex_set *set, qr_regex r, const struct language *l, int s)
{
    if (qr_regex_nullable(set, r) != l->has[s])
        return false;
    for (int c = 0; c < LETTERS && length_of(s) < LENGTH; c++)
        if (!agrees(set, qr_regex_derivative(set, r, (uint8_t)('a' + c)), l, join(s, 1 + c)))
            return false;
    return true;
}

static bool matches(struct qr_regex_set *set, qr_regex r, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        r = qr_regex_derivative(set, r, (uint8_t)text[i]);
    return qr_regex_nullable(set, r);
}

static void random_expressions(void **state)
{
    (void)state;
    seed = 1;
    for (int round = 0; round < 1500; round++) {
        struct qr_regex_set *set = qr_regex_set_new(NULL);
        struct pair p, q;
        bool none, contains, subset = true, empty = true;
        draw_expression(set, 1 + round % 4, &p);
        draw_expression(set, 1 + round % 3, &q);
        assert_true(agrees(set, p.r, &p.l, 0));
        assert_true(agrees(set, q.r, &q.l, 0));
        for (int s = 0; s < STRINGS; s++) {
            subset = subset && (!p.l.has[s] || q.l.has[s]);
            empty = empty && !p.l.has[s];
        }
        assert_int_equal(qr_regex_is_none(set, p.r, 100000, &none), QUIRE_OK);
        /* a language may have only strings that are longer or of other bytes */
        if (!empty)
            assert_false(none);
        assert_int_equal(qr_regex_contains(set, q.r, p.r, 100000, &contains), QUIRE_OK);
        if (!subset)
            assert_false(contains);
        const qr_regex both[] = { p.r, q.r };
        bool contains_or, contains_and;
        assert_int_equal(
            qr_regex_contains(set, qr_regex_or(set, both, 2), p.r, 100000, &contains_or), QUIRE_OK);
        assert_int_equal(
            qr_regex_contains(set, p.r, qr_regex_and(set, both, 2), 100000, &contains_and),
            QUIRE_OK);
        assert_true(contains_or && contains_and);
        assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
        qr_regex_set_free(set);
    }
}

/* ---- Emptiness of finite languages: exact both ways, since all strings are short */

static void emptiness(void **state)
{
    (void)state;
    seed = 7;
    int n_none = 0;
    for (int round = 0; round < 2000; round++) {
        struct qr_regex_set *set = qr_regex_set_new(NULL);
        struct qr_byte_set letters = { { 0, 7ull << ('a' - 64), 0, 0 } };
        struct pair p;
        bool none, empty = true;
        draw_expression(set, 3, &p);
        const qr_regex list[] = { p.r,
                                  qr_regex_repeat(set, qr_regex_bytes(set, &letters), 0, LENGTH) };
        for (int s = 0; s < STRINGS; s++)
            empty = empty && !p.l.has[s];
        assert_int_equal(qr_regex_is_none(set, qr_regex_and(set, list, 2), 100000, &none),
                         QUIRE_OK);
        assert_int_equal(none, empty);
        n_none += none;
        qr_regex_set_free(set);
    }
    assert_true(n_none > 100 && n_none < 1900);
}

/* ---- Sizes */

static char *make_key(uint32_t i, char *out)
{
    uint32_t x = i * 2654435761u;
    size_t n = 0;
    for (; n < 6 + i % 9; n++, x = x * 1664525u + 1013904223u)
        out[n] = (char)('a' + (x >> 24) % 26);
    sprintf(out + n, "%u", i);
    return out;
}

static void many_strings(void **state)
{
    (void)state;
    enum { N = 100000 };
    char text[64];
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    qr_regex *list = malloc(N * sizeof *list);
    assert_non_null(list);
    for (uint32_t i = 0; i < N; i++)
        list[i] = qr_regex_literal(set, make_key(i, text), strlen(make_key(i, text)));
    const qr_regex all = qr_regex_or(set, list, N);
    assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
    for (uint32_t i = 0; i < N; i += 7) {
        const size_t n = strlen(make_key(i, text));
        assert_true(matches(set, all, text, n));
        assert_false(matches(set, all, text, n - 1) && text[n - 1] != '0');
        text[n] = 'x';
        assert_false(matches(set, all, text, n + 1));
    }
    assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
    free(list);
    qr_regex_set_free(set);
}

static void counted(void **state)
{
    (void)state;
    enum { N = 65536 };
    struct qr_limited_memory memory;
    qr_limited_memory_init(&memory, NULL, 64 << 20);
    struct qr_regex_set *set = qr_regex_set_new(&memory.allocator);
    const uint64_t before = memory.bytes;
    const qr_regex a = qr_regex_literal(set, "a", 1);
    const qr_regex up_to = qr_regex_repeat(set, a, 0, N), exact = qr_regex_repeat(set, a, N, N);
    assert_true(memory.bytes < before + 4096);
    qr_regex x = up_to, y = exact;
    for (int i = 0; i < N; i++) {
        assert_true(qr_regex_nullable(set, x));
        assert_false(qr_regex_nullable(set, y));
        x = qr_regex_derivative(set, x, 'a');
        y = qr_regex_derivative(set, y, 'a');
    }
    assert_int_equal(x, QR_REGEX_EMPTY);
    assert_int_equal(y, QR_REGEX_EMPTY);
    bool contains;
    assert_int_equal(qr_regex_contains(set, up_to, exact, 200000, &contains), QUIRE_OK);
    assert_true(contains);
    assert_int_equal(qr_regex_contains(set, exact, up_to, 200000, &contains), QUIRE_OK);
    assert_false(contains);
    qr_regex_set_free(set);
}

/* A concatenation of a million bytes needs neither recursion nor quadratic time. */
static void long_literal(void **state)
{
    (void)state;
    enum { N = 400000 };
    char *text = malloc(N);
    assert_non_null(text);
    for (int i = 0; i < N; i++)
        text[i] = (char)('a' + i * 7 % 26);
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    const qr_regex one = qr_regex_literal(set, text, N);
    const qr_regex twice[] = { one, one };
    const qr_regex both[] = { qr_regex_concat(set, twice, 2), qr_regex_not(set, one) };
    assert_true(matches(set, one, text, N));
    assert_false(matches(set, one, text, N - 1));
    bool none;
    assert_int_equal(qr_regex_is_none(set, one, 1000000, &none), QUIRE_OK);
    assert_false(none);
    assert_true(matches(set, qr_regex_and(set, both, 2), text, 0) == false);
    assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
    qr_regex_set_free(set);
    free(text);
}

static void limits(void **state)
{
    (void)state;
    struct qr_limited_memory memory;
    char text[64];
    qr_limited_memory_init(&memory, NULL, 64 << 10);
    struct qr_regex_set *set = qr_regex_set_new(&memory.allocator);
    assert_non_null(set);
    qr_regex all = QR_REGEX_NONE;
    for (uint32_t i = 0; i < 10000; i++) {
        const qr_regex list[] = { all, qr_regex_literal(set, make_key(i, text), strlen(text)) };
        all = qr_regex_or(set, list, 2);
    }
    assert_int_equal(qr_regex_set_status(set), QUIRE_E_NOMEM);
    assert_int_equal(qr_limited_memory_failure(&memory), QUIRE_E_LIMIT);
    assert_int_equal(all, QR_REGEX_NONE);
    assert_int_equal(qr_regex_derivative(set, QR_REGEX_ANY, 'a'), QR_REGEX_NONE);
    qr_regex_set_free(set);
    qr_regex_set_free(NULL);
    assert_int_equal(memory.bytes, 0);

    /* nesting that no concatenation or choice flattens */
    set = qr_regex_set_new(NULL);
    qr_regex r = qr_regex_literal(set, "a", 1);
    for (int i = 0; i < 100000; i++) {
        const qr_regex list[] = { qr_regex_not(set, r), qr_regex_literal(set, "b", 1) };
        r = qr_regex_concat(set, list, 2);
    }
    assert_int_equal(qr_regex_set_status(set), QUIRE_E_LIMIT);
    qr_regex_set_free(set);

    /* more states than allowed: a number of 20 digits that is a multiple of 99991 and of 99989 */
    set = qr_regex_set_new(NULL);
    const qr_regex products[] = {
        qr_regex_multiple_of(set, 99991, 0), qr_regex_multiple_of(set, 99989, 0),
        qr_regex_not(set,
                     qr_regex_repeat(set, qr_regex_literal(set, "0", 1), 0, QR_REGEX_UNBOUNDED))
    };
    bool none = true;
    const quire_status status = qr_regex_is_none(set, qr_regex_and(set, products, 3), 1000, &none);
    assert_true(status == QUIRE_OK || status == QUIRE_E_LIMIT);
    assert_false(none);
    assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
    qr_regex_set_free(set);
}

static void decimal_multiples(void **state)
{
    (void)state;
    static const struct {
        uint32_t divisor, scale;
    } cases[] = {
        { 1, 0 }, { 3, 0 }, { 7, 0 }, { 10, 0 }, { 5, 1 }, { 25, 2 }, { 1, 2 }, { 15, 1 }
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct qr_regex_set *set = qr_regex_set_new(NULL);
        const qr_regex r = qr_regex_multiple_of(set, cases[k].divisor, cases[k].scale);
        uint32_t power = 10000;
        for (uint32_t s = 0; s < cases[k].scale; s++)
            power /= 10;
        for (uint32_t whole = 0; whole < 60; whole++)
            for (uint32_t places = 0; places <= 4; places++)
                for (uint32_t part = 0, n = 1; places > 0 ? part < (n = 10000) : part < n;
                     part += 25) {
                    char text[32];
                    const int size = sprintf(text, "%u.%04u", whole, part);
                    if (places < 4 && strspn(text + size - 4 + places, "0") != 4 - places)
                        continue;
                    const size_t used = places ? (size_t)size - 4 + places : (size_t)size - 5;
                    const bool valid = (whole * 10000 + part) % (cases[k].divisor * power) == 0;
                    assert_int_equal(matches(set, r, text, used), valid);
                }
        assert_false(matches(set, r, "", 0));
        assert_false(matches(set, r, "0.", 2));
        assert_false(matches(set, r, ".0", 2));
        assert_false(matches(set, r, "-0", 2));
        assert_true(matches(set, r, "000", 3));
        qr_regex_set_free(set);
    }
}

/* ---- Memory: every allocation may fail */

static int fail_after;

static void *failing_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    if (fail_after-- <= 0)
        return NULL;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void failing_free(void *user, void *p, size_t size)
{
    (void)user;
    (void)size;
    free(p);
}

static void out_of_memory(void **state)
{
    (void)state;
    const struct quire_allocator a = { .alloc = failing_alloc, .free = failing_free };
    for (int n = 0; n < 200; n++) {
        fail_after = n;
        struct qr_regex_set *set = qr_regex_set_new(&a);
        if (set == NULL)
            continue;
        struct pair p;
        bool none;
        seed = (uint32_t)n;
        draw_expression(set, 4, &p);
        for (int i = 0; i < 20; i++)
            p.r = qr_regex_derivative(set, p.r, (uint8_t)('a' + draw(3)));
        const quire_status status = qr_regex_is_none(set, p.r, 10000, &none);
        if (status != QUIRE_OK)
            assert_int_equal(status, QUIRE_E_NOMEM);
        qr_regex_set_free(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_expressions), cmocka_unit_test(emptiness),
        cmocka_unit_test(many_strings),       cmocka_unit_test(counted),
        cmocka_unit_test(long_literal),       cmocka_unit_test(limits),
        cmocka_unit_test(decimal_multiples),  cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
