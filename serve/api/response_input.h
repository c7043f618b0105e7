/* SPDX-License-Identifier: Apache-2.0 */
/* response_input.h - items of `input` of the responses API as messages of the chat API. */
#ifndef QUIRE_SERVE_RESPONSE_INPUT_H
#define QUIRE_SERVE_RESPONSE_INPUT_H
#include "error.h"
#include <jansson.h>
#include <stddef.h>

/* Adds item `index`: a message, a call of a function (with those before it in one message), its
 * output, or reasoning, which belongs to the call or message behind it. *messages NULL: out of
 * memory. */
void response_input_add(json_t **messages, json_t *item, size_t index, struct api_error *error);

#endif
