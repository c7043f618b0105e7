/* SPDX-License-Identifier: Apache-2.0 */
/* hf_quantization_integer.h - options of GPTQ, AWQ and AutoRound. */
#ifndef QR_MODEL_CONFIG_HF_QUANTIZATION_INTEGER_H
#define QR_MODEL_CONFIG_HF_QUANTIZATION_INTEGER_H
#include "model/config/hf_quantization_values.h"

/* Read bits, groups and layouts into q->out. Errors as of qr_hf_read_quantization. */
quire_status qr_hf_quantization_gptq(struct qr_quantization_source *q);
quire_status qr_hf_quantization_awq(struct qr_quantization_source *q);
quire_status qr_hf_quantization_auto_round(struct qr_quantization_source *q);

/* Options of these methods: those that the readers look at, and those that change no result. */
extern const char *const qr_hf_gptq_keys[];
extern const char *const qr_hf_awq_keys[];
extern const char *const qr_hf_auto_round_keys[];

#endif
