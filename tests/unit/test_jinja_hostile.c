/* SPDX-License-Identifier: Apache-2.0 */
/* test_jinja_hostile.c - templates and JSON that exhaust stack, time or memory fail cleanly. */
#include "test_jinja.h"
#include <pthread.h>

enum { MANY = 100000 };

/* head, `times` copies of middle, and tail. The caller frees the string. */
static char *repeated(const char *head, const char *middle, size_t times, const char *tail)
{
    const size_t h = strlen(head), m = strlen(middle), t = strlen(tail);
    char *s = malloc(h + m * times + t + 1);
    assert_non_null(s);
    memcpy(s, head, h);
    for (size_t i = 0; i < times; i++)
        memcpy(s + h + i * m, middle, m);
    memcpy(s + h + m * times, tail, t + 1);
    return s;
}

static void expect_status(quire_status want, const char *source)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    char *text = jinja_render(source, &err);
    const quire_status got = text ? QUIRE_OK : err.code;
    if (got != want)
        print_error("%.80s: got %s (%s)\n", source, quire_status_name(got), err.msg);
    assert_int_equal(got, want);
    assert_true(text || err.msg[0]);
    free(text);
}

/* Deep nesting of every recursive production of the grammar. */
static void test_nesting(void **state)
{
    static const struct {
        const char *head, *middle, *tail;
    } shapes[] = {
        { "{{ ", "(", "1 }}" },           { "{{ ", "[", "1 }}" },
        { "{{ ", "{1:", "1 }}" },         { "{{ ", "not ", "1 }}" },
        { "{{ ", "-", "1 }}" },           { "{{ x", ".a", " }}" },
        { "{{ x", "['a']", " }}" },       { "{{ x", "()", " }}" },
        { "{{ 1", "|string", " }}" },     { "{{ 1", " if 0 else 1", " }}" },
        { "{{ 1", " if 1", " }}" },       { "", "{% if 1 %}", "" },
        { "", "{% for x in l %}", "" },   { "", "{% set x %}", "" },
        { "", "{% filter upper %}", "" }, { "", "{% macro m() %}", "" },
        { "", "{% call m() %}", "" },     { "{% for ", "(", "x in l %}" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char *s = repeated(shapes[i].head, shapes[i].middle, MANY, shapes[i].tail);
        expect_status(QUIRE_E_LIMIT, s);
        free(s);
    }
}

/* Long chains are not nesting and have no limit. */
static void test_long_chains(void **state)
{
    static const struct {
        const char *head, *middle, *tail, *expected;
    } shapes[] = {
        { "{{ 1", "+1", " }}", "50001" },
        { "{{ 1", "*1", " }}", "1" },
        { "{{ 0", " or 0", " }}", "0" },
        { "{{ 1", " and 2", " }}", "2" },
        { "{{ 1", "==1", " }}", "True" },
        { "{% if 0 %}", "{% elif 0 %}", "{% endif %}!", "!" },
        { "{{ ''", "~''", " }}", "" },
        { "", "{# #}", "x", "x" },
        { "{{ [0", ",0", "]|length }}", "50001" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char *s = repeated(shapes[i].head, shapes[i].middle, 50000, shapes[i].tail);
        struct quire_error err = QUIRE_ERROR_INIT;
        char *text = jinja_render(s, &err);
        assert_non_null(text);
        assert_string_equal(text, shapes[i].expected);
        free(text);
        free(s);
    }
}

/* 128 levels are allowed, 129 are not. Blocks and parentheses count together. */
static void test_nesting_limit(void **state)
{
    (void)state;
    char *open = repeated("{{ ", "(", 127, "1"), *whole = repeated(open, ")", 127, " }}");
    expect_status(QUIRE_OK, whole);
    free(open);
    free(whole);
    open = repeated("{{ ", "(", 128, "1");
    whole = repeated(open, ")", 128, " }}");
    expect_status(QUIRE_E_LIMIT, whole);
    free(open);
    free(whole);
    char *blocks = repeated("", "{% if 1 %}", 64, "{% for ");
    open = repeated(blocks, "(", 100, "x");
    whole = repeated(open, ")", 100, " in l %}");
    expect_status(QUIRE_E_LIMIT, whole);
    free(blocks);
    free(open);
    free(whole);
}

static const char *const unbounded[] = {
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
    "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}",
    "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
    "{% for i in range(100000) %}{% for k in range(100000) %}{% endfor %}{% endfor %}",
    "{{ range(10**12) }}",
    "{{ 'a' * 10**9 }}",
    "{{ [1] * 10**9 }}",
    "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(1000) %}{% set ns.s = ns.s + ns.s "
    "%}{% endfor %}",
    "{% set ns = namespace(s=[1]) %}{% for i in range(1000) %}{% set ns.s = ns.s + ns.s %}{% "
    "endfor %}",
    "{% set ns = namespace(s=[]) %}{% for i in range(2000) %}{% set ns.s = [ns.s] %}{% endfor %}{{ "
    "ns.s }}",
    "{% set ns = namespace(s=[]) %}{% for i in range(2000) %}{% set ns.s = [ns.s] %}{% endfor %}"
    "{{ ns.s|tojson }}",
    "{% set ns = namespace(s=[], t=[]) %}{% for i in range(2000) %}{% set ns.s = [ns.s] %}"
    "{% set ns.t = [ns.t] %}{% endfor %}{{ ns.s == ns.t }}",
    "{% set ns = namespace(s=()) %}{% for i in range(2000) %}{% set ns.s = (ns.s,) %}{% endfor "
    "%}{{ {ns.s:1} }}",
    "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%*d' % (10**15, 1) }}",
    "{{ '{:999999999}'.format(1) }}",
    "{{ '%.999999f' % 1 }}",
    "{{ 'a'.center(10**12) }}{{ 'a'|center(10**12) }}",
    "{{ '1'.zfill(10**15) }}",
    "{{ 'a\\tb'.expandtabs(10**15) }}",
    "{{ 'a\\nb'|indent(10**15) }}",
    "{{ [[1]]|tojson(indent=10**9) }}",
    "{{ [1]|batch(10**15, 2)|list }}{{ [1]|slice(10**15)|list }}",
    "{{ ('a'*100000)|replace('a', 'b'*100000) }}",
    "{{ ('a'*1000000).strip('a'*1000000) }}",
    "{{ ('a'*10000000).rfind('b' + 'a'*5000000) }}{% for i in range(1000) %}"
    "{{ ('a'*1000000).rfind('ab'*1000 + 'a'*500000) }}{% endfor %}",
    "{% set s = 'e'*1000000 %}{% for i in range(100000) %}{{ s[999999] }}{% endfor %}",
    "{% set s = 'e'*1000000 %}{% for i in range(100000) %}{% set t = s|upper %}{% endfor %}",
    "{% for i in range(100000) %}{% set x = '1e-300'|float %}{% endfor %}",
    "{{ strftime_now('%c'*4000000) }}",
};

static void test_unbounded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof unbounded / sizeof *unbounded; i++)
        expect_status(QUIRE_E_LIMIT, unbounded[i]);
}

/* Without a step budget, lists whose size in bytes overflows, or does so with what else is counted,
 * exceed the limit of the memory. */
static void test_extreme_lists(void **state)
{
    static const char *const sources[] = { "{{ [1] * 9223372036854775807 }}",
                                           "{{ [1] * 1152921504606846975 }}",
                                           "{{ [1] * 1152921504606781439 }}" };
    const struct quire_chat_template_params params = { .struct_size = sizeof params,
                                                       .max_steps = SIZE_MAX,
                                                       .max_memory_bytes = (size_t)1 << 20 };
    (void)state;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_null(jinja_render_with(sources[i], &params, jinja_variables, &err));
        assert_int_equal(err.code, QUIRE_E_LIMIT);
        assert_string_equal(err.msg, "template: memory exceeds 1048576 bytes");
    }
}

/* Extreme integers neither overflow nor wrap around. */
static void test_extreme_numbers(void **state)
{
    static const char *const too_big[] = {
        "{{ 9223372036854775807 + 1 }}",          "{{ -9223372036854775807 - 2 }}",
        "{{ 9223372036854775807 * 2 }}",          "{{ 10 ** 19 }}",
        "{{ (-9223372036854775807 - 1) // -1 }}", "{{ (-9223372036854775807 - 1)|abs }}",
        "{{ -(-9223372036854775807 - 1) }}",      "{{ 99999999999999999999 }}",
        "{{ '99999999999999999999'|int }}",       "{{ 1e300|int }}",
    };
    static const struct jinja_case fine[] = {
        { "(-9223372036854775807 - 1) % -1", "0" },
        { "'abc'[::-9223372036854775807 - 1]", "c" },
        { "[1,2,3][9223372036854775807:-9223372036854775807:-9223372036854775807]", "[3]" },
        { "range(-9223372036854775807, 9223372036854775807, 4611686018427387904)|list",
          "[-9223372036854775807, -4611686018427387903, 1, 4611686018427387905]" },
        { "range(9223372036854775807, -9223372036854775807, -9223372036854775807)|list",
          "[9223372036854775807, 0]" },
        { "'abc'|truncate(9223372036854775807)", "abc" },
        { "1e999", "inf" },
        { "1e-999", "0.0" },
        { "'-9223372036854775808'|int", "-9223372036854775808" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof too_big / sizeof *too_big; i++)
        expect_status(QUIRE_E_RANGE, too_big[i]);
    JINJA_CHECK(fine, true);
}

/* Every prefix of a template with many features, and mutations of each of its bytes, terminate. */
static void test_mutated_templates(void **state)
{
    static const char source[] =
        "{%- macro m(a, b=2) -%}{{ a ~ b }}{{ caller(1) if caller else '' }}{%- endmacro -%}{# c "
        "#}\n"
        "{% for k, v in d.items() if k != 'x' %}{{ loop.index }}:{{ '%s'|format(k) }}{{ "
        "v|default(1, true) }}"
        "{% if loop.last %}{% break %}{% elif v is none %}{% continue %}{% else %}{{ m(k, b=[1, "
        "2][::-1]) }}"
        "{% endif %}{% endfor %}{% call(x) m({'a': 1.5e3, 'b': (1,)}) %}{{ x }}{% endcall %}{% raw "
        "%}{{{% endraw %}"
        "{% set ns = namespace(a='\\u00e9\\n') %}{% set ns.a %}x{{ ns.a }}{% endset %}{{ "
        "ns.a|upper|tojson }}"
        "{{ '{:>5}{!r}'.format(1, 'q') }}{{ '%5.2f%%' % 2.5 }}{{ strftime_now('%-d') }}";
    static const char bytes[] = "{}%#'\"(\\|.-0a \n*[\xff";
    (void)state;
    char copy[sizeof source];
    struct quire_error err = QUIRE_ERROR_INIT;
    for (size_t n = 0; n < sizeof source; n++) {
        memcpy(copy, source, n);
        copy[n] = 0;
        free(jinja_render(copy, &err));
    }
    for (size_t i = 0; i + 1 < sizeof source; i++) {
        for (size_t k = 0; k + 1 < sizeof bytes; k++) {
            memcpy(copy, source, sizeof source);
            copy[i] = bytes[k];
            free(jinja_render(copy, &err));
        }
    }
}

/* --- JSON input --- */
static quire_status render_json(const char *messages, const char *tools, struct quire_error *err)
{
    struct quire_chat_render_args input = { .struct_size = sizeof input };
    struct quire_chat_template *tmpl;
    struct quire_chat_prompt *prompt;
    input.messages_json = messages;
    input.tools_json = tools;
    assert_status(QUIRE_OK, quire_chat_template_create("{{ messages|tojson }}",
                                                       QUIRE_NUL_TERMINATED, NULL, &tmpl, NULL));
    const quire_status s = quire_chat_template_render(tmpl, &input, &prompt, err);
    if (s == QUIRE_OK)
        quire_chat_prompt_destroy(prompt);
    else
        assert_null(prompt);
    quire_chat_template_destroy(tmpl);
    return s;
}

static void test_json(void **state)
{
    static const struct {
        const char *json;
        quire_status status;
    } cases[] = {
        { "[]", QUIRE_OK },
        { "{}", QUIRE_E_FORMAT },
        { "", QUIRE_E_FORMAT },
        { "[", QUIRE_E_FORMAT },
        { "[1,]", QUIRE_E_FORMAT },
        { "[{\"role\":\"user\"}", QUIRE_E_FORMAT },
        { "[\"\\ud800\"]", QUIRE_E_FORMAT },
        { "[\"\\u0000\"]", QUIRE_E_FORMAT },
        { "[\"\xff\"]", QUIRE_E_FORMAT },
        { "[1e9999]", QUIRE_E_RANGE },
        { "[18446744073709551616]", QUIRE_E_RANGE },
        { "[9223372036854775807, -0, -9223372036854775808]", QUIRE_OK },
        { "[null, 1, \"a\", [], {\"role\": 5}]", QUIRE_OK },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        const quire_status s = render_json(cases[i].json, NULL, &err);
        if (s != cases[i].status)
            print_error("%s: %s (%s)\n", cases[i].json, quire_status_name(s), err.msg);
        assert_int_equal(s, cases[i].status);
        if (s != QUIRE_OK) {
            assert_non_null(strstr(err.msg, "messages_json"));
        }
    }
}

static void test_json_depth(void **state)
{
    (void)state;
    const size_t depths[] = { 64, 65, 100000 };
    for (size_t i = 0; i < 3; i++) {
        char *open = repeated("", "[", depths[i], ""), *whole = repeated(open, "]", depths[i], "");
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_int_equal(render_json(whole, NULL, &err), i ? QUIRE_E_FORMAT : QUIRE_OK);
        free(open);
        free(whole);
    }
    assert_int_equal(
        render_json(
            "[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[\"]",
            NULL, NULL),
        QUIRE_OK);
}

/* Objects with many keys take linear time, and are limited by the step budget. */
static void test_many_keys(void **state)
{
    (void)state;
    const size_t n = 400000;
    char *json = malloc(n * 24 + 64), *p = json;
    assert_non_null(json);
    p += sprintf(p, "[{");
    for (size_t i = 0; i < n; i++)
        p += sprintf(p, "%s\"key%zu\":1", i ? "," : "", i);
    sprintf(p, "}]");
    assert_int_equal(render_json(json, NULL, NULL), QUIRE_E_LIMIT);
    free(json);
}

/* --- stack --- */
static void *render_in_thread(void *arg)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    char **text = arg;
    char *parens = repeated("{{ ", "(", 100000, "1 }}");
    for (size_t i = 0; i < 12; i++)
        free(jinja_render(unbounded[i], &err));
    free(jinja_render(parens, &err));
    free(parens);
    *text = jinja_render(
        "{% macro m(n) %}{% if n %}{{ n }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(50) }}",
        &err);
    return NULL;
}

/* Rendering needs at most 512 KiB of stack in optimized builds without sanitizers. */
static void test_small_stack(void **state)
{
    pthread_attr_t attr;
    pthread_t thread;
    char *text = NULL;
    size_t stack = (size_t)512 << 10;
    (void)state;
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    stack = (size_t)8 << 20;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
    stack = (size_t)8 << 20;
#endif
#endif
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, stack), 0);
    assert_int_equal(pthread_create(&thread, &attr, render_in_thread, &text), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    assert_non_null(text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting),           cmocka_unit_test(test_long_chains),
        cmocka_unit_test(test_nesting_limit),     cmocka_unit_test(test_unbounded),
        cmocka_unit_test(test_extreme_lists),     cmocka_unit_test(test_extreme_numbers),
        cmocka_unit_test(test_mutated_templates), cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_depth),        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_small_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
