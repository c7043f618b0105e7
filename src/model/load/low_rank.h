/* SPDX-License-Identifier: Apache-2.0 */
/* low_rank.h - low-rank updates that are part of a model: W + B A of the projections of a shared
 * block, different in each layer that uses it. They are kept apart from W, which the layers share,
 * and multiplied like those of adapters. */
#ifndef QR_MODEL_LOAD_LOW_RANK_H
#define QR_MODEL_LOAD_LOW_RANK_H
#include "model/load/adapter.h"

/* Projections of a layer that may have an update. */
enum qr_low_rank_site {
    QR_LOW_RANK_Q,
    QR_LOW_RANK_K,
    QR_LOW_RANK_V,
    QR_LOW_RANK_GATE,
    QR_LOW_RANK_UP,
    QR_LOW_RANK_SITES
};

/* Reads the updates of a layer; nothing to do for layers without any. */
quire_status qr_low_rank_load(struct quire_model *m, uint32_t layer, struct quire_error *err);

/* The update of the matrix of a role; NULL: none. */
const struct qr_lora *qr_low_rank_find(const struct quire_model *m, enum qr_weight_role role,
                                       uint32_t layer);

#endif
