/* SPDX-License-Identifier: Apache-2.0 */
/* option_table.c - a program's table of options. */
#include "option_table.h"
#include <quire/cpu.h>
#include <quire/kv_cache.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* ---- Names */

static bool matches(const char *a, const char *b, size_t n)
{
    return a && strlen(a) == n && strncmp(a, b, n) == 0;
}

const struct option_row *option_table_find(const struct option_table *t, const char *name, size_t n)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        const struct option_row *r = &t->rows[i];
        if (matches(r->short_name, name, n) || matches(r->name, name, n) ||
            matches(r->alias, name, n))
            return r;
    }
    return NULL;
}

enum { MAX_NAME = 64 }; /* bytes of a name that can resemble another one */

/* Number of bytes to insert, delete or replace that turn one name into the other one (Levenshtein
 * distance); 1 if one begins with the other one. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    enum { LEAST_PREFIX = 5 }; /* "--" and three letters */
    size_t row[MAX_NAME + 1];
    const size_t shorter = n_a < n_b ? n_a : n_b;
    if (shorter >= LEAST_PREFIX && strncmp(a, b, shorter) == 0)
        return 1;
    for (size_t j = 0; j <= n_b; j++)
        row[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            const size_t replace = diagonal + (a[i - 1] != b[j - 1]);
            const size_t other = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            diagonal = row[j];
            row[j] = replace < other ? replace : other;
        }
    }
    return row[n_b];
}

const char *option_table_find_similar(const struct option_table *t, const char *name, size_t n)
{
    const char *best = NULL;
    size_t least = n / 3 + 1;
    for (size_t i = 0; n <= MAX_NAME && i < t->n_rows; i++) {
        const struct option_row *r = &t->rows[i];
        const char *const names[] = { r->name, r->alias };
        for (size_t k = 0; k < 2 && r->help; k++) {
            const size_t length = names[k] ? strlen(names[k]) : MAX_NAME + 1;
            if (length > MAX_NAME)
                continue;
            const size_t d = distance(name, n, names[k], length);
            if (d < least) {
                least = d;
                best = names[k];
            }
        }
    }
    return best;
}

/* ---- Values */

static bool is_one_of(const char *value, const char *const *words)
{
    while (*words && strcmp(value, *words) != 0)
        words++;
    return *words != NULL;
}

bool option_table_set(const struct option_table *t, void *options, const struct option_row *row,
                      const char *value)
{
    static const char *const on[] = { "1", "on", "true", "yes", NULL };
    static const char *const off[] = { "0", "off", "false", "no", NULL };
    if (!row->value) {
        if (!is_one_of(value, on) && !is_one_of(value, off))
            return false;
        value = is_one_of(value, on) ? "1" : "0";
    }
    return t->set(options, row, value);
}

bool option_table_bad_value(const struct option_table *t, const struct option_row *row,
                            const char *source, const char *value)
{
    fprintf(stderr, "%s: %s: '%s' is not a valid %s (%s)\n", t->program, source, value,
            row->value ? row->value : "value", row->help ? row->help : "no effect");
    return false;
}

bool option_table_read_environment(const struct option_table *t, void *options)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        const struct option_row *r = &t->rows[i];
        if (r->section)
            continue;
        char name[MAX_NAME] = "QUIRE_ARG_";
        size_t n = strlen(name);
        for (const char *p = r->name + 2; *p && n + 1 < sizeof name; p++)
            name[n++] = *p == '-' ? '_' : (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
        name[n] = 0;
        const char *value = getenv(name);
        if (value && *value && !option_table_set(t, options, r, value))
            return option_table_bad_value(t, r, name, value);
    }
    return true;
}

bool option_table_read_argument(const struct option_table *t, void *options, int argc, char **argv,
                                int *i)
{
    const char *arg = argv[*i];
    const char *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
    const size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
    const struct option_row *row = option_table_find(t, arg, n);
    if (!row) {
        const char *similar = option_table_find_similar(t, arg, n);
        fprintf(stderr, "%s: unknown option '%.*s' (%s%s)\n", t->program, (int)n, arg,
                similar ? "did you mean " : "see --help", similar ? similar : "");
        return false;
    }
    const char *value = equals ? equals + 1 : row->value ? NULL : "1";
    if (!value) {
        if (*i + 1 >= argc) {
            fprintf(stderr, "%s: %s needs a value: %s\n", t->program, arg, row->value);
            return false;
        }
        value = argv[++*i];
    }
    return option_table_set(t, options, row, value) ||
           option_table_bad_value(t, row, row->name, value);
}

/* ---- Help */

/* Prints words of `text` from column `at`, broken at `width` and continued at column `indent`. */
static void print_words(FILE *out, const char *text, unsigned at, unsigned indent, unsigned width)
{
    for (const char *word = text; *word;) {
        const size_t n = strcspn(word, " ");
        if (at > indent && at + 1 + n > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (word > text) {
            fputc(' ', out);
            at++;
        }
        fwrite(word, 1, n, out);
        at += (unsigned)n;
        word += n + strspn(word + n, " ");
    }
    fputc('\n', out);
}

void option_table_print_wrapped(FILE *out, const char *text, unsigned width)
{
    print_words(out, text, 0, 0, width);
}

static void print_row(FILE *out, const struct option_row *r, unsigned width)
{
    enum { NAMES = 32, INDENT = 6, LEAST_HELP = 36 }; /* columns */
    char names[2 * MAX_NAME];
    const int n =
        snprintf(names, sizeof names, "  %s%s%s%s%s", r->short_name ? r->short_name : "",
                 r->short_name ? ", " : "", r->name, r->value ? " " : "", r->value ? r->value : "");
    if (width < NAMES + LEAST_HELP) {
        fprintf(out, "%s\n%*s", names, INDENT, "");
        print_words(out, r->help, INDENT, INDENT, width);
    } else {
        fprintf(out, "%-*s", NAMES, names);
        print_words(out, r->help, n > NAMES ? (unsigned)n : NAMES, NAMES, width);
    }
}

void option_table_print_rows(const struct option_table *t, FILE *out, unsigned width)
{
    for (size_t i = 0; i < t->n_rows; i++)
        if (t->rows[i].section)
            fprintf(out, "\n%s:\n", t->rows[i].section);
        else if (t->rows[i].help)
            print_row(out, &t->rows[i], width);
}

unsigned option_table_help_width(void)
{
    enum { DEFAULT_WIDTH = 80, MAX_WIDTH = 100 };
    struct winsize size;
    const unsigned width = ioctl(1, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
    return !width ? DEFAULT_WIDTH : width < MAX_WIDTH ? width : MAX_WIDTH;
}

/* ---- List for the completion */

void option_table_print_list(const struct option_table *t, FILE *out,
                             void (*completion)(FILE *out, int kind))
{
    for (size_t i = 0; i < t->n_rows; i++) {
        const struct option_row *r = &t->rows[i];
        if (!r->help)
            continue;
        fprintf(out, "%s%s%s%s%s|%s|", r->short_name ? r->short_name : "", r->short_name ? " " : "",
                r->name, r->alias ? " " : "", r->alias ? r->alias : "", r->value ? r->value : "");
        completion(out, r->kind);
        fputc('\n', out);
    }
}

void option_table_print_kv_types(FILE *out)
{
    const char *name;
    for (int i = 0; (name = quire_kv_dtype_name((enum quire_kv_dtype)i)); i++)
        fprintf(out, "%s ", name);
    fprintf(out, "fp8 q8_0 q4_0"); /* the aliases */
}

void option_table_print_isa_levels(FILE *out)
{
    const char *name;
    for (int i = 0; (name = quire_cpu_level_name(i)); i++)
        fprintf(out, i ? " %s" : "%s", name);
}
