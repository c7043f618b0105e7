/* SPDX-License-Identifier: Apache-2.0 */
/* hf_stacks.h - encoder-decoders whose config.json has an object for each stack of layers. */
#ifndef QR_MODEL_CONFIG_HF_STACKS_H
#define QR_MODEL_CONFIG_HF_STACKS_H
#include "model/config/hf_keys.h"

/* Makes the object of the decoder the one that describes the model, and sets h->encoder. A file
 * without a decoder describes two equal stacks. Does nothing for other families. QUIRE_E_FORMAT
 * without an encoder, QUIRE_E_UNSUPPORTED for encoders alone. */
quire_status qr_hf_find_stacks(struct qr_hf_source *h);

/* Takes over what describes the layers of the encoder from its configuration, which was read as
 * that of a model of its own. QUIRE_E_UNSUPPORTED, with the key, if the two stacks differ in more
 * than the number of layers, their windows and the feed-forward size. Requires the layers. */
quire_status qr_hf_join_stacks(const struct qr_hf_source *h, const struct qr_model_config *encoder);

#endif
