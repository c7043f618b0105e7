/* SPDX-License-Identifier: Apache-2.0 */
/* ffn_act.h - parameters of activation functions in the form that the forward pass reads. */
#ifndef QR_MODEL_FFN_ACT_H
#define QR_MODEL_FFN_ACT_H
#include "model/load/model.h"

/* Fills layers[].act and layers[].expert_act, from the configuration and, for xIELU, the loaded
 * vectors. QUIRE_E_FORMAT if a parameter of xIELU is not finite. */
quire_status qr_model_prepare_ffn_act(struct quire_model *m, struct quire_error *err);

#endif
