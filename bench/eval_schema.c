/* SPDX-License-Identifier: Apache-2.0 */
/* eval_schema.c - `quire-eval schema`: compiles JSON schemas and replays their instances token by
 * token: which valid ones are rejected, which invalid ones accepted, and how long masks take. */
#include "eval.h"
#include "eval_schema_report.h"
#include "json_slice.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SLOW_MASK 2e-3 /* seconds */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct run {
    const struct eval_options *o;
    struct quire_tokenizer *tok;
    struct quire_grammar_vocab *vocab;
    uint32_t *mask;
    size_t n_words;
    struct schema_report report;
};

/* ---- One instance ---- */

/* Whether the grammar accepts the tokens as a whole; *at: tokens that it accepted. */
static quire_status replay(struct run *r, struct quire_grammar *grammar, const int32_t *ids,
                           size_t n, bool *accepted, size_t *at, struct quire_error *err)
{
    struct quire_grammar_matcher *m = NULL;
    quire_status s = quire_grammar_matcher_create(grammar, &m, err);
    *accepted = false;
    for (*at = 0; s == QUIRE_OK && *at < n; ++*at) {
        double start = now();
        s = quire_grammar_matcher_mask(m, r->mask, r->n_words, err);
        const double seconds = now() - start;
        schema_report_add(&r->report.mask_times, seconds);
        if (r->o->verbose && seconds > SLOW_MASK)
            printf("    slow mask at token %zu: %.1f ms\n", *at, 1e3 * seconds);
        if (s != QUIRE_OK || !(r->mask[ids[*at] / 32] >> (ids[*at] % 32) & 1))
            break;
        start = now();
        s = quire_grammar_matcher_commit(m, &ids[*at], 1, err);
        schema_report_add(&r->report.commit_times, now() - start);
    }
    if (s == QUIRE_OK && *at == n)
        *accepted = quire_grammar_matcher_can_end(m);
    quire_grammar_matcher_destroy(m);
    return s;
}

/* Replays the text of an instance. */
static quire_status check_instance(struct run *r, struct quire_grammar *grammar,
                                   const struct json_slice *data, bool *accepted,
                                   struct quire_error *err)
{
    size_t size, n = 0, at = 0;
    char *text = json_slice_write(data, false, &size);
    int32_t *ids = text ? malloc((size + 1) * sizeof *ids) : NULL;
    quire_status s = QUIRE_E_NOMEM;
    if (ids != NULL)
        s = quire_tokenizer_encode(r->tok, text, size, 0, ids, size + 1, &n, err);
    if (s == QUIRE_OK)
        s = replay(r, grammar, ids, n, accepted, &at, err);
    if (s == QUIRE_OK && r->o->verbose && !*accepted)
        printf("    rejected at token %zu of %zu: %.200s\n", at, n, text);
    free(ids);
    free(text);
    return s;
}

/* ---- One schema ---- */

static quire_status compile(struct run *r, const struct json_slice *schema,
                            struct quire_grammar **out, struct quire_error *err)
{
    struct quire_grammar_params p;
    quire_grammar_params_init(&p, sizeof p);
    p.kind = QUIRE_GRAMMAR_JSON_SCHEMA;
    p.text = schema->text;
    p.text_size = schema->size;
    const double start = now();
    const quire_status s = quire_grammar_compile(r->vocab, &p, out, err);
    schema_report_add(&r->report.compile_times, now() - start);
    return s;
}

/* One schema with its tests: the name is for the report. */
static void check_schema(struct run *r, const char *name, const struct json_slice *schema,
                         const struct json_slice *tests)
{
    struct schema_report *report = &r->report;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_grammar *grammar = NULL;
    struct json_slice test, valid, data;
    unsigned rejected = 0, accepted_invalid = 0, failed = 0;
    report->schemas++;
    if (r->o->verbose)
        printf("%s\n", name);
    if (compile(r, schema, &grammar, &err) != QUIRE_OK) {
        report->not_compiled++;
        schema_report_reason(report, err.msg);
        if (r->o->verbose)
            printf("%s: not compiled: %s\n", name, err.msg);
        return;
    }
    for (size_t at = 0; json_slice_next(tests, &at, NULL, &test);) {
        bool accepted = false;
        if (!json_slice_get(&test, "valid", &valid) || !json_slice_get(&test, "data", &data))
            continue;
        report->instances++;
        const bool expected = json_slice_is(&valid, "true");
        if (check_instance(r, grammar, &data, &accepted, &err) != QUIRE_OK) {
            failed++;
            printf("%s: %s\n", name, err.msg);
        } else if (expected && !accepted) {
            rejected++;
        } else if (!expected && accepted) {
            accepted_invalid++;
        }
    }
    report->validation_errors += rejected > 0;
    report->invalidation_errors += accepted_invalid > 0;
    report->failures += failed > 0;
    report->passed += rejected == 0 && accepted_invalid == 0 && failed == 0;
    if (rejected > 0)
        printf("%s: %u valid instances rejected\n", name, rejected);
    if (accepted_invalid > 0)
        printf("%s: %u invalid instances accepted\n", name, accepted_invalid);
    quire_grammar_destroy(grammar);
}

/* ---- Files ---- */

/* Lines {"name", "schema", "tests"}. */
static void check_lines(struct run *r, const char *text, size_t size)
{
    for (const char *line = text, *end; line < text + size; line = end + 1) {
        struct json_slice object, name = { "\"\"", 2 }, schema, tests;
        end = memchr(line, '\n', (size_t)(text + size - line));
        end = end ? end : text + size;
        if (!json_slice_value(line, (size_t)(end - line), &object) ||
            !json_slice_get(&object, "schema", &schema) ||
            !json_slice_get(&object, "tests", &tests))
            continue;
        json_slice_get(&object, "name", &name);
        char *title = json_slice_string(&name);
        if (title != NULL && (r->o->prompt == NULL || strstr(title, r->o->prompt)))
            check_schema(r, title, &schema, &tests);
        free(title);
    }
}

/* An array of {"description", "schema", "tests"}, as in the official test suite. */
static void check_array(struct run *r, const char *path, const struct json_slice *array)
{
    struct json_slice group, description = { "\"\"", 2 }, schema, tests;
    const char *file = strrchr(path, '/');
    for (size_t at = 0; json_slice_next(array, &at, NULL, &group);) {
        char name[512];
        if (!json_slice_get(&group, "schema", &schema) || !json_slice_get(&group, "tests", &tests))
            continue;
        json_slice_get(&group, "description", &description);
        snprintf(name, sizeof name, "%s: %.*s", file ? file + 1 : path, (int)description.size,
                 description.text);
        check_schema(r, name, &schema, &tests);
    }
}

/* A compressed file through the program xz. */
static char *read_xz(const char *path, size_t *size)
{
    char command[4096 + 32], *text = NULL;
    size_t capacity = 0, n = 0;
    if (strchr(path, '\'') != NULL || strlen(path) > 4000)
        return NULL;
    snprintf(command, sizeof command, "xz -dc -- '%s'", path);
    FILE *f = popen(command, "r");
    while (f != NULL) {
        if (n + 65536 > capacity) {
            char *larger = realloc(text, capacity = 2 * capacity + 131072);
            if (larger == NULL)
                break;
            text = larger;
        }
        const size_t got = fread(text + n, 1, 65535, f);
        n += got;
        if (got == 0)
            break;
    }
    if (f == NULL || pclose(f) != 0) {
        fprintf(stderr, "quire-eval: cannot read %s (is the program xz installed?)\n", path);
        free(text);
        return NULL;
    }
    text[n] = '\0';
    *size = n;
    return text;
}

static int check_file(struct run *r, const char *path)
{
    size_t size;
    const size_t n = strlen(path);
    struct json_slice array;
    char *text = n > 3 && strcmp(path + n - 3, ".xz") == 0 ? read_xz(path, &size)
                                                           : eval_read_file(path, &size);
    if (text == NULL)
        return 66;
    if (json_slice_value(text, size, &array) && array.text[0] == '[')
        check_array(r, path, &array);
    else
        check_lines(r, text, size);
    free(text);
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return alphasort(a, b); }

/* All .json files of a folder and below it. */
static int check_path(struct run *r, const char *path)
{
    struct stat st;
    struct dirent **list;
    int code = 0;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return check_file(r, path);
    const int n = scandir(path, &list, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char inner[4096];
        const size_t size = strlen(list[i]->d_name);
        snprintf(inner, sizeof inner, "%s/%s", path, list[i]->d_name);
        const bool folder = stat(inner, &st) == 0 && S_ISDIR(st.st_mode);
        if (list[i]->d_name[0] != '.' && code == 0 &&
            (folder || (size > 5 && strcmp(list[i]->d_name + size - 5, ".json") == 0)))
            code = check_path(r, inner);
        free(list[i]);
    }
    free(n >= 0 ? list : NULL);
    return code;
}

int eval_schema(const struct eval_options *o)
{
    struct run r = { .o = o };
    struct quire_error err = QUIRE_ERROR_INIT;
    if (o->n_args < 1 || o->model == NULL) {
        fprintf(stderr, "quire-eval: usage: quire-eval schema FILE... -m TOKENIZER\n");
        return 64;
    }
    quire_status s = quire_tokenizer_open(o->model, NULL, &r.tok, &err);
    if (s != QUIRE_OK)
        return eval_fail(o->model, s, &err);
    s = quire_grammar_vocab_create(r.tok, NULL, &r.vocab, &err);
    r.n_words = quire_grammar_mask_words(r.vocab);
    r.mask = malloc((r.n_words + 1) * sizeof *r.mask);
    int code = s == QUIRE_OK && r.mask ? 0 : eval_fail("vocabulary", s, &err);
    for (int i = 0; i < o->n_args && code == 0; i++)
        code = check_path(&r, o->args[i]);
    if (code == 0) {
        schema_report_print(&r.report);
        code = r.report.invalidation_errors > 0 || r.report.failures > 0;
    }
    schema_report_free(&r.report);
    free(r.mask);
    quire_grammar_vocab_destroy(r.vocab);
    quire_tokenizer_close(r.tok);
    return code;
}
