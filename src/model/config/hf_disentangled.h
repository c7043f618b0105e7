/* SPDX-License-Identifier: Apache-2.0 */
/* hf_disentangled.h - disentangled attention in config.json. */
#ifndef QR_MODEL_CONFIG_HF_DISENTANGLED_H
#define QR_MODEL_CONFIG_HF_DISENTANGLED_H
#include "model/config/hf_keys.h"

/* Reads cfg->disentangled and divides cfg->attention_scale by the square root of the number of
 * terms, for families with disentangled attention. Requires context_length and attention_scale. */
quire_status qr_hf_read_disentangled(const struct qr_hf_source *h);

#endif
