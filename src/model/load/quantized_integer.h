/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_integer.h - matrices of integer codes: GPTQ, AWQ, compressed-tensors, LLM.int8. */
#ifndef QR_MODEL_LOAD_QUANTIZED_INTEGER_H
#define QR_MODEL_LOAD_QUANTIZED_INTEGER_H
#include "model/load/quantized_bind.h"

/* Methods whose main tensor's name ends with these; each fills b->out. */
quire_status qr_quantized_gptq(struct qr_quantized_build *b, const struct qr_safetensor *qweight);
quire_status qr_quantized_awq(struct qr_quantized_build *b, const struct qr_safetensor *qweight);
quire_status qr_quantized_packed(struct qr_quantized_build *b, const struct qr_safetensor *packed);
quire_status qr_quantized_int8(struct qr_quantized_build *b, const struct qr_safetensor *weight);
quire_status qr_quantized_llm_int8(struct qr_quantized_build *b, const struct qr_safetensor *scb);

#endif
