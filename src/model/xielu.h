/* SPDX-License-Identifier: Apache-2.0 */
/* xielu.h - parameters of the xIELU activation in the form that the forward pass reads. */
#ifndef QR_MODEL_XIELU_H
#define QR_MODEL_XIELU_H
#include "model/load/model.h"

/* Fills layers[].xielu of a model with that activation, from the loaded vectors or the
 * configuration. QUIRE_E_FORMAT if a value is not finite. */
quire_status qr_model_prepare_xielu(struct quire_model *m, struct quire_error *err);

#endif
