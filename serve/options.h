/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the options of quire-server: command line, environment, configuration file. */
#ifndef QUIRE_SERVE_OPTIONS_H
#define QUIRE_SERVE_OPTIONS_H
#include <quire/quire.h>
#include <stdbool.h>
#include <stdint.h>

enum { MAX_REPEATED = 64 };

/* Values of an option that may be repeated. */
struct option_list {
    const char *text[MAX_REPEATED];
    uint32_t n;
};

/* Type of the field of every kind of option. */
typedef bool OPTION_TYPE_FLAG;
typedef const char *OPTION_TYPE_TEXT;
typedef const char *OPTION_TYPE_PATH;
typedef struct option_list OPTION_TYPE_TEXTS;
typedef struct option_list OPTION_TYPE_MODELS;  /* "NAME=PATH" or "PATH" */
typedef struct option_list OPTION_TYPE_ALIASES; /* "ALIAS=NAME" */
typedef double OPTION_TYPE_REAL;                /* >= 0 */
typedef uint32_t OPTION_TYPE_COUNT;
typedef uint32_t OPTION_TYPE_THREADS; /* 0 = automatic */
typedef uint16_t OPTION_TYPE_PORT;
typedef uint64_t OPTION_TYPE_BYTES;
typedef enum quire_kv_dtype OPTION_TYPE_KV_TYPE;
typedef const char *OPTION_TYPE_ISA;
typedef enum quire_compute OPTION_TYPE_COMPUTE;
typedef unsigned OPTION_TYPE_LOG_FORMAT; /* enum log_format */
typedef enum quire_log_level OPTION_TYPE_LOG_LEVEL;

/* One field per row of options.def. */
struct options {
#define SECTION(title)
#define OPTION(kind, field, initial, short_name, name, alias, value, help) OPTION_TYPE_##kind field;
#include "options.def"
#undef SECTION
#undef OPTION
    char *config_text; /* strings of the configuration file are here */
};

/* Reads the environment, then the configuration file, then the arguments; later ones override, also
 * the whole list of an option that may be repeated. Strings live as long as the process. On failure
 * prints one line to standard error and returns the exit code, otherwise 0. *exit_now: --help,
 * --version or another option that ends the program was served. */
int options_read(struct options *o, int argc, char **argv, bool *exit_now);

/* The path in a value of --model: a name before it has no slash. */
const char *option_model_path(const char *text);

#endif
