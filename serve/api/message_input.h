/* SPDX-License-Identifier: Apache-2.0 */
/* message_input.h - messages of Anthropic's API in OpenAI's notation. */
#ifndef QUIRE_SERVE_MESSAGE_INPUT_H
#define QUIRE_SERVE_MESSAGE_INPUT_H
#include "error.h"
#include <jansson.h>

/* Blocks of type tool_use become tool_calls, tool_result messages of the role tool, thinking
 * reasoning_content; texts stay. A new reference; NULL: *error names the block. */
json_t *message_input(json_t *messages, struct api_error *error);

#endif
