/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_schema.c - JSON Schema keyword by keyword: texts that are accepted, texts that are
 * not, and messages with the place of what is refused. */
#include "grammar_texts.h"
#include "quire_cmocka.h"

#define MAX_TEXTS 12

struct schema_case {
    const char *schema;
    const char *valid[MAX_TEXTS], *invalid[MAX_TEXTS];
};

static void check_texts(struct text_grammar *g, const struct schema_case *c, bool valid)
{
    const char *const *texts = valid ? c->valid : c->invalid;
    for (size_t i = 0; i < MAX_TEXTS && texts[i]; i++)
        if (text_accepts(g, texts[i], strlen(texts[i])) != valid)
            fail_msg("%s: %s must be %s", c->schema, texts[i], valid ? "accepted" : "rejected");
}

static void check(const struct schema_case *cases, size_t n, uint32_t flags)
{
    for (size_t i = 0; i < n; i++) {
        struct text_grammar g;
        text_grammar_schema(&g, cases[i].schema, strlen(cases[i].schema), NULL, flags);
        if (g.status != QUIRE_OK)
            fail_msg("%s: status %d, %s", cases[i].schema, g.status, g.err.msg);
        check_texts(&g, &cases[i], true);
        check_texts(&g, &cases[i], false);
        text_grammar_free(&g);
    }
}
#define CHECK(list, flags) check(list, sizeof list / sizeof *list, flags)

static void scalars(void **state)
{
    (void)state;
    static const struct schema_case cases[] = {
        { "true", { "null", "{\"a\":[1,{}]}", "\"\\u00e9\"", "-1.5e3" }, { "", "{", "nul", "01" } },
        { "{}", { "[]", "\"x\"" }, { "'x'" } },
        { "{\"type\":\"null\"}", { "null", " null" }, { "0", "null " } },
        { "{\"type\":[\"boolean\",\"string\"]}", { "true", "false", "\"\"" }, { "null", "1" } },
        { "{\"type\":\"integer\"}",
          { "0", "-12", "123456789012345678901" },
          { "1.5", "+1", "00" } },
        { "{\"type\":[\"integer\",\"number\"]}", { "1.5" }, { "\"1\"" } },
        { "{\"minimum\":2,\"exclusiveMaximum\":3.5,\"type\":\"number\"}",
          { "2", "2.0", "3.4999" },
          { "1.99", "3.5", "4", "-2" } },
        { "{\"minimum\":2,\"exclusiveMinimum\":true,\"type\":\"integer\"}", { "3" }, { "2" } },
        { "{\"const\":3}", { "3", "3.0" }, { "3.00", "3e0", "30" } },
        { "{\"type\":\"number\"}",
          { "1.12345678901234567890", "1e-07", "-0.5E+300" },
          { "1.123456789012345678901", "1e1000" } },
        { "{\"multipleOf\":0.25}", { "1.25", "-3", "\"x\"", "0" }, { "1.3" } },
        { "{\"enum\":[\"a\",1,null,[1],{\"k\":true}]}",
          { "\"a\"", "1", "null", "[1]", "[ 1 ]", "{\"k\":true}" },
          { "\"b\"", "2", "[]", "{}", "{\"k\":false}", "[1,1]" } },
        { "{\"enum\":[\"a\",\"bb\",3],\"minLength\":2}", { "\"bb\"", "3" }, { "\"a\"" } },
        { "{\"const\":{\"a\":[1,\"\\\"\"]}}", { "{\"a\":[1,\"\\\"\"]}" }, { "{\"a\":[1]}" } },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}",
          { "\"ab\"", "\"\\n\xC3\xA9\xF0\x9F\x98\x80\"" },
          { "\"a\"", "\"abcd\"", "\"\\n\"" } },
        { "{\"pattern\":\"^a.c$\",\"type\":\"string\"}",
          { "\"abc\"" },
          { "\"abbc\"", "\"xabc\"" } },
        { "{\"pattern\":\"b\",\"type\":\"string\",\"maxLength\":2}",
          { "\"b\"", "\"ab\"" },
          { "\"aa\"" } },
        { "{\"format\":\"date\"}", { "\"2024-02-29\"", "5" }, { "\"2023-02-29\"", "\"x\"" } },
        { "{\"format\":\"no such format\"}", { "\"x\"" }, { "" } },
    };
    CHECK(cases, 0);
}

static void objects(void **state)
{
    (void)state;
    static const struct schema_case cases[] = {
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{}},"
          "\"required\":[\"b\"],\"additionalProperties\":false}",
          { "{\"a\":1,\"b\":2}", "{\"b\":[],\"a\":1}", " { \"b\" : null }" },
          { "{\"a\":1}", "{}", "{\"b\":1,\"b\":2}", "{\"b\":1,\"c\":1}", "{\"b\":1,}" } },
        { "{\"type\":\"object\",\"properties\":{\"a\":false},\"additionalProperties\":{\"type\":"
          "\"null\"}}",
          { "{}", "{\"b\":null,\"ab\":null}" },
          { "{\"a\":null}", "{\"b\":1}" } },
        { "{\"type\":\"object\",\"patternProperties\":{\"^x\":{\"type\":\"integer\"},\"y$\":{"
          "\"minimum\":3}},\"additionalProperties\":false}",
          { "{\"x\":1}", "{\"xy\":4}", "{\"y\":\"s\"}" },
          { "{\"xy\":1}", "{\"z\":1}", "{\"x\":\"\"}" } },
        { "{\"type\":\"object\",\"propertyNames\":{\"maxLength\":2},\"required\":[\"a\"]}",
          { "{\"a\":1,\"bb\":2}" },
          { "{\"a\":1,\"ccc\":2}" } },
        { "{\"type\":\"object\",\"minProperties\":1,\"maxProperties\":2}",
          { "{\"a\":1}", "{\"a\":1,\"b\":2}" },
          { "{}", "{\"a\":1,\"b\":2,\"c\":3}" } },
        { "{\"type\":\"object\",\"dependentRequired\":{\"a\":[\"b\"]}}",
          { "{}", "{\"b\":1}", "{\"b\":1,\"a\":2}" },
          { "{\"a\":1}" } },
        { "{\"type\":\"object\",\"dependencies\":{\"a\":{\"properties\":{\"b\":{\"type\":\"null\"}}"
          "}}}",
          { "{\"b\":1}", "{\"a\":1,\"b\":null}" },
          { "{\"a\":1,\"b\":1}" } },
        { "{\"type\":\"object\",\"not\":{\"required\":[\"a\"]}}",
          { "{\"b\":1}" },
          { "{\"a\":1}" } },
        { "{\"type\":\"object\",\"properties\":{\"a\":{}},\"allOf\":[{\"properties\":{\"b\":{}}}],"
          "\"unevaluatedProperties\":false}",
          { "{\"a\":1,\"b\":1}" },
          { "{\"c\":1}" } },
    };
    CHECK(cases, 0);
}

static void arrays(void **state)
{
    (void)state;
    static const struct schema_case cases[] = {
        { "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":3}",
          { "[1]", "[1,2,3]", "[ 1 , 2 ]" },
          { "[]", "[1,2,3,4]", "[\"a\"]", "[1,]" } },
        { "{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":2}],\"items\":false}",
          { "[]", "[1]", "[1,2]" },
          { "[2]", "[1,2,3]" } },
        { "{\"type\":\"array\",\"items\":[{\"const\":1}],\"additionalItems\":{\"const\":2},"
          "\"minItems\":2}",
          { "[1,2]", "[1,2,2]" },
          { "[1]", "[1,1]" } },
        { "{\"type\":\"array\",\"contains\":{\"const\":1},\"maxContains\":2}",
          { "[1]", "[0,1,2,1]" },
          { "[]", "[0]", "[1,1,1]" } },
        { "{\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\",1]},\"uniqueItems\":true}",
          { "[]", "[\"b\",1,\"a\"]" },
          { "[1,1]", "[\"c\"]" } },
        { "{\"type\":\"array\",\"prefixItems\":[{},{\"const\":2}],\"contains\":{\"const\":2}}",
          { "[2]", "[0,2]", "[0,2,5]" },
          { "[]", "[0]" } },
    };
    CHECK(cases, 0);
}

static void combinations(void **state)
{
    (void)state;
    static const struct schema_case cases[] = {
        { "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\",\"maxLength\":1}]}",
          { "5", "\"a\"" },
          { "\"ab\"", "null" } },
        { "{\"oneOf\":[{\"multipleOf\":2,\"type\":\"integer\"},{\"multipleOf\":3,\"type\":"
          "\"integer\"}]}",
          { "2", "3", "9" },
          { "6", "5" } },
        { "{\"type\":\"object\",\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}",
          { "{\"a\":1}", "{\"b\":1,\"c\":1}" },
          { "{}", "{\"a\":1,\"b\":1}" } },
        { "{\"if\":{\"properties\":{\"k\":{\"const\":1}},\"required\":[\"k\"]},\"then\":{"
          "\"required\":[\"x\"]},\"else\":{\"required\":[\"y\"]},\"type\":\"object\"}",
          { "{\"k\":1,\"x\":0}", "{\"y\":0}", "{\"k\":2,\"y\":0}" },
          { "{\"k\":1,\"y\":0}", "{\"x\":0}" } },
        { "{\"allOf\":[{\"minLength\":2},{\"pattern\":\"^a\"}],\"type\":\"string\"}",
          { "\"ab\"" },
          { "\"a\"", "\"ba\"" } },
        { "{\"not\":{\"enum\":[1,\"a\"]},\"type\":[\"integer\",\"string\"]}",
          { "2", "\"b\"", "\"\"" },
          { "1", "\"a\"" } },
        { "{\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"l\":{\"$ref\":\"#/$defs/t\"}},"
          "\"additionalProperties\":false}},\"$ref\":\"#/$defs/t\"}",
          { "{}", "{\"l\":{\"l\":{}}}" },
          { "{\"l\":{\"l\":1}}" } },
        { "{\"$id\":\"http://h/a/b\",\"$defs\":{\"x\":{\"$id\":\"c\",\"$anchor\":\"n\",\"type\":"
          "\"null\"}},\"anyOf\":[{\"$ref\":\"c#n\"},{\"$ref\":\"/a/c\"}]}",
          { "null" },
          { "1" } },
        { "{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"definitions\":{\"s\":{"
          "\"type\":\"string\"}},\"$ref\":\"#/definitions/s\",\"maxLength\":1,\"const\":1}",
          { "\"long\"" },
          { "1" } },
    };
    CHECK(cases, 0);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *error; /* part of the message */
        quire_status status;
    } cases[] = {
        { .schema = "{\"properties\":{\"a\":{\"pattern\":\"(?<=a)b\"}}}",
          .error = "#/properties/a/pattern: ",
          .status = QUIRE_E_UNSUPPORTED },
        { .schema = "{\"items\":{\"$ref\":\"http://h/x.json\"}}",
          .error = "#/items/$ref: ",
          .status = QUIRE_E_UNSUPPORTED },
        { .schema = "{\"$ref\":\"#/$defs/a\"}",
          .error = "#/$ref: ",
          .status = QUIRE_E_INVALID_ARG },
        { .schema = "{\"$ref\":\"#\"}",
          .error = "refers to itself",
          .status = QUIRE_E_UNSUPPORTED },
        { .schema =
              "{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"$ref\":\"#\""
              "}}}",
          .error = "#: no value",
          .status = QUIRE_E_UNSUPPORTED },
        { .schema = "{\"type\":\"string\",\"const\":1}",
          .error = "#: no value",
          .status = QUIRE_E_UNSUPPORTED },
        { .schema = "{\"properties\":{\"a/b\":{\"uniqueItems\":true}}}",
          .error = "#/properties/a~1b/uniqueItems: ",
          .status = QUIRE_E_UNSUPPORTED },
        { .schema = "{\"type\":\"text\"}", .error = "#/type: ", .status = QUIRE_E_INVALID_ARG },
        { .schema = "{\"required\":true}", .error = "#/required: ", .status = QUIRE_E_INVALID_ARG },
        { .schema = "{\"minLength\":-1}", .error = "#/minLength: ", .status = QUIRE_E_INVALID_ARG },
        { .schema = "{\"multipleOf\":0}",
          .error = "#/multipleOf: ",
          .status = QUIRE_E_INVALID_ARG },
        { .schema = "{\"items\":5}", .error = "#/items: ", .status = QUIRE_E_INVALID_ARG },
        { .schema = "[]", .error = "#: a schema is", .status = QUIRE_E_INVALID_ARG },
        { .schema = "{\"a\":", .error = "byte 5", .status = QUIRE_E_INVALID_ARG },
        { .schema = "{\"not\":{\"additionalProperties\":{\"type\":\"null\"}}}",
          .error = "#/not: ",
          .status = QUIRE_E_UNSUPPORTED },
        { .schema = "{\"$schema\":\"http://json-schema.org/draft-03/schema#\"}",
          .error = "#/$schema: ",
          .status = QUIRE_E_UNSUPPORTED },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text_grammar g;
        text_grammar_schema(&g, cases[i].schema, strlen(cases[i].schema), NULL, 0);
        if (g.status != cases[i].status || !strstr(g.err.msg, cases[i].error))
            fail_msg("%s: status %d, %s", cases[i].schema, g.status, g.err.msg);
        text_grammar_free(&g);
    }
}

static void options(void **state)
{
    (void)state;
    static const struct schema_case compact[] = {
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\"}}}",
          { "{\"a\":[1,2],\"b\":{}}" },
          { " {}", "{ }", "{\"a\" :[]}", "{\"a\":[1, 2]}", "{\"a\": []}" } },
    };
    static const struct schema_case ordered[] = {
        { "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{},\"c\":{}},\"required\":[\"b\"]}",
          { "{\"a\":1,\"b\":1,\"c\":1,\"z\":1}", "{\"b\":1}", "{\"b\":1,\"y\":0,\"x\":0}" },
          { "{\"b\":1,\"a\":1}", "{\"z\":1,\"b\":1}", "{\"a\":1}" } },
    };
    CHECK(compact, QUIRE_GRAMMAR_COMPACT);
    CHECK(ordered, QUIRE_GRAMMAR_ORDERED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars),      cmocka_unit_test(objects), cmocka_unit_test(arrays),
        cmocka_unit_test(combinations), cmocka_unit_test(refused), cmocka_unit_test(options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
