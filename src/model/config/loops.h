/* SPDX-License-Identifier: Apache-2.0 */
/* loops.h - looped transformers: the file's layers run several times. */
#ifndef QR_MODEL_CONFIG_LOOPS_H
#define QR_MODEL_CONFIG_LOOPS_H
#include "model/config/gguf_keys.h"
#include "model/config/hf_keys.h"

/* Read the number of loops in families that have one, and repeat the layers so many times; see
 * qr_model_config.loop_layers. Everything about the layers has been read. QUIRE_E_FORMAT: the
 * number is 0, or there are too many layers; QUIRE_E_NOMEM. */
quire_status qr_hf_read_loops(const struct qr_hf_source *h);
quire_status qr_gguf_read_loops(const struct qr_gguf_source *s);

#endif
