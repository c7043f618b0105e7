/* SPDX-License-Identifier: Apache-2.0 */
/* eval_tally.h - how far results lie from reference tensors, and what they may. */
#ifndef QUIRE_BENCH_EVAL_TALLY_H
#define QUIRE_BENCH_EVAL_TALLY_H
#include "eval_run.h"
#include "tensor_file.h"

/* Largest difference, root mean square difference and KL divergence (nats, mean over rows) that may be seen. */
struct gate {
    double max, rms, kl;
};

/* Sums over the rows of all references of a folder. */
struct tally {
    double max, sum_squares, kl;
    size_t n_values, n_rows; /* rows of logits */
    int greedy_checked, greedy_wrong;
    uint64_t digest; /* FNV-1a of the bits of all results, in the order of computation */
};

#define DIGEST_SEED UINT64_C(0xcbf29ce484222325)

/* Continues an FNV-1a digest with the bits of x[n]; the first call gets DIGEST_SEED. */
uint64_t digest_floats(uint64_t digest, const float *x, size_t n);

/* The gates of docs/numerics.md; a rounded cache adds its own to that of the arithmetic. */
struct gate tally_gate(const struct eval_options *o, const char *weight_type);

/* Rows of logits, and any other values. */
void tally_logits(struct tally *t, const float *got, const float *want, size_t n_rows,
                  size_t vocab);
void tally_values(struct tally *t, const float *got, const float *want, size_t n);

/* Feeds greedy.<n>, the reference's own continuation, after the logits of the last prompt row: with exact arithmetic
 * the argmax must be the next token at every step; otherwise wherever the reference's margin is larger than 8 times
 * the rms bound. logits[vocab] is overwritten. */
quire_status tally_greedy(struct tally *t, struct eval_run *r, const struct tensor_file *golden,
                          uint32_t n, const struct gate *g, float *logits, struct quire_error *err);

/* Encoders and encoder-decoders against all that a reference file has. */
quire_status tally_encoder(struct tally *t, struct eval_run *r, const struct tensor_file *golden,
                           struct quire_error *err);
quire_status tally_seq2seq(struct tally *t, struct eval_run *r, const struct tensor_file *golden,
                           const struct gate *g, struct quire_error *err);

#endif
