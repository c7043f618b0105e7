/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_output.c - the parsers of model output: an answer in every format, variants that models
 * write, broken markup, control tokens, reasoning; each whole and at every cut. */
#include "test_chat_output.h"
#include "quire_cmocka.h"
#include "test_chat_output_answers.h"
#include "json/parse.h"

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"get\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\"},"
    "\"on\":{\"type\":\"boolean\"},\"tags\":{\"type\":\"array\"},\"opts\":{\"$ref\":\"#/$defs/o\"},"
    "\"note\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]},"
    "\"mixed\":{\"type\":[\"integer\",\"string\"]},\"unit\":{\"enum\":[\"C\",\"F\"]}},"
    "\"$defs\":{\"o\":{\"type\":\"object\"}}}}},"
    "{\"type\":\"function\",\"function\":{\"name\":\"now\"}},"
    "{\"type\":\"function\",\"function\":{\"name\":\"python\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"code\":{\"type\":\"string\"}}}}}]";

static bool same_calls(const struct joined *j, const char *text)
{
    struct qr_json_error e;
    struct qr_json *const want = qr_json_parse(text, strlen(text), 0, NULL, &e);
    assert_non_null(want);
    bool same = qr_json_size(want) == j->n_calls;
    for (uint32_t i = 0; same && i < j->n_calls; i++) {
        const struct qr_json *const call = qr_json_at(want, i);
        struct qr_json *const got =
            qr_json_parse(j->calls[i].arguments.text, j->calls[i].arguments.size, 0, NULL, &e);
        same = strcmp(qr_json_string(qr_json_at(call, 0)), j->calls[i].name.text) == 0 &&
               qr_json_equal(got, qr_json_at(call, 1)) && j->calls[i].ended;
        qr_json_free(got);
    }
    qr_json_free(want);
    return same;
}

static void all_formats(void **state)
{
    unsigned differ = 0;
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const struct answer *const a = &answers[i];
        struct quire_chat_output_params p;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct joined j;
        quire_chat_output_params_init(&p, sizeof p);
        p.format = a->format;
        p.tools_json = tools;
        p.thinking = a->thinking ? QUIRE_THINKING_OPEN : QUIRE_THINKING_CLOSED;
        assert_int_equal(joined_run(&j, &p, a->text, strlen(a->text), (struct pieces){ 0 }, &err),
                         QUIRE_OK);
        const bool same = strcmp(j.content.text, a->content) == 0 &&
                          strcmp(j.reasoning.text, a->reasoning) == 0 && same_calls(&j, a->calls);
        if (!same) {
            fprintf(stderr, "%s: %s\n  content %s\n  reasoning %s\n", a->format, a->text,
                    j.content.text, j.reasoning.text);
            for (uint32_t k = 0; k < j.n_calls; k++)
                fprintf(stderr, "  %s %s\n", j.calls[k].name.text, j.calls[k].arguments.text);
        }
        differ += !same || !joined_all_cuts(&j, &p, a->text, strlen(a->text), false);
        joined_free(&j);
    }
    assert_int_equal(differ, 0);
}

/* Every format has an answer above. */
static void every_format_has_an_answer(void **state)
{
    const char *name;
    (void)state;
    for (size_t f = 0; (name = quire_chat_output_format_name(f)); f++) {
        bool found = false;
        for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
            found = found || strcmp(answers[i].format, name) == 0;
        if (!found)
            fail_msg("no answer in the format %s", name);
    }
}

/* ---- Control tokens: pieces between | in the text */

static void control_tokens(void **state)
{
    static const struct {
        const char *text;
        bool special;
    } pieces[] = {
        { "<tool_call>", true },  { "get\n", false },          { "<arg_key>", true },
        { "city", false },        { "</arg_key>", true },      { "\n", false },
        { "<arg_value>", true },  { "a</arg_value>b", false }, { "</arg_value>", true },
        { "</tool_call>", true },
    };
    struct quire_chat_output_params p;
    struct quire_chat_output_message m = { .struct_size = sizeof m };
    struct quire_chat_output *o;
    (void)state;
    quire_chat_output_params_init(&p, sizeof p);
    p.format = "glm4_5_xml";
    p.tools_json = tools;
    assert_int_equal(quire_chat_output_create(&p, &o, NULL), QUIRE_OK);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        assert_int_equal(quire_chat_output_push(o, pieces[i].text, strlen(pieces[i].text),
                                                pieces[i].special, NULL),
                         QUIRE_OK);
    assert_int_equal(quire_chat_output_finish(o, NULL), QUIRE_OK);
    assert_int_equal(quire_chat_output_get_message(o, &m, NULL), QUIRE_OK);
    assert_int_equal(m.n_tool_calls, 1);
    assert_string_equal(m.tool_calls[0].arguments, "{\"city\": \"a</arg_value>b\"}");
    assert_int_equal(strlen(m.tool_calls[0].id), 9);
    quire_chat_output_destroy(o);
}

/* The message of a text with the given settings; freed by the caller with the parser. */
static struct quire_chat_output *parsed(struct quire_chat_output_params *p, const char *text,
                                        struct quire_chat_output_message *m)
{
    struct quire_chat_output *o;
    m->struct_size = sizeof *m;
    assert_int_equal(quire_chat_output_create(p, &o, NULL), QUIRE_OK);
    assert_int_equal(quire_chat_output_push(o, text, strlen(text), false, NULL), QUIRE_OK);
    assert_int_equal(quire_chat_output_finish(o, NULL), QUIRE_OK);
    assert_int_equal(quire_chat_output_get_message(o, m, NULL), QUIRE_OK);
    return o;
}

static void settings(void **state)
{
    static const char two[] = "<tool_call>{\"name\": \"now\"}</tool_call>"
                              "<tool_call>{\"name\": \"get\", \"arguments\": {}}</tool_call>";
    struct quire_chat_output_params p;
    struct quire_chat_output_message m;
    struct quire_chat_output *o;
    char id[16];
    (void)state;
    quire_chat_output_params_init(&p, sizeof p);
    p.format = "hermes";
    p.single_call = true;
    o = parsed(&p, two, &m);
    assert_int_equal(m.n_tool_calls, 1);
    snprintf(id, sizeof id, "%s", m.tool_calls[0].id);
    quire_chat_output_destroy(o);

    p.single_call = false; /* the id depends on the seed and the index only */
    o = parsed(&p, two, &m);
    assert_int_equal(m.n_tool_calls, 2);
    assert_string_equal(m.tool_calls[0].id, id);
    assert_string_not_equal(m.tool_calls[1].id, id);
    quire_chat_output_destroy(o);
    p.id_seed = 1;
    o = parsed(&p, two, &m);
    assert_string_not_equal(m.tool_calls[0].id, id);
    quire_chat_output_destroy(o);

    p.tool_choice = QUIRE_TOOL_CHOICE_NONE;
    o = parsed(&p, two, &m);
    assert_int_equal(m.n_tool_calls, 0);
    assert_string_equal(m.content, two);
    quire_chat_output_destroy(o);

    p.prompt_end = "<|im_start|>assistant\n<think>\n";
    p.prompt_end_size = strlen(p.prompt_end);
    o = parsed(&p, "a</think>b", &m);
    assert_string_equal(m.reasoning, "a");
    assert_string_equal(m.content, "b");
    quire_chat_output_destroy(o);
    p.reasoning = QUIRE_REASONING_NONE;
    o = parsed(&p, "a</think>b", &m);
    assert_string_equal(m.content, "<think>\na</think>b");
    quire_chat_output_destroy(o);
    p.prompt_end = "<|im_start|>assistant\n<think>\n\n</think>\n\n";
    p.prompt_end_size = strlen(p.prompt_end);
    p.reasoning = QUIRE_REASONING_AUTO;
    o = parsed(&p, "b", &m);
    assert_string_equal(m.content, "b");
    quire_chat_output_destroy(o);

    p = (struct quire_chat_output_params){ .struct_size = sizeof p };
    o = parsed(&p, two, &m);
    assert_string_equal(m.content, two);
    quire_chat_output_destroy(o);
}

static void detection(void **state)
{
    static const char *const cases[][2] = {
        { "...<tool_call>...", "hermes" },
        { "<tool_call>\n<function=example>\n<parameter=x>", "qwen3_coder_xml" },
        { "[AVAILABLE_TOOLS]...[TOOL_CALLS]", "mistral" },
        { "[TOOL_CALLS]...[ARGS]", "mistral_v11" },
        { "<|start|>assistant<|channel|>", "harmony" },
        { "<|start|>assistant<|message|><atem:function_calls>\n", "muse_glimmer" },
        { "<｜tool▁calls▁begin｜>...```json", "deepseek_v3" },
        { "<｜tool▁calls▁begin｜>", "deepseek_v3_1" },
        { "<|start_header_id|>", "llama3_json" },
        { "<tool_call>{name}\n<arg_key>", "glm4_5_xml" },
        { "{{ bos_token }}<start_of_turn>", "generic_json" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(quire_chat_output_detect(cases[i][0], strlen(cases[i][0])),
                            cases[i][1]);
}

/* Time is linear: a long answer byte by byte, and brackets that never close. */
static void long_texts(void **state)
{
    static const char *const formats[] = { "hermes", "lfm2", "gemma4", "glm4_5_xml",
                                           "llama3_json" };
    static const char *const heads[] = {
        "<tool_call>{\"name\": \"get\", \"arguments\": {\"city\": \"",
        "<|tool_call_start|>[get(city='",
        "<|tool_call>call:get{city:<|\"|>",
        "<tool_call>get\n<arg_key>city</arg_key>\n<arg_value>",
        "{\"name\": \"get\", \"parameters\": {\"city\": \"",
    };
    static const char *const fills[] = { "x", "(", "[[{", "a\\\"" };
    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (size_t k = 0; k < sizeof fills / sizeof *fills; k++) {
            struct quire_chat_output_params p;
            struct quire_chat_output *o;
            quire_chat_output_params_init(&p, sizeof p);
            p.format = formats[f];
            p.tools_json = tools;
            assert_int_equal(quire_chat_output_create(&p, &o, NULL), QUIRE_OK);
            assert_int_equal(quire_chat_output_push(o, heads[f], strlen(heads[f]), false, NULL),
                             QUIRE_OK);
            for (unsigned i = 0; i < 50000; i++)
                assert_int_equal(quire_chat_output_push(o, fills[k], strlen(fills[k]), false, NULL),
                                 QUIRE_OK);
            assert_int_equal(quire_chat_output_finish(o, NULL), QUIRE_OK);
            quire_chat_output_destroy(o);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_formats),    cmocka_unit_test(every_format_has_an_answer),
        cmocka_unit_test(control_tokens), cmocka_unit_test(settings),
        cmocka_unit_test(detection),      cmocka_unit_test(long_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
