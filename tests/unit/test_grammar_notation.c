/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_notation.c - the same schema in the notations of tool calls. */
#include "grammar_texts.h"
#include "quire_cmocka.h"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"},"
    "\"b\":{\"type\":[\"boolean\",\"null\"]},\"o\":{\"type\":\"object\",\"properties\":{\"k\":{"
    "\"type\":\"string\",\"enum\":[\"x y\",\"\\\"\"]}},\"additionalProperties\":false},\"l\":{"
    "\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":2}}},\"additionalProperties\":"
    "false}";

struct notation_case {
    const char *name;
    const char *valid[6], *invalid[6];
};

static const struct notation_case cases[] = {
    { "json", { "{\"s\":\"a\",\"b\":true,\"o\":{\"k\":\"\\\"\"}}", "{}" }, { "{\"b\":True}" } },
    { "python",
      { "{\"b\":True,\"l\":[\"a\", \"b\"]}", "{\"b\": None}" },
      { "{\"b\":true}", "{\"b\":null}" } },
    { "keyword_arguments",
      { "", "s=\"a\", n=5", "n=-1,b=False", "o={\"k\": \"x y\"}" },
      { "s='a'", "n=5,", "s=\"a\" n=5", "n=\"5\"", "n=5,n=6" } },
    { "xml_parameters",
      { "", "<parameter=s>\nany \"text\" <b>\n\n</parameter>\n",
        "<parameter=n>\n5\n</parameter>\n<parameter=s>\n\n</parameter>\n",
        "<parameter=o>\n{\"k\":\"x y\"}\n</parameter>\n" },
      { "<parameter=n>\nfive\n</parameter>\n", "<parameter=s>\na</parameter>b\n</parameter>\n",
        "<parameter=x>\n1\n</parameter>\n", "<parameter=s>\na",
        "<parameter=s>\na\n</function> b\n</parameter>\n" } },
    { "xml_named",
      { "<parameter name=\"s\">a\nb</parameter>\n", "<parameter name=\"b\">true</parameter>\n" },
      { "<parameter name=\"b\">yes</parameter>\n" } },
    { "xml_atem",
      { "<atem:parameter name=\"s\"> a\n</atem:parameter>\n",
        "<atem:parameter name=\"n\">5</atem:parameter>\n" },
      { "<parameter name=\"n\">5</parameter>\n",
        "<atem:parameter name=\"n\">five</atem:parameter>\n" } },
    { "arg_pairs",
      { "<arg_key>s</arg_key>\n<arg_value> x </arg_value>\n",
        "<arg_key>l</arg_key>\n<arg_value>[\"a\"]</arg_value>\n" },
      { "<arg_key>l</arg_key>\n<arg_value>[\"abc\"]</arg_value>\n" } },
    { "dsml",
      { "<｜DSML｜parameter name=\"s\" string=\"true\">5</｜DSML｜parameter>\n",
        "<｜DSML｜parameter name=\"n\" string=\"false\">5</｜DSML｜parameter>\n" },
      { "<｜DSML｜parameter name=\"s\" string=\"false\">5</｜DSML｜parameter>\n",
        "<｜DSML｜parameter name=\"n\" string=\"true\">5</｜DSML｜parameter>\n" } },
    { "gemma4",
      { "{}", "{s:<|\"|>a \"b\"<|\"|>,n:5}", "{o:{k:<|\"|>\"<|\"|>},l:[<|\"|>ab<|\"|>]}" },
      { "{s:\"a\"}", "{l:[<|\"|>abc<|\"|>]}", "{\"n\":5}" } },
    { "function_gemma", { "{s:<escape>a<escape>,b:null}" }, { "{s:<escape>a<escape>b<escape>}" } },
};

static void written(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text_grammar g;
        const struct notation_case *c = &cases[i];
        text_grammar_schema(&g, schema, sizeof schema - 1, qr_notation_find(c->name), 0);
        if (g.status != QUIRE_OK)
            fail_msg("%s: %s", c->name, g.err.msg);
        text_check(&g, c->name, c->valid, c->invalid, 6);
        text_grammar_free(&g);
    }
}

static void names(void **state)
{
    (void)state;
    static const char bad[] = "{\"properties\":{\"a=b\":{}},\"required\":[\"a=b\"]}";
    struct text_grammar g;
    assert_null(qr_notation_find("xml"));
    assert_null(qr_notation_find(NULL));
    assert_ptr_equal(qr_notation_find("json"), &qr_notation_json);
    text_grammar_schema(&g, bad, sizeof bad - 1, &qr_notation_keyword_arguments, 0);
    assert_int_equal(g.status, QUIRE_E_UNSUPPORTED);
    assert_non_null(strstr(g.err.msg, "\"a=b\""));
    text_grammar_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(written), cmocka_unit_test(names) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
