/* SPDX-License-Identifier: Apache-2.0 */
/* config_gguf.h - what the parts of the GGUF description reader share. */
#ifndef QR_MODEL_CONFIG_CONFIG_GGUF_H
#define QR_MODEL_CONFIG_CONFIG_GGUF_H
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "format/gguf.h"
#include "format/gguf_meta.h"

enum { QR_GGUF_KEY_MAX = 128 };

struct gguf_source {
    const struct qr_gguf *g;
    const struct qr_arch *arch;
    struct qr_model_config *cfg;
    struct quire_error *err;
    char prefix[32]; /* general.architecture */
};

/* Getters for keys below "<architecture>.". */
bool qr_gguf_source_has(const struct gguf_source *s, const char *key);
quire_status qr_gguf_source_u32(const struct gguf_source *s, const char *key, uint32_t *out);
quire_status qr_gguf_source_u32_or(const struct gguf_source *s, const char *key, uint32_t dflt,
                                   uint32_t *out);
quire_status qr_gguf_source_f32_or(const struct gguf_source *s, const char *key, float dflt,
                                   float *out);
quire_status qr_gguf_source_str_or(const struct gguf_source *s, const char *key, const char *dflt,
                                   struct qr_gguf_str *out);

quire_status qr_gguf_source_bool_or(const struct gguf_source *s, const char *key, bool dflt,
                                    bool *out);

/* Does the file have a tensor of that role (in that layer)? */
bool qr_gguf_source_has_role(const struct gguf_source *s, enum qr_weight_role role, uint32_t layer);

/* Fills moe and the layers' moe; needs the layers. */
quire_status qr_gguf_source_moe(const struct gguf_source *s);

/* Fills rope[] and n_rope; needs head_dim and context_length. */
quire_status qr_gguf_source_rope(const struct gguf_source *s);

#endif
