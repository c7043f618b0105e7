/* SPDX-License-Identifier: Apache-2.0 */
/* distance_weights.h - keys and queries of the distances of disentangled attention. */
#ifndef QR_MODEL_DISTANCE_WEIGHTS_H
#define QR_MODEL_DISTANCE_WEIGHTS_H
#include "model/load/model.h"

/* Fills in the distance_* fields of the model and its layers from the loaded weights, if it has
 * disentangled attention. QUIRE_E_NOMEM. */
quire_status qr_model_prepare_distances(struct quire_model *m, struct quire_error *err);

/* Destroys what the layers own of them, after an error, too. */
void qr_model_drop_distances(struct quire_model *m);

#endif
