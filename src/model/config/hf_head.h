/* SPDX-License-Identifier: Apache-2.0 */
/* hf_head.h - keys of config.json of a head of multi-token prediction in files of its own. */
#ifndef QR_MODEL_CONFIG_HF_HEAD_H
#define QR_MODEL_CONFIG_HF_HEAD_H
#include "model/config/hf_keys.h"

/* Finds the family and the object of a head that does not have a model_type of its own: one of the
 * Speculators library, or a block drafter. arch stays NULL: the file is of another kind.
 * QUIRE_E_UNSUPPORTED: a head of a kind that quire does not compute. */
quire_status qr_hf_find_head(struct qr_hf_source *h);

/* Sets qr_mtp_config and the source of keys and values, in families that are such heads
 * (qr_arch.head_of). QUIRE_E_FORMAT with the key. */
quire_status qr_hf_read_head(const struct qr_hf_source *h);

#endif
