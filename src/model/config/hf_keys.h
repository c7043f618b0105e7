/* SPDX-License-Identifier: Apache-2.0 */
/* hf_keys.h - keys of config.json with the aliases and defaults of a family. */
#ifndef QR_MODEL_CONFIG_HF_KEYS_H
#define QR_MODEL_CONFIG_HF_KEYS_H
#include "format/json.h"
#include "model/arch/model_config.h"

/* The keys that were looked up. A file of a supported family has far fewer than the maximum. */
enum { QR_HF_MAX_READS = 256 };
struct qr_hf_reads {
    size_t n;
    struct {
        const struct qr_json *object;
        const char *key;
    } list[QR_HF_MAX_READS];
};

/* Source and destination of one configuration that is being read. */
struct qr_hf_source {
    const struct qr_json *root;    /* the object that describes the language model */
    const struct qr_json *outer;   /* the whole file; differs from root in multimodal checkpoints */
    const struct qr_json *encoder; /* the object of the encoder; NULL: root describes it, too */
    const struct qr_arch *arch;
    struct qr_model_config *cfg;
    struct quire_error *err;
    struct qr_hf_reads *reads;
};

/* Counts a key of an object as read: its effect on the model is known. The getters below do that.
 * key must outlive the source. */
void qr_hf_mark(const struct qr_hf_source *h, const struct qr_json *object, const char *key);
bool qr_hf_is_marked(const struct qr_hf_source *h, const struct qr_json *object, const char *key);

/* Getters for a key of root; a missing key takes the family's default. The plain forms fail with
 * QUIRE_E_FORMAT if there is no default either or the value is null; the _opt forms report it in
 * *has. */
quire_status qr_hf_u32(const struct qr_hf_source *h, const char *key, uint32_t *out);
quire_status qr_hf_f64(const struct qr_hf_source *h, const char *key, double *out);
quire_status qr_hf_u32_opt(const struct qr_hf_source *h, const char *key, uint32_t *out, bool *has);
quire_status qr_hf_f64_opt(const struct qr_hf_source *h, const char *key, double *out, bool *has);

/* A number, or a list with one number per layer, all of them equal; others are
 * QUIRE_E_UNSUPPORTED. Requires n_layers. */
quire_status qr_hf_layers_u32_opt(const struct qr_hf_source *h, const char *key, uint32_t *out,
                                  bool *has);

/* The first present one of several keys with the same meaning; keys ends with NULL. */
quire_status qr_hf_first_u32(const struct qr_hf_source *h, const char *const *keys, uint32_t *out,
                             bool *has);

/* null: dflt. */
quire_status qr_hf_bool(const struct qr_hf_source *h, const char *key, bool dflt, bool *out);

/* Missing or null: *out is unchanged. */
quire_status qr_hf_str(const struct qr_hf_source *h, const char *key, const char **out);

/* Counts a key of root as read that has no effect because of other keys. */
void qr_hf_ignore(const struct qr_hf_source *h, const char *key);

/* Whether a value switches an option off: null, false, 0 and empty ones do. */
bool qr_hf_is_off(const struct qr_json *v);

/* The value of a key; NULL if it is missing. */
const struct qr_json *qr_hf_json(const struct qr_hf_source *h, const char *key);

/* The name of a key in this file, for messages: an alias that is present, the key itself, or the
 * first alias. */
const char *qr_hf_name(const struct qr_hf_source *h, const char *key);

/* Major version of the Transformers release that wrote the file; 0 if it is unknown. */
quire_status qr_hf_writer_version(const struct qr_hf_source *h, uint32_t *major);

/* Fails with QUIRE_E_FORMAT and a message that the key is missing. */
quire_status qr_hf_missing(const struct qr_hf_source *h, const char *key);

#endif
