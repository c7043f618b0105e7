/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - quire-bench: options shared by its commands, and the list of commands. */
#ifndef QUIRE_BENCH_BENCH_H
#define QUIRE_BENCH_BENCH_H
#include <quire/attention.h>
#include <stdbool.h>

enum { BENCH_LIST_MAX = 32 };

/* "1,2,4" */
struct bench_list {
    uint32_t n;
    uint32_t v[BENCH_LIST_MAX];
};

enum bench_format { BENCH_MARKDOWN, BENCH_JSON, BENCH_CSV, BENCH_TO_SINK };
struct bench_sink; /* bench_table.h */

/* Each command uses what means something to it. NULL, 0 and an empty list are the command's default. */
struct bench_options {
    const char *isa;                                /* exact level; NULL = the best one */
    const char *compute;                            /* list of "native", "f32" */
    const char *types, *shapes, *k_types, *v_types; /* lists of names */
    const char *model, *arch, *type, *output, *peer, *pack_cache;
    struct bench_list threads, m, prompts, gens, depths, batches;
    uint32_t reps, layers, seed, chunk;
    bool quick, shuffle, full, onednn;
    enum bench_format format;
    const struct bench_sink *sink; /* for BENCH_TO_SINK */
    int n_peer_args;               /* what stands after "--" */
    char **peer_args;
};

/* Commands; each returns a process exit code: 0 done, 1 a result is wrong, else sysexits. */
int bench_roofline(const struct bench_options *o);
int bench_linear(const struct bench_options *o);
int bench_attention(const struct bench_options *o);
int bench_overhead(const struct bench_options *o);
int bench_synth(const struct bench_options *o);
int bench_model(const struct bench_options *o);
int bench_compare(const struct bench_options *o);
int bench_start_times(const struct bench_options *o);
int bench_neighbour(const struct bench_options *o);
int bench_targets(const struct bench_options *o);
int bench_first_token(const struct bench_options *o); /* what bench_start_times starts */

/* Prints "quire-bench: what: message" and returns the sysexits code that fits the status. */
int bench_fail(const char *what, quire_status status, const struct quire_error *err);
/* The same for what has no status. */
int bench_error(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Takes options as they stand on the command line, space between them; the words are cut out of `words`, which stays
 * in use. False if one is none. */
bool bench_options_add(struct bench_options *o, char *words);

/* The list, or `dflt` (a string such as "1,2,4") when it is empty. */
struct bench_list bench_list_or(const struct bench_list *list, const char *dflt);
/* Takes the next word of a comma-separated list off *text; false at its end, or if it does not fit. */
bool bench_next_word(const char **text, char *out, size_t size);
/* Compute modes of --compute; 0 and a message if a word is unknown. */
unsigned bench_compute_modes(const struct bench_options *o, const char *dflt,
                             enum quire_compute modes[2]);
const char *bench_compute_name(enum quire_compute compute);

#endif
