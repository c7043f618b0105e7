/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_keys.h - metadata keys below the prefix "<architecture>.", and tensors by role. */
#ifndef QR_MODEL_CONFIG_GGUF_KEYS_H
#define QR_MODEL_CONFIG_GGUF_KEYS_H
#include "format/gguf_meta.h"
#include "model/arch/model_config.h"
#include "model/arch/weight_role.h"

enum { QR_GGUF_KEY_MAX = 128 };

/* Source and destination of one configuration that is being read. */
struct qr_gguf_source {
    const struct qr_gguf *g;
    const struct qr_arch *arch;
    struct qr_model_config *cfg;
    struct quire_error *err;
    char prefix[32]; /* general.architecture */
    uint8_t *read;   /* [qr_gguf_key_count]: 1 for keys that were looked up */
};

/* Writes "<architecture>.<key>" and counts the key as read. */
void qr_gguf_source_key(const struct qr_gguf_source *s, const char *key, char out[QR_GGUF_KEY_MAX]);

/* Getters for prefixed keys; rules as in format/gguf_meta.h. */
bool qr_gguf_source_has(const struct qr_gguf_source *s, const char *key);
quire_status qr_gguf_source_u32(const struct qr_gguf_source *s, const char *key, uint32_t *out);
quire_status qr_gguf_source_f32(const struct qr_gguf_source *s, const char *key, float *out);
quire_status qr_gguf_source_u32_or(const struct qr_gguf_source *s, const char *key, uint32_t dflt,
                                   uint32_t *out);
quire_status qr_gguf_source_f32_or(const struct qr_gguf_source *s, const char *key, float dflt,
                                   float *out);
quire_status qr_gguf_source_bool_or(const struct qr_gguf_source *s, const char *key, bool dflt,
                                    bool *out);
quire_status qr_gguf_source_str_or(const struct qr_gguf_source *s, const char *key,
                                   const char *dflt, struct qr_gguf_str *out);

/* The family's default for a key of config.json, or 0: the value of files that have no key for
 * it. */
float qr_gguf_source_default(const struct qr_gguf_source *s, const char *key);

/* Whether an array of n elements has one per layer; layers behind the last one may count, too. */
bool qr_gguf_source_per_layer(const struct qr_gguf_source *s, uint64_t n);

/* Reads a value that is either a scalar for all layers or an array with one element per layer.
 * dflt 0: the key is required. */
quire_status qr_gguf_source_layer_u32(const struct qr_gguf_source *s, const char *key,
                                      uint32_t layer, uint32_t dflt, uint32_t *out);

/* Elements of dimension d of a tensor; UINT32_MAX, which no limit allows, where there are more. */
uint32_t qr_gguf_source_dim(const struct qr_gguf_source *s, size_t tensor, int d);

/* Whether the file has a tensor of that role in that layer. */
bool qr_gguf_source_has_role(const struct qr_gguf_source *s, enum qr_weight_role role,
                             uint32_t layer);

#endif
