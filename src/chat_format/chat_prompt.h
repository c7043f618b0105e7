/* SPDX-License-Identifier: Apache-2.0 */
/* chat_prompt.h - rendered prompts. */
#ifndef QR_CHAT_FORMAT_CHAT_PROMPT_H
#define QR_CHAT_FORMAT_CHAT_PROMPT_H
#include "jinja/string_builder.h"
#include <quire/chat_template.h>

/* Copies the output of a render and its spans of equal taint. */
quire_status qr_chat_prompt_new(const struct quire_allocator *a, const struct qr_jinja_sb *output,
                                struct quire_chat_prompt **out, struct quire_error *err);

/* Appends user text. On failure the prompt is unchanged. */
quire_status qr_chat_prompt_append(struct quire_chat_prompt *prompt, const char *text, size_t size,
                                   struct quire_error *err);

#endif
