/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_output_limits.c - the answers of all formats with long names, deep nesting and markup
 * in every place, as control tokens, and under every setting; the grammars of calls without
 * memory. */
#include "chat_format/output/formats/formats.h"
#include "quire_cmocka.h"
#include "test_chat_output.h"
#include "test_chat_output_answers.h"

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"get\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\"}}}}},"
    "{\"name\":\"now\",\"parameters\":null},{\"name\":\"python\"},"
    "{\"name\":\"put\",\"parameters\":{\"$ref\":\"#/d/x\",\"d\":{\"x\":{\"properties\":{"
    "\"city\":{\"const\":1.5},\"days\":{\"enum\":[true,null,{},[],1,\"a\"]},"
    "\"v\":{\"properties\":{}},\"w\":{\"items\":{}}}}}}}]";

/* A way to run the parser: setting n of N_SETTINGS. */
enum { N_SETTINGS = 8 };
static struct quire_chat_output_params setting(const struct answer *a, unsigned n)
{
    struct quire_chat_output_params p;
    quire_chat_output_params_init(&p, sizeof p);
    p.format = a->format;
    p.tools_json = n == 1 || n == 5 ? NULL : n == 6 ? "[]" : tools;
    p.thinking = a->thinking ? QUIRE_THINKING_OPEN : QUIRE_THINKING_CLOSED;
    if (n == 2)
        p.tool_choice = QUIRE_TOOL_CHOICE_NONE;
    p.single_call = n == 3;
    p.response_is_json = n == 4 || n == 6;
    if (n == 5)
        p.thinking = QUIRE_THINKING_BY_PROMPT;
    if (n == 7)
        p.thinking = a->thinking ? QUIRE_THINKING_CLOSED : QUIRE_THINKING_OPEN;
    return p;
}

static void check(const struct answer *a, const char *text, size_t size, unsigned n)
{
    const struct quire_chat_output_params p = setting(a, n % N_SETTINGS);
    struct quire_error err = QUIRE_ERROR_INIT;
    struct joined whole, bytes;
    assert_status(QUIRE_OK, joined_run(&whole, &p, text, size, (struct pieces){ 0 }, &err));
    assert_status(QUIRE_OK, joined_run(&bytes, &p, text, size,
                                       (struct pieces){ .longest = 3, .seed = n }, &err));
    bool ended = true;
    for (uint32_t i = 0; i < whole.n_calls; i++)
        ended = ended && whole.calls[i].ended;
    if (!joined_same(&whole, &bytes) || !ended)
        fail_msg("%s, setting %u: %.*s", a->format, n % N_SETTINGS, (int)size, text);
    if (n % N_SETTINGS == 2)
        assert_int_equal(whole.n_calls, 0);
    if (n % N_SETTINGS == 3)
        assert_true(whole.n_calls <= 1);
    joined_free(&whole);
    joined_free(&bytes);
}

static void insert(const struct answer *a, size_t at, const char *what, size_t times, unsigned n)
{
    const size_t size = strlen(a->text), added = strlen(what) * times;
    char *text = malloc(size + added + 1);
    memcpy(text, a->text, at);
    for (size_t i = 0; i < times; i++)
        memcpy(text + at + i * strlen(what), what, strlen(what));
    memcpy(text + at + added, a->text + at, size - at);
    check(a, text, size + added, n);
    free(text);
}

/* Something too long, too deep or unexpected in every place. */
static void inserts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t times;
    } what[] = { { "x", 600 },     { "[", 70 },     { "{", 70 },       { "{\"a\":", 70 },
                 { "(", 70 },      { "<|\"|>", 1 }, { "'''", 1 },      { "\n", 1 },
                 { "\\ud83d", 1 }, { "null", 1 },   { "</think>", 1 }, { "<think>", 1 },
                 { "\"\"\"", 1 },  { "{a:", 70 } };
    unsigned next = 0;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        for (size_t at = 0; at <= strlen(answers[i].text); at++, next++)
            insert(&answers[i], at, what[next % 14].text, what[next % 14].times, next / 14);
}

static void settings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        for (unsigned n = 0; n < N_SETTINGS; n++)
            check(&answers[i], answers[i].text, strlen(answers[i].text), n);
}

/* Markup as control tokens: <...>, [...] and the marks of Harmony. */
static void control_tokens(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        for (unsigned n = 0; n < 4 * N_SETTINGS; n++) {
            const struct quire_chat_output_params p = setting(&answers[i], n % N_SETTINGS);
            struct quire_error err = QUIRE_ERROR_INIT;
            struct quire_chat_output *o;
            struct joined j;
            joined_init(&j);
            assert_status(QUIRE_OK, quire_chat_output_create(&p, &o, &err));
            const char *const text = answers[i].text;
            for (size_t at = 0, end; text[at]; at = end) {
                const char open = text[at], close = open == '<' ? '>' : open == '[' ? ']' : 0;
                const char *const last = close ? strchr(text + at, close) : NULL;
                const bool special = last && last - text - (long)at < 40;
                end = special ? (size_t)(last - text) + 1 : at + 1 + strcspn(text + at + 1, "<[");
                /* a part of the markup is ordinary text */
                const bool marked = special && (n < N_SETTINGS || (at + n) % 3);
                assert_status(QUIRE_OK,
                              quire_chat_output_push(o, text + at, end - at, marked, &err));
                joined_take(&j, o);
            }
            if (quire_chat_output_finish(o, &err) != QUIRE_OK)
                fail_msg("%s, %u: %s: %s", answers[i].format, n, text, err.msg);
            joined_take(&j, o);
            assert_false(j.disorder);
            for (uint32_t k = 0; k < j.n_calls; k++)
                assert_true(j.calls[k].ended);
            struct quire_chat_output_message m = { .struct_size = sizeof m };
            assert_status(QUIRE_OK, quire_chat_output_get_message(o, &m, &err));
            assert_int_equal(m.n_tool_calls, j.n_calls);
            quire_chat_output_destroy(o);
            joined_free(&j);
        }
}

/* Every allocation fails, also while the message is taken before its end. */
static void messages_without_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        for (size_t n = 1, done = 0; !done; n++) {
            struct quire_chat_output_params p = setting(&answers[i], n % 2 ? 0 : 5);
            struct quire_chat_output_message m = { .struct_size = sizeof m };
            struct quire_error err = QUIRE_ERROR_INIT;
            struct quire_chat_output *o;
            struct fail_alloc f;
            const size_t size = strlen(answers[i].text), first = size / 2;
            fail_alloc_init(&f, n, false);
            p.allocator = &f.hooks;
            quire_status s = quire_chat_output_create(&p, &o, &err);
            if (s == QUIRE_OK)
                s = quire_chat_output_push(o, answers[i].text, first, false, &err);
            const quire_status before = s;
            if (o)
                s = quire_chat_output_get_message(o, &m, &err);
            if (o && before != QUIRE_OK) { /* it stays out of memory */
                assert_status(QUIRE_E_NOMEM, quire_chat_output_push(o, "x", 1, false, &err));
                assert_non_null(strstr(err.msg, "memory"));
                assert_status(QUIRE_E_NOMEM, quire_chat_output_finish(o, &err));
                s = before;
            }
            if (s == QUIRE_OK)
                s = quire_chat_output_push(o, answers[i].text + first, size - first, false, &err);
            if (s == QUIRE_OK)
                s = quire_chat_output_finish(o, &err);
            if (s == QUIRE_OK)
                s = quire_chat_output_get_message(o, &m, &err);
            quire_chat_output_destroy(o);
            assert_int_equal(f.live_count, 0);
            done = f.calls < n;
            assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        }
}

/* ---- Grammars */

static quire_status write_grammar(const struct quire_allocator *a, const char *format, unsigned n,
                                  const char *json, char **out, struct quire_error *err)
{
    struct quire_chat_tool_grammar_params g;
    quire_chat_tool_grammar_params_init(&g, sizeof g);
    g.allocator = a;
    g.format = format;
    g.tools_json = json;
    g.tool_choice = n % 4 == 1   ? QUIRE_TOOL_CHOICE_REQUIRED
                    : n % 4 == 2 ? QUIRE_TOOL_CHOICE_NAMED
                    : n % 4 == 3 ? QUIRE_TOOL_CHOICE_NONE
                                 : QUIRE_TOOL_CHOICE_AUTO;
    if (n % 4 == 2)
        g.tool_name = "now";
    g.single_call = n & 4;
    g.response_schema_json =
        n & 8 ? "{\"type\":[\"null\",\"object\"],\"x\":[true,null,1.5e3]}" : NULL;
    g.thinking = n & 16 ? QUIRE_THINKING_OPEN : QUIRE_THINKING_BY_PROMPT;
    g.no_thinking = n & 32;
    return quire_chat_tool_grammar(&g, out, err);
}

static const char grammar_tools[] =
    "[{\"name\":\"get\",\"parameters\":{\"type\":[\"object\",\"null\"],\"properties\":{\"city\":{"
    "\"enum\":[\"a\\nb\",1.50,true,false,null,{\"k\":[]}]}}}},"
    "{\"name\":\"now\",\"parameters\":null},{\"name\":\"any\",\"parameters\":true}]";

static void grammars_without_memory(void **state)
{
    (void)state;
    for (size_t i = 0; qr_output_formats[i]; i++)
        for (unsigned n = 0; n < 64; n++) {
            char *out = NULL;
            struct quire_error err = QUIRE_ERROR_INIT;
            const quire_status wanted =
                write_grammar(NULL, qr_output_formats[i]->name, n, grammar_tools, &out, &err);
            assert_true(wanted == QUIRE_OK || (wanted == QUIRE_E_UNSUPPORTED && !out));
            for (size_t at = 1, done = 0; !done; at++) {
                char *got = NULL;
                struct fail_alloc f;
                fail_alloc_init(&f, at, false);
                const quire_status s = write_grammar(&f.hooks, qr_output_formats[i]->name, n,
                                                     grammar_tools, &got, &err);
                done = f.calls < at;
                if (done ? s != wanted : s != QUIRE_E_NOMEM && s != wanted)
                    fail_msg("%s, %u, allocation %zu: %s", qr_output_formats[i]->name, n, at,
                             quire_status_name(s));
                if (s == QUIRE_OK && out)
                    assert_string_equal(got, out);
                if (!done && s == QUIRE_E_NOMEM)
                    assert_non_null(strstr(err.msg, "memory"));
                quire_chat_tool_grammar_free(&f.hooks, got);
                assert_int_equal(f.live_count, 0);
            }
            quire_chat_tool_grammar_free(NULL, out);
        }
}

/* The type of a tool's parameters must allow objects. */
static void types_of_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *parameters;
        quire_status status;
    } cases[] = {
        { "{\"type\":\"object\"}", QUIRE_OK },
        { "{\"type\":[\"null\",\"object\",\"array\"]}", QUIRE_OK },
        { "{}", QUIRE_OK },
        { "true", QUIRE_OK },
        { "false", QUIRE_E_UNSUPPORTED },
        { "{\"type\":\"array\"}", QUIRE_E_UNSUPPORTED },
        { "{\"type\":[\"null\",1]}", QUIRE_E_UNSUPPORTED },
        { "{\"type\":1}", QUIRE_E_UNSUPPORTED },
        { "1", QUIRE_E_INVALID_ARG },
        { "\"object\"", QUIRE_E_INVALID_ARG },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[256], *out = NULL;
        struct quire_error err = QUIRE_ERROR_INIT;
        snprintf(json, sizeof json, "[{\"name\":\"f\",\"parameters\":%s}]", cases[i].parameters);
        const quire_status s = write_grammar(NULL, "hermes", 1, json, &out, &err);
        if (s != cases[i].status)
            fail_msg("%s: %s", json, err.msg);
        assert_int_equal(s == QUIRE_OK, out != NULL);
        quire_chat_tool_grammar_free(NULL, out);
    }
}

static void too_many_tools(void **state)
{
    (void)state;
    enum { LIMIT = 4096 };
    char *json = malloc(32 * (LIMIT + 2)), *out = NULL;
    struct quire_error err = QUIRE_ERROR_INIT;
    for (int n = LIMIT; n <= LIMIT + 1; n++) {
        size_t at = 0;
        for (int i = 0; i < n; i++)
            at += (size_t)sprintf(json + at, "%c{\"name\":\"t%d\"}", i ? ',' : '[', i);
        sprintf(json + at, "]");
        assert_status(n > LIMIT ? QUIRE_E_LIMIT : QUIRE_OK,
                      write_grammar(NULL, "hermes", 0, json, &out, &err));
        quire_chat_tool_grammar_free(NULL, out);
    }
    assert_string_equal(err.msg, "tools_json has 4097 tools, the limit is 4096");
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings),
        cmocka_unit_test(inserts),
        cmocka_unit_test(control_tokens),
        cmocka_unit_test(messages_without_memory),
        cmocka_unit_test(grammars_without_memory),
        cmocka_unit_test(types_of_parameters),
        cmocka_unit_test(too_many_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
