/* SPDX-License-Identifier: Apache-2.0 */
/* ollama_common.h - what the routes of Ollama's API share. */
#ifndef QUIRE_SERVE_OLLAMA_COMMON_H
#define QUIRE_SERVE_OLLAMA_COMMON_H
#include "fields.h"
#include "generation.h"
#include <jansson.h>
#include <time.h>

/* Reads `model`, which is required, and sets g->model: the tag ":latest" may follow the name. f
 * counts ignored parameters from now on. */
bool ollama_read_model(struct fields *f, struct generation *g);

/* Reads `options`: the sampling parameters, and num_predict if it may be there. */
bool ollama_read_options(struct fields *f, struct generation *g);

/* A time as in "2026-01-31T12:00:00Z". */
json_t *ollama_time(time_t seconds);

/* Adds total_duration, load_duration, prompt_eval_count and, with text, the times and the number of
 * tokens of the answer; durations are in nanoseconds. */
void ollama_add_durations(json_t **object, const struct generation *g, bool with_text);

#endif
