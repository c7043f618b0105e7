/* SPDX-License-Identifier: Apache-2.0 */
/* config_file.c - reads the configuration file. */
#include "config_file.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum { MAX_CONFIG_BYTES = 1 << 20, MAX_NAME = 64 };

struct config {
    const char *path;
    int line;
    struct option_reader *reader;
    int seen[MAX_OPTIONS]; /* line of a row, 0 = none */
};

__attribute__((format(printf, 2, 3))) static int fail(const struct config *c, const char *format,
                                                      ...)
{
    va_list ap;
    va_start(ap, format);
    fprintf(stderr, "quire-server: %s:%d: ", c->path, c->line);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    return EX_CONFIG;
}

/* Reads the whole file; NULL with *code if it fails. */
static char *read_text(const char *path, size_t *size, int *code)
{
    FILE *f = fopen(path, "rbe");
    char *text = f ? malloc(MAX_CONFIG_BYTES + 1) : NULL;
    *size = text ? fread(text, 1, MAX_CONFIG_BYTES + 1, f) : 0;
    *code = 0;
    if (!f || !text || ferror(f)) {
        fprintf(stderr, "quire-server: --config: cannot read %s: %s\n", path, strerror(errno));
        *code = EX_NOINPUT;
    } else if (*size > MAX_CONFIG_BYTES) {
        fprintf(stderr, "quire-server: --config: %s is larger than 1 MiB\n", path);
        *code = EX_CONFIG;
    }
    if (f)
        fclose(f);
    if (*code) {
        free(text);
        return NULL;
    }
    text[*size] = '\0';
    return text;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static char *skip_spaces(char *p)
{
    while (is_space(*p))
        p++;
    return p;
}

/* Ends a value in place: at its closing quote, or before a comment and spaces. NULL: the quotes are
 * wrong. */
static char *cut_value(char *p)
{
    if (*p == '"') {
        char *end = strchr(p + 1, '"');
        if (!end)
            return NULL;
        const char *rest = skip_spaces(end + 1);
        if (*rest && *rest != '#')
            return NULL;
        *end = '\0';
        return p + 1;
    }
    char *end = p;
    for (char *q = p; *q && !(*q == '#' && (q == p || is_space(q[-1]))); q++)
        if (!is_space(*q))
            end = q + 1;
    *end = '\0';
    return p;
}

static int unknown(const struct config *c, const char *flag)
{
    const char *similar = option_table_find_similar(&server_options, flag, strlen(flag));
    if (flag[2] == '-')
        return fail(c, "'%s': write the name without dashes", flag + 2);
    if (!similar)
        return fail(c, "unknown option '%s' (see quire-server --help)", flag + 2);
    return fail(c, "unknown option '%s' (did you mean %s)", flag + 2, similar + 2);
}

/* One option; the line ends with NUL. */
static int read_line(struct config *c, char *p)
{
    char flag[MAX_NAME] = "--";
    p = skip_spaces(p);
    if (*p == '\0' || *p == '#')
        return 0;
    const size_t n = strcspn(p, " \t\r=#");
    if (n + 3 > sizeof flag)
        return fail(c, "unknown option '%.40s...'", p);
    memcpy(flag + 2, p, n);
    flag[n + 2] = '\0';
    p = skip_spaces(p + n);
    if (*p == '=')
        p = skip_spaces(p + 1);
    const struct option_row *row = option_table_find(&server_options, flag, n + 2);
    if (!row)
        return unknown(c, flag);
    if (option_values_is_action(row))
        return fail(c, "%s is for the command line only", flag + 2);
    char *value = cut_value(p);
    if (!value)
        return fail(c, "%s: a value in quotes must end with a quote, and the line with it",
                    flag + 2);
    if (*value == '\0' && row->value)
        return fail(c, "%s needs a value: %s", flag + 2, row->value);
    int *seen = &c->seen[row - server_options.rows];
    if (*seen && !option_values_is_list(row))
        return fail(c, "%s is already set in line %d", flag + 2, *seen);
    *seen = c->line;
    if (!option_table_set(&server_options, c->reader, row, *value ? value : "on"))
        return fail(c, "%s: '%s' is not a valid %s (%s)", flag + 2, value,
                    row->value ? row->value : "value", row->help ? row->help : "no effect");
    return 0;
}

int config_file_read(const char *path, struct option_reader *r)
{
    struct config c = { .path = path, .reader = r };
    size_t size;
    int code;
    char *text = read_text(path, &size, &code);
    r->options->config_text = text;
    char *end = text ? text + size : NULL;
    for (char *p = text; code == 0 && p < end;) {
        char *next = memchr(p, '\n', (size_t)(end - p));
        char *line_end = next ? next : end;
        c.line++;
        *line_end = '\0';
        if (strlen(p) != (size_t)(line_end - p))
            return fail(&c, "there is a NUL byte in the line");
        code = read_line(&c, p);
        p = line_end + 1;
    }
    return code;
}
