/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_parts.h - prompts made of parts: texts, token ids and rows of embeddings. */
#ifndef QR_ENGINE_PROMPT_PARTS_H
#define QR_ENGINE_PROMPT_PARTS_H
#include "engine/prompt.h"

/* Tokenizes the parts into *p, with QR_EMBEDDING_TOKEN for each row of embeddings. The values of
 * token ids and embeddings are not read as numbers. On failure there is nothing to free. */
quire_status qr_prompt_parts_encode(const struct quire_engine *e,
                                    const struct quire_request_params *r, struct qr_prompt *p,
                                    struct quire_error *err);

/* Checks that token ids are in the vocabulary and embeddings are finite. */
quire_status qr_prompt_parts_check_values(const struct quire_engine *e,
                                          const struct quire_request_params *r,
                                          struct quire_error *err);

/* Copies the embeddings of a prompt of n_prompt tokens for an answer whose tokens are set: sets
 * keys and embeddings. After a failure the caller detaches them. */
quire_status qr_prompt_parts_attach(struct quire_engine *e, struct qr_request *r,
                                    const struct quire_request_params *p, uint32_t n_prompt,
                                    struct quire_error *err);
void qr_prompt_parts_detach(struct quire_engine *e, struct qr_request *r);

#endif
