/* SPDX-License-Identifier: Apache-2.0 */
/* option_values.h - the table of options of quire-server and the values of its kinds. */
#ifndef QUIRE_SERVE_OPTION_VALUES_H
#define QUIRE_SERVE_OPTION_VALUES_H
#include "option_table.h"
#include "options.h"
#include <stdio.h>

enum { MAX_OPTIONS = 128 };

/* What the option table sets: options and where their values come from. A list that a source gives
 * replaces that of the sources before it. */
struct option_reader {
    struct options *options;
    int source;              /* number, 1 = the first one */
    int set_by[MAX_OPTIONS]; /* of every row; 0 = default */
};

extern const struct option_table server_options; /* set() takes a struct option_reader */
extern const struct options option_defaults;

/* Whether the option says what the program does, --config or one that ends it, and not how it
 * serves. */
bool option_values_is_action(const struct option_row *row);

/* Prints the values that are not the defaults as lines of a configuration file. */
void option_values_print(const struct options *o, FILE *out);

/* Whether the option may be repeated. */
bool option_values_is_list(const struct option_row *row);

/* COMPLETION of --list-options. */
void option_values_print_completion(FILE *out, int kind);

#endif
