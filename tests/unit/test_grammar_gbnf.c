/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_gbnf.c - grammars in llama.cpp's notation: texts that are accepted, texts that are
 * not, errors with their places, and hostile grammars. */
#include "grammar/front_end/gbnf.h"
#include "grammar_texts.h"
#include "quire_cmocka.h"
#include <stdlib.h>

struct gbnf_case {
    const char *grammar;
    const char *valid[8], *invalid[8];
    unsigned lexemes; /* of the compiled grammar; 0: not compared */
};

static const struct gbnf_case cases[] = {
    { "root ::= \"a\" [b-d]* | \"\\x41\\u00e9\\n\\\"\"",
      { "a", "abcd", "A\xC3\xA9\n\"" },
      { "", "b", "ae" },
      1 },
    { "root ::= [^a\\]]{2,3} \"-\"? .",
      { "bcx", "bc-\n", "\xF0\x9F\x98\x80zz-!" },
      { "ab", "b]", "b", "bc\xC3" },
      1 },
    { "# c\nroot ::= item (\",\" item)* # c\nitem ::= [0-9]+\n",
      { "1", "1,22" },
      { "", "1,", ",1" },
      1 },
    /* bodies and alternatives on further lines */
    { "root ::=\n  first\n  | second |\n  third\nfirst ::= \"1\"\nsecond ::= (\n \"2\"\n \"x\" "
      ")\nthird ::= \"3\"",
      { "1", "2x", "3" },
      { "", "2", "12x" },
      1 },
    { "root ::= \"x\" none \"y\"\nnone ::=\nlast ::= \"z\" |\n", { "xy" }, { "xzy", "x" }, 1 },
    { "root ::= sum\r\nsum ::= sum \"+\" n | n\r\nn ::= [0-9] | \"(\" sum \")\"\r\n",
      { "1", "1+2+3", "(1+2)+3" },
      { "", "1+", "(1" },
      0 },
    { "root ::= \"a\" root \"b\" |", { "", "ab", "aabb" }, { "a", "aab", "ba" }, 0 },
    { "root ::= (\"a\"{2}){2,} \"b\"{,2} \"c\"{0}",
      { "aaaa", "aaaaaabb" },
      { "aa", "aaaaa", "aaaabbb", "aaaac" },
      1 },
    { "root ::= \"::= [\" [\"\\]:=]+", { "::= [\"]::=" }, { "::= [" }, 1 },
    { "root ::= []", { NULL }, { "", "a" }, 0 },
};

static void build(struct text_grammar *g, const char *grammar, size_t size, double seconds)
{
    qr_node start = 0;
    struct qr_front_end f = text_grammar_begin(g, 0, seconds);
    g->status = qr_gbnf_build(&f, grammar, size, &start, &g->err);
    text_grammar_explain(g);
    if (g->status == QUIRE_OK)
        text_grammar_finish(g, start);
}

static void accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text_grammar g;
        const struct gbnf_case *c = &cases[i];
        size_t lexemes;
        build(&g, c->grammar, strlen(c->grammar), 20);
        if (c->valid[0] == NULL && g.status == QUIRE_E_UNSUPPORTED) { /* no text at all */
            text_grammar_free(&g);
            continue;
        }
        if (g.status != QUIRE_OK)
            fail_msg("%s: %d %s", c->grammar, g.status, g.err.msg);
        (void)qr_builder_lexemes(g.builder, &lexemes);
        if (c->lexemes && lexemes != c->lexemes)
            fail_msg("%s: %zu lexemes", c->grammar, lexemes);
        text_check(&g, c->grammar, c->valid, c->invalid, 8);
        text_grammar_free(&g);
    }
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *grammar, *error;
        quire_status status;
    } bad[] = {
        { "", "no rule root", QUIRE_E_INVALID_ARG },
        { "a ::= \"x\"", "no rule root", QUIRE_E_INVALID_ARG },
        { "root \"x\"", "line 1, column 1: ::= is expected", QUIRE_E_INVALID_ARG },
        { "\"x\" ::= a", "line 1, column 1: the name of a rule", QUIRE_E_INVALID_ARG },
        { "root ::= \"x\"\nroot ::= \"y\"", "line 2, column 1: the rule is defined twice",
          QUIRE_E_INVALID_ARG },
        { "root ::= \"x\"\n  nothing", "line 2, column 3: unexpected text", QUIRE_E_INVALID_ARG },
        { "root ::= \"x\" y", "line 1, column 14: the rule is not defined", QUIRE_E_INVALID_ARG },
        { "root ::= \"x\"\nother ::= y", "line 2, column 11: the rule is not defined",
          QUIRE_E_INVALID_ARG },
        { "root ::= \"x", "line 1, column 10: a literal that is not closed", QUIRE_E_INVALID_ARG },
        { "root ::= [a", "a class that is not closed", QUIRE_E_INVALID_ARG },
        { "root ::= [b-a]", "out of order", QUIRE_E_INVALID_ARG },
        { "root ::= (\"a\"", "a group that is not closed", QUIRE_E_INVALID_ARG },
        { "root ::= \"a\")", "unexpected text", QUIRE_E_INVALID_ARG },
        { "root ::= *", "is expected", QUIRE_E_INVALID_ARG },
        { "root ::= \"a\"{2,1}", "out of order", QUIRE_E_INVALID_ARG },
        { "root ::= \"a\"{2", "a repetition that is not closed", QUIRE_E_INVALID_ARG },
        { "root ::= \"a\"{}", "a number is expected", QUIRE_E_INVALID_ARG },
        { "root ::= \"a\"{1000000}", "100000", QUIRE_E_LIMIT },
        { "root ::= \"a\"{99999999999999999999}", "100000", QUIRE_E_LIMIT },
        { "root ::= \"\\q\"", "unknown escape", QUIRE_E_INVALID_ARG },
        { "root ::= \"\\x4\"", "hexadecimal", QUIRE_E_INVALID_ARG },
        { "root ::= \"\\ud800\"", "not a character", QUIRE_E_INVALID_ARG },
        { "root ::= \"\\U00110000\"", "not a character", QUIRE_E_INVALID_ARG },
        { "root ::= \"\xFF\"", "invalid UTF-8", QUIRE_E_INVALID_ARG },
        { "root ::= <x>", "is expected", QUIRE_E_INVALID_ARG },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct text_grammar g;
        build(&g, bad[i].grammar, strlen(bad[i].grammar), 20);
        if (g.status != bad[i].status || !strstr(g.err.msg, bad[i].error))
            fail_msg("%s: %d %s", bad[i].grammar, g.status, g.err.msg);
        text_grammar_free(&g);
    }
    struct text_grammar g;
    build(&g, "root ::= \"a\0b\"", 14, 20); /* NUL is a character of a literal */
    assert_int_equal(g.status, QUIRE_OK);
    assert_int_equal(text_accepts(&g, "a\0b", 3), 1);
    text_grammar_free(&g);
    build(&g, "root ::= \"a\" \0", 14, 20);
    assert_int_equal(g.status, QUIRE_E_INVALID_ARG);
    text_grammar_free(&g);
    build(&g, "root ::= \"a\"", 12, -1);
    assert_int_equal(g.status, QUIRE_E_LIMIT);
    text_grammar_free(&g);
}

/* Every prefix, and every grammar with a byte changed, ends with a result or an error. */
static void changed(void **state)
{
    (void)state;
    char text[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = strlen(cases[i].grammar);
        assert_true(n < sizeof text);
        for (size_t k = 0; k < 2 * n; k++) {
            struct text_grammar g;
            memcpy(text, cases[i].grammar, n);
            if (k >= n)
                text[k - n] = (char)(k * 37);
            build(&g, text, k < n ? k : n, 20);
            text_grammar_free(&g);
        }
    }
}

/* Builds a text of `first`, n times `piece` (%u: the number, %U: the next one) and `last`. */
static char *repeat(const char *first, const char *piece, unsigned n, const char *last)
{
    char *out = malloc(strlen(first) + (strlen(piece) + 16) * (size_t)n + strlen(last) + 1);
    size_t at = (size_t)sprintf(out, "%s", first);
    for (unsigned i = 0; i < n; i++)
        for (const char *p = piece; *p; p++) {
            if (*p == '%')
                at += (size_t)sprintf(out + at, "%u", i + (*++p == 'U'));
            else
                out[at++] = *p;
        }
    strcpy(out + at, last);
    return out;
}

static void large(void **state)
{
    (void)state;
    static const struct {
        const char *first, *piece;
        unsigned n;
        const char *last, *valid;
        int status; /* -1: success or a limit */
    } texts[] = {
        { "root ::= ", "(", 10000, "\"a\"", NULL, QUIRE_E_LIMIT },
        { "root ::= ", "(", 150, "\"a\")", NULL, QUIRE_E_INVALID_ARG },
        { "root ::= r0\n", "r%u ::= \"a\" r%U\n", 20000, "r20000 ::= \"b\"", NULL, -1 },
        { "root ::= r0\n", "r%u ::= \"a\" r%U\n", 300, "r300 ::= \"b\"", NULL, QUIRE_OK },
        { "root ::= \"b\"\n", "r%u ::= \"a\"\n", 100000, "", "b", -1 },
        { "root ::= \"", "abcdefghij", 10000, "\"", NULL, QUIRE_OK },
        { "root ::= \"", "abcdefghij", 1000000, "\"", NULL, -1 },
        { "root ::= \"a\"", "{1000}", 50, "", NULL, -1 },
        { "root ::= [", "a", 10000, "]", NULL, QUIRE_E_LIMIT },
        { "root ::= \"x\"", " | \"w%u\"", 50000, "", "w49999", QUIRE_OK },
        { "", "\n", 10000000, "root ::= \"x\"", "x", QUIRE_OK },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct text_grammar g;
        char *text = repeat(texts[i].first, texts[i].piece, texts[i].n, texts[i].last);
        const double start = text_now();
        build(&g, text, strlen(text), 5);
        if (texts[i].status >= 0 ? g.status != (quire_status)texts[i].status
                                 : g.status != QUIRE_OK && g.status != QUIRE_E_LIMIT)
            fail_msg("large text %zu: %d %s", i, g.status, g.err.msg);
        if (g.status == QUIRE_OK && texts[i].valid)
            assert_int_equal(text_accepts(&g, texts[i].valid, strlen(texts[i].valid)), 1);
        print_message("large text %zu: status %d, %.3f s\n", i, g.status, text_now() - start);
        text_grammar_free(&g);
        free(text);
    }
}

static void build_failing(struct text_grammar *g, struct fail_alloc *f, const char *grammar)
{
    qr_node start = 0;
    *g = (struct text_grammar){ .status = QUIRE_E_NOMEM };
    g->set = qr_regex_set_new(&f->hooks);
    g->builder = g->set ? qr_builder_new(g->set, &f->hooks) : NULL;
    if (!g->builder)
        return;
    struct qr_front_end fe = { .builder = g->builder, .allocator = &f->hooks, .deadline = 1e30 };
    g->status = qr_gbnf_build(&fe, grammar, strlen(grammar), &start, &g->err);
    if (g->status == QUIRE_OK)
        text_grammar_finish(g, start);
}

/* Every allocation of the compilation fails once: it fails, or the grammar is the same. */
static void no_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && cases[i].valid[0]; i++) {
        bool reached = true;
        size_t n_failures = 0;
        for (size_t at = 1; reached; at++) {
            struct fail_alloc f;
            struct text_grammar g;
            fail_alloc_init(&f, at, false);
            build_failing(&g, &f, cases[i].grammar);
            reached = f.calls >= at;
            f.fail_at = 0; /* matching allocates, too */
            n_failures += g.status == QUIRE_E_NOMEM;
            const bool right = g.status == QUIRE_OK
                                   ? !text_differing(&g, cases[i].valid, 8, 1) &&
                                         !text_differing(&g, cases[i].invalid, 8, 0)
                                   : g.status == QUIRE_E_NOMEM;
            if (!right)
                fail_msg("case %zu, allocation %zu: %d %s", i, at, g.status, g.err.msg);
            text_grammar_free(&g);
            assert_int_equal(f.live_count, 0);
        }
        assert_true(n_failures > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(accepted), cmocka_unit_test(refused),
                                        cmocka_unit_test(changed), cmocka_unit_test(no_memory),
                                        cmocka_unit_test(large) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
