/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.h - lists of tokens with their logits: selection and order. */
#ifndef QR_ENGINE_CANDIDATES_H
#define QR_ENGINE_CANDIDATES_H
#include "kernels/kernels.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qr_candidate {
    float logit; /* finite */
    int32_t id;
};

/* Lists the tokens of logits[n_vocab] whose logit is at least `least`, which is finite, by
 * ascending id. Logits are below +infinity. Returns their number. */
size_t qr_candidates_select(const struct qr_kernels *kernels, const float *logits, uint32_t n_vocab,
                            float least, struct qr_candidate *list);

/* Lists the k highest-ranked tokens of logits[n_vocab] in order of rank. The order is descending
 * logit, then ascending id. */
size_t qr_candidates_select_best(const struct qr_kernels *kernels, const float *logits,
                                 uint32_t n_vocab, size_t k, struct qr_candidate *list);

/* Keeps the k highest-ranked candidates, in order of rank. Returns their number. */
size_t qr_candidates_keep_best(struct qr_candidate *list, size_t n, size_t k);

/* Keeps the highest-ranked candidates until the sum of exp((logit - max) / temperature) reaches
 * `mass`, but at least min_keep if there are as many. A list that is in order of rank (`ranked`)
 * stays so; otherwise the result is in reverse order of rank, in which the draw has always gone
 * through it, and the time depends on the number of kept candidates more than on n. */
size_t qr_candidates_keep_mass(struct qr_candidate *list, size_t n, double max, double temperature,
                               double mass, size_t min_keep, bool ranked);

#endif
