/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_chain.h - the chain of samplers, from processed logits to a token. */
#ifndef QR_ENGINE_SAMPLING_CHAIN_H
#define QR_ENGINE_SAMPLING_CHAIN_H
#include "engine/sampling_scratch.h"

/* The tokens that are left. Until the first sampler that needs a list, all tokens of
 * scratch->logits are. */
struct qr_sampling_chain {
    struct qr_sampling_scratch *scratch;
    const struct quire_sampling_params *p;
    const struct quire_sample_args *args;
    double max;         /* largest logit that is left */
    double temperature; /* divides the logits; 1 before QUIRE_SAMPLER_TEMPERATURE */
    bool listed;        /* scratch->list[n] are the tokens that are left */
    bool ranked;        /* by descending logit, then ascending id; otherwise in any order */
    size_t n;
    const uint8_t *next; /* the samplers after the current one */
};

/* Runs the samplers from chain->next to the end of the list and draws a token.
 * QUIRE_E_NUMERIC as quire_sampler_sample(). */
quire_status qr_sampling_chain_run(struct qr_sampling_chain *chain, int32_t *token,
                                   struct quire_error *err) QUIRE_MUST_CHECK;

/* Draws a token with mirostat 2.0 and updates args->state. */
int32_t qr_sampling_mirostat(struct qr_sampling_chain *chain);

#endif
