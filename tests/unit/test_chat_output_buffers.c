/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_output_buffers.c - the buffers of parsers of model output: every allocation fails where
 * a long part of an answer makes one grow, and text that is decided leaves them. */
#include "chat_format/output/bytes.h"
#include "quire_cmocka.h"
#include "test_chat_output.h"

static const char tools[] =
    "[{\"name\":\"get\",\"parameters\":{\"properties\":{\"city\":{\"type\":\"string\"},"
    "\"days\":{\"type\":\"array\"}}}},{\"name\":\"now\"}]";

#define X64  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X256 X64 X64 X64 X64
#define N64  "1111111111111111111111111111111111111111111111111111111111111111"

/* Answers with one call, and what becomes of them. */
static const struct {
    const char *format, *text, *content, *name, *arguments;
} answers[] = {
    { "hermes", "a<tool_call>{\"name\":\"now\"}</tool_call>  b", "a  b", "now", "{}" },
    { "hermes", "<tool_call>{\"name\":\"get\",\"arguments\":\"" X256 "\"}</tool_call>", "", "get",
      "\"" X256 "\"" },
    { "hermes", "<tool_call>{\"id\":" N64 N64 ",\"name\":\"now\"}</tool_call>", "", "now", "{}" },
    { "minimax_m2",
      "<minimax:tool_call><invoke name=\"get\"><parameter name=\"city\">" X256
      "</parameter></invoke></minimax:tool_call>",
      "", "get", "{\"city\": \"" X256 "\"}" },
    { "pythonic", "[get(days=[(1,), 2])]", "", "get", "{\"days\": [[1], 2]}" },
};

static void answers_without_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        for (size_t n = 1, done = 0; !done; n++) {
            struct quire_chat_output_params p;
            struct quire_error err = QUIRE_ERROR_INIT;
            struct joined j;
            struct fail_alloc f;
            fail_alloc_init(&f, n, false);
            quire_chat_output_params_init(&p, sizeof p);
            p.allocator = &f.hooks;
            p.format = answers[i].format;
            p.tools_json = tools;
            p.thinking = QUIRE_THINKING_CLOSED;
            const quire_status s = joined_run(&j, &p, answers[i].text, strlen(answers[i].text),
                                              (struct pieces){ 0 }, &err);
            done = f.calls < n;
            assert_status(done ? QUIRE_OK : QUIRE_E_NOMEM, s);
            if (done) {
                assert_string_equal(j.content.text, answers[i].content);
                assert_int_equal(j.n_calls, 1);
                assert_string_equal(j.calls[0].name.text, answers[i].name);
                assert_string_equal(j.calls[0].arguments.text, answers[i].arguments);
            } else
                assert_non_null(strstr(err.msg, "memory"));
            joined_free(&j);
            assert_int_equal(f.live_count, 0);
        }
}

/* The thinking block that the prompt opened is content. */
static void prompts_without_memory(void **state)
{
    (void)state;
    for (size_t n = 1, done = 0; !done; n++) {
        struct quire_chat_output_params p;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct joined j;
        struct fail_alloc f;
        fail_alloc_init(&f, n, false);
        quire_chat_output_params_init(&p, sizeof p);
        p.allocator = &f.hooks;
        p.format = "hermes";
        p.reasoning = QUIRE_REASONING_NONE;
        p.prompt_end = "<think>";
        p.prompt_end_size = strlen(p.prompt_end);
        const quire_status s = joined_run(&j, &p, "a", 1, (struct pieces){ 0 }, &err);
        done = f.calls < n;
        assert_status(done ? QUIRE_OK : QUIRE_E_NOMEM, s);
        if (done)
            assert_string_equal(j.content.text, "<think>a");
        else
            assert_non_null(strstr(err.msg, "memory"));
        joined_free(&j);
        assert_int_equal(f.live_count, 0);
    }
}

/* A name that replaces a shorter one and leaves no room for its NUL. */
static void message_without_memory(void **state)
{
    static const char text[] = "<tool_call>{\"name\": \"a\", \"name\": \"" X64 "\"}</tool_call>";
    (void)state;
    for (size_t n = 1, done = 0; !done; n++) {
        struct quire_chat_output_params p;
        struct quire_chat_output_message m = { .struct_size = sizeof m };
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_chat_output *o;
        struct fail_alloc f;
        fail_alloc_init(&f, 0, false);
        quire_chat_output_params_init(&p, sizeof p);
        p.allocator = &f.hooks;
        p.format = "granite4";
        assert_status(QUIRE_OK, quire_chat_output_create(&p, &o, &err));
        assert_status(QUIRE_OK, quire_chat_output_push(o, text, sizeof text - 1, false, &err));
        assert_status(QUIRE_OK, quire_chat_output_finish(o, &err));
        f.fail_at = f.calls + n;
        const quire_status s = quire_chat_output_get_message(o, &m, &err);
        done = f.calls < f.fail_at;
        assert_status(done ? QUIRE_OK : QUIRE_E_NOMEM, s);
        if (!done) {
            assert_non_null(strstr(err.msg, "memory"));
            assert_status(QUIRE_OK, quire_chat_output_get_message(o, &m, &err));
        }
        assert_int_equal(m.n_tool_calls, 1);
        assert_string_equal(m.tool_calls[0].name, X64);
        quire_chat_output_destroy(o);
        assert_int_equal(f.live_count, 0);
    }
}

static quire_status write_grammar(const struct quire_allocator *a, size_t name_length, char **out,
                                  struct quire_error *err)
{
    static const char *const formats[] = { "hermes", "qwen3_coder_xml" };
    struct quire_chat_tool_grammar_params g;
    char json[512];
    snprintf(json, sizeof json, "[{\"name\":\"%.*s\"}]", (int)name_length, X256);
    quire_chat_tool_grammar_params_init(&g, sizeof g);
    g.allocator = a;
    g.format = formats[name_length / 4 % 2];
    g.tools_json = json;
    g.tool_choice = QUIRE_TOOL_CHOICE_REQUIRED;
    return quire_chat_tool_grammar(&g, out, err);
}

/* The head of a call grows at every place for some length of the name. */
static void grammars_without_memory(void **state)
{
    (void)state;
    for (size_t length = 1; length <= 2 * 64; length++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        char *wanted;
        assert_status(QUIRE_OK, write_grammar(NULL, length, &wanted, &err));
        for (size_t n = 1, done = 0; !done; n++) {
            struct fail_alloc f;
            char *out;
            fail_alloc_init(&f, n, false);
            const quire_status s = write_grammar(&f.hooks, length, &out, &err);
            done = f.calls < n;
            if (s == QUIRE_OK) /* also where only the check of the schema had no memory */
                assert_string_equal(out, wanted);
            else {
                assert_status(QUIRE_E_NOMEM, s);
                assert_non_null(strstr(err.msg, "memory"));
                assert_false(done);
            }
            quire_chat_tool_grammar_free(&f.hooks, out);
            assert_int_equal(f.live_count, 0);
        }
        quire_chat_tool_grammar_free(NULL, wanted);
    }
}

/* ---- Text that is decided */

static void drop(void **state)
{
    struct qr_bytes b = { 0 };
    (void)state;
    qr_bytes_drop(&b, 0);
    assert_null(b.data);
    assert_true(qr_bytes_append_text(NULL, &b, "abc"));
    qr_bytes_drop(&b, 0);
    assert_string_equal(qr_bytes_text(NULL, &b), "abc");
    qr_bytes_drop(&b, 2);
    assert_string_equal(qr_bytes_text(NULL, &b), "c");
    qr_bytes_drop(&b, 1);
    assert_int_equal(b.size, 0);
    qr_bytes_free(NULL, &b);
}

/* The parser holds one copy of a long answer, its content. */
static void long_answers(void **state)
{
    enum { PIECE = 8192, PIECES = 32, LIMIT = 2 * PIECE * PIECES + 12 * PIECE };
    static const char *const begins[] = {
        "", "<|tool_calls_section_begin|><|tool_calls_section_end|>"
    };
    static char piece[PIECE + 1];
    (void)state;
    memset(piece, 'x', PIECE);
    for (size_t i = 0; i < 4; i++) {
        const size_t size = i % 2 ? PIECE : PIECE / 8; /* more or less than is kept in any case */
        struct quire_chat_output_params p;
        struct quire_chat_output_message m = { .struct_size = sizeof m };
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_chat_output *o;
        struct fail_alloc f;
        fail_alloc_init(&f, 0, false);
        quire_chat_output_params_init(&p, sizeof p);
        p.allocator = &f.hooks;
        p.format = "kimi_k2";
        assert_status(QUIRE_OK, quire_chat_output_create(&p, &o, &err));
        assert_status(QUIRE_OK,
                      quire_chat_output_push(o, begins[i / 2], strlen(begins[i / 2]), false, &err));
        for (size_t n = 0; n < PIECE * PIECES; n += size)
            assert_status(QUIRE_OK, quire_chat_output_push(o, piece, size, false, &err));
        assert_true(f.live_bytes < LIMIT);
        assert_status(QUIRE_OK, quire_chat_output_finish(o, &err));
        assert_status(QUIRE_OK, quire_chat_output_get_message(o, &m, &err));
        assert_int_equal(m.content_size, PIECE * PIECES);
        assert_int_equal(strspn(m.content, "x"), PIECE * PIECES);
        quire_chat_output_destroy(o);
        assert_int_equal(f.live_count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_without_memory),
        cmocka_unit_test(prompts_without_memory),
        cmocka_unit_test(message_without_memory),
        cmocka_unit_test(grammars_without_memory),
        cmocka_unit_test(drop),
        cmocka_unit_test(long_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
