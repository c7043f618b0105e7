/* SPDX-License-Identifier: Apache-2.0 */
/* tool_fields.h - tools of a request, and their calls in answers, in OpenAI's notation. */
#ifndef QUIRE_SERVE_TOOL_FIELDS_H
#define QUIRE_SERVE_TOOL_FIELDS_H
#include "fields.h"
#include "generation.h"

/* Where the name of a tool stands. */
enum tool_notation {
    TOOLS_OPENAI,    /* {"type": "function", "function": {"name", "parameters", ...}} */
    TOOLS_RESPONSES, /* {"type": "function", "name", "parameters", ...} */
    TOOLS_ANTHROPIC, /* {"name", "input_schema", ...} */
};

/* Reads `tools` into the first request. Names are checked, and that no two are equal; the schemas
 * are checked by the engine. */
bool tool_fields_read(struct fields *f, struct generation *g, enum tool_notation notation);

/* Reads `tool_choice` and `parallel_tool_calls`, after the tools. */
bool tool_fields_read_choice(struct fields *f, struct generation *g, enum tool_notation notation);

/* Sets the choice: a name, for QUIRE_TOOL_CHOICE_NAMED, must be one of the tools. `param` is for
 * errors. */
bool tool_fields_set_choice(struct generation *g, enum quire_tool_choice choice, const char *name,
                            const char *param, struct api_error *error);

/* {"id", "type": "function", "function": {"name", "arguments"}} of a call, an array of all of them,
 * or of the first or a further piece of one in a stream, with its index. */
json_t *tool_call_json(const struct answer_call *call);
json_t *tool_calls_json(const struct answer *a);
json_t *tool_call_delta(const struct piece *piece);

#endif
