/* SPDX-License-Identifier: Apache-2.0 */
/* output_choice.h - how the answers of a chat are split into content, reasoning and calls of tools,
 * and constrained so that calls parse. */
#ifndef QUIRE_SERVE_OUTPUT_CHOICE_H
#define QUIRE_SERVE_OUTPUT_CHOICE_H
#include "error.h"
#include <quire/chat_output.h>
#include <stdbool.h>

struct generation;

struct output_choice {
    bool parse;          /* else text is content as it comes */
    bool keep_reasoning; /* reasoning stays in the content, with its marks */
    bool single_call;    /* at most one call */
    enum quire_tool_choice tool_choice;
    const char *tool_name; /* of QUIRE_TOOL_CHOICE_NAMED */
};

/* Gives the answers of the first request their parsers, and the request the grammar of its tools
 * and schema. The model is open; not on the event loop for large prompts. False: *error. */
bool output_choice_apply(struct generation *g, struct api_error *error);

#endif
