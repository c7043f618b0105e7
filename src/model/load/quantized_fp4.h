/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_fp4.h - matrices of E2M1 codes: MXFP4, NVFP4. */
#ifndef QR_MODEL_LOAD_QUANTIZED_FP4_H
#define QR_MODEL_LOAD_QUANTIZED_FP4_H
#include "model/load/quantized_bind.h"

/* gpt-oss: a stack of experts. */
quire_status qr_quantized_mxfp4(struct qr_quantized_build *b, const struct qr_safetensor *blocks);
/* compressed-tensors: NVFP4, whose scales are E4M3, or MXFP4, whose scales are exponents. */
quire_status qr_quantized_packed_fp4(struct qr_quantized_build *b,
                                     const struct qr_safetensor *packed);
/* ModelOpt: NVFP4. */
quire_status qr_quantized_modelopt_fp4(struct qr_quantized_build *b,
                                       const struct qr_safetensor *weight);

#endif
