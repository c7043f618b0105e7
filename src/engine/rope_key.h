/* SPDX-License-Identifier: Apache-2.0 */
/* rope_key.h - when keys that were computed for one sequence length are those of another. */
#ifndef QR_ENGINE_ROPE_KEY_H
#define QR_ENGINE_ROPE_KEY_H
#include "model/model.h"

/* Rotary embeddings of some families change with the length of the sequence: longrope has one
 * set of factors up to the original context and one beyond, dynamic scaling another base for
 * every length beyond. Keys are the same for two lengths exactly when this number is. */
static inline uint32_t qr_rope_key(const struct quire_model *model, uint32_t length)
{
    uint32_t key = 0;
    for (uint32_t i = 0; i < model->config->n_rope; i++) {
        const struct qr_rope_config *r = &model->config->rope[i];
        if (length <= r->original_context)
            continue;
        if (r->scaling == QR_ROPE_SCALING_DYNAMIC)
            return length;
        if (r->scaling == QR_ROPE_SCALING_LONGROPE)
            key = 1;
    }
    return key;
}

/* Whether keys made under `key` must be made anew for a sequence of this length. Dynamic scaling changes with every
 * token; its keys are kept, as the reference implementation keeps them. */
static inline bool qr_rope_switches(const struct quire_model *model, uint32_t key, uint32_t length)
{
    for (uint32_t i = 0; i < model->config->n_rope; i++)
        if (model->config->rope[i].scaling == QR_ROPE_SCALING_DYNAMIC)
            return false;
    return qr_rope_key(model, length) != key;
}

#endif
