/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - what the command line and the QUIRE_ARG_* variables say. */
#ifndef QUIRE_CHAT_OPTIONS_H
#define QUIRE_CHAT_OPTIONS_H
#include "text.h"
#include <quire/quire.h>
#include <stdbool.h>
#include <stdint.h>

enum { MAX_STOPS = 16, NOT_GIVEN = INT32_MIN };

/* Strings belong to argv or the environment. */
struct options {
    const char *model, *prompt, *file, *system, *isa, *template_file, *pack_cache;
    const char *stop[MAX_STOPS];
    uint32_t n_stop;
    bool raw, interactive, cpu, dry_run, json, help, version, mlock, ignore_eos, verbose, no_wrap;
    int32_t max_tokens; /* -1 = until the model ends or the context is full */
    uint32_t context;   /* 0 = automatic */
    uint32_t threads;   /* 0 = automatic */
    uint64_t kv_mem;    /* bytes; 0 = automatic */
    int64_t seed;       /* -1 = random */
    enum quire_kv_dtype k_type, v_type;
    enum quire_compute compute;
    /* sampling; NaN or NOT_GIVEN = the model's own default, else the program's */
    float temperature, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty;
    int32_t top_k, repeat_last_n;
};

/* Reads the environment, then the arguments. On failure prints one line to stderr and returns
 * false. */
bool options_parse(struct options *o, int argc, char **argv);

void options_help(struct text *out);

#endif
