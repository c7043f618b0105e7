/* SPDX-License-Identifier: Apache-2.0 */
/* eval_template.c - `quire-eval template`: compares rendered chat templates with Jinja2. */
#include "eval.h"
#include <jansson.h>
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
        out->tm_year = atoi(day) - 1900;
        out->tm_mon = atoi(day + 5) - 1;
        out->tm_mday = atoi(day + 8);
    }
    time_t t = timegm(out); /* the round trip fills tm_wday and tm_yday */
    gmtime_r(&t, out);
}

/* name: of the conversation, with optional suffixes "+gen" and "+tools" */
static bool check_case(const struct quire_chat_template *tmpl, const json_t *file, const char *name,
                       const json_t *expected)
{
    char conversation[128];
    snprintf(conversation, sizeof conversation, "%.*s", (int)strcspn(name, "+"), name);
    char *messages = json_dumps(
        json_object_get(json_object_get(file, "conversations"), conversation), JSON_COMPACT);
    char *tools =
        strstr(name, "+tools") ? json_dumps(json_object_get(file, "tools"), JSON_COMPACT) : NULL;
    struct quire_chat_render_args input = { .struct_size = sizeof input };
    input.messages_json = messages;
    input.tools_json = tools;
    input.bos_token = json_string_value(json_object_get(file, "bos_token"));
    input.eos_token = json_string_value(json_object_get(file, "eos_token"));
    input.add_generation_prompt = strstr(name, "+gen") != NULL;
    const char *want = json_string_value(json_object_get(expected, "rendered"));
    const char *want_error = json_string_value(json_object_get(expected, "error"));
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
    json_t *file = text ? json_loadb(text, json_size, 0, NULL) : NULL;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_template_params params = { .struct_size = sizeof params };
    const char *day = json_string_value(json_object_get(file, "strftime_now"));
    params.now = fixed_day;
    params.now_user = (void *)day;
    struct quire_chat_template *tmpl = NULL;
    int code = 65;
    if (source && file &&
        quire_chat_template_create(source, size, &params, &tmpl, &err) == QUIRE_OK) {
        int n = 0, wrong = 0;
        const char *name;
        json_t *expected;
        json_object_foreach(json_object_get(file, "cases"), name, expected)
        {
            n++;
            wrong += !check_case(tmpl, file, name, expected);
        }
        printf("%s %s: %d of %d cases\n", wrong || !n ? "FAIL" : "ok  ", path, n - wrong, n);
        code = wrong || !n;
    } else {
        fprintf(stderr, "quire-eval: %s: %s\n", source_path, err.msg);
    }
    quire_chat_template_destroy(tmpl);
    json_decref(file);
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
