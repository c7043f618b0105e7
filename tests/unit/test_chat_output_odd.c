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
#define RESPONSE(text) "{\"response\":\"" text "\"}"
#define BAD            "\xef\xbf\xbd" /* in place of half a pair of surrogates */
#define X50            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X200           X50 X50 X50 X50
#define ATEM(to, name)                                                                             \
    " to=" to "<|message|><atem:function_calls>\n<atem:invoke name=\"" name                        \
    "\">\n</atem:invoke>\n"                                                                        \
    "</atem:function_calls><|eot|>"
#define STEP3(name)                                                                                \
    "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>" name                       \
    "<steptml:invoke name=\"now\"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"

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
    { "generic_json", RESPONSE("\\ud83d"), BAD, false },
    { "generic_json", RESPONSE("\\ud83dx"), BAD "x", false },
    { "generic_json", RESPONSE("\\ud83d\\n"), BAD "\n", false },
    { "generic_json", RESPONSE("\\uD83D\\uDE00\\u00e9"), "😀é", false },
    { "generic_json", RESPONSE("\\ud83d\\u0041"), BAD "A", false },
    { "generic_json", RESPONSE("\\ud83d\\u12"), BAD "\\u12", false },
    { "generic_json", RESPONSE("\\u12"), "\\u12", false },
    { "generic_json", "{\"response\":\"\\ud83d\\ude", BAD "\\ude", false },
    { "generic_json", "{\"response\":\"\\u1", "\\u1", false },
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
    /* a call whose id came before its arguments has been sent when a list of calls follows */
    { "generic_json",
      "{\"name\":\"now\",\"id\":\"1\",\"arguments\":{},\"tool_calls\":[{\"name\":\"get\","
      "\"arguments\":{}}]}",
      "|now|{}|get|{}", false },
    { "generic_json", "{\"name\":\"now\",\"id\":\"1\",\"arguments\":null,\"tool_calls\":[]}",
      "|now|{}", false },
    { "generic_json", "{\"name\":\"now\",\"id\":\"1\",\"arguments\":{},\"response\":\"x\"}",
      "|now|{}", false },
    { "generic_json",
      "{\"name\":\"now\",\"arguments\":{},\"tool_calls\":[{\"name\":\"get\",\"arguments\":"
      "{\"city\":\"R\"}}]}",
      "|get|{\"city\":\"R\"}", false },
    { "generic_json", "{\"name\":\"now\",\"arguments\":{ }}", "|now|{ }", false },
    { "gemma4", "<|tool_call>call:now{\"a:1}<tool_call|>", "|now|{\"\\\"a\": 1}", false },
    { "functiongemma", "<start_function_call>call:get{city:<escape>a<escape><",
      "<|get|{\"city\": \"a\"}", false },
    { "functionary_v3_2", "\nx", "\nx", false },
    { "nemotron", "a<TOOLCALL></TOOLCALL>b", "a<TOOLCALL></TOOLCALL>b", false },
    { "kimi_k2", "a<|tool_calls_section_begin|><|tool_calls_section_end|>b", "ab", false },
    { "step3", STEP3(X200 X200 X200), STEP3(X200 X200 X200), false },
    { "minimax_m2",
      "<minimax:tool_call><invoke name=\"now\"><parameter name=\"arguments\" string=\"false\">x"
      "</parameter></invoke></minimax:tool_call>",
      "|now|{\"arguments\": \"x\"}", false },
    { "llama3_json", "Hi<|eot_id|>", "Hi", false },
    { "muse_glimmer", ATEM("get.get", "get.get"), "|get|{}", false },
    { "muse_glimmer", ATEM("get.get", "get.get"), "|get.get|{}", true },
    { "muse_glimmer", ATEM("now", "get.now"), "", false },
    { "muse_glimmer", "<|start|>assistant to=" X200 X50 X50 "<|message|>a",
      "assistant to=" X200 X50 X50 "<|message|>a", false },
    { "muse_glimmer", "<|start|>x<y", "x<y", false },
    { "muse_glimmer", " to=user <|message|>a", " to=user <|message|>a", false },
    { "muse_glimmer", " to=now<|message|>a<|start|>b<|eom|>c", "a<|start|>bc", false },
    { "muse_glimmer", " to=now<|message|><atem:function_calls><|eom|>a", "<atem:function_calls>a",
      false },
    { "muse_glimmer", " to", " to", false },
    { "muse_glimmer", " <|message|>a<|eot|>\n", "a", false },
    { "llama3_json", "Hi <|eom_id|>all<|eot_id|>", "Hi all", false },
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

/* Blocks of reasoning after content, and as content. */
static void reasoning(void **state)
{
    static const struct {
        const char *format, *text, *content, *reasoning;
        enum quire_reasoning_format as;
    } answers[] = {
        { "gemma4", "a <|channel>b<channel|>c", "a c", "b", QUIRE_REASONING_AUTO },
        { "gemma4", "a<|channel>b<channel|> <|channel>c<channel|>d", "ad", "bc",
          QUIRE_REASONING_AUTO },
        { "gemma4", "<|channel>thought\nb<channel|>c", "<|channel>thought\nb<channel|>c", "",
          QUIRE_REASONING_NONE },
        { "harmony",
          "<|channel|>analysis<|message|>b<|start|>assistant<|channel|>final<|message|>c",
          "<|channel|>analysis<|message|>bc", "", QUIRE_REASONING_NONE },
        { "muse_glimmer", " to=self<|message|>b<|eom|><|start|>assistant to=user<|message|>c",
          "to=self<|message|>b<|eom|>\nc", "", QUIRE_REASONING_NONE },
    };
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct quire_chat_output_params p;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct joined j;
        const size_t size = strlen(answers[i].text);
        quire_chat_output_params_init(&p, sizeof p);
        p.format = answers[i].format;
        p.reasoning = answers[i].as;
        assert_status(QUIRE_OK,
                      joined_run(&j, &p, answers[i].text, size, (struct pieces){ 0 }, &err));
        assert_string_equal(j.content.text, answers[i].content);
        assert_string_equal(j.reasoning.text, answers[i].reasoning);
        assert_int_equal(j.n_calls, 0);
        assert_true(joined_all_cuts(&j, &p, answers[i].text, size, false));
        joined_free(&j);
    }
}

/* A NUL is no digit of an escape. */
static void nul_in_escape(void **state)
{
    static const char text[] = "{\"response\":\"\\ud\0x.\"}", content[] = "\\ud\0x.";
    struct quire_chat_output_params p;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct joined j;
    (void)state;
    quire_chat_output_params_init(&p, sizeof p);
    p.format = "generic_json";
    p.tools_json = tools;
    assert_status(QUIRE_OK, joined_run(&j, &p, text, sizeof text - 1, (struct pieces){ 0 }, &err));
    assert_int_equal(j.content.size, sizeof content - 1);
    assert_memory_equal(j.content.text, content, sizeof content);
    assert_true(joined_all_cuts(&j, &p, text, sizeof text - 1, false));
    joined_free(&j);
}

/* Pieces of an answer between ~, every other a control token: one begins a message, its characters
 * as text do not. Calls that are not wanted are dropped. */
static void message_starts(void **state)
{
    static const struct {
        const char *text, *content, *reasoning;
        bool no_calls;
    } answers[] = {
        { " to=self~<|message|>~a~<|start|>~assistant to=user~<|message|>~b", "b", "a", false },
        { " to=user~<|message|>~a<|start|>b~<|start|>~assistant~<|message|>~c", "a<|start|>b\nc",
          "", false },
        { " to=now~<|message|>~<atem:function_calls>x~<|start|>~assistant~<|message|>~c",
          "<atem:function_calls>x\nc", "", false },
        { " to=now~<|message|>~<atem:function_calls>x~<|eom|>~~<|start|>~assistant~<|message|>~c",
          "c", "", true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct quire_chat_output_params p;
        struct quire_chat_output_message m = { .struct_size = sizeof m };
        struct quire_chat_output *o;
        quire_chat_output_params_init(&p, sizeof p);
        p.format = "muse_glimmer";
        p.tools_json = tools;
        p.tool_choice = answers[i].no_calls ? QUIRE_TOOL_CHOICE_NONE : QUIRE_TOOL_CHOICE_AUTO;
        assert_status(QUIRE_OK, quire_chat_output_create(&p, &o, NULL));
        const char *text = answers[i].text;
        for (bool special = false; *text; special = !special) {
            const size_t size = strcspn(text, "~");
            assert_status(QUIRE_OK, quire_chat_output_push(o, text, size, special, NULL));
            text += size + (text[size] == '~');
        }
        assert_status(QUIRE_OK, quire_chat_output_finish(o, NULL));
        assert_status(QUIRE_OK, quire_chat_output_get_message(o, &m, NULL));
        assert_string_equal(m.content, answers[i].content);
        assert_string_equal(m.reasoning, answers[i].reasoning);
        assert_int_equal(m.n_tool_calls, 0);
        quire_chat_output_destroy(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results),
        cmocka_unit_test(reasoning),
        cmocka_unit_test(nul_in_escape),
        cmocka_unit_test(message_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
