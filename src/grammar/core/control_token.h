/* SPDX-License-Identifier: Apache-2.0 */
/* control_token.h - names of control tokens in texts of a grammar. */
#ifndef QR_GRAMMAR_CORE_CONTROL_TOKEN_H
#define QR_GRAMMAR_CORE_CONTROL_TOKEN_H
#include "grammar/core/builder.h"
#include <quire/tokenizer.h>

/* The control token whose text begins at text[size], the longest one; QUIRE_TOKEN_NONE if there is
 * none or tok is NULL. *n: bytes of its text. */
int32_t qr_control_token(const struct quire_tokenizer *tok, const char *text, size_t size,
                         size_t *n);

/* A text in which the names of control tokens stand for these tokens. */
qr_node qr_build_marked_text(struct qr_builder *b, const struct quire_tokenizer *tok,
                             const char *text, size_t size);

#endif
