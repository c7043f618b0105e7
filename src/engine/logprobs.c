/* SPDX-License-Identifier: Apache-2.0 */
/* logprobs.c - log-softmax of a row of logits and its most likely tokens. */
#include "engine/logprobs.h"
#include <math.h>

/* Inserts a token into the descending list top[n], whose last entry falls out. */
static void insert(struct quire_token_logprob *top, uint32_t n, int32_t token, float logit)
{
    uint32_t at = n - 1;
    for (; at > 0 && logit > top[at - 1].logprob; at--)
        top[at] = top[at - 1];
    top[at] = (struct quire_token_logprob){ token, logit };
}

void qr_logprobs(const float *logits, uint32_t n_vocab, int32_t token,
                 struct quire_token_logprob *out, uint32_t n)
{
    struct quire_token_logprob *top = out + 1;
    const uint32_t n_top = n - 1;
    float max = -INFINITY;
    for (uint32_t k = 0; k < n_top; k++)
        top[k] = (struct quire_token_logprob){ -1, -INFINITY };
    for (uint32_t i = 0; i < n_vocab; i++) {
        if (logits[i] > max)
            max = logits[i];
        if (n_top && logits[i] > top[n_top - 1].logprob)
            insert(top, n_top, (int32_t)i, logits[i]);
    }
    double sum = 0;
    for (uint32_t i = 0; i < n_vocab; i++)
        sum += exp((double)logits[i] - max);
    const double log_sum = max + log(sum);
    out[0] = (struct quire_token_logprob){ token, (float)(logits[token] - log_sum) };
    for (uint32_t k = 0; k < n_top; k++)
        if (top[k].token >= 0)
            top[k].logprob = (float)(top[k].logprob - log_sum);
}
