/* SPDX-License-Identifier: Apache-2.0 */
/* response_answer.h - answers of the responses API: the object, and the events of a stream. */
#ifndef QUIRE_SERVE_RESPONSE_ANSWER_H
#define QUIRE_SERVE_RESPONSE_ANSWER_H
#include "generation.h"
#include "openai_answer.h"
#include "response_item.h"
#include <jansson.h>
#include <stdbool.h>

/* State of one response: g->state. */
struct response {
    struct openai_answer common; /* id, time, stream */
    struct response_items items; /* of `output` */
    bool store, logprobs;
    bool failed; /* out of memory */
    unsigned sequence;
    json_t *echo;         /* members of the object that repeat the request */
    json_t *input;        /* [items] as given */
    json_t *messages;     /* of the prompt: instructions, then the conversation */
    json_t *conversation; /* [messages of the chat API] before the answer */
};

extern const struct generation_format response_format;

#endif
