/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_scratch.h - memory of a sampler. */
#ifndef QR_ENGINE_SAMPLING_SCRATCH_H
#define QR_ENGINE_SAMPLING_SCRATCH_H
#include "engine/candidates.h"
#include <quire/sampling.h>

struct qr_sampling_scratch {
    const struct qr_kernels *kernels;
    uint32_t n_vocab;
    float *logits;             /* [n_vocab] copy with bias and penalties applied */
    struct qr_candidate *list; /* [n_vocab] */
    uint32_t *counts;          /* [n_vocab] per token; all zero between uses */
    uint32_t repeats[QUIRE_DRY_MAX_REPEAT];
};

#endif
