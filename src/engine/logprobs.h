/* SPDX-License-Identifier: Apache-2.0 */
/* logprobs.h - log-probabilities of tokens. */
#ifndef QR_ENGINE_LOGPROBS_H
#define QR_ENGINE_LOGPROBS_H
#include <quire/engine.h>

/* out[0] is `token`, out[1 .. n) are the n - 1 most likely tokens in descending order, equal ones
 * by ascending id; entries beyond the vocabulary have token -1. Natural logarithms of the softmax
 * of logits[n_vocab]. */
void qr_logprobs(const float *logits, uint32_t n_vocab, int32_t token,
                 struct quire_token_logprob *out, uint32_t n);

#endif
