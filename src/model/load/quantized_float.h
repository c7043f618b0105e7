/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_float.h - matrices of float codes: FP8, NF4. */
#ifndef QR_MODEL_LOAD_QUANTIZED_FLOAT_H
#define QR_MODEL_LOAD_QUANTIZED_FLOAT_H
#include "model/load/quantized_bind.h"

/* Methods whose main tensor's name ends with these; each fills b->out. */
quire_status qr_quantized_fp8(struct qr_quantized_build *b, const struct qr_safetensor *weight);
quire_status qr_quantized_nf4(struct qr_quantized_build *b, const struct qr_safetensor *state);

#endif
