/* SPDX-License-Identifier: Apache-2.0 */
/* rope_variant.h - which cached keys stay valid when the sequence length changes the RoPE. */
#ifndef QR_ENGINE_ROPE_VARIANT_H
#define QR_ENGINE_ROPE_VARIANT_H
#include "model/load/model.h"

/* Identifies the RoPE frequencies of a sequence length. LongRoPE has one set of factors up to the
 * original context and one beyond; dynamic NTK scaling has another base for every length beyond.
 * Keys computed for two lengths are identical if and only if the variants are. */
static inline uint32_t qr_rope_variant(const struct quire_model *model, uint32_t length)
{
    uint32_t variant = 0;
    for (uint32_t i = 0; i < model->config->n_rope; i++) {
        const struct qr_rope_config *r = &model->config->rope[i];
        if (length <= r->original_context)
            continue;
        if (r->scaling == QR_ROPE_SCALING_DYNAMIC)
            return length;
        if (r->scaling == QR_ROPE_SCALING_LONGROPE)
            variant = 1;
    }
    return variant;
}

/* Whether every sequence length beyond the original context has a variant of its own. Keys of
 * earlier tokens are kept as the sequence grows, as in the reference implementation. */
static inline bool qr_rope_is_dynamic(const struct quire_model *model)
{
    for (uint32_t i = 0; i < model->config->n_rope; i++)
        if (model->config->rope[i].scaling == QR_ROPE_SCALING_DYNAMIC)
            return true;
    return false;
}

#endif
