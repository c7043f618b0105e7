/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_map.h - maps the roles of a model to the tensors of its files. */
#ifndef QR_MODEL_LOAD_TENSOR_MAP_H
#define QR_MODEL_LOAD_TENSOR_MAP_H
#include "model/arch/names.h"
#include "model/load/types.h"

struct qr_unknown_policy;

/* Fills w->tensor_map from w->config and the open source. QUIRE_E_FORMAT names a tensor that is
 * missing or has another shape; QUIRE_E_UNSUPPORTED a type, or a tensor without a role that is not
 * known to change no result, unless policy allows it. */
quire_status qr_tensor_map_build(struct qr_weights *w, const struct qr_unknown_policy *policy,
                                 struct quire_error *err);

#endif
