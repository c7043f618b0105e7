/* SPDX-License-Identifier: Apache-2.0 */
/* beam_setup.h - checks and memory of a beam search. */
#ifndef QR_ENGINE_BEAM_SETUP_H
#define QR_ENGINE_BEAM_SETUP_H
#include "engine/beam_types.h"

/* Checks the fields of a beam search, and that others do not contradict them. */
quire_status qr_beam_check(const struct quire_engine *e, const struct quire_request_params *p,
                           struct quire_error *err);

/* Creates the search of a group of prepared answers and makes its tasks a group. On failure
 * qr_beam_free() frees what there is.
 * QUIRE_E_LIMIT: the KV cache has too few blocks for beam_width sequences. */
quire_status qr_beam_init(struct quire_engine *e, struct qr_request *leader,
                          const struct quire_request_params *p, struct quire_error *err);
void qr_beam_free(struct quire_engine *e, struct qr_request *leader); /* safe without a search */

#endif
