/* SPDX-License-Identifier: Apache-2.0 */
/* logprobs.c - log-probabilities of one row of logits. */
#include "engine/logprobs.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "kernels/dispatch.h"
#include "kernels/kernels.h"
#include <math.h>
#include <quire/sampling.h>

enum { BLOCK = 512 }; /* logits that are compared at once */

/* Largest logit. QUIRE_E_NUMERIC when all are -infinity or one is NaN or +infinity. */
static quire_status largest(const struct qr_kernels *kernels, const float *logits, uint32_t n_vocab,
                            double *max, struct quire_error *err)
{
    const float top = kernels->largest(logits, n_vocab);
    for (uint32_t i = 0; !(top < INFINITY); i++)
        if (!(logits[i] < INFINITY))
            return qr_fail(err, QUIRE_E_NUMERIC, "the logit of token %u is %s", i,
                           isnan(logits[i]) ? "NaN" : "infinite");
    *max = top;
    if (top == -INFINITY)
        return qr_fail(err, QUIRE_E_NUMERIC, "all %u logits are -infinity", n_vocab);
    return QUIRE_OK;
}

quire_status qr_log_softmax_init(struct qr_log_softmax *s, const float *logits, uint32_t n_vocab,
                                 struct quire_error *err)
{
    const struct qr_kernels *kernels = qr_kernels_any();
    QR_TRY(largest(kernels, logits, n_vocab, &s->max, err));
    s->log_sum = log(kernels->exp_sum(logits, n_vocab, s->max, 1));
    return QUIRE_OK;
}

/* Lists the tokens of the n largest logits in top[n]; logprob is then the logit. Returns their
 * number. */
static uint32_t select_top(const float *logits, uint32_t n_vocab, uint32_t n,
                           struct quire_token_logprob *top)
{
    const struct qr_kernels *kernels = qr_kernels_any();
    uint32_t used = 0;
    for (uint32_t i = 0; n && i < n_vocab; i++) {
        /* a later id loses every tie */
        const uint32_t left = n_vocab - i, block = left < BLOCK ? left : BLOCK;
        if (used == n && i % BLOCK == 0 &&
            kernels->largest(logits + i, block) <= top[n - 1].logprob) {
            i += block - 1;
            continue;
        }
        if (logits[i] == -INFINITY || (used == n && logits[i] <= top[n - 1].logprob))
            continue;
        uint32_t at = used < n ? used++ : n - 1;
        for (; at && top[at - 1].logprob < logits[i]; at--)
            top[at] = top[at - 1];
        top[at] = (struct quire_token_logprob){ (int32_t)i, logits[i] };
    }
    return used;
}

quire_status quire_logprobs(const float *logits, uint32_t n_vocab, int32_t token,
                            struct quire_token_logprob *chosen, uint32_t n_top,
                            struct quire_token_logprob *top, struct quire_error *err)
{
    QR_FP_SCOPE;
    if (!logits || (!top && n_top))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", logits ? "top" : "logits");
    if (n_vocab == 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_vocab is 0");
    if (n_top > QUIRE_MAX_TOP_LOGPROBS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_top %u must be in 0..%d", n_top,
                       QUIRE_MAX_TOP_LOGPROBS);
    if (chosen && (token < 0 || (uint32_t)token >= n_vocab))
        return qr_fail(err, QUIRE_E_RANGE, "token %d is outside the vocabulary of %u", token,
                       n_vocab);
    struct qr_log_softmax softmax;
    QR_TRY(qr_log_softmax_init(&softmax, logits, n_vocab, err));
    if (chosen)
        *chosen =
            (struct quire_token_logprob){ token, (float)qr_log_softmax(&softmax, logits[token]) };
    const uint32_t n = select_top(logits, n_vocab, n_top, top);
    QR_INVARIANT(top || n_top == 0);
    QR_INVARIANT(n <= n_top);
    for (uint32_t i = 0; i < n; i++)
        top[i].logprob = (float)qr_log_softmax(&softmax, top[i].logprob);
    for (uint32_t i = n; i < n_top; i++)
        top[i] = (struct quire_token_logprob){ -1, -INFINITY };
    return QUIRE_OK;
}
