/* SPDX-License-Identifier: Apache-2.0 */
/* mtp_tensors.h - which heads of multi-token prediction a file has. */
#ifndef QR_MODEL_LOAD_MTP_TENSORS_H
#define QR_MODEL_LOAD_MTP_TENSORS_H
#include "model/load/types.h"

/* Sets n_layers of heads that take turns to the number of consecutive heads, from the first one on,
 * whose input projection is in the file: it may leave out heads that its configuration announces.
 * QUIRE_E_UNSUPPORTED: the first one is missing, by the name of its tensor. */
quire_status qr_mtp_tensors_check(struct qr_weights *w, struct quire_error *err);

#endif
