/* SPDX-License-Identifier: Apache-2.0 */
/* lex_literal.h - number and string literals inside tags. */
#ifndef QR_JINJA_LEX_LITERAL_H
#define QR_JINJA_LEX_LITERAL_H
#include "jinja/lexer.h"

/* Lexes a number or a quoted string at *pos: fills t and advances *pos. If there is none, t->type
 * stays EOF. */
quire_status qr_jinja_lex_literal(struct qr_jinja *j, size_t *pos, struct qr_jinja_token *t);

#endif
