/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_list.h - `prompt` and `input` of OpenAI's API: a string, an array of strings, an array of
 * token ids, or an array of arrays of token ids. */
#ifndef QUIRE_SERVE_PROMPT_LIST_H
#define QUIRE_SERVE_PROMPT_LIST_H
#include "generation.h"
#include <jansson.h>

/* Number of prompts, 1 .. max; 0: *error. `value` is the member `name`, or NULL if it is absent. */
uint32_t prompt_list_count(const json_t *value, const char *name, uint32_t max,
                           struct api_error *error);

/* Sets text or tokens of the requests of g, which are as many as prompt_list_count() says. `value`
 * is part of g->body. */
bool prompt_list_set(struct generation *g, json_t *value, const char *name,
                     struct api_error *error);

#endif
