/* SPDX-License-Identifier: Apache-2.0 */
/* weights_source.h - tensors of GGUF and safetensors files behind one interface. */
#ifndef QR_MODEL_LOAD_WEIGHTS_SOURCE_H
#define QR_MODEL_LOAD_WEIGHTS_SOURCE_H
#include "model/load/types.h"

size_t qr_weights_source_count(const struct qr_weights *w);
void qr_weights_source_tensor(const struct qr_weights *w, size_t i, struct qr_source_tensor *t);
bool qr_weights_source_find(const struct qr_weights *w, const char *name, size_t *i);

/* Reads bytes [begin, begin + bytes) of a tensor. QUIRE_E_MISUSE once the source is released. */
quire_status qr_weights_read_source(const struct qr_weights *w, size_t tensor, uint64_t begin,
                                    uint64_t bytes, void *dst, struct quire_error *err);

#endif
