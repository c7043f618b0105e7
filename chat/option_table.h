/* SPDX-License-Identifier: Apache-2.0 */
/* option_table.h - a program's table of options: reads arguments and QUIRE_ARG_* variables, prints
 * --help and the list for the completion. quire-chat and quire-server share it. */
#ifndef QUIRE_CHAT_OPTION_TABLE_H
#define QUIRE_CHAT_OPTION_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct option_row {
    const char *section; /* not NULL: a heading, and nothing else is set */
    int kind;            /* of the program */
    size_t offset;       /* of the field in the program's struct options */
    const char *short_name, *name, *alias;
    const char *value; /* name of the value; NULL: a flag */
    const char *help;  /* NULL: hidden from --help and the completion */
};

struct option_table {
    const char *program;
    const struct option_row *rows;
    size_t n_rows;
    /* Parses and stores a value, "1" or "0" of a flag. False: the option does not allow it. */
    bool (*set)(void *options, const struct option_row *row, const char *value);
};

/* The row of a name with its dashes, of n bytes; NULL if there is none. */
const struct option_row *option_table_find(const struct option_table *t, const char *name,
                                           size_t n);
/* The documented name that resembles the n bytes most; NULL if none does. */
const char *option_table_find_similar(const struct option_table *t, const char *name, size_t n);

/* Stores a value after normalizing that of a flag: 1, on, true, yes or 0, off, false, no. */
bool option_table_set(const struct option_table *t, void *options, const struct option_row *row,
                      const char *value);

/* These print one line to standard error and return false if they fail. read_argument parses the
 * option at argv[*i], "--name=value", "--name value" or "--flag", and advances *i when the value is
 * the next argument. */
bool option_table_read_environment(const struct option_table *t, void *options);
bool option_table_read_argument(const struct option_table *t, void *options, int argc, char **argv,
                                int *i);
bool option_table_bad_value(const struct option_table *t, const struct option_row *row,
                            const char *source, const char *value);

/* Prints `text` from column 0 and a newline, broken between words at `width`. */
void option_table_print_wrapped(FILE *out, const char *text, unsigned width);
/* Prints the sections of --help. */
void option_table_print_rows(const struct option_table *t, FILE *out, unsigned width);
/* Columns for --help on standard output: at most 100, 80 if it is no terminal. */
unsigned option_table_help_width(void);

/* Prints one line per documented option, "NAMES|VALUE|COMPLETION": names separated by spaces; the
 * name of the value, empty for a flag; what `completion` prints for the kind: "file", "model", or
 * the possible values, nothing if they cannot be listed. */
void option_table_print_list(const struct option_table *t, FILE *out,
                             void (*completion)(FILE *out, int kind));
void option_table_print_kv_types(FILE *out);
void option_table_print_isa_levels(FILE *out);

#endif
