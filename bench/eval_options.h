/* SPDX-License-Identifier: Apache-2.0 */
/* eval_options.h - the options of quire-eval as a table, for --help and the completion. */
#ifndef QUIRE_BENCH_EVAL_OPTIONS_H
#define QUIRE_BENCH_EVAL_OPTIONS_H
#include <stdio.h>

/* Prints one row per option, with continued lines indented. */
void eval_options_help(FILE *out);

/* Prints one line per option for chat/quire.bash: NAMES|VALUE|COMPLETION, where COMPLETION is
 * "file", "model", the possible values, or nothing. */
void eval_options_list(FILE *out);

#endif
