/* SPDX-License-Identifier: Apache-2.0 */
/* chat_prompt.h - prompts of the chat template as text and as tokens. */
#ifndef QUIRE_SERVE_CHAT_PROMPT_H
#define QUIRE_SERVE_CHAT_PROMPT_H
#include "error.h"
#include "generation.h"
#include "text.h"
#include <stdbool.h>
#include <stdint.h>

/* Renders the messages of a request, with tools_json and variables_json, and appends the text to
 * *out, which is empty. With add_generation_prompt it is the prompt that the engine computes: it
 * ends where the answer begins, or after a last message of the assistant, which is continued;
 * without, it is the conversation alone. *spans covers the text; the caller frees it. */
bool chat_prompt_render(const struct quire_engine *engine,
                        const struct quire_request_params *request, bool add_generation_prompt,
                        struct text *out, struct quire_text_span **spans, size_t *n_spans,
                        struct api_error *error);

#endif
