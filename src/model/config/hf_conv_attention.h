/* SPDX-License-Identifier: Apache-2.0 */
/* hf_conv_attention.h - convolutional attention and its router in config.json. */
#ifndef QR_MODEL_CONFIG_HF_CONV_ATTENTION_H
#define QR_MODEL_CONFIG_HF_CONV_ATTENTION_H
#include "model/config/hf_keys.h"

/* Reads the taps of the convolutions and the size of the router's layers (ZAYA), for families that
 * have them. Requires the experts. */
quire_status qr_hf_read_conv_attention(const struct qr_hf_source *h);

#endif
