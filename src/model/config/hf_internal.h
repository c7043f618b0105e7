/* SPDX-License-Identifier: Apache-2.0 */
/* hf_internal.h - what the parts of the config.json reader share. */
#ifndef QR_MODEL_CONFIG_HF_INTERNAL_H
#define QR_MODEL_CONFIG_HF_INTERNAL_H
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "format/json.h"

struct qr_hf {
    const json_t *root;  /* the object that describes the language model */
    const json_t *outer; /* the whole file: differs from root in multimodal checkpoints */
    const struct qr_arch *arch;
    struct qr_model_config *cfg;
    struct quire_error *err;
};

/* A key of root. Absent: the family's default. The plain forms fail with QUIRE_E_FORMAT when there is neither or
 * the value is null; the _opt forms tell by *has. */
quire_status qr_hf_u32(const struct qr_hf *h, const char *key, uint32_t *out);
quire_status qr_hf_f64(const struct qr_hf *h, const char *key, double *out);
quire_status qr_hf_u32_opt(const struct qr_hf *h, const char *key, uint32_t *out, bool *has);
quire_status qr_hf_f64_opt(const struct qr_hf *h, const char *key, double *out, bool *has);
quire_status qr_hf_bool(const struct qr_hf *h, const char *key, bool dflt,
                        bool *out); /* null: dflt */

quire_status qr_hf_str(const struct qr_hf *h, const char *key,
                       const char **out);                         /* absent or null: *out is left */
const json_t *qr_hf_json(const struct qr_hf *h, const char *key); /* NULL: absent */

/* Fills biases, block and everything else that switches and multipliers of the family decide; needs the sizes. */
quire_status qr_hf_family(const struct qr_hf *h);

/* Fills moe and the layers' moe; the dense size stays where a layer is dense. */
quire_status qr_hf_moe(const struct qr_hf *h);

/* Fills rope[], n_rope; needs head_dim and context_length. */
quire_status qr_hf_rope(const struct qr_hf *h);

/* Fills window and rope of every layer; needs n_layers and n_rope. */
quire_status qr_hf_layers(const struct qr_hf *h);

/* Token ids from config.json, then generation_config.json (may be NULL), which wins, and its sampling defaults. */
quire_status qr_hf_tokens(const struct qr_hf *h, const json_t *generation);

#endif
