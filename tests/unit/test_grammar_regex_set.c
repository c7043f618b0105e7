/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions against their languages: the sets of all strings of up to 5 letters that they match,
 * computed operation by operation. */
#include "grammar/regex/lexer.h"
#include "grammar/regex/regex_set.h"
#include "quire_cmocka.h"
#include <string.h>

enum { LETTERS = 3, MAX_LENGTH = 5, N_STRINGS = 364 }; /* 1 + 3 + 9 + 27 + 81 + 243 */

static char strings[N_STRINGS][MAX_LENGTH + 1];

static void make_strings(void)
{
    size_t n = 1, from = 0;
    for (int length = 1; length <= MAX_LENGTH; length++) {
        const size_t to = n;
        for (size_t i = from; i < to; i++)
            for (int c = 0; c < LETTERS; c++) {
                strcpy(strings[n], strings[i]);
                strings[n++][length - 1] = (char)('a' + c);
            }
        from = to;
    }
    assert_int_equal(n, N_STRINGS);
}

static size_t number_of(const char *s, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n = n * LETTERS + 1 + (size_t)(s[i] - 'a');
    return n;
}

struct language {
    bool has[N_STRINGS];
};

static void language_concat(const struct language *a, const struct language *b,
                            struct language *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < N_STRINGS; i++) {
        const size_t size = strlen(strings[i]);
        for (size_t k = 0; k <= size; k++)
            if (a->has[number_of(strings[i], k)] &&
                b->has[number_of(strings[i] + k, size - k)])
                out->has[i] = true;
    }
}

static void language_repeat(const struct language *a, uint32_t min, uint32_t max,
                            struct language *out)
{
    struct language power = { { true } }, next; /* the empty string */
    memset(out, 0, sizeof *out);
    const uint32_t last = max == QR_REGEX_UNBOUNDED ? min + MAX_LENGTH + 1 : max;
    for (uint32_t n = 0; n <= last; n++) {
        for (size_t i = 0; i < N_STRINGS && n >= min; i++)
            out->has[i] = out->has[i] || power.has[i];
        language_concat(&power, a, &next);
        power = next;
    }
}

static uint64_t random_state;
static uint32_t below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % n);
}

static qr_regex random_bytes(struct qr_regex_set *set, struct language *out)
{
    struct qr_byte_set bytes = { { 0 } };
    memset(out, 0, sizeof *out);
    const uint32_t letters = 1 + below(7);
    for (uint32_t c = 0; c < LETTERS; c++)
        if (letters >> c & 1) {
            bytes.bits['a' / 64] |= 1ull << (('a' + c) % 64);
            out->has[1 + c] = true;
        }
    return qr_regex_bytes(set, &bytes);
}

static qr_regex random_regex(struct qr_regex_set *set, int depth, struct language *out);

static qr_regex random_pair(struct qr_regex_set *set, int depth, uint32_t kind,
                            struct language *out)
{
    struct language a, b;
    const qr_regex list[] = { random_regex(set, depth - 1, &a), random_regex(set, depth - 1, &b) };
    for (size_t i = 0; i < N_STRINGS; i++)
        out->has[i] = kind == 0 ? a.has[i] || b.has[i] : a.has[i] && b.has[i];
    if (kind == 0)
        return qr_regex_or(set, list, 2);
    if (kind == 1)
        return qr_regex_and(set, list, 2);
    language_concat(&a, &b, out);
    return qr_regex_concat(set, list, 2);
}

static qr_regex random_regex(struct qr_regex_set *set, int depth, struct language *out)
{
    const uint32_t kind = depth > 0 ? below(8) : 7;
    struct language a;
    if (kind < 4)
        return random_pair(set, depth, kind, out);
    if (kind == 4) {
        const qr_regex r = random_regex(set, depth - 1, &a);
        for (size_t i = 0; i < N_STRINGS; i++)
            out->has[i] = !a.has[i];
        return qr_regex_not(set, r);
    }
    if (kind == 5) {
        const qr_regex r = random_regex(set, depth - 1, &a);
        const uint32_t min = below(3), max = below(3) ? min + below(3) : QR_REGEX_UNBOUNDED;
        language_repeat(&a, min, max, out);
        return qr_regex_repeat(set, r, min, max);
    }
    return random_bytes(set, out);
}

static bool matches(struct qr_regex_set *set, qr_regex r, const char *s)
{
    for (; *s != '\0'; s++)
        r = qr_regex_derivative(set, r, (uint8_t)*s);
    return qr_regex_nullable(set, r);
}

static void test_random(void **state)
{
    (void)state;
    make_strings();
    for (uint32_t seed = 0; seed < 3000; seed++) {
        struct qr_regex_set *set = qr_regex_set_new(NULL, 64 << 20);
        struct language a, b;
        random_state = seed;
        const qr_regex r = random_regex(set, 4, &a), other = random_regex(set, 3, &b);
        bool any = false, none, contained = true, contains;
        for (size_t i = 0; i < N_STRINGS; i++) {
            if (matches(set, r, strings[i]) != a.has[i])
                fail_msg("seed %u: '%s' expected %d", seed, strings[i], a.has[i]);
            any = any || a.has[i];
            contained = contained && (!a.has[i] || b.has[i]);
        }
        assert_int_equal(qr_regex_is_none(set, r, 10000, &none), QUIRE_OK);
        if (any)
            assert_false(none);
        assert_int_equal(qr_regex_contains(set, other, r, 10000, &contains), QUIRE_OK);
        if (!contained)
            assert_false(contains);
        assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
        qr_regex_set_free(set);
    }
}

/* The lexer accepts exactly the expressions that match, and is dead only if none can. */
static void test_lexer(void **state)
{
    (void)state;
    make_strings();
    for (uint32_t seed = 0; seed < 1000; seed++) {
        struct qr_regex_set *set = qr_regex_set_new(NULL, 64 << 20);
        struct language languages[3];
        qr_regex lexemes[3];
        struct qr_lexer *lexer;
        qr_lex_state start;
        random_state = seed;
        for (int i = 0; i < 3; i++)
            lexemes[i] = random_regex(set, 3, &languages[i]);
        assert_int_equal(qr_lexer_new(set, lexemes, 3, NULL, 64 << 20, &lexer), QUIRE_OK);
        assert_int_equal(qr_lexer_start(lexer, (uint32_t[]){ 0, 1, 2 }, 3, &start), QUIRE_OK);
        for (size_t i = 0; i < N_STRINGS; i++) {
            qr_lex_state s = start;
            uint32_t n, k = 0;
            for (const char *c = strings[i]; *c != '\0'; c++)
                assert_int_equal(qr_lexer_step(lexer, s, (uint8_t)*c, &s), QUIRE_OK);
            const uint32_t *accepts = qr_lexer_accepts(lexer, s, &n);
            for (uint32_t j = 0; j < 3; j++)
                if (languages[j].has[i]) {
                    assert_true(k < n);
                    assert_int_equal(accepts[k++], j);
                }
            assert_int_equal(k, n);
        }
        qr_lexer_free(lexer);
        qr_regex_set_free(set);
    }
}

static qr_regex class_of(struct qr_regex_set *set, char first, char last)
{
    struct qr_byte_set bytes = { { 0 } };
    for (int c = first; c <= last; c++)
        bytes.bits[c / 64] |= 1ull << (c % 64);
    return qr_regex_bytes(set, &bytes);
}

static void test_multiple_of(void **state)
{
    (void)state;
    static const struct {
        uint32_t divisor, scale;
    } cases[] = { { 1, 0 }, { 3, 0 }, { 7, 0 }, { 25, 2 }, { 5, 1 }, { 1, 2 }, { 15, 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct qr_regex_set *set = qr_regex_set_new(NULL, 1 << 20);
        const qr_regex r = qr_regex_multiple_of(set, cases[i].divisor, cases[i].scale);
        for (uint32_t thousandths = 0; thousandths < 30000; thousandths++) {
            char text[16];
            snprintf(text, sizeof text, "%u.%03u", thousandths / 1000, thousandths % 1000);
            uint32_t unit = 1000;
            for (uint32_t k = 0; k < cases[i].scale; k++)
                unit /= 10;
            const bool expected = thousandths % (cases[i].divisor * unit) == 0;
            if (matches(set, r, text) != expected)
                fail_msg("%s of %u/10^%u", text, cases[i].divisor, cases[i].scale);
        }
        assert_false(matches(set, r, ""));
        assert_false(matches(set, r, "0."));
        assert_false(matches(set, r, ".0"));
        assert_true(matches(set, r, "0"));
        qr_regex_set_free(set);
    }
}

/* A choice of many strings is a trie: time and memory are linear. */
static void test_large_choice(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct qr_regex_set *set = qr_regex_set_new(NULL, 64 << 20);
    qr_regex *list = calloc(N, sizeof *list);
    char text[32];
    for (unsigned i = 0; i < N; i++) {
        snprintf(text, sizeof text, "value %u of many", i * 37);
        list[i] = qr_regex_literal(set, text, strlen(text));
    }
    const qr_regex all = qr_regex_or(set, list, N);
    assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
    assert_true(matches(set, all, "value 37 of many"));
    assert_false(matches(set, all, "value 38 of many"));
    free(list);
    qr_regex_set_free(set);
}

static void test_limits(void **state)
{
    (void)state;
    struct qr_regex_set *set = qr_regex_set_new(NULL, 1 << 16);
    char text[16];
    for (unsigned i = 0; i < 10000 && qr_regex_set_status(set) == QUIRE_OK; i++) {
        snprintf(text, sizeof text, "%u", i);
        qr_regex_literal(set, text, strlen(text));
    }
    assert_int_equal(qr_regex_set_status(set), QUIRE_E_LIMIT);
    assert_int_equal(qr_regex_literal(set, "a", 1), QR_REGEX_NONE);
    qr_regex_set_free(set);

    set = qr_regex_set_new(NULL, 1 << 24); /* nesting */
    qr_regex r = class_of(set, 'a', 'c');
    for (int i = 0; i < 1000; i++)
        r = qr_regex_not(set, qr_regex_concat(set, (qr_regex[]){ r, class_of(set, 'a', 'b') }, 2));
    assert_int_equal(qr_regex_set_status(set), QUIRE_E_LIMIT);
    qr_regex_set_free(set);
}

/* a{0,30000} is counted, and covers a{0,10} but not at its end. */
static void test_covers(void **state)
{
    (void)state;
    struct qr_regex_set *set = qr_regex_set_new(NULL, 64 << 20);
    const qr_regex a = class_of(set, 'a', 'a');
    const qr_regex lexeme = qr_regex_repeat(set, a, 0, 12), ten = qr_regex_repeat(set, a, 1, 10);
    struct qr_lexer *lexer;
    qr_lex_state s;
    bool covers;
    assert_int_equal(qr_lexer_new(set, &lexeme, 1, NULL, 64 << 20, &lexer), QUIRE_OK);
    assert_int_equal(qr_lexer_start(lexer, (uint32_t[]){ 0 }, 1, &s), QUIRE_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(qr_lexer_covers(lexer, s, ten, 1000, &covers), QUIRE_OK);
        assert_int_equal(covers, i <= 2);
        assert_int_equal(qr_lexer_step(lexer, s, 'a', &s), QUIRE_OK);
    }
    qr_lexer_free(lexer);
    qr_regex_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),       cmocka_unit_test(test_lexer),
        cmocka_unit_test(test_multiple_of),  cmocka_unit_test(test_large_choice),
        cmocka_unit_test(test_limits),       cmocka_unit_test(test_covers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
