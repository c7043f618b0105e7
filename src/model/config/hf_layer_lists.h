/* SPDX-License-Identifier: Apache-2.0 */
/* hf_layer_lists.h - lists of config.json with an entry for each layer. */
#ifndef QR_MODEL_CONFIG_HF_LAYER_LISTS_H
#define QR_MODEL_CONFIG_HF_LAYER_LISTS_H
#include "model/config/hf_keys.h"

/* Whether v is a list with an entry per layer; in families with hf_mtp_lists, the layers of heads
 * of MTP may have theirs behind. Requires n_layers. */
quire_status qr_hf_is_per_layer(const struct qr_hf_source *h, const struct qr_json *v, bool *out);

/* A number of all layers, or a list with an entry for each, of which those with a window (or those
 * without) must be equal; they are QUIRE_E_UNSUPPORTED otherwise. Missing or null, or without such
 * layers: *out is unchanged. Requires the windows. */
quire_status qr_hf_window_f64(const struct qr_hf_source *h, const char *key, bool windowed,
                              double *out);

/* swiglu_limits and swiglu_limits_shared: limits of the activations of experts, and of dense and
 * shared networks. Requires n_layers. */
quire_status qr_hf_read_layer_limits(const struct qr_hf_source *h);

#endif
