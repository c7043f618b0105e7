/* SPDX-License-Identifier: Apache-2.0 */
/* structure_fields.h - parameters that constrain the form of an answer (quire/grammar.h):
 * response_format of OpenAI, grammar and json_schema of llama.cpp, guided_* and structured_outputs
 * of vLLM. */
#ifndef QUIRE_SERVE_STRUCTURE_FIELDS_H
#define QUIRE_SERVE_STRUCTURE_FIELDS_H
#include "fields.h"
#include "generation.h"

/* Reads the parameters, at most one of them, into the first request. */
bool structure_fields_read(struct fields *f, struct generation *g);

/* Reads a format: {"type": "text" | "json_object" | "json_schema" | "structural_tag", ...}.
 *  inline_schema  the members of a json_schema stand in the object itself, as in the responses API,
 *                 instead of in its member json_schema
 * Returns whether it constrains the answer; false also after an error. */
bool structure_read_format(struct fields *f, struct generation *g, json_t *object, const char *path,
                           bool inline_schema);

/* Constrains the first request to a JSON schema. name: the parameter, for errors, copied. ordered:
 * members in the order of the schema. */
bool structure_set_schema(struct generation *g, const char *name, const json_t *schema,
                          bool ordered, struct api_error *error);

/* Constrains the first request to any JSON object. */
void structure_set_json_object(struct generation *g, const char *name);

#endif
