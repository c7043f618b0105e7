/* SPDX-License-Identifier: Apache-2.0 */
/* open_model.h - opens a model, or a head of multi-token prediction of one, and frees it. */
#ifndef QR_MODEL_OPEN_MODEL_H
#define QR_MODEL_OPEN_MODEL_H
#include "model/load/model.h"

/* quire_model_open(). Files that are no model, but a head of multi-token prediction for one, are
 * opened as one of draft_of if params->mtp_of is NULL; both NULL: QUIRE_E_UNSUPPORTED. */
quire_status qr_open_model(const struct quire_model_params *params, struct quire_model *draft_of,
                           struct quire_model **out, struct quire_error *err);

void qr_destroy_model(struct quire_model *m);

#endif
