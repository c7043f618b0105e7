/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.c - a pushdown automaton for JSON (RFC 8259). */
#include "chat_format/output/json_scan.h"
#include <string.h>

enum state {
    VALUE,      /* before a value */
    FIRST_ITEM, /* after [ */
    FIRST_KEY,  /* after { */
    KEY,        /* after , in an object */
    COLON,
    COMMA, /* after an item */
    STRING,
    ESCAPE,
    HEX,
    KEY_STRING,
    KEY_ESCAPE,
    KEY_HEX,
    MINUS,
    ZERO,
    INTEGER,
    POINT,
    FRACTION,
    EXPONENT,
    EXPONENT_SIGN,
    EXPONENT_DIGITS,
    LITERAL,
};

static const char *const literals[] = { "true", "false", "null" };

static bool is_space(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

static bool in_object(const struct qr_json_scan *s)
{
    const unsigned d = s->depth - 1u;
    return s->object[d / 8] >> (d % 8) & 1;
}

/* A value is complete: its last byte has been read. */
static enum qr_json_scan_result value_end(struct qr_json_scan *s)
{
    s->state = COMMA;
    return s->depth == 0 ? QR_JSON_SCAN_END : QR_JSON_SCAN_MORE;
}

static enum qr_json_scan_result open_level(struct qr_json_scan *s, bool object)
{
    if (s->depth == QR_JSON_SCAN_DEPTH)
        return QR_JSON_SCAN_ERROR;
    const unsigned d = s->depth++;
    s->object[d / 8] = (uint8_t)((s->object[d / 8] & ~(1u << d % 8)) | (unsigned)object << d % 8);
    s->state = object ? FIRST_KEY : FIRST_ITEM;
    return QR_JSON_SCAN_MORE;
}

static enum qr_json_scan_result close_level(struct qr_json_scan *s, unsigned char c)
{
    if (in_object(s) != (c == '}'))
        return QR_JSON_SCAN_ERROR;
    s->depth--;
    return value_end(s);
}

static enum qr_json_scan_result begin_value(struct qr_json_scan *s, unsigned char c)
{
    if (is_space(c))
        return QR_JSON_SCAN_MORE;
    if (c == '{' || c == '[')
        return open_level(s, c == '{');
    if (c == '"')
        s->state = STRING;
    else if (c == '-')
        s->state = MINUS;
    else if (is_digit(c))
        s->state = c == '0' ? ZERO : INTEGER;
    else if (c == 't' || c == 'f' || c == 'n') {
        s->state = LITERAL;
        s->literal = (uint8_t)(16 * (c == 't' ? 0 : c == 'f' ? 1 : 2) + 1);
    } else
        return QR_JSON_SCAN_ERROR;
    return QR_JSON_SCAN_MORE;
}

static enum qr_json_scan_result in_string(struct qr_json_scan *s, unsigned char c)
{
    const bool key = s->state >= KEY_STRING;
    const uint8_t base = key ? KEY_STRING : STRING;
    if (s->state == base) {
        if (c == '\\')
            s->state = (uint8_t)(base + 1);
        else if (c == '"' && key)
            s->state = COLON;
        else if (c == '"')
            return value_end(s);
    } else if (s->state == base + 1) {
        s->state = c == 'u' ? (uint8_t)(base + 2) : base;
        s->hex = 0;
        if (c == 0 || !strchr("\"\\/bfnrtu", c))
            return QR_JSON_SCAN_ERROR;
    } else {
        if (!is_digit(c) && !((c | 32) >= 'a' && (c | 32) <= 'f'))
            return QR_JSON_SCAN_ERROR;
        if (++s->hex == 4)
            s->state = base;
    }
    return QR_JSON_SCAN_MORE;
}

static enum qr_json_scan_result in_structure(struct qr_json_scan *s, unsigned char c)
{
    if (is_space(c))
        return QR_JSON_SCAN_MORE;
    switch (s->state) {
    case FIRST_ITEM:
        if (c == ']')
            return close_level(s, c);
        s->state = VALUE;
        return begin_value(s, c);
    case FIRST_KEY:
    case KEY:
        if (c == '"')
            s->state = KEY_STRING;
        else if (c == '}' && s->state == FIRST_KEY)
            return close_level(s, c);
        else
            return QR_JSON_SCAN_ERROR;
        return QR_JSON_SCAN_MORE;
    case COLON:
        s->state = VALUE;
        return c == ':' ? QR_JSON_SCAN_MORE : QR_JSON_SCAN_ERROR;
    default: /* COMMA */
        if (s->depth == 0)
            return QR_JSON_SCAN_ERROR;
        if (c == '}' || c == ']')
            return close_level(s, c);
        s->state = in_object(s) ? KEY : VALUE;
        return c == ',' ? QR_JSON_SCAN_MORE : QR_JSON_SCAN_ERROR;
    }
}

/* The state after byte c of a number, or VALUE if c does not belong to it. */
static unsigned number_state(unsigned state, unsigned char c)
{
    const bool digit = is_digit(c);
    switch (state) {
    case MINUS:
        return c == '0' ? ZERO : digit ? INTEGER : VALUE;
    case ZERO:
    case INTEGER:
        if (digit && state == INTEGER)
            return INTEGER;
        return c == '.' ? POINT : c == 'e' || c == 'E' ? EXPONENT : VALUE;
    case POINT:
        return digit ? FRACTION : VALUE;
    case FRACTION:
        return digit ? FRACTION : c == 'e' || c == 'E' ? EXPONENT : VALUE;
    case EXPONENT:
        if (c == '+' || c == '-')
            return EXPONENT_SIGN;
        return digit ? EXPONENT_DIGITS : VALUE;
    default:
        return digit ? EXPONENT_DIGITS : VALUE;
    }
}

static bool number_complete(unsigned state)
{
    return state == ZERO || state == INTEGER || state == FRACTION || state == EXPONENT_DIGITS;
}

static enum qr_json_scan_result in_number(struct qr_json_scan *s, unsigned char c)
{
    const unsigned next = number_state(s->state, c);
    if (next != VALUE) {
        s->state = (uint8_t)next;
        return QR_JSON_SCAN_MORE;
    }
    if (!number_complete(s->state))
        return QR_JSON_SCAN_ERROR;
    if (value_end(s) == QR_JSON_SCAN_END)
        return QR_JSON_SCAN_AFTER;
    return in_structure(s, c);
}

static enum qr_json_scan_result in_literal(struct qr_json_scan *s, unsigned char c)
{
    const char *const text = literals[s->literal / 16];
    const unsigned at = s->literal % 16u;
    if ((unsigned char)text[at] != c)
        return QR_JSON_SCAN_ERROR;
    s->literal++;
    return text[at + 1] ? QR_JSON_SCAN_MORE : value_end(s);
}

enum qr_json_scan_result qr_json_scan_byte(struct qr_json_scan *s, unsigned char c)
{
    if (s->state == VALUE)
        return begin_value(s, c);
    if (s->state >= STRING && s->state <= KEY_HEX)
        return in_string(s, c);
    if (s->state == LITERAL)
        return in_literal(s, c);
    if (s->state >= MINUS)
        return in_number(s, c);
    return in_structure(s, c);
}

bool qr_json_scan_in_string(const struct qr_json_scan *s)
{
    return s->state >= STRING && s->state <= KEY_HEX;
}

bool qr_json_scan_may_end(const struct qr_json_scan *s)
{
    return s->depth == 0 && (s->state == COMMA || number_complete(s->state));
}

bool qr_json_scan_valid(const char *text, size_t size)
{
    struct qr_json_scan s = { 0 };
    size_t i = 0;
    while (i < size) {
        const unsigned char c = (unsigned char)text[i];
        if (c < 0x20 && qr_json_scan_in_string(&s))
            return false;
        const enum qr_json_scan_result r = qr_json_scan_byte(&s, c);
        if (r == QR_JSON_SCAN_ERROR)
            return false;
        i += r != QR_JSON_SCAN_AFTER;
        if (r != QR_JSON_SCAN_MORE)
            break;
    }
    while (i < size && is_space((unsigned char)text[i]))
        i++;
    return i == size && qr_json_scan_may_end(&s);
}
