/* SPDX-License-Identifier: Apache-2.0 */
/* regex_syntax.c - the text of a regular expression, as an expression over bytes. */
#include "grammar/regex/regex_syntax.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"
#include "grammar/regex/assertion.h"
#include "grammar/regex/char_class.h"
#include "grammar/regex/types.h"
#include <string.h>

enum {
    MAX_DEPTH = 48,        /* of groups */
    MAX_COUNT = 100000000, /* of a repetition */
    CHECK_EVERY = 256,     /* terms between two looks at the clock */
};

struct parser {
    struct qr_regex_set *set;
    const char *text, *p, *end;
    struct qr_assertions nodes;
    struct quire_error *err;
    double deadline;
    int depth;
    unsigned n_terms;
    bool json;
    quire_status status;
};

/* ---- Errors and characters */

static qr_term fail(struct parser *s, quire_status status, const char *why)
{
    if (s->status == QUIRE_OK)
        s->status = qr_fail(s->err, status, "offset %zu: %s", (size_t)(s->p - s->text), why);
    return 0;
}

static qr_term invalid(struct parser *s, const char *why)
{
    return fail(s, QUIRE_E_INVALID_ARG, why);
}

static qr_term no_memory(struct parser *s) { return fail(s, QUIRE_E_NOMEM, "no memory"); }

static bool check_time(struct parser *s)
{
    if (s->n_terms++ % CHECK_EVERY)
        return true;
    if (qr_clock_thread() > s->deadline)
        fail(s, QUIRE_E_LIMIT, "compilation takes too long");
    const quire_status status = qr_regex_set_status(s->set);
    if (status != QUIRE_OK)
        fail(s, status, "the expression is nested too deeply");
    return s->status == QUIRE_OK;
}

static bool at(const struct parser *s, char c) { return s->p < s->end && *s->p == c; }

static bool at_text(const struct parser *s, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)(s->end - s->p) >= n && memcmp(s->p, text, n) == 0;
}

static bool accept(struct parser *s, const char *text)
{
    const bool yes = at_text(s, text);
    s->p += yes ? strlen(text) : 0;
    return yes;
}

static uint32_t next_char(struct parser *s)
{
    uint32_t cp = 0;
    const int n = qr_utf8_next_final((const uint8_t *)s->p, (size_t)(s->end - s->p), &cp);
    if (n <= 0)
        invalid(s, "invalid UTF-8");
    s->p += n > 0 ? n : 1;
    return cp;
}

/* n hexadecimal digits at s->p; s->p stays where they are not. */
static bool read_hex(struct parser *s, size_t n, uint32_t *out)
{
    uint32_t value = 0;
    if ((size_t)(s->end - s->p) < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char c = s->p[i], lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            value = 16 * value + (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = 16 * value + (uint32_t)(lower - 'a' + 10);
        else
            return false;
    }
    s->p += n;
    *out = value;
    return true;
}

/* ---- Escapes */

/* Behind \u: XXXX, a pair of surrogates, or {X...}. */
static uint32_t unicode_escape(struct parser *s)
{
    uint32_t cp = 0, low;
    if (accept(s, "{")) {
        size_t n = 0;
        while (s->p + n < s->end && s->p[n] != '}')
            n++;
        if (!n || n > 6 || !read_hex(s, n, &cp) || !accept(s, "}") || cp > 0x10FFFF)
            invalid(s, "\\u{...} needs a code point in hexadecimal");
        return cp;
    }
    if (!read_hex(s, 4, &cp)) {
        invalid(s, "\\u needs four hexadecimal digits");
        return 0;
    }
    const char *back = s->p;
    if (cp >= 0xD800 && cp < 0xDC00 && accept(s, "\\u")) {
        if (read_hex(s, 4, &low) && low >= 0xDC00 && low < 0xE000)
            return 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
        s->p = back;
    }
    return cp;
}

/* The character of an escape; s->p is behind the backslash. */
static uint32_t char_escape(struct parser *s)
{
    static const char letters[] = "nrtfv", values[] = "\n\r\t\f\v";
    uint32_t cp = 0;
    const char c = s->p < s->end ? *s->p : 0;
    const char *found = c ? strchr(letters, c) : NULL;
    if (s->p == s->end) {
        invalid(s, "the expression ends with a backslash");
        return 0;
    }
    if (found || c == 'u' || c == 'x' || c == '0' || c == 'c')
        s->p++;
    if (found)
        return (uint32_t)values[found - letters];
    if (c == 'u')
        return unicode_escape(s);
    if (c == 'x') {
        if (!read_hex(s, 2, &cp))
            invalid(s, "\\x needs two hexadecimal digits");
        return cp;
    }
    if (c == '0') {
        if (s->p < s->end && *s->p >= '0' && *s->p <= '9')
            invalid(s, "octal escape");
        return 0;
    }
    if (c == 'c') {
        const char letter = s->p < s->end ? (char)(*s->p | 0x20) : 0;
        if (letter < 'a' || letter > 'z')
            invalid(s, "\\c needs a letter");
        s->p++;
        return (uint32_t)(letter - 'a' + 1);
    }
    if (c >= '1' && c <= '9')
        fail(s, QUIRE_E_UNSUPPORTED, "back reference");
    else if (c == 'k' || c == 'b' || c == 'B')
        fail(s, QUIRE_E_UNSUPPORTED, c == 'k' ? "back reference" : "word boundary");
    else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        invalid(s, "unknown escape");
    return next_char(s);
}

/* Adds \d \D \w \W \s \S \p{...} \P{...} if one of them follows; s->p is behind the backslash. */
static bool class_escape(struct parser *s, struct qr_char_set *set)
{
    struct qr_char_set part = { .a = set->a };
    const char c = s->p < s->end ? *s->p : 0, lower = (char)(c | 0x20);
    bool ok, known = true;
    if (!c || !strchr("dDwWsSpP", c))
        return false;
    s->p++;
    if (lower == 'p') {
        const char *name = s->p + 1;
        const char *close = at(s, '{') ? memchr(name, '}', (size_t)(s->end - name)) : NULL;
        if (!close) {
            invalid(s, "\\p needs a property in braces");
            return true;
        }
        ok = qr_char_set_add_property(&part, name, (size_t)(close - name), &known);
        if (!known)
            fail(s, QUIRE_E_UNSUPPORTED, "property other than a general category");
        s->p = close + 1;
    } else {
        ok = qr_char_set_add_escape(&part, lower);
    }
    if (c != lower)
        ok = ok && qr_char_set_negate(&part);
    ok = ok && qr_char_set_add_set(set, &part);
    qr_char_set_free(&part);
    if (!ok)
        no_memory(s);
    return true;
}

/* ---- Classes */

static qr_term class_term(struct parser *s, struct qr_char_set *set)
{
    qr_char_set_normalize(set);
    const qr_regex r = s->json ? qr_json_class(s->set, set->ranges, set->n)
                               : qr_utf8_class(s->set, set->ranges, set->n);
    qr_char_set_free(set);
    return s->status == QUIRE_OK ? qr_term_pure(&s->nodes, r) : 0;
}

/* One item of a class: a character into *cp, or a set that is added (true). */
static bool class_item(struct parser *s, struct qr_char_set *set, uint32_t *cp)
{
    if (!accept(s, "\\")) {
        *cp = next_char(s);
        return false;
    }
    if (class_escape(s, set))
        return true;
    if (accept(s, "b"))
        *cp = '\b';
    else
        *cp = char_escape(s);
    return false;
}

/* Behind [. */
static qr_term char_class(struct parser *s)
{
    struct qr_char_set set = { .a = s->set->a };
    const bool negated = accept(s, "^");
    bool ok = true;
    while (ok && s->status == QUIRE_OK && s->p < s->end && *s->p != ']') {
        uint32_t first, last;
        if (class_item(s, &set, &first))
            continue;
        last = first;
        if (at(s, '-') && s->end - s->p > 1 && s->p[1] != ']') {
            const char *dash = s->p++;
            struct qr_char_set other = { .a = set.a };
            const bool is_set = class_item(s, &other, &last);
            qr_char_set_free(&other);
            if (is_set) { /* [a-\d]: the dash is a character */
                s->p = dash;
                last = first;
            } else if (last < first) {
                invalid(s, "range out of order");
            }
        }
        ok = qr_char_set_add(&set, first, last);
    }
    if (ok && !accept(s, "]"))
        invalid(s, "class without ]");
    if (negated)
        ok = ok && qr_char_set_negate(&set);
    if (!ok)
        no_memory(s);
    return class_term(s, &set);
}

static qr_term one_char(struct parser *s, uint32_t cp)
{
    struct qr_char_set set = { .a = s->set->a };
    if (!qr_char_set_add(&set, cp, cp))
        return no_memory(s);
    return class_term(s, &set);
}

/* All but line terminators. */
static qr_term any_but_newline(struct parser *s)
{
    struct qr_char_set set = { .a = s->set->a };
    if (!qr_char_set_add(&set, '\n', '\n') || !qr_char_set_add(&set, '\r', '\r') ||
        !qr_char_set_add(&set, 0x2028, 0x2029) || !qr_char_set_negate(&set))
        no_memory(s);
    return class_term(s, &set);
}

static qr_term escape(struct parser *s)
{
    struct qr_char_set set = { .a = s->set->a };
    return class_escape(s, &set) ? class_term(s, &set) : one_char(s, char_escape(s));
}

/* ---- Terms */

static qr_term alternation(struct parser *s);

/* Behind ( up to ). */
static qr_term group(struct parser *s)
{
    enum qr_term_kind kind = QR_TERM_SEQUENCE;
    if (accept(s, "?=")) {
        kind = QR_TERM_AHEAD;
    } else if (accept(s, "?!")) {
        kind = QR_TERM_NOT_AHEAD;
    } else if (at_text(s, "?<=") || at_text(s, "?<!")) {
        return fail(s, QUIRE_E_UNSUPPORTED, "look-behind");
    } else if (accept(s, "?<") || accept(s, "?P<")) {
        const char *close = memchr(s->p, '>', (size_t)(s->end - s->p));
        if (!close || close == s->p)
            return invalid(s, "name of a group without >");
        s->p = close + 1;
    } else if (!accept(s, "?:") && at(s, '?')) {
        return fail(s, QUIRE_E_UNSUPPORTED, "flags or a group of another dialect");
    }
    if (++s->depth > MAX_DEPTH)
        return fail(s, QUIRE_E_LIMIT, "groups are nested too deeply");
    const qr_term body = alternation(s);
    s->depth--;
    if (s->status == QUIRE_OK && !accept(s, ")"))
        return invalid(s, "group without )");
    return kind == QR_TERM_SEQUENCE ? body : qr_term_look(&s->nodes, kind, body);
}

static qr_term atom(struct parser *s)
{
    if (accept(s, "("))
        return group(s);
    if (accept(s, "["))
        return char_class(s);
    if (accept(s, "."))
        return any_but_newline(s);
    if (accept(s, "^"))
        return qr_term_anchor(&s->nodes, QR_TERM_START);
    if (accept(s, "$"))
        return qr_term_anchor(&s->nodes, QR_TERM_END);
    if (accept(s, "\\b") || accept(s, "\\B"))
        return qr_term_anchor(&s->nodes, s->p[-1] == 'b' ? QR_TERM_BOUNDARY : QR_TERM_NOT_BOUNDARY);
    if (accept(s, "\\"))
        return escape(s);
    if (at(s, '*') || at(s, '+') || at(s, '?'))
        return invalid(s, "nothing to repeat");
    return one_char(s, next_char(s));
}

static bool read_count(struct parser *s, uint32_t *out)
{
    const char *begin = s->p;
    uint64_t n = 0;
    for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
        n = n < MAX_COUNT ? 10 * n + (uint64_t)(*s->p - '0') : n;
    if (n >= MAX_COUNT)
        fail(s, QUIRE_E_LIMIT, "too many repetitions");
    *out = (uint32_t)n;
    return s->p > begin;
}

/* A quantifier at s->p. {...} that is none is text, as in the grammar of browsers. */
static bool quantifier(struct parser *s, uint32_t *min, uint32_t *max)
{
    const char *begin = s->p;
    *min = at(s, '+');
    *max = at(s, '?') ? 1 : QR_REGEX_UNBOUNDED;
    if (accept(s, "*") || accept(s, "+") || accept(s, "?"))
        return true;
    if (!accept(s, "{"))
        return false;
    if (at(s, ','))
        fail(s, QUIRE_E_UNSUPPORTED, "{,n} means different things in different dialects");
    if (read_count(s, min)) {
        *max = *min;
        if (accept(s, ",") && !read_count(s, max))
            *max = QR_REGEX_UNBOUNDED;
        if (accept(s, "}")) {
            if (*min > *max)
                invalid(s, "repetition out of order");
            return true;
        }
    }
    s->p = begin;
    return false;
}

static qr_term repeated(struct parser *s)
{
    uint32_t min, max;
    const qr_term term = atom(s);
    if (s->status != QUIRE_OK || !check_time(s) || !quantifier(s, &min, &max))
        return term;
    accept(s, "?"); /* lazy: the same strings */
    if (at(s, '*') || at(s, '+') || at(s, '?'))
        return fail(s, QUIRE_E_UNSUPPORTED, "possessive or doubled repetition");
    const qr_term out = qr_term_repeat(&s->nodes, term, min, max);
    if (out == QR_TERM_UNSUPPORTED)
        return fail(s, QUIRE_E_UNSUPPORTED, "repetition of an assertion");
    return out;
}

static qr_term sequence(struct parser *s)
{
    qr_term list = qr_term_pure(&s->nodes, QR_REGEX_EMPTY);
    while (s->status == QUIRE_OK && s->p < s->end && *s->p != '|' && *s->p != ')')
        list = qr_term_concat(&s->nodes, list, repeated(s));
    return list;
}

static qr_term alternation(struct parser *s)
{
    qr_term list = sequence(s);
    while (s->status == QUIRE_OK && accept(s, "|"))
        list = qr_term_or(&s->nodes, list, sequence(s));
    return list;
}

quire_status qr_regex_parse(struct qr_regex_set *set, const char *text, size_t size, uint32_t flags,
                            double deadline, qr_regex *out, struct quire_error *err)
{
    struct parser s = { .set = set,
                        .text = text,
                        .p = text,
                        .end = text + size,
                        .err = err,
                        .deadline = deadline,
                        .json = flags & QR_REGEX_JSON_STRING };
    static const struct qr_char_range all = { 0, 0x10FFFF };
    *out = QR_REGEX_NONE;
    qr_assertions_init(&s.nodes, set);
    const qr_term root = alternation(&s);
    if (s.status == QUIRE_OK && s.p < s.end)
        invalid(&s, ") without (");
    if (s.status == QUIRE_OK && !root)
        no_memory(&s);
    if (s.status == QUIRE_OK) {
        const qr_regex any = s.json ? qr_json_any_char(set) : qr_utf8_class(set, &all, 1);
        static const struct qr_char_range words[] = {
            { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' }
        };
        const qr_regex word = qr_utf8_class(set, words, 4); /* the same in JSON strings */
        const quire_status status =
            qr_term_compile(&s.nodes, root, any, word, flags & QR_REGEX_SEARCH, out);
        if (status == QUIRE_E_UNSUPPORTED)
            fail(&s, status, "^ or \\b behind what may be empty");
        else if (status != QUIRE_OK)
            fail(&s, status, "the expression is nested too deeply");
    }
    qr_assertions_free(&s.nodes);
    if (s.status == QUIRE_OK && qr_regex_set_status(set) != QUIRE_OK)
        fail(&s, qr_regex_set_status(set), "the expression is nested too deeply");
    return s.status;
}
