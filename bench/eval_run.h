/* SPDX-License-Identifier: Apache-2.0 */
/* eval_run.h - sequences through a model: what the conformance commands need of the library. */
#ifndef QUIRE_BENCH_EVAL_RUN_H
#define QUIRE_BENCH_EVAL_RUN_H
#include "eval.h"

struct eval_run; /* model, threads, cache and context */

/* Opens `path` for sequences of up to max_tokens. On failure prints why and returns NULL; *code is the exit code. */
struct eval_run *eval_run_open(const struct eval_options *o, const char *path, uint32_t max_tokens,
                               int *code);
void eval_run_close(struct eval_run *r);
const struct quire_model_info *eval_run_info(const struct eval_run *r);

/* A pass of the encoder over whole sequences at once; outputs as in struct quire_encode_args, wanted if not NULL. An
 * encoder-decoder then decodes from sequence i of this pass as its sequence i. */
enum { EVAL_MAX_SEQS = 4 };
struct eval_sources {
    uint32_t n;
    const int32_t *starts; /* [n + 1] first row of each */
    const int32_t *ids, *types;
};
quire_status eval_run_encode(struct eval_run *r, const struct eval_sources *sources, float *hidden,
                             float *pooled, float *logits, struct quire_error *err);

/* Starts n_seqs new sequences with ids[n_seqs][n] in one step; logits[n_seqs][n][vocab]. */
quire_status eval_run_batch(struct eval_run *r, const int32_t *ids, uint32_t n_seqs, uint32_t n,
                            float *logits, struct quire_error *err);

/* Starts a new sequence with ids[n], in steps of o->chunk tokens, and copies the logits of rows (ascending) to
 * logits[n_rows][vocab]. hidden (may be NULL, only with one step): [n_layers + 1][n][hidden]. */
quire_status eval_run_prompt(struct eval_run *r, const int32_t *ids, uint32_t n,
                             const uint32_t *rows, uint32_t n_rows, float *logits, float *hidden,
                             struct quire_error *err);

/* Appends one token to the sequence; logits[vocab] of it. */
quire_status eval_run_next(struct eval_run *r, int32_t id, float *logits, struct quire_error *err);

#endif
