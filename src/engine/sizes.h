/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.h - how long the context is and what its cache takes, before anything is reserved. */
#ifndef QR_ENGINE_SIZES_H
#define QR_ENGINE_SIZES_H
#include <quire/engine.h>

struct qr_engine_sizes {
    const struct quire_allocator *allocator;
    struct quire_kv_group_config *groups; /* [n_groups], blocks filled in */
    uint32_t n_groups, block_size;
    uint32_t context_length, model_context_length, max_step_tokens;
    uint64_t kv_bytes, budget, available; /* available 0 = unknown */
};

/* Chooses or checks the context length of the parameters. QUIRE_E_LIMIT with the sizes when it
 * cannot be held. On failure there is nothing to free. */
quire_status qr_engine_sizes_init(struct qr_engine_sizes *s, const struct quire_model *model,
                                  const struct quire_engine_params *params,
                                  struct quire_error *err);
void qr_engine_sizes_free(struct qr_engine_sizes *s);

#endif
