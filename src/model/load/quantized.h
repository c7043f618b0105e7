/* SPDX-License-Identifier: Apache-2.0 */
/* quantized.h - quantized weights of Hugging Face checkpoints as single tensors.
 *
 * A checkpoint stores a quantized matrix as several tensors (codes, scales, zero points). The table
 * shows each matrix as one tensor with the name of the weight and a type that holds the same
 * values, and hides the tensors that it consists of. Its data are rows of that type. */
#ifndef QR_MODEL_LOAD_QUANTIZED_H
#define QR_MODEL_LOAD_QUANTIZED_H
#include "model/load/types.h"

/* Builds w->quantized from w->safetensors by w->config.quantization; NULL if the checkpoint is not
 * quantized. QUIRE_E_FORMAT: a tensor is missing, has another shape, or its values are out of range
 * (only g_idx and small descriptions are read here); QUIRE_E_UNSUPPORTED: a layout or type;
 * QUIRE_E_NOMEM. */
quire_status qr_quantized_open(struct qr_weights *w, struct quire_error *err) QUIRE_MUST_CHECK;
void qr_quantized_close(struct qr_weights *w); /* idempotent */

size_t qr_quantized_count(const struct qr_quantized *q);
bool qr_quantized_find(const struct qr_weights *w, const char *name, size_t *i);

/* The matrix behind entry i, or NULL for a plain tensor, whose number in the files is *file. */
const struct qr_quantized_tensor *qr_quantized_get(const struct qr_quantized *q, size_t i,
                                                   size_t *file);

#endif
