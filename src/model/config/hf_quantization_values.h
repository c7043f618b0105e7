/* SPDX-License-Identifier: Apache-2.0 */
/* hf_quantization_values.h - values of options of a quantization_config, and their messages. */
#ifndef QR_MODEL_CONFIG_HF_QUANTIZATION_VALUES_H
#define QR_MODEL_CONFIG_HF_QUANTIZATION_VALUES_H
#include "model/config/hf_keys.h"

/* What every message about an unsupported option ends with. */
#define QR_QUANTIZATION_WAY_OUT "use the original checkpoint or a GGUF file"

/* Source and destination of a quantization_config that is being read. */
struct qr_quantization_source {
    const char *what;           /* the object's name, for messages */
    const struct qr_json *root; /* the object */
    struct qr_quantization_config *out;
    struct qr_arena *memory; /* of the model configuration */
    struct quire_error *err;
};

/* Fails with a message that names the key. */
quire_status qr_hf_quantization_bad(struct qr_quantization_source *q, const char *key);
/* The same for a value that is known but not supported. */
quire_status qr_hf_quantization_refuse(struct qr_quantization_source *q, const char *key,
                                       const char *value);
quire_status qr_hf_quantization_unsupported(struct qr_quantization_source *q, const char *key,
                                            const struct qr_json *value);

/* Reads a string of a list of words that ends with NULL; a missing key or null is the first.
 * *index: its place. */
quire_status qr_hf_quantization_word(struct qr_quantization_source *q, const char *key,
                                     const char *const *words, int *index);
quire_status qr_hf_quantization_bool(struct qr_quantization_source *q, const char *key, bool dflt,
                                     bool *out);

/* Whether the list, which ends with NULL, has the key. */
bool qr_hf_quantization_listed(const char *const *list, const char *key);
/* Whether the value switches an option off: null, false and empty ones do. */
bool qr_hf_quantization_off(const struct qr_json *v);

#endif
