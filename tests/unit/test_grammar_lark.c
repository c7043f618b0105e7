/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_lark.c - grammars in the notation of Lark. */
#include "grammar/front_end/lark.h"
#include "grammar_texts.h"
#include "quire_cmocka.h"

struct lark_case {
    const char *grammar;
    const char *valid[8], *invalid[8];
};

static const struct lark_case cases[] = {
    { "start: \"a\" B? | c\nB: /[0-9]+/\nc: \"x\"i \"y\" -> alias\n",
      { "a", "a12", "xy", "Xy" },
      { "", "b", "xY", "a1b" } },
    { "// comment\n?start: item (\",\" item)*\n# more\n!item.2: NAME\n    | \"(\" start \")\"\n"
      "NAME: LETTER+\nLETTER: \"a\"..\"c\" | \"\\u00e9\"\n",
      { "a", "abc,b", "((a,b),c)", "\xC3\xA9" },
      { "d", "a,", "(a", "()" } },
    { "start: A~2..3 [B] C{2} D{1,}\nA: \"a\"\nB: \"b\"\nC: \"c\"\nD: \"d\"",
      { "aaccd", "aaabccddd" },
      { "accd", "aaaaccd", "aabbccd", "aacd", "aacc" } },
    { "%import common.INT\n%import common (WS, CNAME)\n%ignore WS\nstart: sum\n"
      "sum: sum \"+\" product | product\nproduct: product \"*\" atom | atom\n"
      "atom: INT | CNAME | \"(\" sum \")\"\n",
      { "1+2*3", " 1 + x * ( 2 )\n", "a" },
      { "1+", "+1", "1 2", "" } },
    { "start: \"a\" start \"b\" |\n", { "", "ab", "aabb" }, { "a", "ba", "aab" } },
    { "start: (\"a\"\n  | \"b\") /[/]x\\/y/\n", { "a/x/y", "b/x/y" }, { "/x/y" } },
    { "start: \"call \" %json {\n  \"type\": \"object\", \"properties\": {\"}\\\"{\": {\"enum\": "
      "[1]}},\n"
      "  \"additionalProperties\": false } \";\" | %json{\"const\":2} -> two\n",
      { "call {};", "call {\"}\\\"{\": 1};", "2" },
      { "call ;", "call {};;", "call {\"}\\\"{\": 2};", "{}", "3" } },
    { "%ignore \" \"\nstart: (%json {\"type\": \"integer\"})~2..3 \"!\"\n",
      { "1 2!", " 1 20 300 !" },
      { "1!", "a", "1 2 3 4!", "-" } },
    { "start: \"\\\"\\n\\\\\"\n", { "\"\n\\" }, { "\"n" } },
};

static void build(struct text_grammar *g, const char *grammar, size_t size)
{
    qr_node start = 0;
    struct qr_front_end f = text_grammar_begin(g, 0, 20.0);
    g->status = qr_lark_build(&f, grammar, size, &start, &g->err);
    text_grammar_explain(g);
    if (g->status == QUIRE_OK)
        text_grammar_finish(g, start);
}

static void accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text_grammar g;
        const struct lark_case *c = &cases[i];
        build(&g, c->grammar, strlen(c->grammar));
        if (g.status != QUIRE_OK)
            fail_msg("%s: %s", c->grammar, g.err.msg);
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
        { "", "no rule \"start\"", QUIRE_E_INVALID_ARG },
        { "a: \"x\"\n", "no rule \"start\"", QUIRE_E_INVALID_ARG },
        { "start: \"x\"\nstart: \"y\"\n", "line 2: a name is defined twice", QUIRE_E_INVALID_ARG },
        { "start: b\n", "line 1: a name that is not defined", QUIRE_E_INVALID_ARG },
        { "start: A\nA: \"x\" A\n", "line 2: a terminal refers to itself", QUIRE_E_UNSUPPORTED },
        { "start: A\nA: start\n", "line 2: a rule in a terminal", QUIRE_E_INVALID_ARG },
        { "start: (\"a\"\n", "( without )", QUIRE_E_INVALID_ARG },
        { "start: \"a\n", "line 1: string without its end", QUIRE_E_INVALID_ARG },
        { "start: /a/s\n", "line 1: flags", QUIRE_E_UNSUPPORTED },
        { "start: /(/\n", "line 1: offset 1", QUIRE_E_INVALID_ARG },
        { "\nstart: \"a\"~x\n", "line 2: expected a number", QUIRE_E_INVALID_ARG },
        { "start: \"a\"~3..1\n", "malformed repetition", QUIRE_E_INVALID_ARG },
        { "start: \"a\"~99999999999\n", "too many", QUIRE_E_LIMIT },
        { "%declare A\nstart: A\n", "line 1: directive", QUIRE_E_UNSUPPORTED },
        { "%import python.INT\nstart: INT\n", "only the module common", QUIRE_E_UNSUPPORTED },
        { "start: f{\"a\"}\nf{x}: x\n", "template", QUIRE_E_UNSUPPORTED },
        { "start: <|end|>\n", "no control token", QUIRE_E_UNSUPPORTED },
        { "start: \"b\"..\"a\"\n", "range out of order", QUIRE_E_INVALID_ARG },
        { "start: \"ab\"..\"c\"\n", "strings of one character", QUIRE_E_INVALID_ARG },
        { "start: \"\\q\"\n", "unknown escape", QUIRE_E_INVALID_ARG },
        { "start \"a\"\n", "expected :", QUIRE_E_INVALID_ARG },
        { "start: \"a\" ]\n", "unexpected text", QUIRE_E_INVALID_ARG },
        { "start: &\n", "unexpected character", QUIRE_E_INVALID_ARG },
        { "\nstart: %json\n[1]\n", "line 2: expected an object behind %json", QUIRE_E_INVALID_ARG },
        { "start: %json {\"a\": {\n}\n", "line 1: object without its end", QUIRE_E_INVALID_ARG },
        { "start: %json {\"a\": \"\\\"}\n", "line 1: object without its end", QUIRE_E_INVALID_ARG },
        { "start: \"x\"\n  | %json {1}\n", "line 2: the schema is no JSON", QUIRE_E_INVALID_ARG },
        { "start: %json {\n\"type\": \"x\"}\n", "line 1: #/type", QUIRE_E_INVALID_ARG },
        { "start: %json {\"not\": {}}\n", "line 1: #: no value", QUIRE_E_UNSUPPORTED },
        { "start: A\nA: %json {}\n", "line 2: %json in a terminal", QUIRE_E_INVALID_ARG },
        { "%json {}\nstart: \"a\"\n", "line 1: expected a definition", QUIRE_E_INVALID_ARG },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct text_grammar g;
        build(&g, bad[i].grammar, strlen(bad[i].grammar));
        if (g.status != bad[i].status || !strstr(g.err.msg, bad[i].error))
            fail_msg("%s: %d %s", bad[i].grammar, g.status, g.err.msg);
        text_grammar_free(&g);
    }
}

/* Every prefix of the grammars, and every one with a byte changed, ends with a result or an
 * error. */
static void hostile(void **state)
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
            build(&g, text, k < n ? k : n);
            text_grammar_free(&g);
        }
    }
    memset(text, '(', sizeof text);
    memcpy(text, "start: ", 7);
    struct text_grammar g;
    build(&g, text, sizeof text);
    assert_int_equal(g.status, QUIRE_E_LIMIT);
    text_grammar_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(accepted), cmocka_unit_test(refused),
                                        cmocka_unit_test(hostile) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
