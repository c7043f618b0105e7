/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_peft.h - reads the tensors of a PEFT folder. */
#ifndef QR_MODEL_LOAD_ADAPTER_PEFT_H
#define QR_MODEL_LOAD_ADAPTER_PEFT_H
#include "model/load/adapter_build.h"
#include "model/load/adapter_peft_config.h"

/* Adds the updates of all tensors of the open file. */
quire_status qr_adapter_read_peft(struct qr_adapter_build *b, const struct qr_peft_config *config,
                                  struct quire_error *err);

#endif
