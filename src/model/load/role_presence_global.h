/* SPDX-License-Identifier: Apache-2.0 */
/* role_presence_global.h - the roles outside of the layers that a configuration implies. */
#ifndef QR_MODEL_LOAD_ROLE_PRESENCE_GLOBAL_H
#define QR_MODEL_LOAD_ROLE_PRESENCE_GLOBAL_H
#include "model/load/role_presence.h"

/* Of a role below QR_W_FIRST_LAYER_ROLE that is not a norm. */
enum qr_presence qr_global_role_presence(const struct qr_model_config *c, enum qr_weight_role role);

#endif
