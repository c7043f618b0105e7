/* SPDX-License-Identifier: Apache-2.0 */
/* hf_quantization_groups.h - config_groups of compressed-tensors checkpoints. */
#ifndef QR_MODEL_CONFIG_HF_QUANTIZATION_GROUPS_H
#define QR_MODEL_CONFIG_HF_QUANTIZATION_GROUPS_H
#include "model/config/hf_quantization_values.h"

/* Reads [rows, columns] of a block with one scale. */
quire_status qr_hf_quantization_block(struct qr_quantization_source *q, const char *key,
                                      const struct qr_json *size);

/* Reads format and config_groups. Bits, groups and zero points follow from the tensors. */
quire_status qr_hf_quantization_groups(struct qr_quantization_source *q);

#endif
