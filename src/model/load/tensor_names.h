/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_names.h - the names of a checkpoint's tensors: rules of its family, prefixes. */
#ifndef QR_MODEL_LOAD_TENSOR_NAMES_H
#define QR_MODEL_LOAD_TENSOR_NAMES_H
#include "model/arch/names.h"
#include "model/load/types.h"

/* Name rule number nth of a role; *name is the tensor name in this checkpoint. NULL if there is
 * none. */
const struct qr_name_rule *qr_tensor_rule(const struct qr_weights *w, enum qr_weight_role role,
                                          uint32_t layer, unsigned nth, char name[QR_NAME_MAX]);

/* The name of a rule's tensor in this checkpoint, for a layer of the decoder. */
void qr_tensor_rule_name(const struct qr_weights *w, const struct qr_name_rule *r, uint32_t layer,
                         uint32_t expert, char name[QR_NAME_MAX]);

/* Chooses the prefix with which the token embedding exists. */
void qr_tensor_choose_prefix(struct qr_weights *w);

/* Writes the name as the rules of a family have it, of a tensor of a Hugging Face checkpoint with
 * the nth (from 0) prefix of its language model; "" if the name lacks that prefix. False when there
 * are no more prefixes. */
bool qr_tensor_plain_name(size_t nth, const char *name, char plain[QR_NAME_MAX]);

#endif
