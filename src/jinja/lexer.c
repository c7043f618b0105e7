/* SPDX-License-Identifier: Apache-2.0 */
/* lexer.c - splits a template into tokens; trim_blocks and lstrip_blocks are always on. */
#include "jinja/lexer.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/lex_literal.h"
#include "jinja/unicode.h"
#include <string.h>

struct lexer {
    struct qr_jinja *j;
    const char *s;
    size_t n, pos;
    bool line_starting; /* the text at pos begins a line */
    struct qr_jinja_token *tokens;
    size_t n_tokens, cap;
    char *brackets; /* expected closing brackets, innermost last */
    size_t n_brackets, brackets_cap;
};

static quire_status fail(struct lexer *lx, size_t pos, const char *what)
{
    lx->j->pos = pos;
    return qr_jinja_fail(lx->j, QUIRE_E_FORMAT, "template: %s", what);
}

static quire_status emit(struct lexer *lx, struct qr_jinja_token t)
{
    if (lx->n_tokens == lx->cap) {
        struct qr_jinja_token *grown;
        const size_t cap = lx->cap ? lx->cap * 2 : 64;
        QR_JINJA_NEW(lx->j, grown, cap);
        if (lx->n_tokens)
            memcpy(grown, lx->tokens, lx->n_tokens * sizeof *grown);
        lx->tokens = grown;
        lx->cap = cap;
    }
    lx->tokens[lx->n_tokens++] = t;
    return QUIRE_OK;
}

static bool starts_with(const struct lexer *lx, size_t pos, const char *text)
{
    const size_t n = strlen(text);
    return lx->n - pos >= n && memcmp(lx->s + pos, text, n) == 0;
}

static size_t skip_space(const struct lexer *lx, size_t pos)
{
    while (pos < lx->n && qr_jinja_is_space(qr_jinja_utf8_decode(lx->s + pos)))
        pos += qr_jinja_utf8_len(lx->s[pos]);
    return pos;
}

/* End of [from, to) without trailing white space. */
static size_t rstrip(const struct lexer *lx, size_t from, size_t to)
{
    while (to > from) {
        size_t c = to - 1;
        while (c > from && qr_jinja_utf8_is_cont(lx->s[c]))
            c--;
        if (!qr_jinja_is_space(qr_jinja_utf8_decode(lx->s + c)))
            break;
        to = c;
    }
    return to;
}

/* If the end of a tag such as "%}", with an optional sign, is at pos, returns the position of the
 * text that follows, after the white space it strips; else 0. */
static size_t tag_end(const struct lexer *lx, size_t pos, const char *tag, bool trims_newline)
{
    if (starts_with(lx, pos, "-") && starts_with(lx, pos + 1, tag))
        return skip_space(lx, pos + 3);
    if (trims_newline && starts_with(lx, pos, "+") && starts_with(lx, pos + 1, tag))
        return pos + 3;
    if (!starts_with(lx, pos, tag))
        return 0;
    return pos + 2 + (trims_newline && starts_with(lx, pos + 2, "\n"));
}

/* Emits the text [from, to) before a tag with this sign ('-', '+' or 0). */
static quire_status emit_data(struct lexer *lx, size_t from, size_t to, char sign, bool is_variable)
{
    size_t end = to;
    if (sign == '-') {
        end = rstrip(lx, from, to);
    } else if (sign != '+' && !is_variable) {
        /* lstrip_blocks: strip white space between the beginning of the line and the tag */
        size_t line = to;
        while (line > from && lx->s[line - 1] != '\n')
            line--;
        if ((line > from || lx->line_starting) && skip_space(lx, line) >= to)
            end = line;
    }
    if (end == from)
        return QUIRE_OK;
    return emit(lx,
                (struct qr_jinja_token){
                    .type = QR_JINJA_TOKEN_DATA, .pos = from, .p = lx->s + from, .n = end - from });
}

/* Comments do not nest. */
static quire_status lex_comment(struct lexer *lx, size_t open)
{
    for (size_t i = lx->pos; i < lx->n; i++) {
        const size_t end = tag_end(lx, i, "#}", true);
        if (end) {
            lx->pos = end;
            return QUIRE_OK;
        }
    }
    /* An empty unclosed comment is valid in Jinja2. */
    return lx->pos == lx->n ? QUIRE_OK : fail(lx, open, "missing end of comment tag");
}

/* Whether the tag is {% raw %}; *body: position after it. */
static bool raw_begins(const struct lexer *lx, size_t after_sign, size_t *body)
{
    size_t i = skip_space(lx, after_sign);
    if (!starts_with(lx, i, "raw"))
        return false;
    i = skip_space(lx, i + 3);
    *body = tag_end(lx, i, "%}", false);
    return *body != 0;
}

/* Lexes text up to {% endraw %}. */
static quire_status lex_raw(struct lexer *lx, size_t body, size_t open)
{
    lx->line_starting = lx->s[body - 1] == '\n';
    for (size_t i = body; i + 1 < lx->n; i++) {
        if (!starts_with(lx, i, "{%"))
            continue;
        size_t k = i + 2;
        const char sign = k < lx->n && (lx->s[k] == '-' || lx->s[k] == '+') ? lx->s[k++] : 0;
        k = skip_space(lx, k);
        if (!starts_with(lx, k, "endraw"))
            continue;
        const size_t end = tag_end(lx, skip_space(lx, k + 6), "%}", true);
        if (!end)
            continue;
        lx->pos = end;
        return emit_data(lx, body, i, sign, false);
    }
    lx->pos = lx->n;
    return body == lx->n ? QUIRE_OK : fail(lx, open, "missing end of raw directive");
}

/* Names may contain Unicode letters, as in Python. */
static quire_status lex_name(struct lexer *lx)
{
    const size_t start = lx->pos;
    while (lx->pos < lx->n && qr_jinja_is_word(qr_jinja_utf8_decode(lx->s + lx->pos)))
        lx->pos += qr_jinja_utf8_len(lx->s[lx->pos]);
    return emit(lx, (struct qr_jinja_token){ .type = QR_JINJA_TOKEN_NAME,
                                             .pos = start,
                                             .p = lx->s + start,
                                             .n = lx->pos - start });
}

/* Tracks brackets, because %} and }} do not end a tag inside brackets. */
static quire_status track_bracket(struct lexer *lx, char c)
{
    const char *open = "([{", *close = ")]}";
    const char *o = strchr(open, c);
    if (o) {
        if (lx->n_brackets >= QR_JINJA_MAX_NESTING) {
            lx->j->pos = lx->pos;
            return qr_jinja_too_deep(lx->j);
        }
        lx->brackets[lx->n_brackets++] = close[o - open];
    } else if (strchr(close, c)) {
        if (!lx->n_brackets || lx->brackets[lx->n_brackets - 1] != c)
            return fail(lx, lx->pos, "unexpected closing bracket");
        lx->n_brackets--;
    }
    return QUIRE_OK;
}

/* Longest match first: operators of two characters, then of one. */
static quire_status lex_operator(struct lexer *lx)
{
    static const struct {
        char text[3];
        int op;
    } two[] = {
        { "==", QR_JINJA_OP_EQ }, { "!=", QR_JINJA_OP_NE },  { "<=", QR_JINJA_OP_LE },
        { ">=", QR_JINJA_OP_GE }, { "**", QR_JINJA_OP_POW }, { "//", QR_JINJA_OP_FLOORDIV }
    };
    struct qr_jinja_token t = { .type = QR_JINJA_TOKEN_OP, .pos = lx->pos };
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (starts_with(lx, lx->pos, two[i].text))
            t.op = two[i].op;
    if (t.op) {
        lx->pos += 2;
        return emit(lx, t);
    }
    const char c = lx->s[lx->pos];
    if (!c || !strchr("+-/*%~[](){}<>=.:|,;", c))
        return fail(lx, lx->pos, "unexpected character in a tag");
    QR_TRY(track_bracket(lx, c));
    t.op = (unsigned char)c;
    lx->pos++;
    return emit(lx, t);
}

/* Lexes the inside of {{ }} or {% %}. */
static quire_status lex_tag(struct lexer *lx, bool is_block, size_t open)
{
    const char *closing = is_block ? "%}" : "}}";
    lx->n_brackets = 0;
    while (lx->pos < lx->n) {
        const size_t end = lx->n_brackets ? 0 : tag_end(lx, lx->pos, closing, is_block);
        if (end) {
            QR_TRY(emit(lx, (struct qr_jinja_token){ .type = is_block ? QR_JINJA_TOKEN_BLOCK_END
                                                                      : QR_JINJA_TOKEN_VAR_END,
                                                     .pos = lx->pos }));
            lx->pos = end;
            return QUIRE_OK;
        }
        const size_t blank = skip_space(lx, lx->pos);
        if (blank != lx->pos) {
            lx->pos = blank;
            continue;
        }
        struct qr_jinja_token literal = { .pos = lx->pos };
        lx->j->pos = lx->pos;
        QR_TRY(qr_jinja_lex_literal(lx->j, &lx->pos, &literal));
        if (literal.type != QR_JINJA_TOKEN_EOF)
            QR_TRY(emit(lx, literal));
        else if (qr_jinja_is_word(qr_jinja_utf8_decode(lx->s + lx->pos)))
            QR_TRY(lex_name(lx));
        else
            QR_TRY(lex_operator(lx));
    }
    return fail(lx, open, is_block ? "unclosed {% tag" : "unclosed {{ tag");
}

/* Position of the next tag at or after lx->pos, or lx->n. */
static size_t next_tag(const struct lexer *lx)
{
    for (size_t i = lx->pos; i + 1 < lx->n; i++)
        if (lx->s[i] == '{' && (lx->s[i + 1] == '{' || lx->s[i + 1] == '%' || lx->s[i + 1] == '#'))
            return i;
    return lx->n;
}

/* Lexes the text up to the next tag, and that tag. */
static quire_status lex_one(struct lexer *lx)
{
    const size_t from = lx->pos, open = next_tag(lx);
    if (open == lx->n) {
        lx->pos = lx->n;
        return emit(lx, (struct qr_jinja_token){ .type = QR_JINJA_TOKEN_DATA,
                                                 .pos = from,
                                                 .p = lx->s + from,
                                                 .n = open - from });
    }
    const char type = lx->s[open + 1];
    size_t k = open + 2, body;
    const char sign = k < lx->n && (lx->s[k] == '-' || lx->s[k] == '+') ? lx->s[k++] : 0;
    QR_TRY(emit_data(lx, from, open, sign, type == '{'));
    lx->pos = k;
    if (type == '#') {
        QR_TRY(lex_comment(lx, open));
    } else if (type == '%' && raw_begins(lx, k, &body)) {
        QR_TRY(lex_raw(lx, body, open));
    } else {
        QR_TRY(emit(lx, (struct qr_jinja_token){ .type = type == '%' ? QR_JINJA_TOKEN_BLOCK_BEGIN
                                                                     : QR_JINJA_TOKEN_VAR_BEGIN,
                                                 .pos = open }));
        QR_TRY(lex_tag(lx, type == '%', open));
    }
    lx->line_starting = lx->s[lx->pos - 1] == '\n';
    return QUIRE_OK;
}

quire_status qr_jinja_lex(struct qr_jinja *j, struct qr_jinja_token **out)
{
    struct lexer lx = { .j = j, .s = j->source, .n = j->source_len, .line_starting = true };
    QR_JINJA_NEW(j, lx.brackets, QR_JINJA_MAX_NESTING);
    while (lx.pos < lx.n)
        QR_TRY(lex_one(&lx));
    QR_TRY(emit(&lx, (struct qr_jinja_token){ .type = QR_JINJA_TOKEN_EOF, .pos = lx.n }));
    *out = lx.tokens;
    return QUIRE_OK;
}
