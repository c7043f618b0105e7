/* SPDX-License-Identifier: Apache-2.0 */
/* config_internal.h - what the two makers of a model description share. */
#ifndef QR_MODEL_CONFIG_CONFIG_INTERNAL_H
#define QR_MODEL_CONFIG_CONFIG_INTERNAL_H
#include "model/arch/arch.h"
#include "model/config/config.h"

/* The limits table. A file beyond these is taken for a lie rather than for a model. */
enum {
    QR_CONFIG_MAX_LAYERS = 1024,
    QR_CONFIG_MAX_HEADS = 4096,
    QR_CONFIG_MAX_HEAD_DIM = 1024,
    QR_CONFIG_MAX_HIDDEN = 1 << 20,
    QR_CONFIG_MAX_FFN = 1 << 24,
    QR_CONFIG_MAX_VOCAB = 1 << 24,
    QR_CONFIG_MAX_CONTEXT = 1 << 30,
    QR_CONFIG_MAX_EXPERTS = 4096,
    QR_CONFIG_MAX_TYPES = 1 << 16,
    QR_CONFIG_MAX_BUCKETS = 1 << 16,
    QR_CONFIG_MAX_DISTANCE = 1 << 20,
    QR_CONFIG_MAX_BYTES = 1 << 20 /* of a description in memory */
};

/* Sets what the family says and neutral values elsewhere. */
void qr_model_config_init(struct qr_model_config *cfg, const struct qr_arch *arch);

/* Takes over a display name: what fits, without control bytes and without half a character at the end. */
void qr_model_config_set_name(struct qr_model_config *cfg, const char *name, size_t len);

/* Allocates n_layers equal layers (n_layers is checked here, before the allocation). */
quire_status qr_model_config_add_layers(struct qr_model_config *cfg, uint32_t heads,
                                        uint32_t kv_heads, uint32_t ffn, struct quire_error *err);

/* Sizes of latent attention's heads, and what follows from them; kv_lora_rank, v_head_dim and layers are set. */
quire_status qr_model_config_set_latent(struct qr_model_config *cfg, uint32_t nope, uint32_t rope,
                                        struct quire_error *err);

/* The rope set of a layer with or without a window. */
uint8_t qr_layer_rope(const struct qr_model_config *cfg, const struct qr_arch *arch, bool windowed);

/* Sets what follows from the other fields: maxima over layers, the embedding scale. */
void qr_model_config_finish(struct qr_model_config *cfg, const struct qr_arch *arch);

#endif
