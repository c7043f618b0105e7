/* SPDX-License-Identifier: Apache-2.0 */
/* template_fields.h - parameters for the chat template. */
#ifndef QUIRE_SERVE_TEMPLATE_FIELDS_H
#define QUIRE_SERVE_TEMPLATE_FIELDS_H
#include "fields.h"
#include "generation.h"

/* Reads chat_template_kwargs, reasoning_effort and documents into variables_json of the first
 * request. */
bool template_fields_read(struct fields *f, struct generation *g);

/* Sets the variables of an effort: reasoning_effort and, unless it is there, reasoning_strength
 * (Muse Glimmer), whose least value is "low". */
void template_fields_set_effort(json_t **variables, const char *effort);

/* Reads add_generation_prompt and continue_final_message, after the messages. The engine continues
 * a last message of the assistant and answers any other one: other values are errors that name the
 * parameter. */
bool template_fields_read_ending(struct fields *f, struct generation *g);

/* Text of a JSON value, which lives as long as the generation; NULL: *error. */
const char *template_fields_dump(struct generation *g, const json_t *value,
                                 struct api_error *error);

#endif
