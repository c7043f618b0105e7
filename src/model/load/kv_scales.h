/* SPDX-License-Identifier: Apache-2.0 */
/* kv_scales.h - fp8 scales of keys and values: of a checkpoint, and of calibration files. */
#ifndef QR_MODEL_LOAD_KV_SCALES_H
#define QR_MODEL_LOAD_KV_SCALES_H
#include "model/load/model.h"

/* Whether a tensor of a checkpoint is a scale of cached keys or values. */
bool qr_is_kv_scale(const char *name);

/* Reads the scales of the checkpoint into the layers, and computes the model's fingerprint. The
 * weights are loaded, and their source is open. QUIRE_E_FORMAT names the tensor; QUIRE_E_NOMEM. */
quire_status qr_kv_scales_load(struct quire_model *m, struct quire_error *err);

#endif
