/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/string_format_rules.h"
#include "grammar/regex/json_string.h"
#include <stdio.h>
#include <string.h>

enum { MAX_PARTS = 24, MAX_NESTING = 8 };

/* ---- Classes beyond ASCII */

/* RFC 3987, section 2.2 */
static const struct qr_char_range ucschar[] = {
    { 0xa0, 0xd7ff },     { 0xf900, 0xfdcf },   { 0xfdf0, 0xffef },   { 0x10000, 0x1fffd },
    { 0x20000, 0x2fffd }, { 0x30000, 0x3fffd }, { 0x40000, 0x4fffd }, { 0x50000, 0x5fffd },
    { 0x60000, 0x6fffd }, { 0x70000, 0x7fffd }, { 0x80000, 0x8fffd }, { 0x90000, 0x9fffd },
    { 0xa0000, 0xafffd }, { 0xb0000, 0xbfffd }, { 0xc0000, 0xcfffd }, { 0xd0000, 0xdfffd },
    { 0xe1000, 0xefffd },
};
static const struct qr_char_range iprivate[] = { { 0xe000, 0xf8ff },
                                                 { 0xf0000, 0xffffd },
                                                 { 0x100000, 0x10fffd } };
/* RFC 6901, section 3 */
static const struct qr_char_range unescaped[] = { { 0, 0x2e }, { 0x30, 0x7d }, { 0x7f, 0x10ffff } };

static const struct {
    const char *name;
    const struct qr_char_range *ranges;
    size_t n;
} classes[] = {
    { "ucschar", ucschar, sizeof ucschar / sizeof *ucschar },
    { "iprivate", iprivate, sizeof iprivate / sizeof *iprivate },
    { "unescaped", unescaped, sizeof unescaped / sizeof *unescaped },
};

/* ---- Parser of rules */

struct parser {
    struct qr_formats *f;
    const char *p;
    int nesting;
    bool failed;
};

static qr_regex fail(struct parser *r)
{
    r->failed = true;
    return QR_REGEX_NONE;
}

/* The characters of a set of ASCII. */
static qr_regex ascii(struct qr_formats *f, struct qr_byte_set bytes)
{
    static const char special[] = { '"', '\\' };
    qr_regex list[3];
    size_t n = 0;
    for (size_t i = 0; i < sizeof special && f->json; i++) {
        const unsigned c = (unsigned char)special[i];
        if (bytes.bits[c / 64] >> (c % 64) & 1)
            list[n++] = qr_json_literal(f->set, &special[i], 1);
        bytes.bits[c / 64] &= ~(1ull << (c % 64));
    }
    list[n++] = qr_regex_bytes(f->set, &bytes);
    return qr_regex_or(f->set, list, n);
}

static void add_range(struct qr_byte_set *bytes, unsigned char first, unsigned char last)
{
    for (unsigned c = first; c <= last; c++)
        bytes->bits[c / 64] |= 1ull << (c % 64);
}

/* A character, after the escape if there is one. */
static unsigned char character(struct parser *r)
{
    if (*r->p == '\\')
        r->p++;
    if (*r->p <= 0) {
        r->failed = true;
        return 0;
    }
    return (unsigned char)*r->p++;
}

static qr_regex parse_class(struct parser *r)
{
    struct qr_byte_set bytes = { { 0 } };
    while (*r->p != ']' && !r->failed) {
        const unsigned char first = character(r);
        unsigned char last = first;
        if (*r->p == '-' && r->p[1] != ']') {
            r->p++;
            last = character(r);
        }
        add_range(&bytes, first, last);
    }
    r->p += !r->failed;
    return ascii(r->f, bytes);
}

static qr_regex parse_choice(struct parser *r);

static qr_regex parse_group(struct parser *r)
{
    if (++r->nesting > MAX_NESTING)
        return fail(r);
    const qr_regex out = parse_choice(r);
    r->nesting--;
    if (*r->p != ')')
        return fail(r);
    r->p++;
    return out;
}

static qr_regex parse_name(struct parser *r)
{
    char name[32];
    size_t n = 0;
    for (; *r->p != '>' && *r->p && n + 1 < sizeof name; r->p++)
        name[n++] = *r->p;
    name[n] = 0;
    if (*r->p != '>')
        return fail(r);
    r->p++;
    return qr_format_rule(r->f, name);
}

static qr_regex parse_atom(struct parser *r)
{
    switch (*r->p) {
    case '(':
        r->p++;
        return parse_group(r);
    case '!':
        if (r->p[1] != '(')
            return fail(r);
        r->p += 2;
        return qr_regex_not(r->f->set, parse_group(r));
    case '<':
        r->p++;
        return parse_name(r);
    case '[':
        r->p++;
        return parse_class(r);
    default: {
        struct qr_byte_set one = { { 0 } };
        const unsigned char c = character(r);
        add_range(&one, c, c);
        return ascii(r->f, one);
    }
    }
}

static uint32_t parse_count(struct parser *r)
{
    uint32_t n = 0;
    for (; *r->p >= '0' && *r->p <= '9' && n < 10000; r->p++)
        n = n * 10 + (uint32_t)(*r->p - '0');
    return n;
}

static qr_regex parse_item(struct parser *r)
{
    const qr_regex atom = parse_atom(r);
    uint32_t min = 0, max = QR_REGEX_UNBOUNDED;
    switch (*r->p) {
    case '?':
        max = 1;
        break;
    case '*':
        break;
    case '+':
        min = 1;
        break;
    case '{':
        r->p++;
        min = max = parse_count(r);
        if (*r->p == ',') {
            r->p++;
            max = *r->p == '}' ? QR_REGEX_UNBOUNDED : parse_count(r);
        }
        if (*r->p != '}')
            return fail(r);
        break;
    default:
        return atom;
    }
    r->p++;
    return qr_regex_repeat(r->f->set, atom, min, max);
}

static qr_regex parse_sequence(struct parser *r)
{
    qr_regex parts[MAX_PARTS];
    size_t n = 0;
    while (*r->p && strchr("|&)", *r->p) == NULL && !r->failed) {
        if (n == MAX_PARTS)
            return fail(r);
        parts[n++] = parse_item(r);
    }
    return qr_regex_concat(r->f->set, parts, n);
}

static qr_regex parse_alternatives(struct parser *r)
{
    qr_regex parts[MAX_PARTS];
    size_t n = 0;
    for (;; r->p++) {
        if (n == MAX_PARTS)
            return fail(r);
        parts[n++] = parse_sequence(r);
        if (*r->p != '|')
            break;
    }
    return qr_regex_or(r->f->set, parts, n);
}

static qr_regex parse_choice(struct parser *r)
{
    qr_regex parts[MAX_PARTS];
    size_t n = 0;
    for (;; r->p++) {
        if (n == MAX_PARTS)
            return fail(r);
        parts[n++] = parse_alternatives(r);
        if (*r->p != '&')
            break;
    }
    return n == 1 ? parts[0] : qr_regex_and(r->f->set, parts, n);
}

qr_regex qr_format_parse(struct qr_formats *f, const char *text)
{
    struct parser r = { .f = f, .p = text };
    const qr_regex out = parse_choice(&r);
    return r.failed || *r.p ? (qr_regex)QR_REGEX_NONE : out;
}

/* Times with second 60: 23:59 in UTC, at offsets of whole and half hours. */
static qr_regex leap_second(struct qr_formats *f)
{
    qr_regex list[25] = { qr_format_parse(f, "23:59:60<fraction>[Zz]") };
    for (int hour = 0; hour < 24; hour++) {
        char text[96];
        snprintf(text, sizeof text,
                 "%02d:(59:60<fraction>([+]%02d|-%02d):00|29:60<fraction>([+]%02d|-%02d):30)", hour,
                 (hour + 1) % 24, 23 - hour, hour, 23 - hour);
        list[1 + hour] = qr_format_parse(f, text);
    }
    return qr_regex_or(f->set, list, 25);
}

qr_regex qr_format_rule(struct qr_formats *f, const char *name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i].name, name) == 0)
            return f->json ? qr_json_class(f->set, classes[i].ranges, classes[i].n)
                           : qr_utf8_class(f->set, classes[i].ranges, classes[i].n);
    if (strcmp(name, "leap-second") == 0)
        return leap_second(f);
    for (uint32_t i = 0; i < qr_n_format_rules && i < QR_FORMAT_MAX_RULES; i++) {
        if (strcmp(qr_format_rules[i].name, name) != 0)
            continue;
        if (!f->known[i])
            f->rules[i] = qr_format_parse(f, qr_format_rules[i].text);
        f->known[i] = true;
        return f->rules[i];
    }
    return QR_REGEX_NONE;
}
