/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - command-line options and the QUIRE_ARG_* environment variables. */
#ifndef QUIRE_CHAT_OPTIONS_H
#define QUIRE_CHAT_OPTIONS_H
#include "text.h"
#include <quire/quire.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MAX_STOPS = 16, NOT_GIVEN = INT32_MIN };

struct text_list {
    const char *text[MAX_STOPS];
    uint32_t n;
};

/* Type of the field of every kind of option. */
typedef bool OPTION_TYPE_FLAG;
typedef const char *OPTION_TYPE_TEXT;
typedef struct text_list OPTION_TYPE_TEXTS; /* may be repeated */
typedef const char *OPTION_TYPE_PATH;
typedef const char *OPTION_TYPE_MODEL; /* a model file or folder */
typedef float OPTION_TYPE_REAL;
typedef int32_t OPTION_TYPE_INTEGER;  /* >= -1, or NOT_GIVEN */
typedef uint32_t OPTION_TYPE_COUNT;   /* >= 0 */
typedef uint32_t OPTION_TYPE_THREADS; /* 0 = automatic */
typedef int64_t OPTION_TYPE_SEED;     /* -1 = random, or NOT_GIVEN */
typedef uint64_t OPTION_TYPE_BYTES;   /* 0 = automatic */
typedef enum quire_kv_dtype OPTION_TYPE_KV_TYPE;
typedef const char *OPTION_TYPE_ISA;
typedef const char *OPTION_TYPE_SAMPLERS; /* names for quire_samplers_parse() */
typedef enum quire_compute OPTION_TYPE_COMPUTE;
typedef enum quire_pooling OPTION_TYPE_POOLING;

/* One field per row of options.def. Strings belong to argv or the environment. */
struct options {
#define SECTION(title)
#define OPTION(kind, field, initial, short_name, name, alias, value, help) OPTION_TYPE_##kind field;
#include "options.def"
#undef SECTION
#undef OPTION
};

/* Reads the environment, then the arguments, which override it. On failure prints one line to
 * standard error and returns false. */
bool options_parse(struct options *o, int argc, char **argv);

/* Sets *o to the defaults but for one option that can be changed during a conversation, given by
 * its name with or without dashes. On failure prints one line to standard error and returns
 * false. */
bool options_set(struct options *o, const char *name, const char *value);

/* Adds an error message of the library in which the flag replaces the API field that begins it. */
void options_add_message(struct text *out, const char *message);

void options_help(FILE *out); /* prints --help */
void options_list(FILE *out); /* prints --list-options: see option_table_print_list() */

#endif
