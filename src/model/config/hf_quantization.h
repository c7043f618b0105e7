/* SPDX-License-Identifier: Apache-2.0 */
/* hf_quantization.h - quantization_config of config.json, and hf_quant_config.json. */
#ifndef QR_MODEL_CONFIG_HF_QUANTIZATION_H
#define QR_MODEL_CONFIG_HF_QUANTIZATION_H
#include "model/config/hf_keys.h"
#include "model/config/unknown.h"

/* Reads quantization_config, if there is one, into h->cfg->quantization. QUIRE_E_UNSUPPORTED: the
 * method or the value of an option, by name, or an option that is not known (policy as for other
 * keys); QUIRE_E_FORMAT: an option of the wrong type. */
quire_status qr_hf_read_quantization(const struct qr_hf_source *h,
                                     const struct qr_unknown_policy *policy);

/* The same from the text of hf_quant_config.json, which ModelOpt writes; older checkpoints have
 * nothing else. No effect if config.json has a quantization_config. */
quire_status qr_model_config_read_modelopt(struct qr_model_config *cfg, const char *json,
                                           size_t size, const struct qr_unknown_policy *policy,
                                           struct quire_error *err);

#endif
