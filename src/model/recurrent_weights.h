/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent_weights.h - vectors of recurrent layers in the form that the kernels read. */
#ifndef QR_MODEL_RECURRENT_WEIGHTS_H
#define QR_MODEL_RECURRENT_WEIGHTS_H
#include "model/load/model.h"

/* Fills in layers[].recurrent, except for the places in the state, from the loaded vectors.
 * QUIRE_E_NOMEM. */
quire_status qr_model_prepare_recurrent(struct quire_model *m, struct quire_error *err);

#endif
