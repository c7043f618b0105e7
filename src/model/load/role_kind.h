/* SPDX-License-Identifier: Apache-2.0 */
/* role_kind.h - what a weight role is: matrix, vector or stack, and whose weight a layer uses. */
#ifndef QR_MODEL_LOAD_ROLE_KIND_H
#define QR_MODEL_LOAD_ROLE_KIND_H
#include "model/arch/weight_role.h"
#include "model/config/config.h"
#include <stdbool.h>
#include <stdint.h>

/* True if the weight is packed for matrix products; false for vectors and stacks. */
bool qr_role_is_matrix(enum qr_weight_role role);

/* Whether a role belongs to a dense layer behind the pooling of embeddings. */
bool qr_role_is_dense(enum qr_weight_role role);
/* A table of integers (integer_table.h). */
bool qr_role_is_table(enum qr_weight_role role);
/* The output of a classification head. */
bool qr_role_is_class(enum qr_weight_role role);

/* True if the role has one weight per expert or per head. */
bool qr_role_is_stack(enum qr_weight_role role);
/* Number of weights of a stack in a layer; 0: not a stack. */
uint32_t qr_role_stack_size(const struct qr_model_config *cfg, enum qr_weight_role role,
                            uint32_t layer);

/* True if the tensor of the role in a layer belongs to a shared block, or to its low-rank updates:
 * its name is that of any of the layers with the block. */
bool qr_role_in_block(const struct qr_model_config *cfg, enum qr_weight_role role, uint32_t layer);
/* True if the role is a low-rank update of another matrix. */
bool qr_role_is_low_rank(enum qr_weight_role role);
/* The layer whose weight a layer uses: the layer itself, but for those of a shared block. */
uint32_t qr_role_owner(const struct qr_model_config *cfg, enum qr_weight_role role, uint32_t layer);

/* The stored form of a convolution of attention, [channels][inputs of a channel][taps], whose rows
 * have `cols` values; heads: those of queries and keys. False: not such a role. */
bool qr_role_conv_dims(const struct qr_model_config *cfg, enum qr_weight_role role, uint64_t cols,
                       uint32_t heads, uint64_t dims[3]);

#endif
