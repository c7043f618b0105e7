/* SPDX-License-Identifier: Apache-2.0 */
/* head_order.h - the order of query heads where those of a KV head do not lie together. */
#ifndef QR_MODEL_FORWARD_HEAD_ORDER_H
#define QR_MODEL_FORWARD_HEAD_ORDER_H
#include "model/forward/types.h"

/* With tiled_heads: brings the heads of ctx->q to the order of attention, where those of a KV head
 * lie together. ctx->att is overwritten. All threads call it; ends with a barrier. */
void qr_group_query_heads(const struct qr_step *s, uint32_t layer, const struct quire_team *team);

/* Brings the heads of ctx->att back to the order of the model. ctx->q is overwritten. All threads
 * call it; ends with a barrier. */
void qr_tile_output_heads(const struct qr_step *s, uint32_t layer, const struct quire_team *team);

#endif
