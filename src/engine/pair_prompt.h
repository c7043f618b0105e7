/* SPDX-License-Identifier: Apache-2.0 */
/* pair_prompt.h - prompts of cross-encoders and rerankers. */
#ifndef QR_ENGINE_PAIR_PROMPT_H
#define QR_ENGINE_PAIR_PROMPT_H
#include "engine/prompt.h"

/* Parts of a template and texts in it. */
enum { QR_PAIR_MAX_SPANS = 16 };

/* Tokenizes text and text_pair of a request into *p, with token types. */
quire_status qr_pair_prompt_encode(const struct quire_engine *e,
                                   const struct quire_request_params *r, struct qr_prompt *p,
                                   struct quire_error *err);

#endif
