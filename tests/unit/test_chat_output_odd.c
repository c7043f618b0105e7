/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_output_odd.c - answers that are valid up to a point: repeated members, nesting above
 * the limit, guesses without a match, values that are cut; each whole and at every cut. */
#include "quire_cmocka.h"
#include "test_chat_output.h"

static const char tools[] =
    "[{\"name\":\"get\",\"parameters\":{\"properties\":{\"city\":{\"type\":\"string\"},"
    "\"days\":{\"type\":\"integer\"}}}},{\"name\":\"now\"}]";

#define CALLS4    "{\"tool_calls\":{\"tool_calls\":{\"tool_calls\":{\"tool_calls\":"
#define FUNCTION4 "{\"function\":{\"function\":{\"function\":{\"function\":"
#define ARRAY2    "[{\"tool_calls\":[{\"tool_calls\":"
#define DSML      "｜DSML｜"
#define KIMI(id, arguments)                                                                        \
    "<|tool_call_begin|>" id "<|tool_call_argument_begin|>" arguments "<|tool_call_end|>"

/* What an answer becomes: the content, then NAME and ARGUMENTS of every call, each after a '|'. */
static const struct {
    const char *format, *text, *result;
    bool without_tools;
} cases[] = {
    { "generic_json", CALLS4 CALLS4 "{\"name\":\"now\"}", CALLS4 CALLS4 "{\"name\":\"now\"}",
      false },
    { "generic_json", CALLS4 CALLS4 "[{\"name\":\"now\"}]", CALLS4 CALLS4 "[{\"name\":\"now\"}]",
      false },
    { "generic_json", ARRAY2 ARRAY2 ARRAY2 "[{\"name\":\"now\"}]",
      ARRAY2 ARRAY2 ARRAY2 "[{\"name\":\"now\"}]", false },
    { "hermes", "<tool_call>" FUNCTION4 FUNCTION4 "{\"name\":\"now\"}",
      "<tool_call>" FUNCTION4 FUNCTION4 "{\"name\":\"now\"}", false },
    { "generic_json", "{\"response\":\"\\ud83d\"}", "\xef\xbf\xbd", false },
    { "apertus", "<|tools_prefix|>[{\"get\":{\"city\":\"Rome\"},\"now\":{}}]<|tools_suffix|>",
      "|get|{\"city\":\"Rome\"}", false },
    { "hermes", "<tool_call>{\"name\":\"now\",\"arguments\":{},\"name\":\"get\"}</tool_call>",
      "|now|{}", false },
    { "hermes",
      "<tool_call>{\"name\":\"get\",\"arguments\":\" {\\\"city\\\":\\\"R\\\"}\"}</tool_call>",
      "|get|{\"city\":\"R\"}", false },
    { "generic_json",
      "{\"name\":\"now\",\"arguments\":{},\"tool_calls\":[{\"name\":\"get\",\"arguments\":{}}]}",
      "|get|{}", false },
    { "hermes", "<tool_call>{\"name\":\"now\",\"arguments\":\"\"}</tool_call>", "|now|\"\"",
      false },
    { "kimi_k2", KIMI("7", "{}"), "", false },
    { "kimi_k2", KIMI("7", "[1]"), "", false },
    { "kimi_k2", KIMI("7", "{\"town\":1}"), "", false },
    { "kimi_k2", "<|tool_call_begin|>now:0<|tool_call_argument_begin|>tru", "|now|tru", false },
    { "kimi_k2", "<|tool_call_begin|>now:0<|tool_call_argument_begin|>-", "|now|-", false },
    { "kimi_k2", "<|tool_call_begin|>now:0<|tool_call_argument_begin|>12", "|now|12", false },
    { "functionary_v3_2", "ipython\nprint(1)", "|ipython|{\"code\": \"print(1)\"}", true },
    { "functionary_v3_2", "ipython\n{\"a\":1}", "|ipython|{\"a\":1}", true },
    { "functionary_v3_2", "jpython\nprint(1)", "|jpython|print(1)", true },
    { "minimax_m2",
      "<minimax:tool_call><invoke name=\"get\"><parameter name=\"days\">null</parameter><parameter "
      "name=\"city\">null</parameter></invoke></minimax:tool_call>",
      "|get|{\"days\": \"null\", \"city\": \"null\"}", false },
    { "deepseek_v3_2",
      "<" DSML "function_calls><" DSML "invoke name=\"now\"><" DSML
      "parameter name=\"arguments\" string=\"false\">{\"a\":1}</" DSML "parameter><" DSML
      "parameter name=\"b\" string=\"true\">2</" DSML "parameter></" DSML "invoke></" DSML
      "function_calls>",
      "|now|{\"arguments\": {\"a\":1}, \"b\": \"2\"}", false },
    { "harmony", "<|channel|>commentary to=user<|message|>x<|end|>", "x", false },
    { "harmony", "<|channel|>commentary to=now<|message|>{}<|call|>", "|now|{}", false },
    { "harmony", "<|channel|>commentary to=other<|message|>{}<|call|>", "", false },
};

static void add(struct joined_text *t, const struct joined_text *part)
{
    joined_add(t, "|", 1);
    joined_add(t, part->text, part->size);
}

static void results(void **state)
{
    unsigned differ = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quire_chat_output_params p;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct joined j;
        struct joined_text got = { 0 };
        const size_t size = strlen(cases[i].text);
        quire_chat_output_params_init(&p, sizeof p);
        p.format = cases[i].format;
        p.tools_json = cases[i].without_tools ? NULL : tools;
        p.thinking = QUIRE_THINKING_CLOSED;
        assert_status(QUIRE_OK,
                      joined_run(&j, &p, cases[i].text, size, (struct pieces){ 0 }, &err));
        joined_add(&got, j.content.text, j.content.size);
        for (uint32_t k = 0; k < j.n_calls; k++) {
            assert_true(j.calls[k].ended);
            add(&got, &j.calls[k].name);
            add(&got, &j.calls[k].arguments);
        }
        const bool same = strcmp(got.text, cases[i].result) == 0;
        if (!same)
            fprintf(stderr, "%s: %s\n  %s\n", cases[i].format, cases[i].text, got.text);
        differ += !same || !joined_all_cuts(&j, &p, cases[i].text, size, false);
        free(got.text);
        joined_free(&j);
    }
    assert_int_equal(differ, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(results) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
