/* SPDX-License-Identifier: Apache-2.0 */
/* eval_template.c - `quire-eval template`: compares rendered chat templates with Jinja2. */
#include "eval.h"
#include "json/parse.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Local time of the reference renderings: midnight of a fixed day, "YYYY-MM-DD". */
static void fixed_day(void *user, struct tm *out)
{
    const char *day = user;
    memset(out, 0, sizeof *out);
    out->tm_mday = 1;
    if (day && strlen(day) == 10) {
        out->tm_year = (int)strtol(day, NULL, 10) - 1900;
        out->tm_mon = (int)strtol(day + 5, NULL, 10) - 1;
        out->tm_mday = (int)strtol(day + 8, NULL, 10);
    }
    time_t t = timegm(out); /* the round trip fills tm_wday and tm_yday */
    gmtime_r(&t, out);
}

static void print_string(FILE *f, const char *s)
{
    char *quoted = malloc(QR_JSON_QUOTED_MAX(strlen(s)));
    if (quoted)
        fwrite(quoted, 1, qr_json_quote(quoted, s, strlen(s)), f);
    free(quoted);
}

static void print_json(FILE *f, const struct qr_json *v)
{
    if (qr_json_is_object(v) || qr_json_is_array(v)) {
        fputc(qr_json_is_object(v) ? '{' : '[', f);
        for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);) {
            fputs(i.index ? "," : "", f);
            if (i.key) {
                print_string(f, i.key);
                fputc(':', f);
            }
            print_json(f, i.value);
        }
        fputc(qr_json_is_object(v) ? '}' : ']', f);
    } else if (qr_json_is_string(v)) {
        print_string(f, qr_json_string(v));
    } else if (qr_json_is_integer(v)) {
        fprintf(f, "%lld", (long long)qr_json_integer(v));
    } else if (qr_json_is_number(v)) {
        fprintf(f, "%.17g", qr_json_number(v));
    } else {
        fputs(qr_json_is_null(v) ? "null" : qr_json_is_true(v) ? "true" : "false", f);
    }
}

/* The JSON text of a value; NULL for a missing one and when out of memory. */
static char *to_text(const struct qr_json *v)
{
    char *text = NULL;
    size_t size;
    FILE *f = v ? open_memstream(&text, &size) : NULL;
    if (f) {
        print_json(f, v);
        fclose(f);
    }
    return text;
}

/* name: of the conversation, with optional suffixes "+gen" and "+tools" */
static bool check_case(const struct quire_chat_template *tmpl, const struct qr_json *file,
                       const char *name, const struct qr_json *expected)
{
    char conversation[128];
    snprintf(conversation, sizeof conversation, "%.*s", (int)strcspn(name, "+"), name);
    char *messages = to_text(qr_json_get(qr_json_get(file, "conversations"), conversation));
    char *tools = strstr(name, "+tools") ? to_text(qr_json_get(file, "tools")) : NULL;
    struct quire_chat_render_args input = { .struct_size = sizeof input };
    input.messages_json = messages;
    input.tools_json = tools;
    input.bos_token = qr_json_string(qr_json_get(file, "bos_token"));
    input.eos_token = qr_json_string(qr_json_get(file, "eos_token"));
    input.add_generation_prompt = strstr(name, "+gen") != NULL;
    const char *want = qr_json_string(qr_json_get(expected, "rendered"));
    const char *want_error = qr_json_string(qr_json_get(expected, "error"));
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_prompt *prompt = NULL;
    const quire_status s = quire_chat_template_render(tmpl, &input, &prompt, &err);
    size_t size = 0;
    const char *got = s == QUIRE_OK ? quire_chat_prompt_text(prompt, &size) : err.msg;
    const bool same = s == QUIRE_OK ? want && strlen(want) == size && memcmp(want, got, size) == 0
                                    : want_error && strstr(got, want_error) != NULL;
    if (!same)
        printf("FAIL %s\n--- got\n%s\n--- want\n%s\n", name, got,
               want         ? want
               : want_error ? want_error
                            : "(nothing)");
    quire_chat_prompt_destroy(prompt);
    free(messages);
    free(tools);
    return same;
}

static int check_file(const char *path)
{
    static const char suffix[] = ".expected.json";
    char source_path[4096];
    const size_t stem = strlen(path) > sizeof suffix ? strlen(path) - sizeof suffix + 1 : 0;
    snprintf(source_path, sizeof source_path, "%.*s.jinja", (int)stem, path);
    size_t size = 0, json_size = 0;
    char *source = eval_read_file(source_path, &size), *text = eval_read_file(path, &json_size);
    struct qr_json_error error;
    struct qr_json *file = text ? qr_json_parse(text, json_size, 0, NULL, &error) : NULL;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_template_params params = { .struct_size = sizeof params };
    const char *day = qr_json_string(qr_json_get(file, "strftime_now"));
    params.now = fixed_day;
    params.now_user = (void *)day;
    struct quire_chat_template *tmpl = NULL;
    int code = 65;
    if (source && file &&
        quire_chat_template_create(source, size, &params, &tmpl, &err) == QUIRE_OK) {
        int n = 0, wrong = 0;
        const struct qr_json *cases = qr_json_get(file, "cases");
        for (struct qr_json_iter i = qr_json_iterate(cases); qr_json_next(&i);) {
            n++;
            wrong += !check_case(tmpl, file, i.key, i.value);
        }
        printf("%s %s: %d of %d cases\n", wrong || !n ? "FAIL" : "ok  ", path, n - wrong, n);
        code = wrong || !n;
    } else {
        fprintf(stderr, "quire-eval: %s: %s\n", source_path, err.msg);
    }
    quire_chat_template_destroy(tmpl);
    qr_json_free(file);
    free(source);
    free(text);
    return code;
}

int eval_template(const struct eval_options *o)
{
    int worst = o->n_args ? 0 : 64;
    if (!o->n_args)
        fprintf(stderr, "usage: quire-eval template NAME.expected.json...\n");
    for (int i = 0; i < o->n_args; i++) {
        const int code = check_file(o->args[i]);
        worst = code > worst ? code : worst;
    }
    return worst;
}
