/* SPDX-License-Identifier: Apache-2.0 */
/* test_jinja.h - helpers that render small templates and check the result. */
#ifndef QR_TEST_JINJA_H
#define QR_TEST_JINJA_H
#include "quire_cmocka.h"
#include <quire/chat_template.h>

/* Variables of all cases. */
static const char jinja_variables[] =
    "{\"s\":\"Hello World\",\"e\":\"\",\"u\":\"h\u00e9llo W\u00f6rld \u00df "
    "\u65e5\u672c\",\"n\":5,\"f\":2.5,"
    "\"l\":[3,1,2],\"ll\":[[1,2],[3,4]],\"d\":{\"a\":1,\"b\":\"x\",\"items\":9,\"z\":null},"
    "\"nested\":{\"x\":{\"y\":[1,{\"k\":\"v\"}]}},"
    "\"users\":[{\"name\":\"bob\",\"age\":5,\"city\":\"NY\"},{\"name\":\"Al\",\"age\":3,\"city\":"
    "\"ny\"},"
    "{\"name\":\"Cy\",\"age\":4,\"city\":\"LA\"}],\"t\":true,\"dig\":\"123\",\"no\":null,\"big\":"
    "9007199254740993,"
    "\"html\":\"<a href=\\\"x\\\">'&</a>\",\"sp\":\"  pad "
    "\\n\",\"multi\":\"one\\ntwo\\r\\n\\nthree\\n\","
    "\"mixed\":[1,\"a\",null,true,2.5,[1],{\"q\":\"\u00e9\\n\\\"\"}]}";
static const char jinja_messages[] =
    "[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":\"yo\"}]";

/* 15 January 2026, a Thursday, at midnight. */
static inline void jinja_fixed_day(void *user, struct tm *out)
{
    (void)user;
    *out = (struct tm){ .tm_year = 126, .tm_mon = 0, .tm_mday = 15 };
}

/* Renders a template. Returns the text, owned by the caller, or NULL after filling *err. */
static inline char *jinja_render(const char *source, struct quire_error *err)
{
    struct quire_chat_template_params params = { .struct_size = sizeof params };
    struct quire_chat_render_args input = { .struct_size = sizeof input };
    struct quire_chat_template *tmpl;
    struct quire_chat_prompt *prompt;
    char *text = NULL;
    params.now = jinja_fixed_day;
    input.messages_json = jinja_messages;
    input.variables_json = jinja_variables;
    if (quire_chat_template_create(source, QUIRE_NUL_TERMINATED, &params, &tmpl, err) != QUIRE_OK)
        return NULL;
    if (quire_chat_template_render(tmpl, &input, &prompt, err) == QUIRE_OK) {
        text = strdup(quire_chat_prompt_text(prompt, NULL));
        quire_chat_prompt_destroy(prompt);
    }
    quire_chat_template_destroy(tmpl);
    return text;
}

struct jinja_case {
    const char *source, *expected;
};

/* Renders every case and compares. expressions: the sources are expressions, to be put in {{ }}. */
static inline void jinja_check(const struct jinja_case *cases, size_t n, bool expressions)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        char source[2048];
        struct quire_error err = QUIRE_ERROR_INIT;
        snprintf(source, sizeof source, expressions ? "{{ %s }}" : "%s", cases[i].source);
        char *text = jinja_render(source, &err);
        if (!text || strcmp(text, cases[i].expected) != 0) {
            print_error("%s\n   got  %s\n   want %s\n", source, text ? text : err.msg,
                        cases[i].expected);
            wrong++;
        }
        free(text);
    }
    assert_int_equal(wrong, 0);
}
#define JINJA_CHECK(cases, expressions)                                                            \
    jinja_check(cases, sizeof cases / sizeof *cases, expressions)

/* Renders cases that must fail; `expected` is the whole message. */
static inline void jinja_check_errors(const struct jinja_case *cases, size_t n)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        char *text = jinja_render(cases[i].source, &err);
        if (text || strcmp(err.msg, cases[i].expected) != 0) {
            print_error("%s\n   got  %s\n   want %s\n", cases[i].source, text ? text : err.msg,
                        cases[i].expected);
            wrong++;
        }
        free(text);
    }
    assert_int_equal(wrong, 0);
}

#endif
