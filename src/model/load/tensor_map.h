/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_map.h - maps the roles of a model to the tensors of its files. */
#ifndef QR_MODEL_LOAD_TENSOR_MAP_H
#define QR_MODEL_LOAD_TENSOR_MAP_H
#include "model/load/types.h"

/* Fills w->tensor_map from w->config and the open source. QUIRE_E_FORMAT names a tensor that is
 * missing or has another shape; QUIRE_E_UNSUPPORTED a type. Unused tensors are warnings, or errors
 * if strict. */
quire_status qr_tensor_map_build(struct qr_weights *w, bool strict, struct quire_error *err);

#endif
