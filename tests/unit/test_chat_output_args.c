/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_output_args.c - bad arguments of the public functions for model output. */
#include "quire_cmocka.h"
#include <quire/chat_output.h>
#include <stdlib.h>
#include <string.h>

static struct quire_error err = QUIRE_ERROR_INIT;

static struct quire_chat_output_params defaults(void)
{
    struct quire_chat_output_params p;
    quire_chat_output_params_init(&p, sizeof p);
    p.format = "hermes";
    return p;
}

static void refused(const struct quire_chat_output_params *p, quire_status status, const char *text)
{
    struct quire_chat_output *o = (void *)&err;
    assert_int_equal(quire_chat_output_create(p, &o, &err), status);
    assert_null(o);
    if (!strstr(err.msg, text))
        fail_msg("\"%s\" lacks \"%s\"", err.msg, text);
}

static void names(void **state)
{
    size_t n = 0;
    (void)state;
    for (const char *name; (name = quire_chat_output_format_name(n)); n++) {
        struct quire_chat_output_params p = defaults();
        struct quire_chat_output *o;
        p.format = name;
        assert_int_equal(quire_chat_output_create(&p, &o, NULL), QUIRE_OK);
        quire_chat_output_destroy(o);
    }
    assert_true(n >= 40);
    assert_null(quire_chat_output_format_name(SIZE_MAX));
    assert_null(quire_chat_output_detect(NULL, 5));
    assert_string_equal(quire_chat_output_detect("", 0), "generic_json");
    assert_string_equal(quire_chat_output_detect("<arg_key>", QUIRE_NUL_TERMINATED), "glm4_5_xml");
    assert_false(quire_chat_output_has_thinking(NULL, "<think>", 7));
    assert_false(quire_chat_output_has_thinking("hermes", NULL, 7));
    assert_false(quire_chat_output_has_thinking("none", "<think>", 7));
    assert_false(quire_chat_output_has_thinking("hermes", "a <think>", 8));
    assert_true(quire_chat_output_has_thinking("hermes", "a <think>", 9));
    assert_true(quire_chat_output_has_thinking("hermes", "{{ x.split('</think>') }}", SIZE_MAX));
    assert_true(quire_chat_output_has_thinking("harmony", "<|channel|>analysis<|message|>", 30));
    assert_false(quire_chat_output_has_thinking("harmony", "<|channel|>final<|message|>", 27));
    assert_false(quire_chat_output_has_thinking("content_only", "<think>", 7));
}

static void create(void **state)
{
    struct quire_chat_output_params p = defaults();
    (void)state;
    assert_int_equal(quire_chat_output_create(&p, NULL, &err), QUIRE_E_INVALID_ARG);
    refused(NULL, QUIRE_E_INVALID_ARG, "params");
    p.struct_size = 4;
    refused(&p, QUIRE_E_MISUSE, "params");
    p = defaults();
    p.format = "no such format";
    refused(&p, QUIRE_E_INVALID_ARG, "no such format");
    p = defaults();
    p.reasoning = (enum quire_reasoning_format)7;
    refused(&p, QUIRE_E_INVALID_ARG, "reasoning");
    p = defaults();
    p.thinking = (enum quire_thinking)7;
    refused(&p, QUIRE_E_INVALID_ARG, "thinking");
    p = defaults();
    p.tool_choice = (enum quire_tool_choice)7;
    refused(&p, QUIRE_E_INVALID_ARG, "tool_choice");
    p = defaults();
    p.prompt_end_size = 1;
    refused(&p, QUIRE_E_INVALID_ARG, "prompt_end");
    quire_chat_output_params_init(NULL, 0);
    quire_chat_output_destroy(NULL);
}

static void tools(void **state)
{
    static const struct {
        const char *json, *text;
        quire_status status;
    } cases[] = {
        { "{", "tools_json", QUIRE_E_FORMAT },
        { "{}", "no array", QUIRE_E_INVALID_ARG },
        { "[{\"name\":\"a\"},1]", "tools[1]", QUIRE_E_INVALID_ARG },
        { "[{\"function\":{}}]", "tools[0] has no name", QUIRE_E_INVALID_ARG },
        { "[{\"name\":\"a\"},{\"name\":\"b\"},{\"function\":{\"name\":\"a\"}}]",
          "tools[0] and tools[2] have the name \"a\"", QUIRE_E_INVALID_ARG },
        { "[{\"name\":\"a\",\"parameters\":[]}]", "tools[0] (\"a\"): parameters",
          QUIRE_E_INVALID_ARG },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quire_chat_output_params p = defaults();
        struct quire_chat_tool_grammar_params g;
        char *out = (char *)&p;
        p.tools_json = cases[i].json;
        refused(&p, cases[i].status, cases[i].text);
        quire_chat_tool_grammar_params_init(&g, sizeof g);
        g.format = "hermes";
        g.tools_json = cases[i].json;
        assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), cases[i].status);
        assert_null(out);
        assert_non_null(strstr(err.msg, cases[i].text));
    }
}

static void push(void **state)
{
    struct quire_chat_output_params p = defaults();
    struct quire_chat_output_message m = { .struct_size = sizeof m };
    struct quire_chat_output *o;
    struct quire_chat_delta d;
    (void)state;
    p.max_bytes = 8;
    assert_int_equal(quire_chat_output_create(&p, &o, &err), QUIRE_OK);
    assert_int_equal(quire_chat_output_push(NULL, "a", 1, false, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_chat_output_push(o, NULL, 1, false, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_chat_output_push(o, NULL, 0, false, &err), QUIRE_OK);
    assert_int_equal(quire_chat_output_push(o, "123456789", 9, false, &err), QUIRE_E_LIMIT);
    assert_int_equal(quire_chat_output_push(o, "12345678", 8, false, &err), QUIRE_OK);
    assert_int_equal(quire_chat_output_push(o, "9", 1, false, &err), QUIRE_E_LIMIT);
    assert_false(quire_chat_output_next(NULL, &d));
    assert_false(quire_chat_output_next(o, NULL));
    assert_true(quire_chat_output_next(o, &d));
    assert_false(quire_chat_output_next(o, &d));
    assert_int_equal(quire_chat_output_finish(NULL, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_chat_output_finish(o, &err), QUIRE_OK);
    assert_int_equal(quire_chat_output_finish(o, &err), QUIRE_OK);
    assert_int_equal(quire_chat_output_push(o, "a", 1, false, &err), QUIRE_E_MISUSE);
    assert_int_equal(quire_chat_output_get_message(NULL, &m, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_chat_output_get_message(o, NULL, &err), QUIRE_E_INVALID_ARG);
    m.struct_size = 4;
    assert_int_equal(quire_chat_output_get_message(o, &m, &err), QUIRE_E_MISUSE);
    m.struct_size = sizeof m;
    assert_int_equal(quire_chat_output_get_message(o, &m, &err), QUIRE_OK);
    assert_string_equal(m.content, "12345678");
    assert_string_equal(m.reasoning, "");
    quire_chat_output_destroy(o);
}

static void grammar(void **state)
{
    static const char one[] = "[{\"name\":\"a b\"}]", no_object[] =
                                                          "[{\"name\":\"a\",\"parameters\":"
                                                          "{\"type\":\"string\"}}]";
    struct quire_chat_tool_grammar_params g;
    char *out;
    (void)state;
    quire_chat_tool_grammar_params_init(&g, sizeof g);
    assert_int_equal(quire_chat_tool_grammar(&g, NULL, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_chat_tool_grammar(NULL, &out, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_INVALID_ARG); /* format */
    g.format = "no such format";
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_INVALID_ARG);
    g.format = "hermes";
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_INVALID_ARG); /* tools */
    g.tools_json = "[]";
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_INVALID_ARG);
    g.tools_json = one;
    g.tool_choice = QUIRE_TOOL_CHOICE_NAMED;
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_INVALID_ARG); /* name */
    g.tool_name = "other";
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_INVALID_ARG);
    assert_non_null(strstr(err.msg, "other"));
    g.tool_choice = (enum quire_tool_choice)9;
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_INVALID_ARG);
    g.tool_choice = QUIRE_TOOL_CHOICE_AUTO;
    g.thinking = (enum quire_thinking)9;
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_INVALID_ARG);
    g.thinking = QUIRE_THINKING_BY_PROMPT;
    g.prompt_end_size = 1;
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_INVALID_ARG);
    g.prompt_end_size = 0;
    g.response_schema_json = "{";
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_FORMAT);
    g.response_schema_json = NULL;
    g.format = "pythonic";
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "tools[0]"));
    g.format = "step3";
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_UNSUPPORTED);
    g.format = "hermes";
    g.tools_json = no_object;
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_UNSUPPORTED);
    g.tool_choice = QUIRE_TOOL_CHOICE_NONE;
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_OK);
    assert_null(out);
    g.struct_size = 4;
    assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_E_MISUSE);
    quire_chat_tool_grammar_free(NULL, NULL);
    quire_chat_tool_grammar_params_init(NULL, 0);
}

/* ---- Memory: the n-th allocation fails */

struct failing {
    unsigned left;
    size_t live;
};

static void *failing_alloc(void *user, size_t size, size_t align)
{
    struct failing *const f = user;
    if (f->left == 0)
        return NULL;
    f->left--;
    f->live++;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void failing_free(void *user, void *p, size_t size)
{
    (void)size;
    ((struct failing *)user)->live--;
    free(p);
}

static void out_of_memory(void **state)
{
    static const char text[] = "<think>a</think> b <tool_call>\n{\"name\": \"f\", \"arguments\": "
                               "{\"x\": \"\\n\", \"y\": [1, 2]}}\n</tool_call> c";
    bool done = false;
    (void)state;
    for (unsigned n = 0; !done; n++) {
        struct failing f = { .left = n };
        const struct quire_allocator a = { &f, failing_alloc, failing_free };
        struct quire_chat_output_params p = defaults();
        struct quire_chat_output_message m = { .struct_size = sizeof m };
        struct quire_chat_output *o;
        p.allocator = &a;
        p.tools_json = "[{\"name\":\"f\"}]";
        quire_status status = quire_chat_output_create(&p, &o, &err);
        if (status == QUIRE_OK)
            status = quire_chat_output_push(o, text, sizeof text - 1, false, &err);
        if (status == QUIRE_OK)
            status = quire_chat_output_finish(o, &err);
        if (status == QUIRE_OK)
            status = quire_chat_output_get_message(o, &m, &err);
        done = status == QUIRE_OK;
        if (done)
            assert_int_equal(m.n_tool_calls, 1);
        else
            assert_int_equal(status, QUIRE_E_NOMEM);
        quire_chat_output_destroy(o);
        assert_int_equal(f.live, 0);
        assert_true(n < 1000);
    }
}

/* An answer of a model that does not think begins with its content, unless the prompt says else. */
static void no_thinking(void **state)
{
    (void)state;
    static const char *const prompts[] = { "", "<think>\n" };
    for (size_t i = 0; i < 4; i++) {
        struct quire_chat_tool_grammar_params g;
        char *out;
        quire_chat_tool_grammar_params_init(&g, sizeof g);
        g.format = "hermes";
        g.tool_choice = QUIRE_TOOL_CHOICE_NONE;
        g.response_schema_json = "{\"type\":\"integer\"}";
        g.prompt_end = prompts[i / 2];
        g.prompt_end_size = strlen(g.prompt_end);
        g.no_thinking = i % 2;
        assert_int_equal(quire_chat_tool_grammar(&g, &out, &err), QUIRE_OK);
        assert_int_equal(strstr(out, "think>") != NULL, i != 1);
        quire_chat_tool_grammar_free(NULL, out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),       cmocka_unit_test(create),  cmocka_unit_test(tools),
        cmocka_unit_test(push),        cmocka_unit_test(grammar), cmocka_unit_test(out_of_memory),
        cmocka_unit_test(no_thinking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
