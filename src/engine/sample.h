/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - samples the next token of every task that completed its pending tokens. */
#ifndef QR_ENGINE_SAMPLE_H
#define QR_ENGINE_SAMPLE_H
#include "engine/types.h"
#include <math.h>

/* Samples one token per row of logits of the step, appends it and ends the answers whose stop
 * condition holds. An answer that completes the prompt of its group passes it on to the others. */
void qr_sample_step(struct quire_engine *e);

/* Excludes rows of the LM head that are padding of the vocabulary. */
static inline void qr_mask_padding(const struct quire_engine *e, float *logits)
{
    for (uint32_t i = e->n_text_tokens; i < e->vocab_size; i++)
        logits[i] = -INFINITY;
}

/* Excludes the tokens that may not be sampled next from a row of logits, and calls logits_hook. */
quire_status qr_prepare_logits(const struct quire_engine *e, const struct qr_request *r,
                               float *logits, struct quire_error *err);

/* Parts of sampling that drafts share, for the token that follows the request's tokens and n_ahead
 * drafted ones behind them in r->tokens. */

/* Excludes padding; with IGNORE_EOS, and before the minimum length, also the tokens that end the
 * answer. */
void qr_mask_logits(const struct quire_engine *e, const struct qr_request *r, uint32_t n_ahead,
                    float *logits);

/* Draws a token with the request's parameters and the random number of its position; updates
 * *state. */
quire_status qr_draw_token(struct quire_engine *e, const struct qr_request *r, uint32_t n_ahead,
                           const float *logits, struct quire_sampling_state *state, int32_t *token,
                           struct quire_error *err);

/* Whether the token is an end-of-generation or a stop token of the request. */
bool qr_ends_answer(const struct quire_engine *e, const struct qr_request *r, int32_t token);

#endif
