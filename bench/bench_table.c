/* SPDX-License-Identifier: Apache-2.0 */
/* bench_table.c - prints rows of results as Markdown, JSON or CSV. */
#include "bench_table.h"
#include <math.h>
#include <quire/cpu.h>
#include <quire/status.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The CPU name, from the first line of quire_cpu_describe(). */
static const char *cpu_name(char *out, size_t size)
{
    static char text[1 << 14];
    if (quire_cpu_describe(NULL, text, sizeof text, NULL, NULL) != QUIRE_OK)
        return "unknown";
    const char *line = strncmp(text, "cpu", 3) ? text : text + 3;
    line += strspn(line, ": \t");
    snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
    return out;
}

static void put_json_string(const char *s)
{
    putchar('"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            putchar('\\');
        if ((unsigned char)*s >= 0x20)
            putchar(*s);
    }
    putchar('"');
}

void bench_document_begin(struct bench_table *t, const struct bench_options *o, const char *command)
{
    char cpu[128];
    *t = (struct bench_table){ .format = o->format, .sink = o->sink };
    cpu_name(cpu, sizeof cpu);
    if (t->format == BENCH_MARKDOWN)
        printf("quire %s %s on %s%s%s\n", quire_version(), command, cpu, o->isa ? ", --isa " : "",
               o->isa ? o->isa : "");
    if (t->format == BENCH_JSON) {
        printf("{\"quire\": \"%s\", \"command\": \"%s\", \"cpu\": ", quire_version(), command);
        put_json_string(cpu);
        printf(", \"isa\": ");
        put_json_string(o->isa ? o->isa : "best");
        printf(", \"tables\": [");
    }
}

void bench_document_end(struct bench_table *t)
{
    if (t->format == BENCH_JSON)
        printf("\n]}\n");
}

void bench_note(const struct bench_table *t, const char *fmt, ...)
{
    const bool empty = t->n_tables && !t->n_rows;
    if (t->format != BENCH_MARKDOWN || empty)
        return;
    va_list args;
    va_start(args, fmt);
    putchar('\n');
    vprintf(fmt, args);
    putchar('\n');
    va_end(args);
}

void bench_table_begin(struct bench_table *t, const char *name, const struct bench_column *columns,
                       unsigned n_columns)
{
    t->columns = columns;
    t->n_columns = n_columns;
    t->cell = t->n_rows = 0;
    t->name = name;
    if (t->format == BENCH_TO_SINK) {
        t->row = (struct bench_row){ .table = name, .columns = columns, .n = n_columns };
    } else if (t->format == BENCH_JSON) {
        printf("%s\n{\"name\": ", t->n_tables ? "," : "");
        put_json_string(name);
        printf(", \"rows\": [");
    }
    t->n_tables++;
}

static void put_heading(const struct bench_table *t)
{
    if (t->format == BENCH_CSV) {
        printf("%stable", t->n_tables > 1 ? "\n" : "");
        for (unsigned i = 0; i < t->n_columns; i++)
            printf(",%s", t->columns[i].key);
        putchar('\n');
        return;
    }
    printf("\n### %s\n\n|", t->name);
    for (unsigned i = 0; i < t->n_columns; i++)
        printf(t->columns[i].digits == BENCH_TEXT ? " %-*s |" : " %*s |", t->columns[i].width,
               t->columns[i].title);
    printf("\n|");
    for (unsigned i = 0; i < t->n_columns; i++) {
        const struct bench_column *c = &t->columns[i];
        const int title = (int)strlen(c->title), width = c->width > title ? c->width : title;
        putchar(c->digits == BENCH_TEXT ? ':' : '-');
        for (int k = 0; k < width; k++)
            putchar('-');
        printf(c->digits == BENCH_TEXT ? "-|" : ":|");
    }
    putchar('\n');
}

/* Print the separators before and after a cell. */
static void open_cell(struct bench_table *t)
{
    const bool first = t->cell == 0;
    if (first && !t->n_rows && t->format != BENCH_JSON)
        put_heading(t);
    if (t->format == BENCH_JSON)
        printf("%s\"%s\": ", first ? (t->n_rows ? ",\n  {" : "\n  {") : ", ",
               t->columns[t->cell].key);
    else if (t->format == BENCH_CSV)
        printf("%s,", first ? t->name : "");
    else
        printf("%s ", first ? "|" : "");
}

static void close_cell(struct bench_table *t)
{
    const bool last = ++t->cell == t->n_columns;
    if (t->format == BENCH_MARKDOWN)
        printf(" |");
    if (!last)
        return;
    printf(t->format == BENCH_JSON ? "}" : "\n");
    fflush(stdout);
    t->cell = 0;
    t->n_rows++;
}

/* ---- rows passed to another command */

static void sink_cell(struct bench_table *t, const char *text, double number)
{
    snprintf(t->row.cells[t->cell].text, sizeof t->row.cells->text, "%.63s", text);
    t->row.cells[t->cell].number = number;
    if (++t->cell < t->n_columns)
        return;
    t->sink->take(t->sink->user, &t->row);
    t->cell = 0;
    t->n_rows++;
}

static int find_cell(const struct bench_row *row, const char *key)
{
    for (unsigned i = 0; i < row->n; i++)
        if (!strcmp(row->columns[i].key, key))
            return (int)i;
    return -1;
}

double bench_row_number(const struct bench_row *row, const char *key)
{
    const int i = find_cell(row, key);
    return i < 0 ? NAN : row->cells[i].number;
}

const char *bench_row_text(const struct bench_row *row, const char *key)
{
    const int i = find_cell(row, key);
    return i < 0 ? "" : row->cells[i].text;
}

void bench_text(struct bench_table *t, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (t->format == BENCH_TO_SINK) {
        sink_cell(t, text, NAN);
        return;
    }
    open_cell(t);
    if (t->format == BENCH_JSON)
        put_json_string(text);
    else if (t->format == BENCH_CSV)
        printf(strchr(text, ',') ? "\"%s\"" : "%s", text);
    else
        printf("%-*s", t->columns[t->cell].width, text);
    close_cell(t);
}

void bench_number(struct bench_table *t, double v)
{
    const struct bench_column *c = &t->columns[t->cell];
    if (t->format == BENCH_TO_SINK) {
        sink_cell(t, "", v);
        return;
    }
    open_cell(t);
    if (t->format != BENCH_MARKDOWN && isfinite(v))
        printf("%.6g", v);
    else if (t->format != BENCH_MARKDOWN)
        fputs(t->format == BENCH_JSON ? "null" : "", stdout);
    else if (!isfinite(v))
        printf("%*s", c->width, "-");
    else if (c->digits == BENCH_PERCENT)
        printf("%*.0f %%", c->width - 2, 100 * v);
    else if (c->digits == BENCH_ERROR)
        printf("%*.1e", c->width, v);
    else
        printf("%*.*f", c->width, c->digits, v);
    close_cell(t);
}

void bench_table_end(struct bench_table *t)
{
    if (t->format == BENCH_JSON)
        printf("\n]}");
}
