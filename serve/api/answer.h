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

struct answer {
    /* kept with KEEP_TEXT */
    struct text text, reasoning;
    struct answer_call *calls; /* [n_calls] in the order of their indices */
    size_t n_calls, capacity;
    enum quire_finish_reason reason;
    struct quire_usage usage;
    json_t *data;  /* of the format, e.g. log-probabilities; dropped with the generation */
    float *values; /* EMBED and SCORE: [n_values] */
    size_t n_values;
    bool done, failed; /* failed: out of memory */
};

/* Adds the text, vector or end of an event. */
void answer_update(struct answer *a, const struct quire_event *ev, bool keep_text);

/* The arguments of a call as a value; text that is not JSON, of a call that was cut, as a string. A
 * new reference. */
json_t *answer_call_arguments(const struct answer_call *call);

/* Frees the contents. */
void answer_free(struct answer *a);

#endif
