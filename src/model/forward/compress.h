/* SPDX-License-Identifier: Apache-2.0 */
/* compress.h - compressed keys (struct qr_shared_kv_config): one for each `rate` consecutive
 * tokens, stored in the row of the last of them; rows of other tokens are 0. The projections of the
 * last tokens of a sequence are in its state. */
#ifndef QR_MODEL_FORWARD_COMPRESS_H
#define QR_MODEL_FORWARD_COMPRESS_H
#include "model/forward/types.h"

struct qr_bump;

/* Reserves the buffers of compressed keys and of attention with shared keys and values. */
void qr_compress_reserve(const struct quire_model *model, struct quire_context *ctx,
                         struct qr_bump *c);

/* Fills row r of the rotary tables of compressed keys, if the model has such. */
void qr_compress_rope_row(const struct qr_step *s, size_t r);

/* Computes the compressed keys of layer i into ctx->compress.keys; src as for qr_convert_input.
 * Ends with a barrier. */
void qr_compress_keys(const struct qr_step *s, uint32_t i, const float *src,
                      const struct quire_team *team);
/* The same for the keys of the indexer, into ctx->index.k. */
void qr_compress_index(const struct qr_step *s, uint32_t i, const float *src,
                       const struct quire_team *team);

/* Sets ctx->compress.bits to all compressed keys of layer i that each row sees. Ends with a
 * barrier. */
void qr_compress_select(const struct qr_step *s, uint32_t i, const struct quire_team *team);

#endif
