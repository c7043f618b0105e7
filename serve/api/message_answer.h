/* SPDX-License-Identifier: Apache-2.0 */
/* message_answer.h - answers of Anthropic's API: the message, and the events of a stream. */
#ifndef QUIRE_SERVE_MESSAGE_ANSWER_H
#define QUIRE_SERVE_MESSAGE_ANSWER_H
#include "generation.h"
#include "openai_answer.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Content blocks of an answer. */
enum message_block { BLOCK_NONE, BLOCK_TEXT, BLOCK_THINKING, BLOCK_TOOL };

/* State of one message: g->state. */
struct message {
    struct openai_answer common; /* id, stream */
    json_t *input;               /* messages in OpenAI's notation; the request points into them */
    bool begun;                  /* message_start is sent */
    enum message_block block;    /* of the stream, that is open */
    unsigned n_blocks;           /* of the stream, begun so far */
    uint32_t tool_index;         /* of an open BLOCK_TOOL */
    struct text tokens;          /* int32_t ids of the answer, for the stop sequence */
    size_t count;                /* of count_tokens */
};

extern const struct generation_format message_format;

/* Frees g->state. */
void message_destroy(struct generation *g);

#endif
