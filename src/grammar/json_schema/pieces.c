/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c - sequences of text, control tokens, expressions and nodes. */
#include "grammar/json_schema/pieces.h"
#include <quire/tokenizer.h>

enum { MAX_TOKEN_NAME = 64 }; /* bytes */

void qr_pieces_regex(struct qr_schema *s, struct qr_pieces *p, qr_regex r)
{
    if (r != QR_REGEX_EMPTY)
        (void)qr_list_push(s, &p->regexes, &r, sizeof r);
}

static void flush(struct qr_schema *s, struct qr_pieces *p)
{
    if (!p->regexes.n)
        return;
    const qr_node node =
        qr_build_lexeme(s->f->builder, qr_regex_concat(s->regexes, p->regexes.items, p->regexes.n));
    p->regexes.n = 0;
    (void)qr_list_push(s, &p->nodes, &node, sizeof node);
}

void qr_pieces_node(struct qr_schema *s, struct qr_pieces *p, qr_node node)
{
    flush(s, p);
    (void)qr_list_push(s, &p->nodes, &node, sizeof node);
}

/* The control token whose name begins the text, the longest one, and the size of the name. */
static int32_t control_token(const struct qr_schema *s, const char *text, size_t *size)
{
    size_t n = s->f->tok ? strnlen(text, MAX_TOKEN_NAME) : 0;
    for (; n > 1; n--) {
        const int32_t token = quire_tokenizer_find(s->f->tok, text, n);
        if (token >= 0 && quire_tokenizer_is_special(s->f->tok, token)) {
            *size = n;
            return token;
        }
    }
    return -1;
}

void qr_pieces_text(struct qr_schema *s, struct qr_pieces *p, const char *text)
{
    const char *plain = text;
    while (text && *text) {
        size_t n;
        const int32_t token = control_token(s, text, &n);
        if (token < 0) {
            text++;
            continue;
        }
        if (text > plain)
            qr_pieces_regex(s, p, qr_regex_literal(s->regexes, plain, (size_t)(text - plain)));
        qr_pieces_node(s, p, qr_build_token(s->f->builder, token));
        text += n;
        plain = text;
    }
    if (text > plain)
        qr_pieces_regex(s, p, qr_regex_literal(s->regexes, plain, (size_t)(text - plain)));
}

qr_node qr_pieces_finish(struct qr_schema *s, struct qr_pieces *p)
{
    flush(s, p);
    const qr_node *nodes = p->nodes.items;
    const qr_node node =
        p->nodes.n == 1 ? nodes[0] : qr_build_sequence(s->f->builder, nodes, p->nodes.n);
    *p = (struct qr_pieces){ 0 };
    return node;
}
