/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_gguf.h - reads the metadata and tensors of a GGUF adapter. */
#ifndef QR_MODEL_LOAD_ADAPTER_GGUF_H
#define QR_MODEL_LOAD_ADAPTER_GGUF_H
#include "model/load/adapter_build.h"

/* Adds the updates of all tensors of the open file. Errors as those of quire_adapter_open(). */
quire_status qr_adapter_read_gguf(struct qr_adapter_build *b, struct quire_error *err);

#endif
