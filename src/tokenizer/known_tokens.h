/* SPDX-License-Identifier: Apache-2.0 */
/* known_tokens.h - meaning of tokens by their text, where a file does not state it. */
#ifndef QR_TOKENIZER_KNOWN_TOKENS_H
#define QR_TOKENIZER_KNOWN_TOKENS_H
#include <stdbool.h>
#include <stddef.h>

/* Value of a byte-fallback token "<0xXX>" with exactly two hexadecimal digits, else -1. */
int qr_byte_token_value(const char *text, size_t size);

/* Whether a token of this text ends a generation in every published model that has one. */
bool qr_is_eog_text(const char *text, size_t size);

/* Texts of end-of-turn tokens, most preferred first; NULL after the last. */
const char *qr_eot_text(size_t i);
#define QR_EOM_TEXT "<|eom_id|>"

/* Whether the text looks like a token of a chat format: "<|user|>", "</s>", "[INST]". */
bool qr_is_control_text(const char *text, size_t size);

#endif
