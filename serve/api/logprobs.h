/* SPDX-License-Identifier: Apache-2.0 */
/* logprobs.h - log-probabilities of tokens as OpenAI's chat and completion APIs write them.
 *
 * A token that is no well-formed UTF-8 by itself, or NUL, is written as "bytes:\xe2\x96". The token
 * that ends an answer is no part of its text and is left out. Numbers that are not finite are
 * written by json_build_logprob(). */
#ifndef QUIRE_SERVE_LOGPROBS_H
#define QUIRE_SERVE_LOGPROBS_H
#include <jansson.h>
#include <quire/quire.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries of the tokens of an event TEXT, for `logprobs.content` of the chat API; [] if the event
 * has none. NULL: out of memory. */
json_t *logprobs_chat(const struct quire_tokenizer *tokenizer,
                      const struct quire_request_params *request, const struct quire_event *ev);

/* Text that the tokens so far give, for text_offset. Starts as all zeros. */
struct logprobs_position {
    struct quire_detokenizer *detokenizer;
    size_t characters; /* of the text before the next token */
    size_t tokens;     /* before the next one */
};
void logprobs_position_free(struct logprobs_position *p);

/* The tokens of an event TEXT as the completion API's object of four arrays: tokens,
 * token_logprobs, top_logprobs, text_offset (in characters of the text of the choice). NULL: out of
 * memory. */
json_t *logprobs_completion(const struct quire_tokenizer *tokenizer,
                            const struct quire_request_params *request,
                            const struct quire_event *ev, struct logprobs_position *position);

/* Appends what an event gave to that of the earlier ones, NULL if there is none, and drops the
 * reference to it. False: out of memory; `more` may be NULL for that reason. */
bool logprobs_extend(json_t **all, json_t *more);

#endif
