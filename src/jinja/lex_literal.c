/* SPDX-License-Identifier: Apache-2.0 */
/* lex_literal.c - lexes number and string literals inside tags. */
#include "jinja/lex_literal.h"
#include "base/dtoa.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/lexer.h"
#include "jinja/string_builder.h"
#include <string.h>

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* Character at pos, or NUL at the end. */
static char char_at(const struct qr_jinja *j, size_t pos)
{
    return pos < j->source_len ? j->source[pos] : 0;
}

/* End of the digits of a base at pos; pos if there are none. Single underscores may separate
 * digits, and precede the first one if `lead`. */
static size_t skip_digits(const struct qr_jinja *j, size_t pos, int base, bool lead)
{
    for (bool underscore = lead;; underscore = true) {
        const size_t digit = pos + (underscore && char_at(j, pos) == '_');
        if (digit_value(char_at(j, digit)) >= base)
            return pos;
        pos = digit + 1;
    }
}

/* End of the fraction and exponent at pos, after the integer part of a float; pos if there are
 * none. */
static size_t float_tail(const struct qr_jinja *j, size_t pos)
{
    size_t end = pos;
    if (char_at(j, pos) == '.' && digit_value(char_at(j, pos + 1)) < 10)
        end = skip_digits(j, pos + 1, 10, false);
    if ((char_at(j, end) | 0x20) == 'e') {
        size_t e = end + 1;
        if (char_at(j, e) == '+' || char_at(j, e) == '-')
            e++;
        if (digit_value(char_at(j, e)) < 10)
            end = skip_digits(j, e, 10, false);
    }
    return end;
}

static quire_status float_literal(struct qr_jinja *j, size_t start, size_t end,
                                  struct qr_jinja_token *t)
{
    char *digits;
    size_t n = 0;
    QR_JINJA_NEW(j, digits, end - start);
    for (size_t i = start; i < end; i++)
        if (j->source[i] != '_')
            digits[n++] = j->source[i];
    t->type = QR_JINJA_TOKEN_FLOAT;
    if (!qr_strtod(digits, n, &t->f)) /* GCOVR_EXCL_BR_LINE: float_tail checked the form. */
        return qr_jinja_fail(j, QUIRE_E_FORMAT, "template: malformed number");
    return QUIRE_OK;
}

static quire_status int_literal(struct qr_jinja *j, size_t start, size_t end, int base,
                                struct qr_jinja_token *t)
{
    t->type = QR_JINJA_TOKEN_INT;
    for (size_t i = start; i < end; i++) {
        if (j->source[i] == '_')
            continue;
        if (__builtin_mul_overflow(t->i, base, &t->i) ||
            __builtin_add_overflow(t->i, digit_value(j->source[i]), &t->i))
            return qr_jinja_fail(j, QUIRE_E_RANGE, "template: integer literal beyond 64 bits");
    }
    return QUIRE_OK;
}

static quire_status lex_number(struct qr_jinja *j, size_t *pos, struct qr_jinja_token *t)
{
    const size_t start = *pos;
    size_t digits = skip_digits(j, start, 10, false);
    const size_t end = j->source[start - 1] == '.' ? digits : float_tail(j, digits);
    if (end != digits) {
        *pos = end;
        return float_literal(j, start, end, t);
    }
    const char kind = (char)(char_at(j, start + 1) | 0x20);
    const int base = char_at(j, start) != '0' ? 10
                     : kind == 'x'            ? 16
                     : kind == 'o'            ? 8
                     : kind == 'b'            ? 2
                                              : 10;
    if (base != 10) {
        *pos = skip_digits(j, start + 2, base, true);
        if (*pos > start + 2)
            return int_literal(j, start + 2, *pos, base, t);
    }
    /* A number with a leading 0 is all zeros; other digits start a new token. */
    *pos = char_at(j, start) == '0' ? skip_digits(j, start, 1, false) : digits;
    return int_literal(j, start, *pos, 10, t);
}

static quire_status bad_escape(struct qr_jinja *j, size_t pos)
{
    j->pos = pos;
    return qr_jinja_fail(j, QUIRE_E_FORMAT, "template: malformed escape in a string");
}

/* Parses the hex digits of \x, \u, \U at pos. */
static quire_status hex_escape(struct qr_jinja *j, size_t pos, size_t digits, uint32_t *cp)
{
    *cp = 0;
    for (size_t i = 0; i < digits; i++) {
        const int d = digit_value(char_at(j, pos + i));
        if (d >= 16)
            return bad_escape(j, pos);
        *cp = *cp << 4 | (uint32_t)d;
    }
    if (*cp > 0x10FFFF || (*cp >= 0xD800 && *cp < 0xE000))
        return bad_escape(j, pos);
    return QUIRE_OK;
}

/* Decodes the escape at *pos and advances *pos. Unknown escapes are kept, as in Python. */
static quire_status lex_escape(struct qr_jinja *j, size_t *pos, struct qr_jinja_sb *sb)
{
    static const char names[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
    const size_t start = *pos;
    const char c = char_at(j, start + 1);
    uint32_t cp = 0;
    *pos = start + 2;
    if (c == '\n')
        return QUIRE_OK;
    const char *simple = c ? strchr(names, c) : NULL;
    if (simple)
        return qr_jinja_sb_append(sb, &values[simple - names], 1, false);
    if (c == 'x' || c == 'u' || c == 'U') {
        const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        QR_TRY(hex_escape(j, *pos, digits, &cp));
        *pos += digits;
        return qr_jinja_sb_append_char(sb, cp, false);
    }
    if (c >= '0' && c <= '7') {
        *pos = start + 1;
        for (int i = 0; i < 3 && char_at(j, *pos) >= '0' && char_at(j, *pos) <= '7'; i++, ++*pos)
            cp = cp * 8 + (uint32_t)(char_at(j, *pos) - '0');
        return qr_jinja_sb_append_char(sb, cp, false);
    }
    if (c == 'N')
        return bad_escape(j, start); /* character names are not supported */
    *pos = start + 1;
    return qr_jinja_sb_append(sb, "\\", 1, false);
}

static quire_status lex_string(struct qr_jinja *j, size_t *pos, struct qr_jinja_token *t)
{
    const char quote = j->source[*pos];
    const size_t start = *pos + 1;
    struct qr_jinja_sb sb;
    struct qr_jinja_value decoded;
    qr_jinja_sb_init(&sb, j);
    size_t from = start, i = start;
    for (; i < j->source_len && j->source[i] != quote;) {
        if (j->source[i] != '\\') {
            i++;
            continue;
        }
        QR_TRY(qr_jinja_sb_append(&sb, j->source + from, i - from, false));
        QR_TRY(lex_escape(j, &i, &sb));
        from = i;
    }
    if (i >= j->source_len)
        return qr_jinja_fail(j, QUIRE_E_FORMAT, "template: unclosed string");
    *pos = i + 1;
    t->type = QR_JINJA_TOKEN_STRING;
    if (from == start) { /* no escapes: borrow the source */
        t->p = j->source + start;
        t->n = i - start;
        return QUIRE_OK;
    }
    QR_TRY(qr_jinja_sb_append(&sb, j->source + from, i - from, false));
    QR_TRY(qr_jinja_sb_finish(&sb, &decoded));
    t->p = decoded.s->p;
    t->n = decoded.s->n;
    return QUIRE_OK;
}

quire_status qr_jinja_lex_literal(struct qr_jinja *j, size_t *pos, struct qr_jinja_token *t)
{
    const char c = j->source[*pos];
    if (c >= '0' && c <= '9')
        return lex_number(j, pos, t);
    if (c == '"' || c == '\'')
        return lex_string(j, pos, t);
    return QUIRE_OK;
}
