/* SPDX-License-Identifier: Apache-2.0 */
/* hf_windows.h - sliding windows per layer in config.json, and the RoPE sets that they
 * imply. */
#ifndef QR_MODEL_CONFIG_HF_WINDOWS_H
#define QR_MODEL_CONFIG_HF_WINDOWS_H
#include "model/config/hf_keys.h"

/* Fills window, chunked and rope of every layer. Requires n_layers and n_rope. */
quire_status qr_hf_read_windows(const struct qr_hf_source *h);

#endif
