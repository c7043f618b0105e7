/* SPDX-License-Identifier: Apache-2.0 */
#include "eval_schema_files.h"
#include "eval.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PATH = 4096, XZ_PIECE = 1 << 16 };

struct visit {
    schema_visitor run;
    void *context;
};

static int malformed(const char *path, const char *unit, size_t number, const char *what)
{
    fprintf(stderr, "quire-eval: %s, %s %zu: %s\n", path, unit, number, what);
    return 65;
}

/* Why an array of tests cannot be replayed; NULL: it can. */
static const char *fault_of_tests(const struct json_slice *tests)
{
    struct json_slice test, valid, data;
    if (tests->text[0] != '[')
        return "\"tests\" is no array";
    for (size_t at = 0; json_slice_next(tests, &at, NULL, &test);)
        if (!json_slice_get(&test, "valid", &valid) || !json_slice_get(&test, "data", &data) ||
            (!json_slice_is(&valid, "true") && !json_slice_is(&valid, "false")))
            return "a test without \"data\" and \"valid\", true or false";
    return NULL;
}

/* Visits {"schema", "tests"}. prefix: of the name, NULL: none; unit, number: for messages. */
static int visit_group(const struct visit *v, const char *path, const char *prefix,
                       const char *unit, size_t number, const struct json_slice *group)
{
    struct json_slice title = { "\"\"", 2 }, schema, tests;
    if (!json_slice_get(group, "schema", &schema) || !json_slice_get(group, "tests", &tests))
        return malformed(path, unit, number, "no object with \"schema\" and \"tests\"");
    const char *fault = fault_of_tests(&tests);
    if (fault != NULL)
        return malformed(path, unit, number, fault);
    json_slice_get(group, prefix != NULL ? "description" : "name", &title);
    char *text = json_slice_string(&title);
    const size_t size = text != NULL ? strlen(text) + (prefix != NULL ? strlen(prefix) : 0) + 3 : 1;
    char *name = malloc(size);
    if (text != NULL && name != NULL) {
        snprintf(name, size, "%s%s%s", prefix != NULL ? prefix : "", prefix != NULL ? ": " : "",
                 text);
        v->run(v->context, name, &schema, &tests);
    }
    const bool done = text != NULL && name != NULL;
    free(text);
    free(name);
    return done ? 0 : 71;
}

static int visit_lines(const struct visit *v, const char *path, const char *text, size_t size)
{
    size_t number = 1;
    int code = 0;
    for (const char *line = text, *end; line < text + size && code == 0; line = end + 1, number++) {
        struct json_slice object;
        end = memchr(line, '\n', (size_t)(text + size - line));
        end = end ? end : text + size;
        if (strspn(line, " \t\r\n") >= (size_t)(end - line))
            continue;
        if (json_slice_value(line, (size_t)(end - line), &object))
            code = visit_group(v, path, NULL, "line", number, &object);
        else
            code = malformed(path, "line", number, "no JSON value");
    }
    return code;
}

static int visit_array(const struct visit *v, const char *path, const struct json_slice *array)
{
    const char *file = strrchr(path, '/');
    struct json_slice group;
    size_t number = 1;
    int code = 0;
    for (size_t at = 0; code == 0 && json_slice_next(array, &at, NULL, &group); number++)
        code = visit_group(v, path, file ? file + 1 : path, "element", number, &group);
    return code;
}

/* ---- Reading ---- */

/* Starts `xz -dc -- path` without a shell. Returns its output, or NULL. */
static FILE *start_xz(const char *path, pid_t *child)
{
    int ends[2];
    if (pipe(ends) != 0)
        return NULL;
    *child = fork();
    if (*child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp("xz", "xz", "-dc", "--", path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *out = *child > 0 ? fdopen(ends[0], "r") : NULL;
    if (out == NULL)
        close(ends[0]);
    return out;
}

static char *read_all(FILE *f, size_t *size)
{
    char *text = NULL;
    size_t capacity = 0, got = 0;
    *size = 0;
    do {
        if (*size + XZ_PIECE >= capacity) {
            char *larger = realloc(text, capacity = 2 * capacity + 2 * XZ_PIECE);
            if (larger == NULL) {
                free(text);
                return NULL;
            }
            text = larger;
        }
        got = fread(text + *size, 1, XZ_PIECE, f);
        *size += got;
    } while (got > 0);
    text[*size] = '\0';
    return text;
}

/* A compressed file through the program xz. */
static char *read_xz(const char *path, size_t *size)
{
    pid_t child = -1;
    int status = -1;
    FILE *f = start_xz(path, &child);
    char *text = f != NULL ? read_all(f, size) : NULL;
    if (f != NULL)
        fclose(f);
    if (child > 0)
        waitpid(child, &status, 0);
    if (text != NULL && status == 0)
        return text;
    fprintf(stderr, "quire-eval: cannot read %s%s\n", path,
            WIFEXITED(status) && WEXITSTATUS(status) == 127 ? ": the program xz is not installed"
                                                            : " with xz");
    free(text);
    return NULL;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static int visit_file(const struct visit *v, const char *path)
{
    size_t size;
    struct json_slice array;
    char *text = ends_with(path, ".xz") ? read_xz(path, &size) : eval_read_file(path, &size);
    int code = 66;
    if (text == NULL)
        return code;
    if (json_slice_value(text, size, &array) && array.text[0] == '[')
        code = visit_array(v, path, &array);
    else
        code = visit_lines(v, path, text, size);
    free(text);
    return code;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int visit_path(const struct visit *v, const char *path)
{
    struct dirent **list;
    int code = 0;
    if (!is_folder(path))
        return visit_file(v, path);
    const int n = scandir(path, &list, NULL, alphasort);
    if (n < 0) {
        fprintf(stderr, "quire-eval: cannot read the folder %s\n", path);
        return 66;
    }
    for (int i = 0; i < n; i++) {
        char inner[MAX_PATH];
        const char *name = list[i]->d_name;
        const int length = snprintf(inner, sizeof inner, "%s/%s", path, name);
        if (code == 0 && name[0] != '.' && length < MAX_PATH &&
            (is_folder(inner) || ends_with(name, ".json")))
            code = visit_path(v, inner);
        free(list[i]);
    }
    free(list);
    return code;
}

int schema_files_visit(const char *path, schema_visitor visit, void *context)
{
    return visit_path(&(struct visit){ visit, context }, path);
}
