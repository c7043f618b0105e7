/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_penalties.h - samplers that change logits by the history. */
#ifndef QR_ENGINE_SAMPLING_PENALTIES_H
#define QR_ENGINE_SAMPLING_PENALTIES_H
#include "engine/sampling_scratch.h"

/* Whether QUIRE_SAMPLER_PENALTIES or QUIRE_SAMPLER_DRY changes any logit with these parameters. */
bool qr_penalties_active(const struct quire_sampling_params *p, enum quire_sampler_kind kind);

/* Applies one of the two to s->logits. */
void qr_penalties_apply(struct qr_sampling_scratch *s, const struct quire_sampling_params *p,
                        enum quire_sampler_kind kind, const int32_t *history, size_t n_history);

#endif
