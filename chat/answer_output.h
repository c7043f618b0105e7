/* SPDX-License-Identifier: Apache-2.0 */
/* answer_output.h - standard output: answers as text, or events as lines of JSON. */
#ifndef QUIRE_CHAT_ANSWER_OUTPUT_H
#define QUIRE_CHAT_ANSWER_OUTPUT_H
#include "text.h"
#include "wrap.h"
#include <quire/quire.h>

/* What the text of an answer on standard output ends with. */
enum output_part { PART_NONE, PART_REASONING, PART_CONTENT, PART_CALL };

struct output {
    bool json;
    bool terminal;   /* control characters of an answer are escaped */
    bool wrap_lines; /* between words */
    bool dims;       /* reasoning is dimmed */
    /* of text: reasoning and calls are printed; events have them in any case */
    bool show_reasoning, show_calls;
    enum output_part part;
    struct wrap wrap;
    int error;          /* errno of the first failed write; later output is dropped */
    struct text answer; /* the content of the current answer, unescaped */
    struct text buffer;
};

/* wrap_lines applies only if standard output is a terminal with cursor movement. Reasoning is shown
 * on a terminal, elsewhere with show_reasoning; calls until show_calls is cleared. */
void output_open(struct output *o, bool json, bool wrap_lines, bool show_reasoning);
void output_close(struct output *o);

void output_begin(struct output *o);                                /* of an answer */
void output_piece(struct output *o, const char *text, size_t size); /* of the content */
void output_reasoning(struct output *o, const char *text, size_t size);
/* A call of a tool on a line of its own; arguments: JSON in one line. */
void output_call(struct output *o, const char *id, const char *name, const char *arguments);
/* The event of the result of a call; without JSON events nothing. */
void output_result(struct output *o, const char *id, const char *name, bool ok, const char *text);
void output_done(struct output *o, const struct quire_event *done, const char *reason,
                 uint64_t seed);

/* Prints a failure on standard error, and as a JSON event if enabled. */
void output_error(struct output *o, quire_status status, const char *message);

/* Prints text on standard output as it is. */
void output_print(struct output *o, const char *text);

/* Decode speed: generated tokens after the first per second; 0 = fewer than 2 tokens. */
double tokens_per_second(const struct quire_usage *usage);

#endif
