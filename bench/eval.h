/* SPDX-License-Identifier: Apache-2.0 */
/* eval.h - quire-eval: options and helpers shared by its commands, and the list of commands. */
#ifndef QUIRE_BENCH_EVAL_H
#define QUIRE_BENCH_EVAL_H
#include <quire/quire.h>
#include <stdbool.h>

/* Options of all commands. */
struct eval_options {
    const char *isa; /* NULL = best */
    enum quire_compute compute;
    enum quire_linear_provider linear;
    enum quire_kv_dtype k_dtype, v_dtype;
    uint32_t rotation; /* QUIRE_KV_ROTATE_K, QUIRE_KV_ROTATE_V: for sides that are int4 */
    uint32_t threads;  /* 0 = automatic */
    uint32_t chunk;    /* prompt tokens per step, 0 = all */
    uint32_t block_size;
    uint32_t
        expand_from; /* MLA: expand latent rows for batches of this many new tokens, 0 = never */
    const char *model, *gguf, *input, *output;
    const char *reference; /* divergence: the other model */
    const char *kv_scales; /* file of scales for fp8 caches */
    const char *lora;      /* adapter of all sequences; NULL = none */
    const char *head; /* files of a head of multi-token prediction; NULL = those of the model */
    const char *prompt;
    bool verbose;
    bool bf16_states;
    uint32_t limit;                /* schema: 0 = all */
    bool json, compact, cpu_clock; /* schema: the report, the spelling of instances, the clock */
    int n_args;                    /* positional arguments */
    char **args;
};

/* Commands. Each returns a process exit code: 0 passed, 1 a tolerance is exceeded, else a code
 * of sysexits.h. */
int eval_golden(const struct eval_options *o);
int eval_attention(const struct eval_options *o);
int eval_tokenize(const struct eval_options *o);
int eval_template(const struct eval_options *o);
int eval_logits(const struct eval_options *o);
int eval_perplexity(const struct eval_options *o);
int eval_divergence(const struct eval_options *o);
int eval_calibrate(const struct eval_options *o);
int eval_imatrix(const struct eval_options *o);
int eval_kv(const struct eval_options *o);
int eval_schema(const struct eval_options *o);
int eval_tools(const struct eval_options *o);

/* Prints "PROGRAM: what: message" to stderr. Returns the sysexits code of the status. */
int eval_fail(const char *what, quire_status status, const struct quire_error *err);

/* Tokenizes a text, with the BOS token if the model has one. Returns NULL, with a message, on
 * failure. */
int32_t *eval_tokens(const struct eval_options *o, const char *text, size_t size, size_t *n,
                     int *code);

/* Reads a whole file. Returns its bytes, NUL-terminated, which the caller frees; NULL, with a
 * message on stderr, on failure. */
char *eval_read_file(const char *path, size_t *size);

#endif
