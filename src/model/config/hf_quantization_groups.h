/* SPDX-License-Identifier: Apache-2.0 */
/* hf_quantization_groups.h - config_groups of compressed-tensors checkpoints. */
#ifndef QR_MODEL_CONFIG_HF_QUANTIZATION_GROUPS_H
#define QR_MODEL_CONFIG_HF_QUANTIZATION_GROUPS_H
#include "format/json.h"
#include "model/arch/model_config.h"
#include <quire/status.h>

/* Source and destination of a quantization_config that is being read. */
struct qr_quantization_source {
    const struct qr_json *root; /* the object */
    struct qr_quantization_config *out;
    struct qr_arena *memory; /* of the model configuration */
    struct quire_error *err;
};

/* Fails with a message that names the key. */
quire_status qr_hf_quantization_bad(struct qr_quantization_source *q, const char *key);
/* The same for a value that is known but not supported. */
quire_status qr_hf_quantization_unsupported(struct qr_quantization_source *q, const char *key,
                                            const struct qr_json *value);

/* Reads [rows, columns] of a block with one scale. */
quire_status qr_hf_quantization_block(struct qr_quantization_source *q, const char *key,
                                      const struct qr_json *size);

/* Reads format and config_groups. Bits, groups and zero points follow from the tensors. */
quire_status qr_hf_quantization_groups(struct qr_quantization_source *q);

#endif
