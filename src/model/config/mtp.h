/* SPDX-License-Identifier: Apache-2.0 */
/* mtp.h - the configuration of a head of multi-token prediction. */
#ifndef QR_MODEL_CONFIG_MTP_H
#define QR_MODEL_CONFIG_MTP_H
#include "model/config/config.h"

/* Turns the configuration of a model into that of its heads of multi-token prediction, or the first
 * of them (struct qr_mtp_config). QUIRE_E_UNSUPPORTED: the model has none, or none that quire
 * computes. */
quire_status qr_model_config_select_mtp(struct qr_model_config *cfg, const struct qr_arch *arch,
                                        bool gguf, struct quire_error *err);

/* Checks the options of a head in files of its own; other models and heads pass. QUIRE_E_FORMAT. */
quire_status qr_mtp_config_check(const struct qr_model_config *c, struct quire_error *err);

#endif
