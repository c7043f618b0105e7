/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_detect.h - what the tensors of a file, not its configuration, say about a model. */
#ifndef QR_MODEL_LOAD_TENSOR_DETECT_H
#define QR_MODEL_LOAD_TENSOR_DETECT_H
#include "model/load/types.h"

/* Completes w->config by the tensors that the file has, before roles are mapped to tensors. */
void qr_tensor_detect(struct qr_weights *w);

#endif
