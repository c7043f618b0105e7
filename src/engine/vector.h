/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h - EMBED and SCORE requests: a vector instead of text. */
#ifndef QR_ENGINE_VECTOR_H
#define QR_ENGINE_VECTOR_H
#include "engine/prompt.h"
#include "engine/types.h"

/* Prepares a request of task EMBED or SCORE whose task is set up; takes over the token types of
 * the prompt. */
quire_status qr_vector_init(struct quire_engine *e, struct qr_request *r,
                            const struct quire_request_params *p, struct qr_prompt *prompt,
                            struct quire_error *err);
void qr_vector_free(struct quire_engine *e, struct qr_request *r);

/* Allocates the buffers of steps unless they exist. The caller does not hold the engine's lock. */
quire_status qr_vector_reserve(struct quire_engine *e, struct quire_error *err);
uint64_t qr_vector_buffer_bytes(const struct quire_engine *e); /* of an encoder */
void qr_vector_free_buffers(struct quire_engine *e);

/* Pools the hidden states of the current step, before its tokens are committed. */
void qr_vector_add_rows(struct quire_engine *e);

/* Completes the vector of a request whose last token was computed, and ends the request. */
void qr_vector_finish(struct quire_engine *e, struct qr_request *r);

#endif
