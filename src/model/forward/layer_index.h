/* SPDX-License-Identifier: Apache-2.0 */
/* layer_index.h - the indexer of sparse attention: index keys of the new tokens, and the keys that
 * each query attends to. */
#ifndef QR_MODEL_FORWARD_LAYER_INDEX_H
#define QR_MODEL_FORWARD_LAYER_INDEX_H
#include "attention/key_selection.h"
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffers of a context from `buffers`. */
void qr_index_reserve(const struct quire_model *model, struct quire_context *ctx,
                      struct qr_bump *buffers);

/* Records the sequence of every row, and whether any row sees more keys than are selected. */
void qr_index_place(const struct qr_step *s);

/* Computes and caches the index keys of layer i, which has an indexer, and selects the keys of
 * every row. All threads call it; ends with a barrier.
 *   src    normed input of the layer, as for qr_convert_input
 *   q_src  input of the index queries if it is another one, complete; else NULL */
void qr_index_select(const struct qr_step *s, uint32_t i, const float *src, const float *q_src,
                     const struct quire_team *team);

/* The selection of the last layer with an indexer. False if layer i attends to all keys. */
bool qr_index_selection(const struct qr_step *s, uint32_t i, struct qr_key_selection *out);

#endif
