/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_lexer.c - the lazy automaton of several lexemes against sets of strings. */
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
        if (l->has[t] && n >= m && (t - offset_of(n)) / power_of(n - m) == s - offset_of(m))
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
    x->set = qr_regex_set_new(NULL, 64 << 20);
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
    assert_int_equal(qr_lexer_new(x->set, x->regexes, MAX_LEXEMES, NULL, 64 << 20, &x->lexer),
                     QUIRE_OK);
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

/* covers() is true if and only if every prefix of every string of `inner` stays alive. */
static void covers(void **state)
{
    (void)state;
    seed = 12;
    int n_true = 0;
    for (int round = 0; round < 400; round++) {
        struct lexemes x;
        struct pair inner;
        qr_lex_state start;
        bool result, expected;
        draw_lexemes(&x, 1 + round % 2);
        assert_int_equal(qr_lexer_start(x.lexer, x.ids, x.n, &start), QUIRE_OK);
        do
            draw_expression(x.set, round % 3, &inner);
        while (inner.r == QR_REGEX_NONE);
        const struct qr_byte_set letters = { { 0, 7ull << ('a' - 64), 0, 0 } };
        const qr_regex both[] = { inner.r, qr_regex_repeat(x.set, qr_regex_bytes(x.set, &letters),
                                                           0, LENGTH) };
        const qr_regex r = qr_regex_and(x.set, both, 2);
        expected = start != QR_LEX_DEAD;
        for (int s = 0; s < STRINGS; s++) {
            bool alive = !inner.l.has[s];
            for (uint32_t i = 0; i < x.n && !alive; i++)
                alive = has_prefix(&x.list[x.ids[i]].l, s);
            expected = expected && alive;
        }
        assert_int_equal(qr_lexer_covers(x.lexer, start, r, 10000, &result), QUIRE_OK);
        assert_int_equal(result, expected);
        n_true += result;
        qr_lexer_free(x.lexer);
        qr_regex_set_free(x.set);
    }
    assert_true(n_true > 20 && n_true < 380);
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
    struct qr_regex_set *set = qr_regex_set_new(NULL, 64 << 20);
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
    assert_int_equal(qr_lexer_new(set, list, N, NULL, 64 << 20, &lexer), QUIRE_OK);
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

/* Bodies of strings cover slices of plain characters, whatever the limit of the length leaves. */
static void string_bodies(void **state)
{
    (void)state;
    struct qr_regex_set *set = qr_regex_set_new(NULL, 64 << 20);
    struct qr_byte_set plain = { { 0 } }, lower = { { 0 } };
    for (unsigned c = 32; c < 128; c++)
        if (c != '"' && c != '\\')
            plain.bits[c / 64] |= 1ull << (c % 64);
    for (unsigned c = 'a'; c <= 'z'; c++)
        lower.bits[c / 64] |= 1ull << (c % 64);
    const qr_regex body = qr_regex_bytes(set, &plain), quote = qr_regex_literal(set, "\"", 1);
    const qr_regex any[] = { qr_regex_repeat(set, body, 0, QR_REGEX_UNBOUNDED), quote };
    const qr_regex some[] = { qr_regex_repeat(set, body, 0, 40), quote };
    const qr_regex list[] = { qr_regex_concat(set, any, 2), qr_regex_concat(set, some, 2) };
    const qr_regex inner = qr_regex_repeat(set, qr_regex_bytes(set, &lower), 1, 32);
    struct qr_lexer *lexer;
    bool result;
    assert_int_equal(qr_lexer_new(set, list, 2, NULL, 64 << 20, &lexer), QUIRE_OK);
    for (uint32_t id = 0; id < 2; id++) {
        qr_lex_state at;
        assert_int_equal(qr_lexer_start(lexer, &id, 1, &at), QUIRE_OK);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(qr_lexer_covers(lexer, at, inner, 1000, &result), QUIRE_OK);
            assert_int_equal(result, id == 0 || i <= 8);
            assert_int_equal(qr_lexer_step(lexer, at, 'x', &at), QUIRE_OK);
        }
        assert_int_equal(qr_lexer_covers(lexer, QR_LEX_DEAD, inner, 1000, &result), QUIRE_OK);
        assert_false(result);
    }
    qr_lexer_free(lexer);
    qr_regex_set_free(set);
}

static void limits(void **state)
{
    (void)state;
    struct qr_regex_set *set = qr_regex_set_new(NULL, 64 << 20);
    const qr_regex digits = qr_regex_multiple_of(set, 65521, 0);
    struct qr_lexer *lexer;
    qr_lex_state at;
    const uint32_t id = 0;
    assert_int_equal(qr_lexer_new(set, &digits, 1, NULL, 32 << 10, &lexer), QUIRE_OK);
    assert_int_equal(qr_lexer_start(lexer, &id, 1, &at), QUIRE_OK);
    quire_status status = QUIRE_OK;
    for (uint32_t i = 0; i < 100000 && status == QUIRE_OK; i++) {
        status = qr_lexer_step(lexer, at, (uint8_t)('1' + i * 7 % 9), &at);
        assert_int_not_equal(status == QUIRE_OK && at == QR_LEX_DEAD, true);
    }
    assert_int_equal(status, QUIRE_E_LIMIT);
    qr_lexer_free(lexer);
    qr_lexer_free(NULL);
    assert_int_equal(qr_lexer_new(set, &digits, 1, NULL, 16, &lexer), QUIRE_E_LIMIT);
    assert_null(lexer);
    /* no lexemes */
    assert_int_equal(qr_lexer_new(set, NULL, 0, NULL, 64 << 10, &lexer), QUIRE_OK);
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
    struct qr_regex_set *set = qr_regex_set_new(NULL, 32 << 20);
    const struct qr_byte_set ab = { { 0, 3ull << ('a' - 64), 0, 0 } };
    const qr_regex any = qr_regex_bytes(set, &ab);
    const qr_regex parts[] = { qr_regex_repeat(set, any, 0, QR_REGEX_UNBOUNDED),
                               qr_regex_literal(set, "a", 1), qr_regex_repeat(set, any, 200, 200) };
    const qr_regex both[] = { qr_regex_concat(set, parts, 3), qr_regex_repeat(set, any, 3, 5000) };
    const qr_regex r = qr_regex_and(set, both, 2);
    const uint32_t id = 0;
    struct qr_lexer *lexer;
    qr_lex_state at;
    assert_int_equal(qr_lexer_new(set, &r, 1, NULL, 32 << 20, &lexer), QUIRE_OK);
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

static quire_status use_lexer(struct qr_lexer *lexer, uint32_t n, qr_regex inner)
{
    static const uint32_t ids[] = { 0, 1, 2 };
    qr_lex_state at;
    bool result;
    quire_status status = qr_lexer_start(lexer, ids, n, &at);
    for (const char *c = "aabbcacb"; *c && status == QUIRE_OK; c++) {
        status = qr_lexer_covers(lexer, at, inner, 100, &result);
        if (status == QUIRE_OK)
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
        struct qr_regex_set *set = qr_regex_set_new(&a, 64 << 20);
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
        quire_status status = qr_lexer_new(set, list, 3, &a, 64 << 20, &lexer);
        if (status == QUIRE_OK)
            status = use_lexer(lexer, 3, list[2]);
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
        cmocka_unit_test(random_lexemes), cmocka_unit_test(covers), cmocka_unit_test(many_lexemes),
        cmocka_unit_test(string_bodies),  cmocka_unit_test(limits), cmocka_unit_test(long_searches),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
