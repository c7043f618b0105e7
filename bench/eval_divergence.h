/* SPDX-License-Identifier: Apache-2.0 */
/* eval_divergence.h - how far a model's probabilities are from those of another one. */
#ifndef QUIRE_BENCH_EVAL_DIVERGENCE_H
#define QUIRE_BENCH_EVAL_DIVERGENCE_H
#include "eval.h"

struct divergence {
    size_t n;              /* positions of the text */
    double sum;            /* over positions: KL divergence of the model from the reference, nats */
    double largest;        /* of one position */
    size_t same_top;       /* positions with the same most likely token */
    double loss, ref_loss; /* sums of the negative log-likelihoods of the text */
};

/* Runs both models (o->model, o->reference), which have one vocabulary, over the tokens of the text
 * in o->input, in windows of 512 tokens that begin anew. Returns an exit code, 0 on success, and
 * prints a message on failure. */
int eval_measure_divergence(const struct eval_options *o, struct divergence *out);

void eval_print_divergence(const struct divergence *d);

#endif
