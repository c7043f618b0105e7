/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - what one request has answered so far, per choice. */
#ifndef QUIRE_SERVE_ANSWER_H
#define QUIRE_SERVE_ANSWER_H
#include "text.h"
#include <jansson.h>
#include <quire/quire.h>
#include <stdbool.h>
#include <stdint.h>

/* A call of a tool. */
struct answer_call {
    struct text id, name, arguments; /* arguments: JSON, complete when the answer has ended */
};

enum piece_kind { PIECE_TEXT, PIECE_REASONING, PIECE_CALL };

/* A part of an event. Its texts are not NUL-terminated and live as long as the event. */
struct piece {
    enum piece_kind kind;
    const char *text; /* [size] of a call: of its arguments */
    size_t size;
    uint32_t tool_index;   /* of a call: 0, 1, ... */
    const char *name, *id; /* of the first piece of a call, else NULL */
    size_t name_size, id_size;
};

struct answer {
    /* kept with KEEP_TEXT */
    struct text text, reasoning;
    struct answer_call *calls; /* [n_calls] in the order of their indices */
    size_t n_calls, calls_capacity;
    enum quire_finish_reason reason;
    struct quire_usage usage;
    json_t *data;  /* of the format, e.g. log-probabilities; dropped with the generation */
    float *values; /* EMBED and SCORE: [n_values] */
    size_t n_values;
    bool done, failed;                /* failed: out of memory */
    bool has_calls;                   /* a call has begun */
    struct quire_chat_output *parser; /* owned; NULL: all text is PIECE_TEXT */
    struct piece *pieces;             /* [n_pieces] of the current event */
    size_t n_pieces, pieces_capacity;
};

/* Adds the text, vector or end of an event; splits it into pieces. */
void answer_update(struct answer *a, const struct quire_event *ev, bool keep_text);

/* The arguments of a call as a value; text that is not JSON, of a call that was cut, as a string. A
 * new reference. */
json_t *answer_call_arguments(const struct answer_call *call);

/* Frees the contents. */
void answer_free(struct answer *a);

#endif
