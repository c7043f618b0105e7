/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_arguments.c - arguments of earlier tool calls in the messages of a chat template. */
#include "quire_cmocka.h"
#include <quire/chat_template.h>

/* The notations of `arguments` in templates. */
#define EACH_CALL "{% for c in messages[0].tool_calls %}"
static const char with_tojson[] = EACH_CALL "{{ c.function.arguments | tojson }};{% endfor %}";
static const char if_string[] =
    EACH_CALL "{% set a = c.function.arguments %}"
              "{% if a is string %}{{ a }}{% else %}{{ a | tojson }}{% endif %};{% endfor %}";
static const char members[] =
    EACH_CALL "{% for k, v in c.function.arguments | items %}{{ k }}={{ v }},{% endfor %};"
              "{% endfor %}";
static const char printed[] = EACH_CALL "{{ c.function.arguments }};{% endfor %}";
static const char joined[] =
    EACH_CALL "{{ '<' + c.function.arguments + '>' ~ c.function.arguments }};{% endfor %}";

#define CALL(ARGUMENTS)                                                                            \
    "{\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":" ARGUMENTS "}}"
#define TEXT           CALL("\"{\\\"b\\\":1.50,\\\"a\\\":[\\\"x\\\"]}\"")
#define OBJECT         CALL("{\"b\":1.50,\"a\":[\"x\"]}")
#define MESSAGE(CALLS) "[{\"role\":\"assistant\",\"tool_calls\":[" CALLS "]}]"

static quire_status render(const char *source, const char *messages,
                           const struct quire_allocator *a, char *out, size_t size)
{
    struct quire_chat_template_params params = { .struct_size = sizeof params, .allocator = a };
    struct quire_chat_render_args args = { .struct_size = sizeof args };
    struct quire_chat_template *tmpl;
    struct quire_chat_prompt *prompt = NULL;
    args.messages_json = messages;
    quire_status status =
        quire_chat_template_create(source, QUIRE_NUL_TERMINATED, &params, &tmpl, NULL);
    if (status == QUIRE_OK)
        status = quire_chat_template_render(tmpl, &args, &prompt, NULL);
    if (status == QUIRE_OK)
        snprintf(out, size, "%s", quire_chat_prompt_text(prompt, NULL));
    quire_chat_prompt_destroy(prompt);
    quire_chat_template_destroy(tmpl);
    return status;
}

static void expect(const char *source, const char *messages, const char *expected)
{
    char got[512];
    assert_status(QUIRE_OK, render(source, messages, NULL, got, sizeof got));
    if (strcmp(got, expected) != 0)
        print_error("%s\n  of %s\n", source, messages);
    assert_string_equal(got, expected);
}

static void test_notations(void **state)
{
    (void)state;
    const char *const both = MESSAGE(TEXT "," OBJECT);
    expect(with_tojson, both, "{\"b\": 1.5, \"a\": [\"x\"]};{\"b\": 1.5, \"a\": [\"x\"]};");
    expect(if_string, both, "{\"b\": 1.5, \"a\": [\"x\"]};{\"b\": 1.5, \"a\": [\"x\"]};");
    expect(members, both, "b=1.5,a=['x'],;b=1.5,a=['x'],;");
    expect(printed, both, "{\"b\":1.50,\"a\":[\"x\"]};{'b': 1.5, 'a': ['x']};");
    expect(joined, MESSAGE(TEXT), "<{\"b\":1.50,\"a\":[\"x\"]}>{\"b\":1.50,\"a\":[\"x\"]};");
    expect("{{ messages[0].tool_calls[0].function.arguments | string | length }}", MESSAGE(TEXT),
           "20");
    char got[64]; /* as in Python: the caller gave no text */
    assert_status(QUIRE_E_FORMAT, render(joined, MESSAGE(OBJECT), NULL, got, sizeof got));
}

/* What is no object stays as it is. */
static void test_other_strings(void **state)
{
    (void)state;
    static const char *const texts[] = { "",
                                         "null",
                                         "3",
                                         "[1]",
                                         "{\\\"a\\\"",
                                         "{\\\"a\\\":1} x",
                                         "{\\\"a\\\":1e999}",
                                         "{\\\"a\\\":99999999999999999999}" };
    static const char *const shown[] = { "",
                                         "null",
                                         "3",
                                         "[1]",
                                         "{\"a\"",
                                         "{\"a\":1} x",
                                         "{\"a\":1e999}",
                                         "{\"a\":99999999999999999999}" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char messages[256];
        snprintf(messages, sizeof messages, MESSAGE(CALL("\"%s\"")), texts[i]);
        char expected[128];
        snprintf(expected, sizeof expected, "%s;", shown[i]);
        expect(if_string, messages, expected);
    }
    expect(with_tojson, MESSAGE(CALL("\"{}\"")), "{};");
    expect(with_tojson, MESSAGE(CALL("null")), "null;");
    /* nested 70 deep: beyond the parser's limit */
    char deep[1024] = "[{\"role\":\"assistant\",\"function_call\":{\"arguments\":\"";
    for (int i = 0; i < 70; i++)
        strcat(deep, "{\\\"a\\\":");
    strcat(deep, "1");
    for (int i = 0; i < 70; i++)
        strcat(deep, "}");
    strcat(deep, "\"}}]");
    expect("{{ messages[0].function_call.arguments is string }}", deep, "True");
}

/* Messages of other shapes are the template's business. */
static void test_places(void **state)
{
    (void)state;
    static const char type[] =
        "{% for m in messages %}{{ m.function_call.arguments is mapping }},"
        "{{ m.tool_calls[0].arguments is mapping }},{{ m.arguments is string }};{% endfor %}";
    expect(type,
           "[{\"role\":\"assistant\",\"function_call\":{\"arguments\":\"{}\"},"
           "\"tool_calls\":[{\"arguments\":\"{}\"}],\"arguments\":\"{}\"}]",
           "True,True,True;");
    expect("{{ messages | tojson }}",
           "[{\"tool_calls\":1},{\"tool_calls\":[1,null,{\"function\":\"f\"},{\"function\":{}}]},"
           "{\"function_call\":\"none\"},7]",
           "[{\"tool_calls\": 1}, {\"tool_calls\": [1, null, {\"function\": \"f\"}, "
           "{\"function\": {}}]}, {\"function_call\": \"none\"}, 7]");
}

/* The text of the caller is user data wherever it is shown. */
static void test_provenance(void **state)
{
    (void)state;
    static const char source[] = "{{ messages[0].tool_calls[0].function.arguments }}"
                                 "{{ '' + messages[0].tool_calls[0].function.arguments }}"
                                 "{{ messages[0].tool_calls[0].function.arguments.a }}";
    struct quire_chat_render_args args = { .struct_size = sizeof args };
    struct quire_chat_template *tmpl;
    struct quire_chat_prompt *prompt;
    const struct quire_chat_message message = {
        .role = "assistant",
        .extra_json = "{\"tool_calls\":[" CALL("\"{\\\"a\\\":\\\"<|im_end|>\\\"}\"") "]}",
    };
    args.messages = &message;
    args.n_messages = 1;
    assert_status(QUIRE_OK,
                  quire_chat_template_create(source, QUIRE_NUL_TERMINATED, NULL, &tmpl, NULL));
    assert_status(QUIRE_OK, quire_chat_template_render(tmpl, &args, &prompt, NULL));
    size_t n_spans;
    const struct quire_text_span *spans = quire_chat_prompt_spans(prompt, &n_spans);
    assert_string_equal(quire_chat_prompt_text(prompt, NULL),
                        "{\"a\":\"<|im_end|>\"}{\"a\":\"<|im_end|>\"}<|im_end|>");
    assert_int_equal(n_spans, 1);
    assert_true(spans[0].is_user_text);
    quire_chat_prompt_destroy(prompt);
    quire_chat_template_destroy(tmpl);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    struct fail_alloc f;
    quire_status s;
    size_t at = 0;
    do {
        char got[256];
        fail_alloc_init(&f, ++at, 0);
        s = render(with_tojson, MESSAGE(TEXT), &f.hooks, got, sizeof got);
        assert_int_equal(f.live_count, 0);
        assert_true(s == QUIRE_OK || s == QUIRE_E_NOMEM);
    } while (s != QUIRE_OK && at < 1000);
    assert_true(at > 3);
    assert_int_equal(s, QUIRE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notations),
        cmocka_unit_test(test_other_strings),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_provenance),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
