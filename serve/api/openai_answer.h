/* SPDX-License-Identifier: Apache-2.0 */
/* openai_answer.h - what answers of OpenAI's API have in common: id, model, usage, streams. */
#ifndef QUIRE_SERVE_OPENAI_ANSWER_H
#define QUIRE_SERVE_OPENAI_ANSWER_H
#include "fields.h"
#include "generation.h"
#include <jansson.h>
#include <stdbool.h>

struct openai_answer {
    const char *object, *chunk; /* value of `object` of answers and of pieces of a stream */
    char id[48];
    long created; /* Unix time */
    bool stream;
    bool include_usage;     /* a last chunk has the usage */
    bool continuous_usage;  /* every chunk has it */
    bool return_progress;   /* chunks while the prompt is computed */
    bool timings_per_token; /* every chunk has timings */
};

/* Parses the body of a request. NULL: *error. */
json_t *openai_body(const struct exchange *x, struct api_error *error);

/* Creates a generation for the body, whose reference it takes, with n requests, lets `parse` fill
 * it in, and starts it. Errors are answered; n is 0 if *error is set already. */
void openai_start(struct exchange *x, const struct generation_format *format, json_t *body,
                  uint32_t n, bool (*parse)(struct generation *g, struct api_error *error),
                  struct api_error *error);

/* f counts ignored parameters from now on. */
void openai_count_ignored(struct fields *f, const struct generation *g);

/* Reads `model` and sets g->model, and id and time of the answer. f counts ignored parameters from
 * now on. */
bool openai_answer_init(struct openai_answer *a, struct generation *g, struct fields *f,
                        const char *id_prefix);

/* Reads `stream`, `stream_options`, `return_progress` and `timings_per_token`; sets g->flags. */
bool openai_answer_read_stream(struct openai_answer *a, struct generation *g, struct fields *f);

/* Reads max_tokens, also by its other names, into the first request. -1: no limit. 0, if it is
 * allowed: the prompt is computed and nothing is generated. */
bool openai_read_max_tokens(struct generation *g, struct fields *f, bool allow_zero,
                            int64_t initial);

/* "stop", "length" or "tool_calls". */
const char *openai_finish_reason(const struct answer *a);

/* prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details */
json_t *openai_usage(const struct generation_usage *u);

/* Times of an answer under the names of llama.cpp's server. */
json_t *openai_timings(const struct quire_usage *u);

/* The members that all answers share, then `choices`, whose reference is dropped. */
json_t *openai_object(const struct openai_answer *a, const struct generation *g, const char *object,
                      json_t *choices);

/* ---- Streams */

void openai_stream_begin(struct generation *g);
/* Sends a chunk with one choice, whose reference is dropped. */
void openai_stream_write(const struct openai_answer *a, struct generation *g,
                         const struct answer *answer, json_t *choice);
/* Sends the progress of a prompt if return_progress is set; drops the reference to choice. */
void openai_stream_progress(const struct openai_answer *a, struct generation *g,
                            const struct quire_usage *u, json_t *choice);
/* Sends usage and end. */
void openai_stream_end(const struct openai_answer *a, struct generation *g);
void openai_stream_error(struct generation *g, const struct api_error *error);

#endif
