/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_scales.h - scales of whole NVFP4 tensors in GGUF files. */
#ifndef QR_MODEL_LOAD_GGUF_SCALES_H
#define QR_MODEL_LOAD_GGUF_SCALES_H
#include "model/load/types.h"

/* Reads the tensors "X.scale" that belong to a tensor "X.weight" of type NVFP4 into w->gguf_scales
 * and marks them in used[tensors of the file], and marks "X.input_scale", which quantizes
 * activations elsewhere. Tensors that are marked already have a role of their own. QUIRE_E_FORMAT:
 * neither one value nor one per matrix, or a value that is not finite; QUIRE_E_UNSUPPORTED: not
 * F32; QUIRE_E_NOMEM. */
quire_status qr_gguf_scales_bind(struct qr_weights *w, uint8_t *used,
                                 struct quire_error *err) QUIRE_MUST_CHECK;

#endif
