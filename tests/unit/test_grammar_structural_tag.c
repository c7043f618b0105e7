/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_structural_tag.c - structural tags and choices: texts that are accepted, texts that
 * are not, errors with their JSON pointers, hostile descriptions. */
#include "grammar/front_end/choice.h"
#include "grammar/front_end/structural_tag.h"
#include "grammar_texts.h"
#include "quire_cmocka.h"
#include <stdlib.h>

#define FORMAT(text) "{\"type\":\"structural_tag\",\"format\":" text "}"
#define INT          "{\"type\":\"json_schema\",\"json_schema\":{\"type\":\"integer\"}}"
#define CONST(text)  "{\"type\":\"const_string\",\"value\":\"" text "\"}"
#define TAG(content) "{\"type\":\"tag\",\"begin\":\"<a>\",\"content\":" content ",\"end\":\"</a>\"}"
#define ANY          "{\"type\":\"any_text\"}"
#define TRIGGERED    "{\"type\":\"triggered_tags\",\"triggers\":[\"<a\"],\"tags\":[" TAG(INT) "]"

typedef quire_status (*build_fn)(struct qr_front_end *f, const char *text, size_t size,
                                 qr_node *out, struct quire_error *err);

struct tag_case {
    const char *text;
    const char *valid[6], *invalid[6];
};

static const struct tag_case cases[] = {
    { FORMAT(CONST("ab")), { "ab" }, { "", "a", "abc" } },
    { FORMAT("{\"type\":\"regex\",\"pattern\":\"[ab]+\"}"), { "ab" }, { "", "c" } },
    { FORMAT(ANY), { "", "<a>\n" }, { "\xFF" } },
    { FORMAT("{\"type\":\"any_text\",\"excludes\":[\"ab\",\"c\"]}"), { "", "ba" }, { "xab", "c" } },
    { FORMAT(INT), { "12" }, { "a", "" } },
    { FORMAT("{\"type\":\"sequence\",\"elements\":[" CONST("x") "," INT "]}"),
      { "x1" },
      { "1", "x" } },
    { FORMAT("{\"type\":\"or\",\"elements\":[" CONST("x") "," INT "]}"),
      { "x", "7" },
      { "x7", "" } },
    { FORMAT(TAG(INT)), { "<a>3</a>" }, { "<a>3", "<a></a>" } },
    { FORMAT(TAG(ANY)), { "<a></a>", "<a>x<a></a>" }, { "<a>", "<a></a></a>", "<a>x</a>y</a>" } },
    { FORMAT(TAG("{\"type\":\"star\",\"content\":" ANY "}")), { "<a>x</a>" }, { "<a>x</a" } },
    { FORMAT("{\"type\":\"sequence\",\"elements\":[{\"type\":\"optional\",\"content\":" CONST(
          "o") "},"
               "{\"type\":\"plus\",\"content\":" CONST("p") "},{\"type\":\"star\","
                                                            "\"content\":" CONST(
                                                                "s") "},{\"type\":\"repeat\","
                                                                     "\"min\":1,\"max\":2,"
                                                                     "\"content\":" CONST("r") "}]"
                                                                                               "}"),
      { "opr", "ppssrr" },
      { "", "or", "p", "prrr", "oopr" } },
    { FORMAT(TRIGGERED "}"),
      { "", "text < a", "x<a>1</a>y<a>2</a>" },
      { "<a", "x<a>y</a>", "<ab" } },
    { FORMAT(TRIGGERED ",\"at_least_one\":true}"), { "x<a>1</a>y" }, { "", "x" } },
    { FORMAT(TRIGGERED ",\"stop_after_first\":true}"),
      { "", "x", "x<a>1</a>" },
      { "<a>1</a>x", "<a>1</a><a>1</a>" } },
    { FORMAT(TRIGGERED ",\"excludes\":[\"y\"]}"), { "x<a>1</a>" }, { "y", "<a>1</a>y" } },
    /* free text in a tag ends where the tag does */
    { FORMAT("{\"type\":\"tag\",\"begin\":\"[\",\"end\":\"]\",\"content\":" TRIGGERED "}}"),
      { "[]", "[x<a>1</a>]" },
      { "[x]y]", "[]]", "[<a>1</a>]]" } },
    { FORMAT("{\"type\":\"tags_with_separator\",\"separator\":\",\",\"tags\":[" TAG(INT) "]}"),
      { "", "<a>1</a>", "<a>1</a>,<a>2</a>" },
      { "<a>1</a>,", ",", "<a>1</a><a>2</a>" } },
    { FORMAT("{\"type\":\"tags_with_separator\",\"separator\":\"\",\"at_least_one\":true,"
             "\"stop_after_first\":true,\"tags\":[" TAG(INT) "]}"),
      { "<a>1</a>" },
      { "", "<a>1</a><a>2</a>" } },
    { FORMAT("{\"type\":\"grammar\",\"grammar\":\"root ::= [0-9] root | \\\"!\\\"\"}"),
      { "!", "12!" },
      { "12" } },
    { FORMAT("{\"type\":\"grammar\",\"grammar\":\"start: A+\\nA: \\\"x\\\"\"}"), { "xx" }, { "" } },
    { "{\"structures\":[{\"begin\":\"<f>\",\"schema\":{\"const\":1},\"end\":\"</f>\"}],"
      "\"triggers\":[\"<f\"]}",
      { "", "a<f>1</f>b" },
      { "<f>2</f>", "<f" } },
};

static void build(struct text_grammar *g, build_fn front_end, const char *text, size_t size)
{
    qr_node start = 0;
    struct qr_front_end f = text_grammar_begin(g, 0, 20.0);
    g->status = front_end(&f, text, size, &start, &g->err);
    if (g->status == QUIRE_OK)
        text_grammar_finish(g, start);
}

static void accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text_grammar g;
        const struct tag_case *c = &cases[i];
        build(&g, qr_structural_tag_build, c->text, strlen(c->text));
        if (g.status != QUIRE_OK)
            fail_msg("%s: %d %s", c->text, g.status, g.err.msg);
        text_check(&g, c->text, c->valid, c->invalid, 6);
        text_grammar_free(&g);
    }
}

static const struct {
    const char *text, *error;
    quire_status status;
} bad[] = {
    { "", "no JSON", QUIRE_E_INVALID_ARG },
    { "[]", "#/format: a format is expected", QUIRE_E_INVALID_ARG },
    { "{\"type\":\"tag\",\"format\":{}}", "#/type:", QUIRE_E_INVALID_ARG },
    { FORMAT("{}"), "#/format/type: a string", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"what\"}"), "#/format/type: an unknown type", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"const_string\"}"), "#/format/value: a string", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"any_text\",\"x\":1}"), "#/format/x: a member", QUIRE_E_UNSUPPORTED },
    { FORMAT("{\"type\":\"any_text\",\"excludes\":\"x\"}"), "#/format/excludes: an array",
      QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"any_text\",\"excludes\":[\"\"]}"), "#/format/excludes/0: a string",
      QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"regex\",\"pattern\":\"(\"}"), "#/format/pattern: ", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"grammar\",\"grammar\":\"root ::= x\"}"),
      "#/format/grammar: the grammar, line 1, column 10", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"json_schema\"}"), "#/format/json_schema", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"json_schema\",\"json_schema\":true,\"notation\":\"x\"}"),
      "#/format/notation", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"json_schema\",\"json_schema\":{\"type\":\"x\"}}"), "#/format/json_schema",
      QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"sequence\",\"elements\":[]}"), "#/format/elements", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"or\",\"elements\":[{\"type\":\"or\"}]}"), "#/format/elements/0/elements",
      QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"tag\",\"begin\":\"x\",\"content\":" INT "}"), "#/format/end",
      QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[],\"tags\":[" TAG(INT) "]}"),
      "#/format/triggers", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"b\"],\"tags\":[" TAG(INT) "]}"),
      "#/format/tags/0: begin must start", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<a\"],\"tags\":[{\"begin\":\"<a\","
             "\"content\":" INT ",\"end\":\"\",\"y\":0}]}"),
      "#/format/tags/0/y", QUIRE_E_UNSUPPORTED },
    { FORMAT(TRIGGERED ",\"at_least_one\":1}"), "#/format/at_least_one", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"token\",\"token\":\"<x>\"}"), "#/format/token", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"token\",\"token\":3}"), "#/format/token", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"repeat\",\"min\":2,\"max\":1,\"content\":" INT "}"), "min exceeds max",
      QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"repeat\",\"min\":1000000,\"content\":" INT "}"), "#/format/min",
      QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"star\"}"), "#/format/content", QUIRE_E_INVALID_ARG },
    { FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<a<\"],\"tags\":[" TAG(INT) "]}"),
      "#/format/triggers: no trigger", QUIRE_E_INVALID_ARG },
    { "{\"structures\":[{\"begin\":\"xa\",\"schema\":{},\"end\":\"\"}],\"triggers\":[\"xa\",\"ab\"]"
      "}",
      "#/triggers: no trigger", QUIRE_E_INVALID_ARG },
    { "{\"structures\":[],\"triggers\":[\"x\"]}", "#/structures", QUIRE_E_INVALID_ARG },
    { "{\"structures\":[{\"begin\":\"x\",\"end\":\"\"}],\"triggers\":[\"x\"]}",
      "#/structures/0/schema", QUIRE_E_INVALID_ARG },
};

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct text_grammar g;
        build(&g, qr_structural_tag_build, bad[i].text, strlen(bad[i].text));
        if (g.status != bad[i].status || !strstr(g.err.msg, bad[i].error))
            fail_msg("%s: %d %s", bad[i].text, g.status, g.err.msg);
        text_grammar_free(&g);
    }
}

/* Every prefix, and every description with a byte changed, ends with a result or an error. */
static void changed(void **state)
{
    (void)state;
    char text[1024];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = strlen(cases[i].text);
        assert_true(n < sizeof text);
        for (size_t k = 0; k < 2 * n; k += 1 + (k >= n)) {
            struct text_grammar g;
            memcpy(text, cases[i].text, n);
            if (k >= n)
                text[k - n] = (char)(k * 37);
            build(&g, qr_structural_tag_build, text, k < n ? k : n);
            text_grammar_free(&g);
        }
    }
}

static void choices(void **state)
{
    (void)state;
    static const char *const wrong[] = { "",          "[]",           "{}",     "\"a\"",
                                         "[1]",       "[\"a\",null]", "[\"a\"", "[\"\\ud800\"]",
                                         "[\"\xFF\"]" };
    struct text_grammar g;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        build(&g, qr_choice_build, wrong[i], strlen(wrong[i]));
        if (g.status != QUIRE_E_INVALID_ARG || !strstr(g.err.msg, "choice"))
            fail_msg("%s: %d %s", wrong[i], g.status, g.err.msg);
        text_grammar_free(&g);
    }
    static const char text[] = "[\"ab\",\"abc\",\"ab\",\"\xC3\xA9\",\"\"]";
    build(&g, qr_choice_build, text, sizeof text - 1);
    assert_int_equal(g.status, QUIRE_OK);
    static const char *const in[] = { "ab", "abc", "\xC3\xA9", "" }, *const out[] = { "a", "abca" };
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(text_accepts(&g, in[i], strlen(in[i])), 1);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(text_accepts(&g, out[i], strlen(out[i])), 0);
    text_grammar_free(&g);
}

static void many_choices(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct text_grammar g;
    char *text = malloc(24 * N);
    size_t n = 0;
    for (unsigned i = 0; i < N; i++)
        n += (size_t)sprintf(text + n, "%c\"name %u\"", i ? ',' : '[', i * 7919 % N);
    text[n++] = ']';
    const double start = text_now();
    build(&g, qr_choice_build, text, n);
    print_message("100000 strings: %.3f s\n", text_now() - start);
    assert_int_equal(g.status, QUIRE_OK);
    assert_int_equal(text_accepts(&g, "name 99999", 10), 1);
    assert_int_equal(text_accepts(&g, "name 100000", 11), 0);
    text_grammar_free(&g);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(accepted), cmocka_unit_test(refused),
                                        cmocka_unit_test(changed), cmocka_unit_test(choices),
                                        cmocka_unit_test(many_choices) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
