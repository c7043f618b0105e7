/* SPDX-License-Identifier: Apache-2.0 */
/* eval_tally.h - errors against reference tensors, and their tolerances. */
#ifndef QUIRE_BENCH_EVAL_TALLY_H
#define QUIRE_BENCH_EVAL_TALLY_H
#include "eval_run.h"
#include "tensor_file.h"

/* Upper bounds of the largest difference, RMS difference and KL divergence (nats, mean over
 * rows). */
struct tolerance {
    double max, rms, kl;
};

/* Error sums over all references of a folder. */
struct tally {
    double max, sum_squares, kl;
    size_t n_values, n_rows; /* rows of logits */
    int greedy_checked, greedy_wrong;
    uint64_t digest; /* FNV-1a of the bits of all results, in the order of computation */
};

#define DIGEST_SEED UINT64_C(0xcbf29ce484222325)

/* Continues an FNV-1a digest with the bits of x[n]; the first call gets DIGEST_SEED. */
uint64_t digest_floats(uint64_t digest, const float *x, size_t n);

/* Tolerances of docs/numerics.md. That of a quantized or 16-bit KV cache is added to that of the
 * arithmetic. */
struct tolerance tally_tolerance(const struct eval_options *o, const char *weight_type);

/* Adds the errors of rows of logits, or of other values. */
void tally_logits(struct tally *t, const float *got, const float *want, size_t n_rows,
                  size_t vocab);
void tally_values(struct tally *t, const float *got, const float *want, size_t n);

/* Appends greedy.<n>, the continuation of the reference, and compares it with the argmax of each
 * step. With exact arithmetic every step must agree; otherwise every step where the margin of
 * the reference exceeds 8 times the RMS tolerance. logits[vocab]: in, of the last prompt token;
 * overwritten. */
quire_status tally_greedy(struct tally *t, struct eval_run *r, const struct tensor_file *golden,
                          uint32_t n, const struct tolerance *tolerance, float *logits,
                          struct quire_error *err);

#endif
