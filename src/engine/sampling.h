/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.h - the most likely tokens of a row instead of a draw. */
#ifndef QR_ENGINE_SAMPLING_H
#define QR_ENGINE_SAMPLING_H
#include "engine/candidates.h"
#include "engine/logprobs.h"
#include <quire/sampling.h>

struct qr_ranked_tokens {
    const struct qr_candidate *list; /* [n] in order of rank; until the sampler is used again */
    size_t n;
    struct qr_log_softmax softmax; /* of the logits in the list and of all others */
};

/* Applies logit_bias, penalties and DRY of the parameters to args->logits, and lists the k most
 * likely tokens. The other parameters have no effect. Errors of quire_sampler_sample(). */
quire_status qr_sampler_rank(struct quire_sampler *sampler,
                             const struct quire_sampling_params *params,
                             const struct quire_sample_args *args, size_t k,
                             struct qr_ranked_tokens *out, struct quire_error *err);

#endif
