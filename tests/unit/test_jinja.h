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

/* Renders a template with the limits of params. Returns the text, owned by the caller, or NULL
 * after filling *err. */
static inline char *jinja_render_with(const char *source,
                                      const struct quire_chat_template_params *params,
                                      const char *variables, struct quire_error *err)
{
    struct quire_chat_render_args input = { .struct_size = sizeof input };
    struct quire_chat_template *tmpl;
    struct quire_chat_prompt *prompt;
    char *text = NULL;
    input.messages_json = jinja_messages;
    input.variables_json = variables;
    if (quire_chat_template_create(source, QUIRE_NUL_TERMINATED, params, &tmpl, err) != QUIRE_OK)
        return NULL;
    if (quire_chat_template_render(tmpl, &input, &prompt, err) == QUIRE_OK) {
        text = strdup(quire_chat_prompt_text(prompt, NULL));
        quire_chat_prompt_destroy(prompt);
    }
    quire_chat_template_destroy(tmpl);
    return text;
}

static inline char *jinja_render(const char *source, struct quire_error *err)
{
    const struct quire_chat_template_params params = { .struct_size = sizeof params,
                                                       .now = jinja_fixed_day };
    return jinja_render_with(source, &params, jinja_variables, err);
}

struct jinja_case {
    const char *source, *expected;
};

static const char *jinja_own_error; /* message of a template that fails even without limits */

/* Whether the template gives its result with the limits, or fails by one of them. */
static inline bool jinja_fits(const char *source, struct quire_chat_template_params params,
                              const char *variables)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    params.struct_size = sizeof params;
    params.now = jinja_fixed_day;
    char *text = jinja_render_with(source, &params, variables, &err);
    if (!text && jinja_own_error && strcmp(err.msg, jinja_own_error) == 0)
        return true;
    if (!text && (err.code != QUIRE_E_LIMIT || !err.msg[0]))
        print_error("%s\n   below its limits: %s\n", source, err.msg);
    assert_true(text || (err.code == QUIRE_E_LIMIT && err.msg[0]));
    free(text);
    return text;
}

/* The next limit to try: all small distances from the first one, then by 0.4 %. */
static inline size_t jinja_next_limit(size_t limit, size_t first)
{
    return limit + 1 + (limit - first) / 256;
}

static inline size_t jinja_steps(const char *source, size_t first)
{
    size_t steps = first;
    while (!jinja_fits(source, (struct quire_chat_template_params){ .max_steps = steps },
                       jinja_variables))
        steps = jinja_next_limit(steps, first);
    return steps;
}

/* The memory of a render ends at the third chunk of its arena, in which the variables end. A last
 * variable of n * 16 bytes moves the end of the memory over the allocations of the template. */
enum { JINJA_THREE_CHUNKS = 4096 + 8192 + 16384, JINJA_MAX_PAD = 16384 / 16 };

static inline bool jinja_fits_memory(const char *source, size_t pad)
{
    static char variables[sizeof jinja_variables + 16 * JINJA_MAX_PAD + 16];
    const struct quire_chat_template_params params = { .max_memory_bytes = JINJA_THREE_CHUNKS };
    snprintf(variables, sizeof variables, "%.*s,\"pad\":\"%*s\"}", (int)sizeof jinja_variables - 2,
             jinja_variables, (int)(16 * pad), "");
    return jinja_fits(source, params, variables);
}

/* Parsing with memory for one chunk, which a comment of n * 16 bytes in front of the template
 * fills: every allocation of the parser fails for some n. */
static inline void jinja_check_parser_memory(const char *source)
{
    enum { CHUNK = 4096 };
    const struct quire_chat_template_params params = { .struct_size = sizeof params,
                                                       .max_memory_bytes = CHUNK };
    char padded[2 * CHUNK];
    struct quire_chat_template *tmpl = NULL;
    for (size_t pad = CHUNK; !tmpl && pad >= 16; pad -= 16) {
        struct quire_error err = QUIRE_ERROR_INIT;
        snprintf(padded, sizeof padded, "{#%*s#}%s", (int)pad, "", source);
        if (quire_chat_template_create(padded, QUIRE_NUL_TERMINATED, &params, &tmpl, &err) !=
            QUIRE_OK) {
            if (jinja_own_error && strcmp(err.msg, jinja_own_error) == 0)
                return;
            assert_int_equal(err.code, QUIRE_E_LIMIT);
            assert_string_equal(err.msg, "template: memory exceeds 4096 bytes");
        }
    }
    quire_chat_template_destroy(tmpl);
}

/* Renders a template with less steps, output and memory than it needs: every one fails cleanly. */
static inline void jinja_check_limits(const char *source, size_t output)
{
    static size_t no_steps, no_memory; /* limits that the variables alone reach */
    if (!no_steps) {
        for (no_steps = jinja_steps("", 1); no_steps > 1; no_steps--)
            if (!jinja_fits("", (struct quire_chat_template_params){ .max_steps = no_steps - 1 },
                            jinja_variables))
                break;
        while (jinja_fits_memory("", no_memory))
            assert_true(++no_memory < JINJA_MAX_PAD);
        assert_int_not_equal(no_memory, 0); /* else the variables exceed the limit */
    }
    jinja_check_parser_memory(source);
    jinja_steps(source, no_steps);
    for (size_t n = 1; n < output; n = jinja_next_limit(n, 1))
        jinja_fits(source, (struct quire_chat_template_params){ .max_output_bytes = n },
                   jinja_variables);
    for (size_t n = 1; n <= no_memory && !jinja_fits_memory(source, no_memory - n);)
        n = jinja_next_limit(n, 1);
}

/* Whether a case is rendered with less than it needs, too. */
static inline bool jinja_takes_limits(size_t i) { return i % 4 == 0 || !takes_sample(); }

/* Renders every case and compares, then with less than it needs. expressions: the sources are
 * expressions, to be put in {{ }}. */
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
        } else if (jinja_takes_limits(i)) {
            jinja_check_limits(source, strlen(text));
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
        } else if (err.code != QUIRE_E_LIMIT && jinja_takes_limits(i)) {
            jinja_own_error = cases[i].expected;
            jinja_check_limits(cases[i].source, sizeof err.msg);
            jinja_own_error = NULL;
        }
        free(text);
    }
    assert_int_equal(wrong, 0);
}

/* The program of a file with one table of results and one of messages. */
#define JINJA_MAIN(values, errors, expressions)                                                    \
    static void test_values(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        JINJA_CHECK(values, expressions);                                                          \
    }                                                                                              \
                                                                                                   \
    static void test_errors(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        jinja_check_errors(errors, sizeof errors / sizeof *errors);                                \
    }                                                                                              \
                                                                                                   \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_values),                         \
                                            cmocka_unit_test(test_errors) };                       \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

static inline void jinja_given_clock(void *user, struct tm *out)
{
    *out = *(const struct tm *)user;
}

/* strftime_now with a format, at a date. */
static inline char *jinja_render_date(const struct tm *date, const char *format,
                                      struct quire_error *err)
{
    char source[128];
    const struct quire_chat_template_params params = { .struct_size = sizeof params,
                                                       .now = jinja_given_clock,
                                                       .now_user = (void *)date };
    snprintf(source, sizeof source, "{{ strftime_now('%s') }}", format);
    return jinja_render_with(source, &params, NULL, err);
}

#endif
