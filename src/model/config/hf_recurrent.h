/* SPDX-License-Identifier: Apache-2.0 */
/* hf_recurrent.h - sizes and options of recurrent layers in config.json. */
#ifndef QR_MODEL_CONFIG_HF_RECURRENT_H
#define QR_MODEL_CONFIG_HF_RECURRENT_H
#include "model/config/hf_keys.h"

/* Sizes and options of the recurrent layers. Requires head_dim and norm_eps. */
quire_status qr_hf_read_recurrent(const struct qr_hf_source *h);

#endif
