/* SPDX-License-Identifier: Apache-2.0 */
/* hf_family.h - options of config.json by which the models of a family differ. */
#ifndef QR_MODEL_CONFIG_HF_FAMILY_H
#define QR_MODEL_CONFIG_HF_FAMILY_H
#include "model/config/hf_keys.h"

/* Fills biases, block, multipliers, positions, ALiBi and q/k norm. Requires sizes and layers. */
quire_status qr_hf_read_family(const struct qr_hf_source *h);

#endif
