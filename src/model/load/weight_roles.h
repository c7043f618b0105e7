/* SPDX-License-Identifier: Apache-2.0 */
/* weight_roles.h - name, kind and shape of each weight role. */
#ifndef QR_MODEL_LOAD_WEIGHT_ROLES_H
#define QR_MODEL_LOAD_WEIGHT_ROLES_H
#include "model/arch/weight_role.h"
#include "model/config/config.h"
#include <stdbool.h>
#include <stdint.h>

/* "attn_q", "ffn_norm" etc., for messages and listings; static text. */
const char *qr_weight_role_name(enum qr_weight_role role);

/* True if the weight is packed for matrix products; false for vectors and stacks. */
bool qr_role_is_matrix(enum qr_weight_role role);

/* Whether a role belongs to a dense layer behind the pooling of embeddings. */
bool qr_role_is_dense(enum qr_weight_role role);

/* True if the role has one weight per expert or per head. */
bool qr_role_is_stack(enum qr_weight_role role);
/* Number of weights of a stack in a layer; 0: not a stack. */
uint32_t qr_role_stack_size(const struct qr_model_config *cfg, enum qr_weight_role role,
                            uint32_t layer);

/* *rows is 0 for vectors. */
void qr_role_shape(const struct qr_model_config *cfg, enum qr_weight_role role, uint32_t layer,
                   uint64_t *rows, uint64_t *cols);

#endif
