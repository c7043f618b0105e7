/* SPDX-License-Identifier: Apache-2.0 */
/* tok_names.h - what the text of a token says about its meaning where a file does not. */
#ifndef QR_TOKENIZER_NAMES_H
#define QR_TOKENIZER_NAMES_H
#include <stdbool.h>
#include <stddef.h>

/* Value of a byte token "<0xXX>" with exactly two hexadecimal digits; -1: not one. */
int qr_byte_token_value(const char *text, size_t size);

/* Whether tokens of this text end a generation in every model that has them. */
bool qr_is_end_name(const char *text, size_t size);

/* The names again, in the order in which they are preferred as the end of a turn; NULL behind the
 * last. */
const char *qr_end_of_turn_name(size_t i);
#define QR_END_OF_MESSAGE_NAME "<|eom_id|>"

/* Whether the text looks like part of a conversation's format: "<|user|>", "</s>", "[INST]". */
bool qr_is_format_name(const char *text, size_t size);

#endif
