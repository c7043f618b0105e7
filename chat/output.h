/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - standard output: the answers as text, or every event as a line of JSON. */
#ifndef QUIRE_CHAT_OUTPUT_H
#define QUIRE_CHAT_OUTPUT_H
#include "text.h"
#include "wrap.h"
#include <quire/quire.h>

struct output {
    bool json;
    bool terminal; /* control characters of answers are made visible */
    bool wraps;    /* and lines are broken between words */
    struct wrap wrap;
    int error;          /* errno of the first write that failed; later ones are dropped */
    struct text answer; /* the whole answer that runs, as the model wrote it */
    struct text work;
};

/* wraps: break lines between words, if standard output is a terminal that can. */
void output_open(struct output *o, bool json, bool wraps);
void output_close(struct output *o);

void output_begin(struct output *o);                                /* an answer begins */
void output_piece(struct output *o, const char *text, size_t size); /* more of it */
/* It has ended. seed is told in JSON only. */
void output_done(struct output *o, const struct quire_event *done, uint64_t seed);

/* A failure, told on standard error and as a JSON event. */
void output_error(struct output *o, quire_status status, const char *message);

/* Plain text on standard output, for listings. */
void output_print(struct output *o, const char *text);

/* Tokens per second of an answer; 0 when there was nothing to measure. */
double tokens_per_second(const struct quire_usage *usage);

#endif
