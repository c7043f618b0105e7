/* SPDX-License-Identifier: Apache-2.0 */
/* lark_tokens.c - tokens of the notation of Lark. */
#include "grammar/front_end/lark_tokens.h"
#include "base/alloc.h"
#include "base/error.h"
#include <string.h>

struct splitter {
    const char *p, *end;
    uint32_t line;
    int depth; /* of parentheses */
    const struct quire_allocator *a;
    struct qr_lark_token *tokens;
    size_t n, capacity;
};

bool qr_lark_is_terminal(const struct qr_lark_token *t)
{
    size_t i = 0;
    while (i + 1 < t->size && t->text[i] == '_')
        i++;
    return t->text[i] >= 'A' && t->text[i] <= 'Z';
}

bool qr_lark_is_text(const struct qr_lark_token *t, const char *text)
{
    return t->size == strlen(text) && memcmp(t->text, text, t->size) == 0;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool add(struct splitter *s, enum qr_lark_kind kind, const char *text, size_t size)
{
    if (s->n == s->capacity &&
        !qr_grow(s->a, (void **)&s->tokens, &s->capacity, s->n + 64, sizeof *s->tokens))
        return false;
    s->tokens[s->n++] = (struct qr_lark_token){ (uint8_t)kind, "", s->line, text, size };
    return true;
}

static bool at(const struct splitter *s, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)(s->end - s->p) >= n && memcmp(s->p, text, n) == 0;
}

static void skip_comment(struct splitter *s)
{
    while (s->p < s->end && *s->p != '\n')
        s->p++;
}

/* After a line break: whether the next line continues the definition. */
static bool continues(const struct splitter *s)
{
    struct splitter next = *s;
    while (next.p < next.end) {
        if (at(&next, "//") || *next.p == '#')
            skip_comment(&next);
        else if (strchr(" \t\r\n", *next.p))
            next.p++;
        else
            return *next.p == '|' || at(&next, "->");
    }
    return false;
}

static bool newline(struct splitter *s)
{
    s->p++;
    const bool ends =
        !s->depth && s->n && s->tokens[s->n - 1].kind != QR_LARK_NEWLINE && !continues(s);
    const bool ok = !ends || add(s, QR_LARK_NEWLINE, s->p, 0);
    s->line++;
    return ok;
}

/* A string or regular expression between two equal marks, and the letters behind it. */
static quire_status delimited(struct splitter *s, enum qr_lark_kind kind, struct quire_error *err)
{
    const char mark = *s->p, *begin = ++s->p;
    bool in_class = false;
    for (; s->p < s->end && *s->p != '\n' && (*s->p != mark || in_class); s->p++) {
        if (*s->p == '\\' && s->end - s->p > 1 && s->p[1] != '\n')
            s->p++;
        else if (kind == QR_LARK_REGEX && (*s->p == '[' || *s->p == ']'))
            in_class = *s->p == '[';
    }
    if (s->p == s->end || *s->p != mark)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "line %u: %s without its end", s->line,
                       kind == QR_LARK_REGEX ? "regular expression" : "string");
    if (!add(s, kind, begin, (size_t)(s->p - begin)))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory");
    struct qr_lark_token *t = &s->tokens[s->n - 1];
    size_t n = 0;
    for (s->p++; s->p < s->end && is_letter(*s->p); s->p++)
        if (n < 2)
            t->flags[n++] = *s->p;
        else
            t->flags[0] = '?';
    return QUIRE_OK;
}

static bool word(struct splitter *s, enum qr_lark_kind kind)
{
    const char *begin = s->p++;
    while (s->p < s->end && (is_letter(*s->p) || is_digit(*s->p)))
        s->p++;
    return add(s, kind, begin, (size_t)(s->p - begin));
}

static bool number(struct splitter *s)
{
    const char *begin = s->p;
    while (s->p < s->end && is_digit(*s->p))
        s->p++;
    return add(s, QR_LARK_NUMBER, begin, (size_t)(s->p - begin));
}

/* The object behind %json, which may have several lines: up to the bracket that closes it. The
 * parser of JSON looks at the rest. */
static quire_status json_object(struct splitter *s, struct quire_error *err)
{
    const uint32_t line = s->line;
    int depth = 0;
    bool in_string = false;
    while (s->p < s->end && *s->p && strchr(" \t\r\n", *s->p))
        s->line += *s->p++ == '\n';
    const char *begin = s->p;
    if (s->p == s->end || *s->p != '{')
        return qr_fail(err, QUIRE_E_INVALID_ARG, "line %u: expected an object behind %%json", line);
    do {
        const char c = *s->p++;
        s->line += c == '\n';
        if (c == '\\' && in_string && s->p < s->end)
            s->p++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '}'))
            depth += c == '{' ? 1 : -1;
    } while (depth > 0 && s->p < s->end);
    if (depth > 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "line %u: object without its end", line);
    if (!add(s, QR_LARK_JSON, begin, (size_t)(s->p - begin)))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory");
    s->tokens[s->n - 1].line = line;
    return QUIRE_OK;
}

static quire_status directive(struct splitter *s, struct quire_error *err)
{
    if (!word(s, QR_LARK_DIRECTIVE))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory");
    if (!qr_lark_is_text(&s->tokens[s->n - 1], "%json"))
        return QUIRE_OK;
    s->n--; /* the object stands for both */
    return json_object(s, err);
}

/* <name>, as far as a > stands on the line before white space. */
static bool control_token(struct splitter *s, bool *found)
{
    const char *p = s->p;
    while (p < s->end && *p != '>' && !strchr(" \t\r\n", *p))
        p++;
    *found = p < s->end && *p == '>';
    if (!*found)
        return true;
    const char *begin = s->p;
    s->p = p + 1;
    return add(s, QR_LARK_TOKEN, begin, (size_t)(s->p - begin));
}

static bool sign(struct splitter *s)
{
    const bool range = at(s, ".."), arrow = at(s, "->");
    const size_t n = range || arrow ? 2 : 1;
    const enum qr_lark_kind kind = range ? QR_LARK_RANGE : arrow ? QR_LARK_ARROW : QR_LARK_SIGN;
    s->depth += *s->p == '(' || *s->p == '[' || *s->p == '{';
    s->depth -= s->depth && (*s->p == ')' || *s->p == ']' || *s->p == '}');
    s->p += n;
    return add(s, kind, s->p - n, n);
}

static quire_status next_token(struct splitter *s, struct quire_error *err)
{
    bool ok = true, found = false;
    if (at(s, "//") || *s->p == '#')
        skip_comment(s);
    else if (*s->p == '\n')
        ok = newline(s);
    else if (*s->p == ' ' || *s->p == '\t' || *s->p == '\r')
        s->p++;
    else if (*s->p == '"')
        return delimited(s, QR_LARK_STRING, err);
    else if (*s->p == '/')
        return delimited(s, QR_LARK_REGEX, err);
    else if (*s->p == '%')
        return directive(s, err);
    else if (is_letter(*s->p))
        ok = word(s, QR_LARK_NAME);
    else if (is_digit(*s->p))
        ok = number(s);
    else if (*s->p == '<' && (!(ok = control_token(s, &found)) || found))
        (void)found;
    else if (*s->p && strchr(":|()[]{}*+?!~.,-=", *s->p))
        ok = sign(s);
    else
        return qr_fail(err, QUIRE_E_INVALID_ARG, "line %u: unexpected character", s->line);
    return ok ? QUIRE_OK : qr_fail(err, QUIRE_E_NOMEM, "no memory");
}

quire_status qr_lark_split(const char *text, size_t size, const struct quire_allocator *a,
                           struct qr_lark_token **tokens, size_t *capacity, struct quire_error *err)
{
    struct splitter s = { .p = text, .end = text + size, .line = 1, .a = a };
    quire_status status = QUIRE_OK;
    while (status == QUIRE_OK && s.p < s.end)
        status = next_token(&s, err);
    if (status == QUIRE_OK && (!add(&s, QR_LARK_NEWLINE, s.p, 0) || !add(&s, QR_LARK_END, s.p, 0)))
        status = qr_fail(err, QUIRE_E_NOMEM, "no memory");
    *tokens = s.tokens;
    *capacity = s.capacity;
    return status;
}
