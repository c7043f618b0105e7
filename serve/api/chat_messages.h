/* SPDX-License-Identifier: Apache-2.0 */
/* chat_messages.h - conversations of OpenAI's format for the chat template. */
#ifndef QUIRE_SERVE_CHAT_MESSAGES_H
#define QUIRE_SERVE_CHAT_MESSAGES_H
#include "error.h"
#include "generation.h"
#include <jansson.h>

/* Sets the messages of a request from an array of at most 4,096 objects with role (system,
 * developer, user, assistant, tool) and content (string, or parts of type text, which are joined;
 * images and audio are errors that name the part). Other members (name, tool_calls, tool_call_id,
 * reasoning_content) go to the template as they are. path is the name of the array in errors. All
 * memory belongs to the generation. */
bool chat_messages_read(struct generation *g, struct quire_request_params *request, json_t *array,
                        const char *path, struct api_error *error);

#endif
