/* SPDX-License-Identifier: Apache-2.0 */
/* hf_windows.h - sliding windows and RoPE sets per layer in config.json. */
#ifndef QR_MODEL_CONFIG_HF_WINDOWS_H
#define QR_MODEL_CONFIG_HF_WINDOWS_H
#include "model/config/hf_keys.h"

/* Fills window, chunked and rope of every layer. Requires n_layers and n_rope. */
quire_status qr_hf_read_windows(const struct qr_hf_source *h);

#endif
