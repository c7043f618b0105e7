/* SPDX-License-Identifier: Apache-2.0 */
/* hf_windows.h - sliding windows per layer in config.json. */
#ifndef QR_MODEL_CONFIG_HF_WINDOWS_H
#define QR_MODEL_CONFIG_HF_WINDOWS_H
#include "model/config/hf_keys.h"

/* Fills window and chunked of every layer. *has_window: the file gives a window, whether or not any
 * layer has it. Requires n_layers. */
quire_status qr_hf_read_windows(const struct qr_hf_source *h, bool *has_window);

#endif
