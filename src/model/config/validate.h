/* SPDX-License-Identifier: Apache-2.0 */
/* validate.h - semantic validation of a model configuration. */
#ifndef QR_MODEL_CONFIG_VALIDATE_H
#define QR_MODEL_CONFIG_VALIDATE_H
#include "model/arch/model_config.h"
#include <quire/status.h>

/* Checks limits, divisibility and that numbers are finite. QUIRE_E_FORMAT: the message names the
 * value. Both readers call it last. */
quire_status qr_model_config_validate(const struct qr_model_config *cfg, struct quire_error *err);

#endif
