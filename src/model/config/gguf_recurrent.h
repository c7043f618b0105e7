/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_recurrent.h - recurrent layers in GGUF metadata and the tensor directory. */
#ifndef QR_MODEL_CONFIG_GGUF_RECURRENT_H
#define QR_MODEL_CONFIG_GGUF_RECURRENT_H
#include "model/config/gguf_keys.h"

/* Mixer and feed-forward of each layer, by its tensors. */
quire_status qr_gguf_read_mixers(const struct qr_gguf_source *s);

/* Sizes and options of the recurrent layers. Requires the mixers and norm_eps. */
quire_status qr_gguf_read_recurrent(const struct qr_gguf_source *s);

#endif
