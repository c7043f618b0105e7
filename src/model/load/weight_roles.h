/* SPDX-License-Identifier: Apache-2.0 */
/* weight_roles.h - name and shape of each weight role. */
#ifndef QR_MODEL_LOAD_WEIGHT_ROLES_H
#define QR_MODEL_LOAD_WEIGHT_ROLES_H
#include "model/arch/weight_role.h"
#include "model/load/role_kind.h"

/* "attn_q", "ffn_norm" etc., for messages and listings; static text. */
const char *qr_weight_role_name(enum qr_weight_role role);

/* *rows is 0 for vectors. */
void qr_role_shape(const struct qr_model_config *cfg, enum qr_weight_role role, uint32_t layer,
                   uint64_t *rows, uint64_t *cols);

#endif
