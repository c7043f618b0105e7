/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - quire-bench: options and helpers shared by its commands, and the list of commands. */
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

/* Options of all commands. NULL, 0 and an empty list select the default of the command. */
struct bench_options {
    const char *isa;                                /* exact ISA level; NULL = the best one */
    const char *compute;                            /* list of "native", "f32" */
    const char *types, *shapes, *k_types, *v_types; /* lists of names */
    const char *model, *arch, *type, *output, *peer, *pack_cache, *draft_model, *lora;
    struct bench_list threads, m, prompts, gens, depths, batches;
    uint32_t reps, layers, seed, chunk, lora_rank, cold;
    const char *synth, *prompt_len, *answer_len, *trace, *url, *scenario; /* serve */
    const char *json_schema;                                              /* serve */
    uint32_t requests, concurrency, shared_prefix, groups, max_seqs, cache_tokens, vocab;
    double rate, target_itl, slo_ttft, slo_itl; /* per second; milliseconds */
    bool quick, shuffle, full, onednn, text_prompts, bf16_states;
    enum bench_format format;
    const struct bench_sink *sink; /* for BENCH_TO_SINK */
    int n_peer_args;               /* arguments after "--" */
    char **peer_args;
};

/* Commands, one per source file bench_COMMAND.c. Each returns a process exit code: 0 done, 1 a
 * result is wrong, else a code of sysexits.h. */
int bench_roofline(const struct bench_options *o);
int bench_linear(const struct bench_options *o);
int bench_attention(const struct bench_options *o);
int bench_overhead(const struct bench_options *o);
int bench_synth(const struct bench_options *o);
int bench_model(const struct bench_options *o);
int bench_adapter(const struct bench_options *o);
int bench_compare(const struct bench_options *o);
int bench_start(const struct bench_options *o);
int bench_contention(const struct bench_options *o);
int bench_targets(const struct bench_options *o);
int bench_serve(const struct bench_options *o);
int bench_first_token(const struct bench_options *o); /* in bench_start.c: the measured process */

/* Writes the synthetic model of --arch, --type and --layers to a file, with the random numbers of
 * --seed. Describes it in `out` (in bench_synth.c). Returns as a command does. */
int bench_synth_write(const struct bench_options *o, const char *path, char *out, size_t size);

/* Prints "quire-bench: what: message" to stderr. Returns the sysexits code of the status. */
int bench_fail(const char *what, quire_status status, const struct quire_error *err);
/* Prints "quire-bench: message" to stderr. Returns `code`. */
int bench_error(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Parses options separated by spaces, as on the command line. Splits `words` in place; *o points
 * into it afterwards. Returns false on a bad option. */
bool bench_options_add(struct bench_options *o, char *words);

/* Returns the list, or the parsed `dflt` ("1,2,4") when the list is empty. */
struct bench_list bench_list_or(const struct bench_list *list, const char *dflt);
/* Copies the next word of a comma-separated list to `out` and advances *text. Returns false at
 * the end of the list, or when the word does not fit. */
bool bench_next_word(const char **text, char *out, size_t size);
/* Parses --compute. Returns the number of modes; 0, with a message on stderr, if a word is
 * unknown. */
unsigned bench_compute_modes(const struct bench_options *o, const char *dflt,
                             enum quire_compute modes[3]);
const char *bench_compute_name(enum quire_compute compute);

#endif
