/* SPDX-License-Identifier: Apache-2.0 */
/* source_identity.h - identifies the files that weights come from without reading all of them. */
#ifndef QR_MODEL_LOAD_SOURCE_IDENTITY_H
#define QR_MODEL_LOAD_SOURCE_IDENTITY_H
#include "model/load/types.h"

/* Does not cover the mapping of roles to tensors; see qr_weights_hash. */
struct qr_source_id {
    uint64_t bytes;   /* of all files */
    int64_t mtime_ns; /* of the file that was modified last */
    uint64_t hash;    /* of size and date of each file, and of names, types and shapes of tensors */
};
void qr_weights_identify(const struct qr_weights *w, struct qr_source_id *id);

/* Continues hash *h over the location of a weight in its source and the first bytes of its data,
 * which distinguish sources with identical dates. */
quire_status qr_weights_hash(const struct qr_weights *w, const struct qr_weight *weight,
                             uint64_t *h, struct quire_error *err) QUIRE_MUST_CHECK;

#endif
