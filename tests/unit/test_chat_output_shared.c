/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_output_shared.c - the parsers against the reference cases in ../shared/tools: messages
 * as public test suites expect them, whole and at every cut. Disputed cases are counted only. */
#include "quire_cmocka.h"
#include "test_chat_output.h"
#include "json/parse.h"

/* The text of a value inside the line; the line is copied because values are unescaped in place. */
static bool is_text(const struct qr_json *v, const char *text)
{
    return v && qr_json_string(v) && strcmp(qr_json_string(v), text) == 0;
}

static bool same_trimmed(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    for (; m > 0 && strchr(" \n\t\r", *a); m--)
        a++;
    for (; n > 0 && strchr(" \n\t\r", *b); n--)
        b++;
    while (m > 0 && strchr(" \n\t\r", a[m - 1]))
        m--;
    while (n > 0 && strchr(" \n\t\r", b[n - 1]))
        n--;
    return m == n && memcmp(a, b, m) == 0;
}

static bool same_text(const struct qr_json *c, const char *key, const char *got)
{
    const struct qr_json *const how = qr_json_get(qr_json_get(c, "compare"), key);
    const struct qr_json *const want = qr_json_get(qr_json_get(c, "expect"), key);
    const char *const text = qr_json_string(want) ? qr_json_string(want) : "";
    return is_text(how, "any") || (is_text(how, "exact") && strcmp(got, text) == 0) ||
           (is_text(how, "trim") && same_trimmed(got, text)) ||
           (is_text(how, "contains") && strstr(got, text));
}

/* Whether one of two texts, without white space, begins with the other. */
static bool prefix_of_other(const char *a, const char *b)
{
    for (;;) {
        while (*a && strchr(" \n\t\r", *a))
            a++;
        while (*b && strchr(" \n\t\r", *b))
            b++;
        if (!*a || !*b)
            return true;
        if (*a++ != *b++)
            return false;
    }
}

static bool same_arguments(const struct qr_json *want, const char *got, size_t size, bool partial)
{
    const struct qr_json *const raw = qr_json_get(want, "arguments_raw");
    struct qr_json_error e;
    if (raw)
        return partial ? prefix_of_other(got, qr_json_string(raw))
                       : strcmp(got, qr_json_string(raw)) == 0;
    struct qr_json *const v = qr_json_parse(got, size, QR_JSON_ALLOW_BIG_INTEGERS, NULL, &e);
    const bool same = v ? qr_json_equal(v, qr_json_get(want, "arguments")) : partial;
    qr_json_free(v);
    return same;
}

static bool same_calls(const struct qr_json *c, const struct joined *j)
{
    const struct qr_json *const how = qr_json_get(qr_json_get(c, "compare"), "tool_calls");
    const struct qr_json *const want = qr_json_get(qr_json_get(c, "expect"), "tool_calls");
    const bool partial = is_text(how, "partial");
    if (is_text(how, "any"))
        return true;
    if (partial ? j->n_calls > qr_json_size(want) : j->n_calls != qr_json_size(want))
        return false;
    for (uint32_t i = 0; i < j->n_calls; i++) {
        const struct qr_json *const w = qr_json_at(want, i);
        const struct qr_json *const id = qr_json_get(w, "id");
        if (!is_text(qr_json_get(w, "name"), j->calls[i].name.text) ||
            (id && !is_text(id, j->calls[i].id.text)) ||
            !same_arguments(w, j->calls[i].arguments.text, j->calls[i].arguments.size, partial))
            return false;
    }
    return true;
}

/* The JSON text of the array `tools` of the line, between its brackets. */
static char *tools_text(const char *line)
{
    const char *const start = strstr(line, "\"tools\": ") + strlen("\"tools\": ");
    const char *const end = strstr(start, ", \"tools_origin\": ");
    return strndup(start, (size_t)(end - start));
}

struct counts {
    unsigned cases, disputed, differ;
};

static void run_case(const struct qr_json *c, const char *line, struct counts *counts)
{
    const struct qr_json *const prompt = qr_json_get(c, "generation_prompt");
    const char *const text = qr_json_string(qr_json_get(c, "text"));
    const bool partial = qr_json_is_true(qr_json_get(c, "partial"));
    const bool disputed = is_text(qr_json_get(c, "standing"), "disputed");
    const size_t size = strlen(text);
    struct quire_chat_output_params p;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct joined j;
    char *const tools = tools_text(line);
    quire_chat_output_params_init(&p, sizeof p);
    p.format = qr_json_string(qr_json_get(c, "format"));
    p.tools_json = tools;
    p.reasoning = is_text(qr_json_get(c, "reasoning_format"), "none") ? QUIRE_REASONING_NONE
                                                                      : QUIRE_REASONING_AUTO;
    p.thinking = qr_json_is_true(qr_json_get(c, "generation_prompt_thinking_open"))
                     ? QUIRE_THINKING_OPEN
                     : QUIRE_THINKING_CLOSED;
    p.prompt_end = qr_json_string(prompt);
    p.prompt_end_size = qr_json_string_size(prompt);
    assert_int_equal(joined_run(&j, &p, text, size, (struct pieces){ .unfinished = partial }, &err),
                     QUIRE_OK);
    const bool same = same_text(c, "content", j.content.text) &&
                      same_text(c, "reasoning_content", j.reasoning.text) && same_calls(c, &j);
    const bool cuts = joined_all_cuts(&j, &p, text, size, partial);
    if (!cuts || (!same && !disputed))
        fprintf(stderr, "%s:\n  text %s\n  content %s\n  reasoning %s\n  calls %u\n",
                qr_json_string(qr_json_get(c, "id")), text, j.content.text, j.reasoning.text,
                j.n_calls);
    counts->cases++;
    counts->disputed += !same && disputed;
    counts->differ += !cuts || (!same && !disputed);
    joined_free(&j);
    free(tools);
}

/* U+0000 is no text of the JSON parser: another control character takes its place. */
static void replace_nul(char *line)
{
    for (char *p = line; (p = strstr(p, "\\u0000")); p += 6)
        p[5] = '1';
}

static void shared_cases(void **state)
{
    struct counts counts = { 0 };
    char *line = NULL;
    size_t capacity = 0;
    (void)state;
    char path[4200];
    if (!need_shared())
        skip();
    snprintf(path, sizeof path, "%s/tools/tool_calls.jsonl", shared_dir());
    FILE *const file = fopen(path, "r");
    if (!file) {
        print_message("skipped: no %s\n", path);
        skip();
    }
    while (getline(&line, &capacity, file) > 0) {
        struct qr_json_error e;
        replace_nul(line);
        struct qr_json *const c =
            qr_json_parse(line, strlen(line), QR_JSON_ALLOW_BIG_INTEGERS, NULL, &e);
        assert_non_null(c);
        run_case(c, line, &counts);
        qr_json_free(c);
    }
    free(line);
    fclose(file);
    print_message("%u cases, %u disputed ones decided differently\n", counts.cases,
                  counts.disputed);
    assert_true(counts.cases > 0);
    assert_int_equal(counts.differ, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(shared_cases) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
