/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_lexer.c - the lazy automaton of several lexemes against sets of strings. */
#include "grammar/core/limited_memory.h"
#include "grammar/regex/json_string.h"
#include "grammar/regex/lexer.h"
#include "quire_cmocka.h"
#include "test_language.h"

enum { MAX_LEXEMES = 5 };

struct lexemes {
    struct qr_regex_set *set;
    struct pair list[MAX_LEXEMES];
    qr_regex regexes[MAX_LEXEMES];
    uint32_t ids[MAX_LEXEMES], n;
    struct qr_lexer *lexer;
};

/* Whether a string of the language starts with s. */
static bool has_prefix(const struct language *l, int s)
{
    const int m = length_of(s);
    for (int t = 0; t < STRINGS; t++) {
        const int n = length_of(t);
        if (l->has[t] && n >= m && (t - offset_of[n]) / power_of[n - m] == s - offset_of[m])
            return true;
    }
    return false;
}

/* All strings from s on: lexemes that are complete, and whether the state is dead. */
static void walk(const struct lexemes *x, qr_lex_state state, int s)
{
    uint32_t n, k = 0;
    const uint32_t *accepts = qr_lexer_accepts(x->lexer, state, &n);
    bool alive = false, goes_on = false;
    for (uint32_t i = 0; i < x->n; i++) {
        const struct language *l = &x->list[x->ids[i]].l;
        alive = alive || has_prefix(l, s);
        for (int c = 0; c < LETTERS && length_of(s) < LENGTH; c++)
            goes_on = goes_on || has_prefix(l, join(s, 1 + c));
        if (l->has[s]) {
            assert_true(k < n);
            assert_int_equal(accepts[k++], x->ids[i]);
        }
    }
    assert_int_equal(k, n);
    assert_int_equal(state != QR_LEX_DEAD, alive);
    const uint8_t flags = qr_lexer_tables(x->lexer).flags[state];
    assert_int_equal((flags & QR_LEX_ACCEPTS) != 0, n > 0);
    if (goes_on)
        assert_true(flags & QR_LEX_CONTINUES);
    for (int c = 0; c < LETTERS && length_of(s) < LENGTH; c++) {
        qr_lex_state next, again;
        const uint8_t byte = (uint8_t)('a' + c);
        assert_int_equal(qr_lexer_step(x->lexer, state, byte, &next), QUIRE_OK);
        assert_int_equal(qr_lexer_step(x->lexer, state, byte, &again), QUIRE_OK);
        assert_int_equal(next, again);
        const struct qr_lex_tables t = qr_lexer_tables(x->lexer);
        assert_true(next < t.n_states);
        assert_int_equal(t.next[state * t.n_classes + t.class_of[byte]], next);
        walk(x, next, join(s, 1 + c));
    }
}

/* Lexemes of strings of up to LENGTH letters, so that all of their strings are known. */
static void draw_lexemes(struct lexemes *x, int depth)
{
    const struct qr_byte_set letters = { { 0, 7ull << ('a' - 64), 0, 0 } };
    x->set = qr_regex_set_new(NULL);
    x->n = 0;
    for (uint32_t i = 0; i < MAX_LEXEMES; i++) {
        draw_expression(x->set, depth, &x->list[i]);
        const qr_regex both[] = {
            x->list[i].r, qr_regex_repeat(x->set, qr_regex_bytes(x->set, &letters), 0, LENGTH)
        };
        x->regexes[i] = qr_regex_and(x->set, both, 2);
        if (draw(3))
            x->ids[x->n++] = i;
    }
    assert_int_equal(qr_lexer_new(x->set, x->regexes, MAX_LEXEMES, NULL, &x->lexer), QUIRE_OK);
}

static void random_lexemes(void **state)
{
    (void)state;
    seed = 11;
    for (int round = 0; round < 150; round++) {
        struct lexemes x;
        qr_lex_state start, again;
        draw_lexemes(&x, 1 + round % 3);
        assert_int_equal(qr_lexer_start(x.lexer, x.ids, x.n, &start), QUIRE_OK);
        assert_int_equal(qr_lexer_start(x.lexer, x.ids, x.n, &again), QUIRE_OK);
        assert_int_equal(start, again);
        walk(&x, start, 0);
        qr_lexer_free(x.lexer);
        qr_regex_set_free(x.set);
    }
}

/* ---- Sizes */

static size_t make_key(uint32_t i, char *out)
{
    return (size_t)sprintf(out, "\"%c%c_property_%u\"", 'a' + i * 7 % 26, 'a' + i / 26 % 26, i);
}

static void many_lexemes(void **state)
{
    (void)state;
    enum { N = 5000 };
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    qr_regex *list = malloc(N * sizeof *list);
    uint32_t *ids = malloc(N * sizeof *ids);
    struct qr_lexer *lexer;
    qr_lex_state start, at;
    char text[64];
    assert_true(list && ids);
    for (uint32_t i = 0; i < N; i++) {
        const size_t n = make_key(i, text);
        list[i] = qr_regex_literal(set, text, n);
        ids[i] = i;
    }
    assert_int_equal(qr_lexer_new(set, list, N, NULL, &lexer), QUIRE_OK);
    assert_int_equal(qr_lexer_start(lexer, ids, N, &start), QUIRE_OK);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t n;
        const size_t size = make_key(i, text);
        at = start;
        for (size_t k = 0; k < size; k++)
            assert_int_equal(qr_lexer_step(lexer, at, (uint8_t)text[k], &at), QUIRE_OK);
        const uint32_t *accepts = qr_lexer_accepts(lexer, at, &n);
        assert_int_equal(n, 1);
        assert_int_equal(accepts[0], i);
        assert_false(qr_lexer_tables(lexer).flags[at] & QR_LEX_CONTINUES);
    }
    qr_lexer_free(lexer);
    free(list);
    free(ids);
    qr_regex_set_free(set);
}

/* ---- Plain text */

/* Follows random plain text. */
static void follow_plain(struct qr_lexer *lexer, qr_lex_state at, uint32_t n_chars)
{
    static const char *const chars[] = { "a",
                                         "b",
                                         " ",
                                         "~",
                                         "\xC2\xA0",
                                         "\xC3\xA9",
                                         "\xE2\x80\x89",
                                         "\xED\x9F\xBF",
                                         "0",
                                         "\x7F",
                                         "\xF4\x8F\xBF\xBF" };
    for (uint32_t i = 0; i < n_chars; i++)
        for (const char *c = chars[draw(sizeof chars / sizeof *chars)]; *c; c++) {
            assert_int_equal(qr_lexer_step(lexer, at, (uint8_t)*c, &at), QUIRE_OK);
            assert_int_not_equal(at, QR_LEX_DEAD);
        }
}

static void expect_run(struct qr_regex_set *set, qr_regex r, uint32_t expected)
{
    const uint32_t id = 0;
    struct qr_lexer *lexer;
    qr_lex_state at;
    assert_int_equal(qr_lexer_new(set, &r, 1, NULL, &lexer), QUIRE_OK);
    assert_int_equal(qr_lexer_start(lexer, &id, 1, &at), QUIRE_OK);
    const uint32_t run = qr_lexer_plain_run(lexer, at);
    assert_int_equal(run, expected);
    for (int i = 0; i < 30; i++)
        follow_plain(lexer, at, run < 20 ? run : 20);
    assert_int_equal(qr_lexer_plain_run(lexer, QR_LEX_DEAD), 0);
    qr_lexer_free(lexer);
}

/* Bodies of strings, counted, with exceptions and in choices; what looks like one and is none. */
static void plain_runs(void **state)
{
    (void)state;
    enum { MANY = QR_REGEX_UNBOUNDED };
    static const struct qr_char_range no_nbsp[] = { { ' ', 0x9f }, { 0xa1, 0x10ffff } };
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    const qr_regex quote = qr_regex_literal(set, "\"", 1), ab = qr_json_literal(set, "ab", 2),
                   any = qr_json_any_string(set, 0, MANY), some = qr_json_any_string(set, 2, 7),
                   others = qr_regex_repeat(set, qr_json_class(set, no_nbsp, 2), 0, MANY);
    const qr_regex names[] = { ab, qr_json_literal(set, "\xC3\xA9z", 3) };
    const qr_regex not_names = qr_regex_not(set, qr_regex_or(set, names, 2));
    const qr_regex starts[] = { ab, QR_REGEX_ANY };
    const qr_regex not_start = qr_regex_not(set, qr_regex_concat(set, starts, 2));
#define CONCAT(...)                                                                                \
    qr_regex_concat(set, (qr_regex[]){ __VA_ARGS__ },                                              \
                    sizeof((qr_regex[]){ __VA_ARGS__ }) / sizeof(qr_regex))
#define AND(...)                                                                                   \
    qr_regex_and(set, (qr_regex[]){ __VA_ARGS__ },                                                 \
                 sizeof((qr_regex[]){ __VA_ARGS__ }) / sizeof(qr_regex))
#define OR(...)                                                                                    \
    qr_regex_or(set, (qr_regex[]){ __VA_ARGS__ },                                                  \
                sizeof((qr_regex[]){ __VA_ARGS__ }) / sizeof(qr_regex))
    expect_run(set, CONCAT(any, quote), MANY);
    expect_run(set, CONCAT(some, quote), 7);
    expect_run(set, CONCAT(AND(any, not_names), quote), MANY);
    expect_run(set, OR(CONCAT(some, quote), CONCAT(ab, some)), 7);
    expect_run(set, OR(CONCAT(some, quote), CONCAT(any, quote)), MANY);
    expect_run(set, CONCAT(qr_regex_repeat(set, ab, 0, 1), some, quote), 7);
    expect_run(set, not_names, MANY);
    expect_run(set, QR_REGEX_ANY, MANY);
    expect_run(set, CONCAT(quote, any), 0);
    expect_run(set, CONCAT(others, quote), 0);
    expect_run(set, CONCAT(AND(any, not_start), quote), 0);
    expect_run(set, AND(CONCAT(any, ab), CONCAT(any, ab, ab)), 0);
    expect_run(set, CONCAT(AND(some, not_names), quote), 0);
    expect_run(set, qr_regex_multiple_of(set, 7, 0), 0);
    assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
    qr_regex_set_free(set);
}

static void limits(void **state)
{
    (void)state;
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    const qr_regex digits = qr_regex_multiple_of(set, 65521, 0);
    struct qr_limited_memory memory;
    struct qr_lexer *lexer;
    qr_lex_state at;
    const uint32_t id = 0;
    qr_limited_memory_init(&memory, NULL, 32 << 10);
    assert_int_equal(qr_lexer_new(set, &digits, 1, &memory.allocator, &lexer), QUIRE_OK);
    assert_int_equal(qr_lexer_start(lexer, &id, 1, &at), QUIRE_OK);
    quire_status status = QUIRE_OK;
    for (uint32_t i = 0; i < 100000 && status == QUIRE_OK; i++) {
        status = qr_lexer_step(lexer, at, (uint8_t)('1' + i * 7 % 9), &at);
        assert_int_not_equal(status == QUIRE_OK && at == QR_LEX_DEAD, true);
    }
    assert_int_equal(status, QUIRE_E_NOMEM);
    assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
    qr_lexer_free(lexer);
    qr_lexer_free(NULL);
    assert_int_equal(memory.bytes, 0);
    qr_limited_memory_init(&memory, NULL, 16);
    assert_int_equal(qr_lexer_new(set, &digits, 1, &memory.allocator, &lexer), QUIRE_E_NOMEM);
    assert_null(lexer);
    /* no lexemes */
    assert_int_equal(qr_lexer_new(set, NULL, 0, NULL, &lexer), QUIRE_OK);
    assert_int_equal(qr_lexer_start(lexer, NULL, 0, &at), QUIRE_OK);
    assert_int_equal(at, QR_LEX_DEAD);
    assert_int_equal(qr_lexer_step(lexer, at, 'a', &at), QUIRE_OK);
    assert_int_equal(at, QR_LEX_DEAD);
    qr_lexer_free(lexer);
    qr_regex_set_free(set);
}

/* Searches for dead ends that give up do not repeat for every state: this test takes minutes
 * otherwise. */
static void long_searches(void **state)
{
    (void)state;
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    const struct qr_byte_set ab = { { 0, 3ull << ('a' - 64), 0, 0 } };
    const qr_regex any = qr_regex_bytes(set, &ab);
    const qr_regex parts[] = { qr_regex_repeat(set, any, 0, QR_REGEX_UNBOUNDED),
                               qr_regex_literal(set, "a", 1), qr_regex_repeat(set, any, 200, 200) };
    const qr_regex both[] = { qr_regex_concat(set, parts, 3), qr_regex_repeat(set, any, 3, 5000) };
    const qr_regex r = qr_regex_and(set, both, 2);
    const uint32_t id = 0;
    struct qr_lexer *lexer;
    qr_lex_state at;
    assert_int_equal(qr_lexer_new(set, &r, 1, NULL, &lexer), QUIRE_OK);
    quire_status status = qr_lexer_start(lexer, &id, 1, &at);
    seed = 5;
    for (int i = 0; i < 4000 && status == QUIRE_OK; i++) {
        status = qr_lexer_step(lexer, at, (uint8_t)('a' + draw(2)), &at);
        assert_true(status != QUIRE_OK || at != QR_LEX_DEAD);
    }
    assert_true(status == QUIRE_OK || status == QUIRE_E_LIMIT);
    qr_lexer_free(lexer);
    qr_regex_set_free(set);
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

static quire_status use_lexer(struct qr_lexer *lexer, uint32_t n)
{
    static const uint32_t ids[] = { 0, 1, 2 };
    qr_lex_state at;
    quire_status status = qr_lexer_start(lexer, ids, n, &at);
    for (const char *c = "aabbcacb"; *c && status == QUIRE_OK; c++) {
        (void)qr_lexer_plain_run(lexer, at);
        status = qr_lexer_step(lexer, at, (uint8_t)*c, &at);
    }
    return status;
}

static void out_of_memory(void **state)
{
    (void)state;
    const struct quire_allocator a = { .alloc = failing_alloc, .free = failing_free };
    int n_ok = 0;
    for (int n = 0; n < 400; n++) {
        fail_after = n;
        struct qr_regex_set *set = qr_regex_set_new(&a);
        struct pair p[3];
        qr_regex list[3];
        if (set == NULL)
            continue;
        seed = 21;
        for (int i = 0; i < 3; i++) {
            draw_expression(set, 2, &p[i]);
            list[i] = p[i].r;
        }
        struct qr_lexer *lexer = NULL;
        quire_status status = qr_lexer_new(set, list, 3, &a, &lexer);
        if (status == QUIRE_OK)
            status = use_lexer(lexer, 3);
        assert_true(status == QUIRE_OK || status == QUIRE_E_NOMEM);
        n_ok += status == QUIRE_OK;
        qr_lexer_free(lexer);
        qr_regex_set_free(set);
    }
    assert_true(n_ok > 0 && n_ok < 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lexemes), cmocka_unit_test(many_lexemes),
        cmocka_unit_test(plain_runs),     cmocka_unit_test(limits),
        cmocka_unit_test(long_searches),  cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
