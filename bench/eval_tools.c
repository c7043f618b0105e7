/* SPDX-License-Identifier: Apache-2.0 */
/* eval_tools.c - `quire-eval tools`: parses model outputs with tool calls and reasoning, whole, at
 * every cut and in random pieces, and compares the messages with those that are expected. */
#include "eval.h"
#include "json/parse.h"
#include <quire/chat_output.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FORMATS = 128, RANDOM_RUNS = 8 };

struct format_counts {
    char name[40];
    unsigned cases, failed, disputed; /* disputed: decided differently, not counted as failed */
};

struct tools_run {
    const struct eval_options *o;
    struct format_counts formats[MAX_FORMATS];
    unsigned n_formats, cases, failed, disputed;
};

/* ---- Parsing in pieces ---- */

/* How a text is cut: at `first`, or (longest > 0) into random pieces of up to `longest` bytes. */
struct cut {
    size_t first;
    unsigned longest, seed;
};

/* Parses a text. *out is NULL on failure; its message stays until it is destroyed. */
static quire_status parse(const struct quire_chat_output_params *params, const char *text,
                          size_t size, struct cut cut, bool finish, struct quire_chat_output **out,
                          struct quire_chat_output_message *message, struct quire_error *err)
{
    unsigned random = cut.seed;
    struct quire_chat_delta delta;
    size_t content = 0, n_calls = 0;
    quire_status s = quire_chat_output_create(params, out, err);
    for (size_t i = 0; i < size && s == QUIRE_OK;) {
        size_t n = i < cut.first ? cut.first - i : size - i;
        random = random * 1664525u + 1013904223u;
        if (cut.longest)
            n = 1 + (random >> 16) % cut.longest;
        n = n > size - i ? size - i : n;
        s = quire_chat_output_push(*out, text + i, n, false, err);
        i += n;
    }
    if (s == QUIRE_OK && finish)
        s = quire_chat_output_finish(*out, err);
    while (s == QUIRE_OK && quire_chat_output_next(*out, &delta)) {
        content += delta.kind == QUIRE_CHAT_CONTENT ? delta.size : 0;
        n_calls += delta.kind == QUIRE_CHAT_TOOL_CALL_BEGIN;
    }
    message->struct_size = sizeof *message;
    if (s == QUIRE_OK)
        s = quire_chat_output_get_message(*out, message, err);
    if (s == QUIRE_OK && (content != message->content_size || n_calls != message->n_tool_calls))
        s = QUIRE_E_MISMATCH; /* the deltas are not the message */
    if (s != QUIRE_OK) {
        quire_chat_output_destroy(*out);
        *out = NULL;
    }
    return s;
}

static bool same_message(const struct quire_chat_output_message *a,
                         const struct quire_chat_output_message *b)
{
    bool same = a->n_tool_calls == b->n_tool_calls && strcmp(a->content, b->content) == 0 &&
                strcmp(a->reasoning, b->reasoning) == 0;
    for (uint32_t i = 0; same && i < a->n_tool_calls; i++)
        same = strcmp(a->tool_calls[i].id, b->tool_calls[i].id) == 0 &&
               strcmp(a->tool_calls[i].name, b->tool_calls[i].name) == 0 &&
               strcmp(a->tool_calls[i].arguments, b->tool_calls[i].arguments) == 0;
    return same;
}

/* Whether every cut gives the same message as the whole text. */
static bool all_cuts(const struct quire_chat_output_params *params, const char *text, size_t size,
                     bool finish, const struct quire_chat_output_message *whole)
{
    for (size_t i = 1; i < size + RANDOM_RUNS; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_chat_output_message message;
        struct quire_chat_output *out;
        const unsigned extra = i < size ? 0 : (unsigned)(i - size) + 1;
        const struct cut cut = { i < size ? i : 0, 2 * extra, extra };
        const quire_status s = parse(params, text, size, cut, finish, &out, &message, &err);
        const bool same = s == QUIRE_OK && same_message(&message, whole);
        if (!same)
            printf("    cut %zu of %zu: %s\n", i, size,
                   s == QUIRE_OK ? "another message" : err.msg);
        quire_chat_output_destroy(out);
        if (!same)
            return false;
    }
    return true;
}

/* ---- Comparison ---- */

static bool is_text(const struct qr_json *v, const char *text)
{
    return qr_json_string(v) && strcmp(qr_json_string(v), text) == 0;
}

static size_t trimmed(const char **text)
{
    *text += strspn(*text, " \n\t\r");
    size_t n = strlen(*text);
    while (n > 0 && strchr(" \n\t\r", (*text)[n - 1]))
        n--;
    return n;
}

/* content or reasoning_content, as `compare` of the case says. */
static bool same_text(const struct qr_json *c, const char *key, const char *got)
{
    const struct qr_json *how = qr_json_get(qr_json_get(c, "compare"), key);
    const char *want = qr_json_string(qr_json_get(qr_json_get(c, "expect"), key));
    want = want ? want : "";
    if (is_text(how, "any") || (is_text(how, "contains") && strstr(got, want)))
        return true;
    if (!is_text(how, "trim"))
        return is_text(how, "exact") && strcmp(got, want) == 0;
    const size_t n = trimmed(&got), m = trimmed(&want);
    return n == m && memcmp(got, want, n) == 0;
}

/* Whether one of two texts, without white space, begins with the other. */
static bool is_prefix(const char *a, const char *b)
{
    for (;;) {
        a += strspn(a, " \n\t\r");
        b += strspn(b, " \n\t\r");
        if (!*a || !*b)
            return true;
        if (*a++ != *b++)
            return false;
    }
}

static bool same_arguments(const struct qr_json *want, const struct quire_chat_tool_call *call,
                           bool partial)
{
    const char *raw = qr_json_string(qr_json_get(want, "arguments_raw"));
    struct qr_json_error e;
    if (raw)
        return partial ? is_prefix(call->arguments, raw) : strcmp(call->arguments, raw) == 0;
    struct qr_json *v =
        qr_json_parse(call->arguments, call->arguments_size, QR_JSON_ALLOW_BIG_INTEGERS, NULL, &e);
    const bool same = v ? qr_json_equal(v, qr_json_get(want, "arguments")) : partial;
    qr_json_free(v);
    return same;
}

static bool same_calls(const struct qr_json *c, const struct quire_chat_output_message *m)
{
    const struct qr_json *how = qr_json_get(qr_json_get(c, "compare"), "tool_calls");
    const struct qr_json *want = qr_json_get(qr_json_get(c, "expect"), "tool_calls");
    const bool partial = is_text(how, "partial");
    if (is_text(how, "any"))
        return true;
    if (partial ? m->n_tool_calls > qr_json_size(want) : m->n_tool_calls != qr_json_size(want))
        return false;
    for (uint32_t i = 0; i < m->n_tool_calls; i++) {
        const struct qr_json *w = qr_json_at(want, i), *id = qr_json_get(w, "id");
        if (!is_text(qr_json_get(w, "name"), m->tool_calls[i].name) ||
            (id && !is_text(id, m->tool_calls[i].id)) ||
            !same_arguments(w, &m->tool_calls[i], partial))
            return false;
    }
    return true;
}

/* ---- Cases ---- */

static struct format_counts *counts_of(struct tools_run *r, const char *name)
{
    for (unsigned i = 0; i < r->n_formats; i++)
        if (strcmp(r->formats[i].name, name) == 0)
            return &r->formats[i];
    struct format_counts *f = &r->formats[r->n_formats < MAX_FORMATS ? r->n_formats++ : 0];
    snprintf(f->name, sizeof f->name, "%s", name);
    return f;
}

static void print_message(const char *id, const char *text,
                          const struct quire_chat_output_message *m)
{
    printf("%s:\n  text %s\n  content %s\n  reasoning %s\n", id, text, m->content, m->reasoning);
    for (uint32_t i = 0; i < m->n_tool_calls; i++)
        printf("  call %s %s %s\n", m->tool_calls[i].id, m->tool_calls[i].name,
               m->tool_calls[i].arguments);
}

/* tools: JSON text of the array of the case. */
static void check_case(struct tools_run *r, const struct qr_json *c, const char *tools)
{
    const char *text = qr_json_string(qr_json_get(c, "text")),
               *format = qr_json_string(qr_json_get(c, "format")),
               *id = qr_json_string(qr_json_get(c, "id")),
               *prompt = qr_json_string(qr_json_get(c, "generation_prompt"));
    const bool finish = !qr_json_is_true(qr_json_get(c, "partial"));
    const bool disputed = is_text(qr_json_get(c, "standing"), "disputed");
    struct quire_chat_output_message message;
    struct quire_chat_output *out;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_output_params p;
    if (!text || !format || !id)
        return;
    quire_chat_output_params_init(&p, sizeof p);
    p.format = format;
    p.tools_json = tools;
    p.reasoning = is_text(qr_json_get(c, "reasoning_format"), "none") ? QUIRE_REASONING_NONE
                                                                      : QUIRE_REASONING_AUTO;
    p.thinking = qr_json_is_true(qr_json_get(c, "generation_prompt_thinking_open"))
                     ? QUIRE_THINKING_OPEN
                     : QUIRE_THINKING_CLOSED;
    p.prompt_end = prompt;
    p.prompt_end_size = prompt ? strlen(prompt) : 0;
    const quire_status s =
        parse(&p, text, strlen(text), (struct cut){ 0 }, finish, &out, &message, &err);
    const bool same = s == QUIRE_OK && same_text(c, "content", message.content) &&
                      same_text(c, "reasoning_content", message.reasoning) &&
                      same_calls(c, &message);
    const bool cuts = s == QUIRE_OK && all_cuts(&p, text, strlen(text), finish, &message);
    const bool failed = !cuts || (!same && !disputed);
    if (s != QUIRE_OK)
        printf("%s: %s\n", id, err.msg);
    else if (failed && r->o->verbose)
        print_message(id, text, &message);
    struct format_counts *f = counts_of(r, format);
    f->cases++;
    f->failed += failed;
    f->disputed += !failed && !same;
    quire_chat_output_destroy(out);
}

/* The text of the array `tools` of a line; the parser unescapes its strings in place. */
static char *tools_text(const char *line)
{
    static const char key[] = "\"tools\": ";
    const char *start = strstr(line, key),
               *end = start ? strstr(start, ", \"tools_origin\": ") : NULL;
    return end ? strndup(start + strlen(key), (size_t)(end - start) - strlen(key)) : NULL;
}

static int check_file(struct tools_run *r, const char *path)
{
    size_t size;
    char *text = eval_read_file(path, &size);
    if (!text)
        return 66;
    for (char *line = text, *end; line < text + size; line = end + 1) {
        struct qr_json_error e;
        end = memchr(line, '\n', (size_t)(text + size - line));
        end = end ? end : text + size;
        *end = '\0';
        for (char *p = line; (p = strstr(p, "\\u0000")); p += 6)
            p[5] = '1'; /* the JSON parser has no U+0000: another control character instead */
        char *tools = tools_text(line);
        struct qr_json *c = qr_json_parse(line, strlen(line), QR_JSON_ALLOW_BIG_INTEGERS, NULL, &e);
        if (c)
            check_case(r, c, tools);
        else if (*line)
            printf("%s: %s\n", path, e.text);
        qr_json_free(c);
        free(tools);
    }
    free(text);
    return 0;
}

int eval_tools(const struct eval_options *o)
{
    struct tools_run r = { .o = o };
    int code = 0;
    if (o->n_args < 1) {
        fprintf(stderr, "quire-eval: usage: quire-eval tools FILE.jsonl... [-v]\n");
        return 64;
    }
    for (int i = 0; i < o->n_args && code == 0; i++)
        code = check_file(&r, o->args[i]);
    for (unsigned i = 0; i < r.n_formats; i++) {
        const struct format_counts *f = &r.formats[i];
        printf("%-20s %4u cases, %u failed, %u disputed ones decided differently\n", f->name,
               f->cases, f->failed, f->disputed);
        r.cases += f->cases;
        r.failed += f->failed;
        r.disputed += f->disputed;
    }
    printf("%u cases, %u failed, %u disputed ones decided differently\n", r.cases, r.failed,
           r.disputed);
    return code ? code : r.failed > 0 || r.cases == 0;
}
