/* SPDX-License-Identifier: Apache-2.0 */
/* bench_table.h - prints rows of results as Markdown, JSON or CSV, each row when it is complete. */
#ifndef QUIRE_BENCH_BENCH_TABLE_H
#define QUIRE_BENCH_BENCH_TABLE_H
#include "bench.h"

struct bench_column {
    const char *title; /* heading in Markdown, with the unit */
    const char *key;   /* name in JSON and CSV */
    int digits;        /* after the decimal point, or an enumerator below */
    int width;
};
enum {
    BENCH_TEXT = -1,
    BENCH_PERCENT = -2, /* a fraction, printed as a percentage */
    BENCH_ERROR = -3    /* printed as 1.2e-03 */
};

/* A row that a command passes to another command (BENCH_TO_SINK). */
enum { BENCH_COLUMNS_MAX = 24 };
struct bench_row {
    const char *table;
    const struct bench_column *columns;
    unsigned n;
    struct {
        double number; /* NaN in columns of text */
        char text[64]; /* "" in columns of numbers */
    } cells[BENCH_COLUMNS_MAX];
};
struct bench_sink {
    void (*take)(void *user, const struct bench_row *row);
    void *user;
};
/* Cell by the key of its column; NaN and "" if the row has none. */
double bench_row_number(const struct bench_row *row, const char *key);
const char *bench_row_text(const struct bench_row *row, const char *key);

/* A document of one or more tables. Cells are written from left to right; the last one ends the
 * row. */
struct bench_table {
    enum bench_format format;
    const struct bench_column *columns;
    unsigned n_columns, cell;
    unsigned n_tables, n_rows;
    const char *name;
    const struct bench_sink *sink;
    struct bench_row row; /* for the sink */
};

/* Writes version, command, CPU and ISA level: a line in Markdown, members in JSON, nothing in
 * CSV. */
void bench_document_begin(struct bench_table *t, const struct bench_options *o,
                          const char *command);
void bench_document_end(struct bench_table *t);
/* Writes a paragraph in Markdown, nothing in the other formats or after a table without rows. */
void bench_note(const struct bench_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Begins a table. The name is a heading in Markdown and a column in CSV; both are written with the
 * first row, so a command that fails before prints its error alone. Borrows columns and name. */
void bench_table_begin(struct bench_table *t, const char *name, const struct bench_column *columns,
                       unsigned n_columns);
void bench_text(struct bench_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bench_number(struct bench_table *t, double v); /* NaN: no value */
void bench_table_end(struct bench_table *t);

#endif
