/* SPDX-License-Identifier: Apache-2.0 */
/* eval.h - quire-eval: conformance against reference data, and debugging. Uses the public API only. */
#ifndef QUIRE_BENCH_EVAL_H
#define QUIRE_BENCH_EVAL_H
#include <quire/quire.h>
#include <stdbool.h>

/* Options shared by the commands; each uses what means something to it. */
struct eval_options {
    const char *isa; /* NULL = best */
    enum quire_compute compute;
    enum quire_linear_provider linear;
    enum quire_kv_dtype k_dtype, v_dtype;
    uint32_t threads; /* 0 = automatic */
    uint32_t chunk;   /* tokens per step of a prompt, 0 = all at once */
    uint32_t block_size;
    uint32_t expand_from; /* new tokens from which on latent rows are expanded, 0 = never */
    const char *model, *gguf, *input, *output;
    const char *prompt;
    bool verbose;
    int n_args; /* what is left after the options */
    char **args;
};

/* Commands; each returns a process exit code: 0 passed, 1 outside a gate, else sysexits. */
int eval_golden(const struct eval_options *o);
int eval_attention(const struct eval_options *o);
int eval_tokenize(const struct eval_options *o);
int eval_template(const struct eval_options *o);
int eval_logits(const struct eval_options *o);
int eval_perplexity(const struct eval_options *o);

/* Prints "quire-eval: what: message" and returns the sysexits code that fits the status. */
int eval_fail(const char *what, quire_status status, const struct quire_error *err);

/* A whole file in memory, NUL-terminated; NULL and a message on stderr when it cannot be read. */
char *eval_read_file(const char *path, size_t *size);

#endif
