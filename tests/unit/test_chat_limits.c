/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_limits.c - clocks of chat templates, and renders with too little memory or too few
 * steps for each of their inputs. */
#include "chat_format/chat_prompt.h"
#include "test_jinja.h"

/* Days around the turn of the year; the expected text is that of Python. */
static void test_dates(void **state)
{
    static const struct {
        struct tm date;
        const char *expected;
    } cases[] = {
        { { .tm_year = 121, .tm_mon = 0, .tm_mday = 1, .tm_hour = 0 },
          "2020-53 00 00 5 5 001 12 AM 21 20" },
        { { .tm_year = 118, .tm_mon = 11, .tm_mday = 31, .tm_hour = 11 },
          "2019-01 52 53 1 1 365 11 AM 18 20" },
        { { .tm_year = 120, .tm_mon = 11, .tm_mday = 31, .tm_hour = 12 },
          "2020-53 52 52 4 4 366 12 PM 20 20" },
        { { .tm_year = 116, .tm_mon = 0, .tm_mday = 3, .tm_hour = 23 },
          "2015-53 01 00 7 0 003 11 PM 16 20" },
        { { .tm_year = 124, .tm_mon = 1, .tm_mday = 29, .tm_hour = 1 },
          "2024-09 08 09 4 4 060 01 AM 24 20" },
        { { .tm_year = 0, .tm_mon = 2, .tm_mday = 1, .tm_hour = 13 },
          "1900-09 08 09 4 4 060 01 PM 00 19" },
        { { .tm_year = 100, .tm_mon = 11, .tm_mday = 31, .tm_hour = 5 },
          "2000-52 53 52 7 0 366 05 AM 00 20" },
        { { .tm_year = 123, .tm_mon = 0, .tm_mday = 1, .tm_hour = 12 },
          "2022-52 01 00 7 0 001 12 PM 23 20" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        char *text = jinja_render_date(&cases[i].date, "%G-%V %U %W %u %w %j %I %p %y %C", &err);
        assert_non_null(text);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
}

static void test_invalid_clock(void **state)
{
    static const struct tm dates[] = {
        { .tm_year = 126, .tm_mon = -1, .tm_mday = 1 },
        { .tm_year = 126, .tm_mon = 12, .tm_mday = 1 },
        { .tm_year = 126, .tm_mday = 0 },
        { .tm_year = 126, .tm_mday = 32 },
        { .tm_year = 126, .tm_mday = 1, .tm_hour = -1 },
        { .tm_year = 126, .tm_mday = 1, .tm_hour = 24 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_null(jinja_render_date(&dates[i], "%Y", &err));
        assert_int_equal(err.code, QUIRE_E_INVALID_ARG);
        assert_string_equal(err.msg, "template: the clock returned an invalid date");
    }
}

#define X50  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define LONG X50 X50 X50 X50 X50 X50 /* is charged, unlike less than 256 bytes */

/* Every input that a render converts. */
static const struct quire_chat_message messages[] = {
    { .role = "user", .content = "h\xff\xffi" LONG "\xff" LONG },
    { .role = "assistant", .content = "yo" },
    { .role = LONG, .extra_json = "{\"a\":1}" },
};
#define ARGUMENTS(text) "{\"arguments\":\"{\\\"k\\\":\\\"" text "\\\"}\"}"
#define TOOL_CALLS      "[{\"function\":" ARGUMENTS("x") "}," ARGUMENTS("y") "]"
#define FUNCTION_CALL   ARGUMENTS(LONG)
static const struct quire_chat_render_args inputs[] = {
    { .struct_size = sizeof *inputs, .messages = messages, .n_messages = 3, .bos_token = LONG },
    { .struct_size = sizeof *inputs,
      .messages_json = "[{\"role\":\"user\",\"content\":[1,\"x\",null,true,1.5]},5,"
                       "{\"role\":\"" LONG "\",\"" LONG "\":1},{\"role\":5},{\"role\":\"\"}]",
      .tools_json = "[{\"a\":{\"b\":[]}}]",
      .eos_token = "</s>" },
    { .struct_size = sizeof *inputs,
      .messages_json = "[]",
      .special_tokens_json = "{\"pad_token\":\"<p>\"}",
      .variables_json = "{\"a\":1,\"b\":[\"x\"]}",
      .tools_json = "[]",
      .add_generation_prompt = 1 },
    { .struct_size = sizeof *inputs,
      .messages_json = "[{\"role\":\"assistant\",\"function_call\":" FUNCTION_CALL
                       ",\"tool_calls\":" TOOL_CALLS "}]" },
};

static quire_status render_input(const struct quire_chat_render_args *input,
                                 struct quire_chat_template_params params, struct quire_error *err)
{
    struct quire_chat_template *tmpl;
    struct quire_chat_prompt *prompt;
    params.struct_size = sizeof params;
    quire_status st = quire_chat_template_create("{{ messages|tojson }}{{ tools }}{{ a }}",
                                                 QUIRE_NUL_TERMINATED, &params, &tmpl, err);
    if (st != QUIRE_OK)
        return st;
    st = quire_chat_template_render(tmpl, input, &prompt, err);
    assert_true((st == QUIRE_OK) == (prompt != NULL));
    if (prompt)
        quire_chat_prompt_destroy(prompt);
    quire_chat_template_destroy(tmpl);
    return st;
}

static void test_steps_of_inputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        quire_status st = QUIRE_E_LIMIT;
        for (size_t steps = 1; st != QUIRE_OK; steps++) {
            struct quire_error err = QUIRE_ERROR_INIT;
            st = render_input(&inputs[i], (struct quire_chat_template_params){ .max_steps = steps },
                              &err);
            assert_true(st == QUIRE_OK || st == QUIRE_E_LIMIT);
            if (st != QUIRE_OK) {
                assert_non_null(strstr(err.msg, "step budget exhausted"));
            }
        }
    }
}

static void test_memory_of_inputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        quire_status st = QUIRE_E_NOMEM;
        for (size_t fail_at = 1; st != QUIRE_OK; fail_at++) {
            struct quire_error err = QUIRE_ERROR_INIT;
            struct fail_alloc f;
            fail_alloc_init(&f, fail_at, false);
            st = render_input(&inputs[i],
                              (struct quire_chat_template_params){ .allocator = &f.hooks }, &err);
            assert_true(st == QUIRE_OK || (st == QUIRE_E_NOMEM && err.msg[0]));
            assert_int_equal(f.live_count, 0);
            assert_true(fail_at < 1000);
        }
    }
}

/* Memory of three chunks. One special token fills the second, another one of n * 16 bytes most of
 * the third: the end of the memory moves over the allocations of the conversion, each of which
 * fails for some n. */
static void test_memory_limit_of_inputs(void **state)
{
    enum { SECOND = 8192, THIRD = 16384 };
    static char tokens[SECOND + THIRD + 64];
    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        quire_status st = QUIRE_E_LIMIT;
        for (int n = THIRD / 16; st != QUIRE_OK; n--) {
            struct quire_chat_render_args input = inputs[i];
            struct quire_error err = QUIRE_ERROR_INIT;
            assert_true(n >= 0);
            snprintf(tokens, sizeof tokens, "{\"unk_token\":\"%*s\",\"pad_token\":\"%*s\"}",
                     SECOND - 256, "", 16 * n, "");
            input.special_tokens_json = tokens;
            st = render_input(
                &input,
                (struct quire_chat_template_params){ .max_memory_bytes = 4096 + SECOND + THIRD },
                &err);
            assert_true(st == QUIRE_OK || st == QUIRE_E_LIMIT);
            if (st != QUIRE_OK) {
                assert_string_equal(err.msg, "template: memory exceeds 28672 bytes");
            }
        }
    }
}

static void test_infinite_number(void **state)
{
    const struct quire_chat_render_args input = { .struct_size = sizeof input,
                                                  .messages_json = "[]",
                                                  .variables_json = "{\"a\":9e308}" };
    struct quire_error err = QUIRE_ERROR_INIT;
    (void)state;
    assert_status(QUIRE_E_RANGE,
                  render_input(&input, (struct quire_chat_template_params){ .now = NULL }, &err));
    assert_string_equal(err.msg, "a number is too large");
}

/* The mark for an invalid byte is longer than the byte. */
static void test_replacement_limit(void **state)
{
    const struct quire_chat_render_args input = { .struct_size = sizeof input,
                                                  .messages_json = "[]",
                                                  .bos_token = "\xff" };
    struct quire_error err = QUIRE_ERROR_INIT;
    (void)state;
    assert_status(
        QUIRE_E_LIMIT,
        render_input(&input, (struct quire_chat_template_params){ .max_output_bytes = 2 }, &err));
    assert_string_equal(err.msg, "template: string or output exceeds 2 bytes");
}

/* User text after an empty prompt is its only span. */
static void test_append_to_nothing(void **state)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_prompt *prompt;
    struct qr_jinja_sb output = { .n = 0 };
    size_t n = 7;
    (void)state;
    assert_status(QUIRE_OK, qr_chat_prompt_new(NULL, &output, &prompt, &err));
    assert_string_equal(quire_chat_prompt_text(prompt, NULL), "");
    quire_chat_prompt_spans(prompt, &n);
    assert_int_equal(n, 0);
    assert_status(QUIRE_OK, qr_chat_prompt_append(prompt, "cd", 2, &err));
    const struct quire_text_span *const spans = quire_chat_prompt_spans(prompt, &n);
    assert_string_equal(quire_chat_prompt_text(prompt, NULL), "cd");
    assert_int_equal(n, 1);
    assert_int_equal(spans->offset, 0);
    assert_int_equal(spans->size, 2);
    assert_true(spans->is_user_text);
    quire_chat_prompt_destroy(prompt);
}

/* User text at the end of a prompt: a span of its own after text of the template, longer after user
 * text; a failure leaves the prompt as it is. */
static void test_append(void **state)
{
    (void)state;
    for (size_t at = 1, done = 0; !done; at++) {
        struct fail_alloc f;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_chat_prompt *prompt;
        struct qr_jinja_sb output = { .p = "ab", .n = 2 };
        size_t n = 0;
        fail_alloc_init(&f, 0, false);
        assert_status(QUIRE_OK, qr_chat_prompt_new(&f.hooks, &output, &prompt, &err));
        assert_status(QUIRE_OK, qr_chat_prompt_append(prompt, "", 0, &err));
        assert_status(QUIRE_E_LIMIT, qr_chat_prompt_append(prompt, "x", SIZE_MAX, &err));
        assert_status(QUIRE_E_LIMIT, qr_chat_prompt_append(prompt, "x", SIZE_MAX - 2, &err));
        assert_non_null(strstr(err.msg, "a text of"));
        f.fail_at = f.calls + at;
        quire_status s = qr_chat_prompt_append(prompt, "cd", 2, &err);
        if (s == QUIRE_OK)
            s = qr_chat_prompt_append(prompt, "e", 1, &err);
        done = f.calls < f.fail_at;
        assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        const struct quire_text_span *spans = quire_chat_prompt_spans(prompt, &n);
        const char *const text = at <= 2 ? "ab" : at <= 4 ? "abcd" : "abcde";
        assert_string_equal(quire_chat_prompt_text(prompt, NULL), text);
        assert_int_equal(n, at <= 2 ? 1 : 2);
        assert_int_equal(spans[n - 1].offset + spans[n - 1].size, strlen(text));
        assert_int_equal(spans[n - 1].is_user_text, at > 2);
        quire_chat_prompt_destroy(prompt);
        assert_int_equal(f.live_count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_invalid_clock),
        cmocka_unit_test(test_steps_of_inputs),
        cmocka_unit_test(test_memory_of_inputs),
        cmocka_unit_test(test_memory_limit_of_inputs),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_append_to_nothing),
        cmocka_unit_test(test_replacement_limit),
        cmocka_unit_test(test_infinite_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
