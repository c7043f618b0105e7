/* SPDX-License-Identifier: Apache-2.0 */
/* bench_table.h - results as rows of a table, printed as they come: Markdown, JSON or CSV. */
#ifndef QUIRE_BENCH_BENCH_TABLE_H
#define QUIRE_BENCH_BENCH_TABLE_H
#include "bench.h"

struct bench_column {
    const char *title; /* what Markdown shows, with the unit */
    const char *key;   /* name in JSON and CSV */
    int digits; /* after the point; BENCH_TEXT: words; BENCH_PERCENT: a fraction; BENCH_ERROR: as 1.2e-03 */
    int width;
};
enum { BENCH_TEXT = -1, BENCH_PERCENT = -2, BENCH_ERROR = -3 };

/* A row that goes to the program instead of the screen. */
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
/* By the column's key; NaN and "" when there is none. */
double bench_row_number(const struct bench_row *row, const char *key);
const char *bench_row_text(const struct bench_row *row, const char *key);

/* A document of one or several tables. Cells are given from left to right; the last one ends the row. */
struct bench_table {
    enum bench_format format;
    const struct bench_column *columns;
    unsigned n_columns, cell;
    unsigned n_tables, n_rows;
    const char *name;
    const struct bench_sink *sink;
    struct bench_row row; /* for the sink */
};

/* command and the machine's facts: a line of Markdown, members of the JSON object, nothing in CSV. */
void bench_document_begin(struct bench_table *t, const struct bench_options *o,
                          const char *command);
void bench_document_end(struct bench_table *t);
/* A remark: a paragraph in Markdown, nothing else elsewhere. */
void bench_note(const struct bench_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Starts a table; the name is a heading in Markdown, a column in CSV. Columns and name are borrowed. */
void bench_table_begin(struct bench_table *t, const char *name, const struct bench_column *columns,
                       unsigned n_columns);
void bench_text(struct bench_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bench_number(struct bench_table *t, double v); /* NaN: no value */
void bench_table_end(struct bench_table *t);

#endif
