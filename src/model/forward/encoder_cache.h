/* SPDX-License-Identifier: Apache-2.0 */
/* encoder_cache.h - the private KV cache of a context's encoder. All functions but _place do
 * nothing for models without an encoder. */
#ifndef QR_MODEL_FORWARD_ENCODER_CACHE_H
#define QR_MODEL_FORWARD_ENCODER_CACHE_H
#include "model/forward/types.h"

/* Fills the sizes of limits->encoder from the limits of the context. */
void qr_encoder_cache_size(struct quire_context *limits);

/* Computes the bytes that cache and plan will allocate. */
quire_status qr_encoder_cache_bytes(const struct quire_model *model,
                                    const struct quire_context *limits, uint64_t *bytes,
                                    struct quire_error *err);

/* Creates cache and plan. The tables in ctx->encoder have memory already. */
quire_status qr_encoder_cache_create(struct quire_context *ctx, struct quire_error *err);
void qr_encoder_cache_destroy(struct quire_context *ctx);

/* Assigns blocks to the sequences of a pass that fits the context: fills table, seq_lens and
 * slots. */
void qr_encoder_cache_place(struct quire_context *ctx, const struct quire_encode_args *step);

#endif
