/* SPDX-License-Identifier: Apache-2.0 */
/* hf_classifier.h - classification heads of Hugging Face checkpoints. */
#ifndef QR_MODEL_CONFIG_HF_CLASSIFIER_H
#define QR_MODEL_CONFIG_HF_CLASSIFIER_H
#include "model/config/hf_keys.h"
#include <quire/status.h>

/* Reads the classification head of an encoder whose `architectures` names a
 * ...ForSequenceClassification. Heads of other tasks, and of families without hf_class_head, are
 * tensors without a role. */
quire_status qr_hf_read_classifier(const struct qr_hf_source *h);

#endif
