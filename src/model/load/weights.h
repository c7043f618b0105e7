/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - opens a model of either format and finds its weights by role. */
#ifndef QR_MODEL_LOAD_WEIGHTS_H
#define QR_MODEL_LOAD_WEIGHTS_H
#include "model/load/types.h"

/* Opens a model: reads headers, builds and validates the config, and maps every role that the
 * config implies to a tensor of the right shape. No tensor data is read but small descriptions of
 * quantized matrices (quantized.h). QUIRE_E_FORMAT names a tensor that is missing or has another
 * shape, QUIRE_E_UNSUPPORTED a key or tensor that the family does not account for. */
quire_status qr_weights_open(const struct qr_weights_params *params, struct qr_weights **out,
                             struct quire_error *err) QUIRE_MUST_CHECK;
void qr_weights_close(struct qr_weights *w); /* NULL is a no-op */

/* Closes the files; qr_weights_gguf then returns NULL and reads fail with QUIRE_E_MISUSE. */
void qr_weights_release_source(struct qr_weights *w);

const struct qr_model_config *qr_weights_config(const struct qr_weights *w);
const struct qr_gguf *qr_weights_gguf(const struct qr_weights *w); /* NULL for a folder */
const char *qr_weights_dir(const struct qr_weights *w);            /* the folder; NULL for GGUF */
uint64_t qr_weights_total_bytes(const struct qr_weights *w); /* of all weights in use, as stored */

/* False when the model has no such weight; open has checked that the config allows that. */
bool qr_weights_find(const struct qr_weights *w, enum qr_weight_role role, uint32_t layer,
                     struct qr_weight *out);

#endif
