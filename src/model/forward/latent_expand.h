/* SPDX-License-Identifier: Apache-2.0 */
/* latent_expand.h - latent attention with expanded keys and values. The functions that take a
 * context do nothing where limits->expand.from is 0. */
#ifndef QR_MODEL_FORWARD_LATENT_EXPAND_H
#define QR_MODEL_FORWARD_LATENT_EXPAND_H
#include "model/forward/types.h"

/* Elements of the buffers of struct qr_latent_expand; act in bytes. */
struct qr_expand_sizes {
    size_t table, slots, rows, k, v, act;
};
struct qr_expand_sizes qr_expand_sizes(const struct quire_model *model,
                                       const struct quire_context *limits);

/* QUIRE_E_UNSUPPORTED when `from` is not 0 and the model does not support expansion. */
quire_status qr_expand_check(const struct quire_model *model, uint32_t from,
                             struct quire_error *err);

/* Computes the bytes that cache and plan will allocate. */
quire_status qr_expand_bytes(const struct quire_model *model, const struct quire_context *limits,
                             uint64_t *bytes, struct quire_error *err);

/* Creates cache and plan. The buffers have memory already. */
quire_status qr_expand_create(struct quire_context *ctx, struct quire_error *err);
void qr_expand_destroy(struct quire_context *ctx);

/* Decides for each sequence of a step whether it is absorbed or expanded, and builds the plans for
 * that. The step's plan has accepted the batch. */
quire_status qr_latent_place(const struct qr_step *s, struct quire_error *err);

/* Computes attention of the expanded rows, from ctx->q into ctx->att. Latent rows and q are
 * complete. All threads call it; ends with a barrier if the step has such rows. */
void qr_latent_expand(const struct qr_step *s, uint32_t layer, const struct quire_team *team);

#endif
