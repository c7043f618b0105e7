/* SPDX-License-Identifier: Apache-2.0 */
/* logprobs.h - the logarithm of a softmax. */
#ifndef QR_ENGINE_LOGPROBS_H
#define QR_ENGINE_LOGPROBS_H
#include <quire/status.h>

/* Constants of one row of logits. */
struct qr_log_softmax {
    double max, log_sum; /* largest logit; log(sum(exp(logit - max))) */
};

/* QUIRE_E_NUMERIC when all logits are -infinity or one is NaN or +infinity. */
quire_status qr_log_softmax_init(struct qr_log_softmax *s, const float *logits, uint32_t n_vocab,
                                 struct quire_error *err);

/* Log-probability of a token with this logit. */
static inline double qr_log_softmax(const struct qr_log_softmax *s, float logit)
{
    return logit - s->max - s->log_sum;
}

#endif
