/* SPDX-License-Identifier: Apache-2.0 */
/* eval_run.h - runs sequences through a model for the conformance commands. */
#ifndef QUIRE_BENCH_EVAL_RUN_H
#define QUIRE_BENCH_EVAL_RUN_H
#include "eval.h"

struct eval_run; /* threads, model, KV cache and context */

/* Opens model `path` for sequences of up to max_tokens tokens. On failure returns NULL, prints a
 * message and sets the exit code *code. */
struct eval_run *eval_run_open(const struct eval_options *o, const char *path, uint32_t max_tokens,
                               int *code);
void eval_run_close(struct eval_run *r);
/* The same for models that are decoders; others are refused. */
struct eval_run *eval_run_open_decoder(const struct eval_options *o, uint32_t max_tokens,
                                       int *code);
const struct quire_model *eval_run_model(const struct eval_run *r);
struct quire_context *eval_run_context(const struct eval_run *r);
const struct quire_model_info *eval_run_info(const struct eval_run *r);

/* Runs the encoder over whole sequences in one pass. Outputs as in struct quire_encode_args;
 * NULL = not needed. Decoder sequence i of an encoder-decoder then attends to source i of this
 * pass. */
enum { EVAL_MAX_SEQS = 4 };
struct eval_sources {
    uint32_t n;
    const int32_t *starts; /* [n + 1] first row of each source */
    const int32_t *ids, *types;
};
struct eval_encoded {
    float *hidden;          /* [rows][hidden_size] */
    float *pooled, *scores; /* [sources][hidden_size], [sources][n_labels] */
    float *logits;          /* [rows][vocab_size] */
};
quire_status eval_run_encode(struct eval_run *r, const struct eval_sources *sources,
                             const struct eval_encoded *out, struct quire_error *err);

/* Flags QUIRE_KV_ROTATE_* of a cache of these types: those of o, for sides that are int4. */
uint32_t eval_rotation(const struct eval_options *o, enum quire_kv_dtype k, enum quire_kv_dtype v);

/* Starts n_seqs sequences with ids[n_seqs][n] in one step; logits[n_seqs][n][vocab]. */
quire_status eval_run_batch(struct eval_run *r, const int32_t *ids, uint32_t n_seqs, uint32_t n,
                            float *logits, struct quire_error *err);

/* Starts a sequence with ids[n], in chunks of o->chunk tokens. Logits of `rows` (ascending) go
 * to logits[n_rows][vocab]. hidden [n_layers + 1][n][hidden] may be NULL and requires a single
 * chunk. */
quire_status eval_run_prompt(struct eval_run *r, const int32_t *ids, uint32_t n,
                             const uint32_t *rows, uint32_t n_rows, float *logits, float *hidden,
                             struct quire_error *err);

/* The same in one chunk, for the hidden states alone. */
quire_status eval_run_prompt_states(struct eval_run *r, const int32_t *ids, uint32_t n,
                                    float *hidden, struct quire_error *err);

/* The same for the residual stream behind the last layer, [n][hidden]. */
quire_status eval_run_prompt_stream(struct eval_run *r, const int32_t *ids, uint32_t n,
                                    float *stream, struct quire_error *err);

/* The KV cache, and where the sequence has its blocks, in every group. */
struct eval_blocks {
    struct quire_kv_cache *kv;
    const int32_t *table; /* [n_blocks] */
    uint32_t n_groups, n_blocks;
};
struct eval_blocks eval_run_blocks(const struct eval_run *r);

/* Reads the keys and values of the first n tokens of the sequence from one layer of a KV group:
 * k [n][n_kv_heads][head_size], v likewise, or NULL. */
quire_status eval_run_read_kv(const struct eval_run *r, uint32_t group, uint32_t layer, uint32_t n,
                              float *k, float *v, struct quire_error *err);

/* Appends one token to the sequence; logits[vocab] of that token. */
quire_status eval_run_next(struct eval_run *r, int32_t id, float *logits, struct quire_error *err);

#endif
