/* SPDX-License-Identifier: Apache-2.0 */
/* lark_text.c - strings of the notation of Lark as expressions. */
#include "grammar/front_end/lark_text.h"
#include "base/utf8.h"
#include "grammar/regex/json_string.h"
#include <string.h>

static bool read_hex(const char **p, const char *end, size_t n, uint32_t *out)
{
    *out = 0;
    if ((size_t)(end - *p) < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char c = (*p)[i], lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            *out = 16 * *out + (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            *out = 16 * *out + (uint32_t)(lower - 'a' + 10);
        else
            return false;
    }
    *p += n;
    return true;
}

/* The character at *p. */
static uint32_t next_char(const char **p, const char *end, const char **why)
{
    static const char letters[] = "nrtfvb0", values[] = "\n\r\t\f\v\b\0";
    uint32_t cp = 0;
    if (**p != '\\') {
        const int n = qr_utf8_next_final((const uint8_t *)*p, (size_t)(end - *p), &cp);
        if (n < 0)
            *why = "invalid UTF-8";
        *p += n > 0 ? n : 1;
        return cp;
    }
    ++*p;
    const char c = *p < end ? *(*p)++ : 0;
    const char *found = c ? strchr(letters, c) : NULL;
    if (found)
        return (uint32_t)values[found - letters];
    if (c == 'x' || c == 'u' || c == 'U') {
        if (!read_hex(p, end,
                      c == 'x'   ? 2
                      : c == 'u' ? 4
                                 : 8,
                      &cp) ||
            cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000))
            *why = "malformed escape in a string";
        return cp;
    }
    if (!c || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9'))
        *why = "unknown escape in a string";
    return (uint8_t)c;
}

static qr_regex one_char(struct qr_regex_set *set, uint32_t cp, bool any_case)
{
    const uint32_t lower = cp | 0x20;
    struct qr_char_range list[2] = { { cp, cp }, { cp, cp } };
    const bool letter = any_case && cp < 0x80 && lower >= 'a' && lower <= 'z';
    if (letter) {
        list[0] = (struct qr_char_range){ lower - 0x20, lower - 0x20 };
        list[1] = (struct qr_char_range){ lower, lower };
    }
    return qr_utf8_class(set, list, letter ? 2 : 1);
}

qr_regex qr_lark_string(struct qr_regex_set *set, const struct qr_lark_token *t, const char **why)
{
    const char *p = t->text, *end = t->text + t->size;
    const bool any_case = strcmp(t->flags, "i") == 0;
    qr_regex parts[64];
    size_t n = 0;
    if (*t->flags && !any_case)
        *why = "flags of a string other than i";
    while (p < end && !*why) {
        parts[n++] = one_char(set, next_char(&p, end, why), any_case);
        if (n == sizeof parts / sizeof *parts) {
            parts[0] = qr_regex_concat(set, parts, n);
            n = 1;
        }
    }
    return *why ? (qr_regex)QR_REGEX_NONE : qr_regex_concat(set, parts, n);
}

qr_regex qr_lark_range(struct qr_regex_set *set, const struct qr_lark_token *first,
                       const struct qr_lark_token *last, const char **why)
{
    const struct qr_lark_token *const tokens[2] = { first, last };
    uint32_t cp[2] = { 0, 0 };
    for (int i = 0; i < 2; i++) {
        const char *p = tokens[i]->text, *end = p + tokens[i]->size;
        if (p < end)
            cp[i] = next_char(&p, end, why);
        if (p != end || !tokens[i]->size || *tokens[i]->flags)
            *why = "a range needs strings of one character";
    }
    if (!*why && cp[0] > cp[1])
        *why = "range out of order";
    return *why ? (qr_regex)QR_REGEX_NONE
                : qr_utf8_class(set, &(struct qr_char_range){ cp[0], cp[1] }, 1);
}

const char *qr_lark_common(const char *name, size_t size)
{
    static const struct {
        const char *name, *pattern;
    } table[] = {
        { "DIGIT", "[0-9]" },
        { "HEXDIGIT", "[0-9A-Fa-f]" },
        { "INT", "[0-9]+" },
        { "SIGNED_INT", "[+-]?[0-9]+" },
        { "DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+" },
        { "FLOAT", "[0-9]+[eE][+-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?" },
        { "SIGNED_FLOAT",
          "[+-]?([0-9]+[eE][+-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?)" },
        { "NUMBER", "[0-9]+([eE][+-]?[0-9]+)?|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?" },
        { "SIGNED_NUMBER",
          "[+-]?([0-9]+([eE][+-]?[0-9]+)?|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?)" },
        { "ESCAPED_STRING", "\"([^\"\\\\\\n]|\\\\[^\\n])*\"" },
        { "LCASE_LETTER", "[a-z]" },
        { "UCASE_LETTER", "[A-Z]" },
        { "LETTER", "[A-Za-z]" },
        { "WORD", "[A-Za-z]+" },
        { "CNAME", "[A-Za-z_][A-Za-z0-9_]*" },
        { "WS", "[ \\t\\f\\r\\n]+" },
        { "WS_INLINE", "[ \\t]+" },
        { "CR", "\\r" },
        { "LF", "\\n" },
        { "NEWLINE", "(\\r?\\n)+" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].name) == size && memcmp(name, table[i].name, size) == 0)
            return table[i].pattern;
    return NULL;
}
