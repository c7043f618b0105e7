/* SPDX-License-Identifier: Apache-2.0 */
/* beam.h - beam search: from the logits of all beams to the beams of the next token. */
#ifndef QR_ENGINE_BEAM_H
#define QR_ENGINE_BEAM_H
#include "engine/beam_types.h"

/* Takes the row of logits of a beam, which is changed. Once all beams of the search have theirs, it
 * advances by one token, or ends. A failure ends the search. */
void qr_beam_take_logits(struct quire_engine *e, struct qr_request *r, float *logits);

#endif
