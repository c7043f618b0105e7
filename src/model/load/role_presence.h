/* SPDX-License-Identifier: Apache-2.0 */
/* role_presence.h - the roles that a model configuration implies. */
#ifndef QR_MODEL_LOAD_ROLE_PRESENCE_H
#define QR_MODEL_LOAD_ROLE_PRESENCE_H
#include "model/arch/weight_role.h"
#include "model/config/config.h"

/* Whether a model with this config has a weight of the role. */
enum qr_presence { QR_ABSENT, QR_OPTIONAL, QR_REQUIRED };
enum qr_presence qr_role_presence(const struct qr_model_config *cfg, enum qr_weight_role role,
                                  uint32_t layer);

#endif
