/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_peft_config.h - adapter_config.json of PEFT: the options that change results. */
#ifndef QR_MODEL_LOAD_ADAPTER_PEFT_CONFIG_H
#define QR_MODEL_LOAD_ADAPTER_PEFT_CONFIG_H
#include "format/json.h"
#include "model/config/unknown.h"

struct qr_peft_config {
    struct qr_json *root; /* owned */
    const char *base_model;
    uint32_t rank;
    double alpha;
    bool rslora;
    const struct qr_json *rank_pattern, *alpha_pattern; /* objects or NULL */
    bool target_parameters;                             /* not empty */
};

/* Parses the text. QUIRE_E_FORMAT malformed, a rank or alpha out of range; QUIRE_E_UNSUPPORTED an
 * option that changes the computation, or an unknown key that policy does not allow. Ended by
 * qr_peft_config_free, also after a failure. */
quire_status qr_peft_config_parse(const char *text, size_t size,
                                  const struct qr_unknown_policy *policy,
                                  const struct quire_allocator *a, struct qr_peft_config *out,
                                  struct quire_error *err);
void qr_peft_config_free(struct qr_peft_config *c);

/* Rank and scale of a module, named as in the base model: those of the first pattern that matches,
 * else those of all. */
uint32_t qr_peft_rank(const struct qr_peft_config *c, const char *module);
double qr_peft_scale(const struct qr_peft_config *c, const char *module, uint32_t rank);

#endif
