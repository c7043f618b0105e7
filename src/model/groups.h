/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - layer stacks, KV groups, plan groups, and the attention configuration of each
 * layer. */
#ifndef QR_MODEL_GROUPS_H
#define QR_MODEL_GROUPS_H
#include "model/load/model.h"

/* Assigns the layers to KV groups and plan groups and fills their attention configurations.
 * QUIRE_E_NOMEM. */
quire_status qr_model_group_layers(struct quire_model *m, struct quire_error *err);
void qr_model_free_groups(struct quire_model *m);

/* The layers of a decoder step and those of an encoder pass; empty where the model has none. */
struct qr_stack qr_model_decoder_stack(const struct quire_model *m);
struct qr_stack qr_model_encoder_stack(const struct quire_model *m);

#endif
