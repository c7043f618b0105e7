/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h - sequences of text, control tokens, expressions and nodes. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_PIECES_H
#define QR_GRAMMAR_JSON_SCHEMA_PIECES_H
#include "grammar/json_schema/list.h"

/* Zero = empty. Adjacent expressions become one lexeme. */
struct qr_pieces {
    struct qr_list nodes, regexes;
};

/* Failures are those of the compilation, which the caller checks at the end. */
void qr_pieces_regex(struct qr_schema *s, struct qr_pieces *p, qr_regex r);
void qr_pieces_node(struct qr_schema *s, struct qr_pieces *p, qr_node node);
/* UTF-8, NULL = ""; names of control tokens of the tokenizer become those tokens. */
void qr_pieces_text(struct qr_schema *s, struct qr_pieces *p, const char *text);
/* The sequence; p is empty after it. */
qr_node qr_pieces_finish(struct qr_schema *s, struct qr_pieces *p);

#endif
