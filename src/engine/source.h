/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - sources of encoder-decoders: the prompt of a request is encoded once, and every step
 * of its answer attends to the keys and values in the blocks of the cross group.
 *
 * The sequence of the decoder begins with the model's start token, which takes the place of the
 * prompt in the scheduler; source and start token are computed in the same step. After a preemption
 * the source is encoded again, with the same bits. */
#ifndef QR_ENGINE_SOURCE_H
#define QR_ENGINE_SOURCE_H
#include "engine/prompt.h"

/* Operands of the encoder pass of a step, reserved at open. Without cross group: no memory. On
 * failure there is nothing to free. */
quire_status qr_sources_init(struct quire_engine *e, struct quire_error *err);
void qr_sources_free(struct quire_engine *e); /* safe on zeroes */
uint64_t qr_sources_bytes(const struct quire_engine *e);

/* Refuses what an encoder-decoder does not do, by the name of the field. */
quire_status qr_source_check(const struct quire_engine *e, const struct quire_request_params *p,
                             struct quire_error *err);

/* Makes the tokens of a prompt its source, and the start token its only token. On failure the
 * caller frees the prompt. */
quire_status qr_source_take(const struct quire_engine *e, struct qr_prompt *prompt,
                            struct quire_error *err);

/* Gives a request, whose task is set, a copy of the prompt's source. A no-op for other models. */
quire_status qr_source_attach(struct quire_engine *e, struct qr_request *r,
                              const struct qr_prompt *prompt, struct quire_error *err);
void qr_source_detach(struct quire_engine *e, struct qr_request *r);

/* Encodes the sources of the planned tasks that have not been encoded yet. */
quire_status qr_sources_encode(struct quire_engine *e, struct quire_error *err);

#endif
