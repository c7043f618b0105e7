/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/front_end/gbnf.h"
#include "base/error.h"
#include "base/utf8.h"
#include "grammar/front_end/part.h"
#include "grammar/regex/json_string.h"
#include <string.h>

enum { MAX_DEPTH = 200, MAX_RANGES = 512, MAX_REPEAT = 100000, LAST_CHAR = 0x10ffff };

struct rule {
    const char *name;
    size_t size;
    qr_node node;
    bool defined;
    size_t used_at; /* offset of the first use */
};

struct gbnf {
    struct qr_front_end *f;
    struct qr_regex_set *set;
    const char *text;
    size_t size, at;
    unsigned depth;
    struct rule *rules;
    size_t n_rules, capacity;
    struct quire_error *err;
};

/* ---- Text ---- */

static quire_status fail_at(const struct gbnf *g, quire_status status, size_t at, const char *what)
{
    unsigned line = 1;
    size_t first = 0;
    for (size_t i = 0; i < at && i < g->size; i++)
        if (g->text[i] == '\n') {
            line++;
            first = i + 1;
        }
    return qr_fail(g->err, status, "the grammar, line %u, column %zu: %s", line, at - first + 1,
                   what);
}

static quire_status bad(const struct gbnf *g, const char *what)
{
    return fail_at(g, QUIRE_E_INVALID_ARG, g->at, what);
}

static char peek(const struct gbnf *g) { return g->at < g->size ? g->text[g->at] : '\0'; }

static bool skip(struct gbnf *g, const char *s)
{
    const size_t n = strlen(s);
    if (g->size - g->at < n || memcmp(g->text + g->at, s, n) != 0)
        return false;
    g->at += n;
    return true;
}

/* White space and comments; line ends only inside groups and between rules. */
static void skip_space(struct gbnf *g, bool lines)
{
    for (;;) {
        const char c = peek(g);
        if (c == '#')
            while (g->at < g->size && g->text[g->at] != '\n')
                g->at++;
        else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r')))
            g->at++;
        else
            return;
    }
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

static size_t word(const struct gbnf *g)
{
    size_t n = 0;
    while (g->at + n < g->size && is_word(g->text[g->at + n]))
        n++;
    return n;
}

/* ---- Characters ---- */

static quire_status read_hex(struct gbnf *g, unsigned digits, uint32_t *out)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < digits; i++) {
        const char c = (char)(peek(g) | 0x20);
        const bool digit = peek(g) >= '0' && peek(g) <= '9';
        if (!digit && !(c >= 'a' && c <= 'f'))
            return bad(g, "a hexadecimal digit is missing");
        v = v << 4 | (uint32_t)(digit ? peek(g) - '0' : c - 'a' + 10);
        g->at++;
    }
    if (v > LAST_CHAR || (v >= 0xd800 && v < 0xe000))
        return bad(g, "not a character");
    *out = v;
    return QUIRE_OK;
}

/* One character, escaped or as it is. */
static quire_status read_char(struct gbnf *g, uint32_t *out)
{
    static const char letters[] = "nrt", values[] = "\n\r\t";
    if (!skip(g, "\\")) {
        const int n = qr_utf8_next((const uint8_t *)g->text + g->at, g->size - g->at, out);
        if (n <= 0)
            return bad(g, "invalid UTF-8");
        g->at += (size_t)n;
        return QUIRE_OK;
    }
    if (skip(g, "x"))
        return read_hex(g, 2, out);
    if (skip(g, "u"))
        return read_hex(g, 4, out);
    if (skip(g, "U"))
        return read_hex(g, 8, out);
    const char c = peek(g);
    const char *found = c != '\0' ? strchr(letters, c) : NULL;
    if (found == NULL && strchr("\\\"[]^-/.", c) == NULL)
        return bad(g, "an unknown escape");
    if (c == '\0')
        return bad(g, "the text ends in an escape");
    g->at++;
    *out = (uint32_t)(found != NULL ? values[found - letters] : c);
    return QUIRE_OK;
}

static quire_status literal(struct gbnf *g, struct qr_part *out)
{
    struct qr_char_range one;
    const size_t first = g->at++;
    qr_regex r = QR_REGEX_EMPTY;
    /* characters are joined from the end, so that long literals are linear */
    qr_regex *list = NULL;
    size_t n = 0, capacity = 0;
    quire_status status = QUIRE_OK;
    while (!skip(g, "\"") && status == QUIRE_OK) {
        if (g->at >= g->size || peek(g) == '\n')
            status = fail_at(g, QUIRE_E_INVALID_ARG, first, "a literal that is not closed");
        else if ((status = read_char(g, &one.first)) == QUIRE_OK &&
                 !qr_grow(g->f->allocator, (void **)&list, &capacity, n + 1, sizeof *list))
            status = qr_fail(g->err, QUIRE_E_NOMEM, "no memory for the grammar");
        if (status == QUIRE_OK) {
            one.last = one.first;
            list[n++] = qr_utf8_class(g->set, &one, 1);
        }
    }
    if (status == QUIRE_OK)
        r = qr_regex_concat(g->set, list, n);
    qr_free(g->f->allocator, list, capacity, sizeof *list);
    *out = qr_part_regex(r);
    return status;
}

static quire_status char_class(struct gbnf *g, struct qr_part *out)
{
    struct qr_char_range ranges[MAX_RANGES];
    const size_t first = g->at++;
    size_t n = 0;
    const bool negative = skip(g, "^");
    while (!skip(g, "]")) {
        if (g->at >= g->size || peek(g) == '\n')
            return fail_at(g, QUIRE_E_INVALID_ARG, first, "a class that is not closed");
        if (n == MAX_RANGES)
            return fail_at(g, QUIRE_E_LIMIT, first, "a class of too many ranges");
        QR_TRY(read_char(g, &ranges[n].first));
        ranges[n].last = ranges[n].first;
        if (peek(g) == '-' && g->at + 1 < g->size && g->text[g->at + 1] != ']') {
            g->at++;
            QR_TRY(read_char(g, &ranges[n].last));
        }
        if (ranges[n].last < ranges[n].first)
            return fail_at(g, QUIRE_E_INVALID_ARG, first, "a range that is out of order");
        n++;
    }
    qr_regex r = qr_utf8_class(g->set, ranges, n);
    if (negative) {
        const qr_regex both[] = { qr_utf8_class(g->set, &(struct qr_char_range){ 0, LAST_CHAR }, 1),
                                  qr_regex_not(g->set, r) };
        r = qr_regex_and(g->set, both, 2);
    }
    *out = qr_part_regex(r);
    return QUIRE_OK;
}

/* ---- Rules ---- */

/* The rule of a name, a new one if there is none. NULL: no memory. */
static struct rule *find_rule(struct gbnf *g, const char *name, size_t size)
{
    for (size_t i = 0; i < g->n_rules; i++)
        if (g->rules[i].size == size && memcmp(g->rules[i].name, name, size) == 0)
            return &g->rules[i];
    if (!qr_grow(g->f->allocator, (void **)&g->rules, &g->capacity, g->n_rules + 1,
                 sizeof *g->rules)) {
        qr_fail(g->err, QUIRE_E_NOMEM, "no memory for the grammar");
        return NULL;
    }
    struct rule *r = &g->rules[g->n_rules++];
    *r = (struct rule){
        .name = name, .size = size, .node = qr_build_rule(g->f->builder), .used_at = g->at
    };
    return r;
}

static quire_status alternatives(struct gbnf *g, bool lines, struct qr_part *out);

static quire_status atom(struct gbnf *g, struct qr_part *out)
{
    const char c = peek(g);
    const size_t n = word(g);
    if (c == '"')
        return literal(g, out);
    if (c == '[')
        return char_class(g, out);
    if (skip(g, ".")) {
        *out = qr_part_regex(qr_utf8_class(g->set, &(struct qr_char_range){ 0, LAST_CHAR }, 1));
        return QUIRE_OK;
    }
    if (skip(g, "(")) {
        const size_t first = g->at - 1;
        QR_TRY(alternatives(g, true, out));
        if (!skip(g, ")"))
            return fail_at(g, QUIRE_E_INVALID_ARG, first, "a group that is not closed");
        return QUIRE_OK;
    }
    if (n == 0)
        return bad(g, "a literal, a class, a rule or a group is expected");
    const struct rule *r = find_rule(g, g->text + g->at, n);
    if (r == NULL)
        return QUIRE_E_NOMEM;
    g->at += n;
    *out = qr_part_node(r->node);
    return QUIRE_OK;
}

static bool read_number(struct gbnf *g, uint32_t *out)
{
    const size_t first = g->at;
    uint64_t v = 0;
    for (; peek(g) >= '0' && peek(g) <= '9'; g->at++)
        v = v > MAX_REPEAT ? v : v * 10 + (uint64_t)(peek(g) - '0');
    *out = (uint32_t)v;
    return g->at > first;
}

/* Behind "{". */
static quire_status read_counts(struct gbnf *g, uint32_t *min, uint32_t *max)
{
    const size_t first = g->at - 1;
    skip_space(g, false);
    const bool has_min = read_number(g, min);
    skip_space(g, false);
    *max = *min;
    if (skip(g, ",")) {
        skip_space(g, false);
        if (!read_number(g, max))
            *max = QR_REGEX_UNBOUNDED;
        skip_space(g, false);
    } else if (!has_min) {
        return fail_at(g, QUIRE_E_INVALID_ARG, first, "a number is expected");
    }
    if (!skip(g, "}"))
        return fail_at(g, QUIRE_E_INVALID_ARG, first, "a repetition that is not closed");
    if (*max < *min)
        return fail_at(g, QUIRE_E_INVALID_ARG, first, "a repetition that is out of order");
    if (*min > MAX_REPEAT || (*max > MAX_REPEAT && *max != QR_REGEX_UNBOUNDED))
        return fail_at(g, QUIRE_E_LIMIT, first, "a repetition of more than 100000 times");
    return QUIRE_OK;
}

static quire_status repeated(struct gbnf *g, struct qr_part *out)
{
    QR_TRY(atom(g, out));
    for (;;) {
        uint32_t min = 0, max = QR_REGEX_UNBOUNDED;
        if (skip(g, "+"))
            min = 1;
        else if (skip(g, "?"))
            max = 1;
        else if (skip(g, "{"))
            QR_TRY(read_counts(g, &min, &max));
        else if (!skip(g, "*"))
            return QUIRE_OK;
        *out = qr_part_repeat(g->f->builder, *out, min, max);
    }
}

static quire_status sequence(struct gbnf *g, bool lines, struct qr_parts *all)
{
    struct qr_parts parts = { .f = g->f };
    struct qr_part piece;
    quire_status status = QUIRE_OK;
    skip_space(g, lines);
    while (status == QUIRE_OK && g->at < g->size && peek(g) != '|' && peek(g) != ')' &&
           (lines || (peek(g) != '\n' && peek(g) != '\r'))) {
        status = repeated(g, &piece);
        if (status == QUIRE_OK)
            status = qr_parts_add(&parts, piece, g->err);
        skip_space(g, lines);
    }
    if (status == QUIRE_OK)
        status = qr_parts_add(all, qr_parts_sequence(&parts), g->err);
    qr_parts_free(&parts);
    return status;
}

static quire_status alternatives(struct gbnf *g, bool lines, struct qr_part *out)
{
    struct qr_parts all = { .f = g->f };
    quire_status status;
    if (++g->depth > MAX_DEPTH)
        return fail_at(g, QUIRE_E_LIMIT, g->at, "groups are nested more than 200 deep");
    do {
        status = sequence(g, lines, &all);
        /* an alternative on the next line */
        if (status == QUIRE_OK && !lines) {
            const size_t before = g->at;
            skip_space(g, true);
            if (peek(g) != '|')
                g->at = before;
        }
    } while (status == QUIRE_OK && skip(g, "|"));
    if (status == QUIRE_OK)
        *out = qr_parts_choice(&all);
    qr_parts_free(&all);
    g->depth--;
    return status;
}

static quire_status rule(struct gbnf *g)
{
    const size_t n = word(g);
    struct qr_part body;
    if (n == 0)
        return bad(g, "the name of a rule is expected");
    struct rule *r = find_rule(g, g->text + g->at, n);
    if (r == NULL)
        return QUIRE_E_NOMEM;
    const size_t index = (size_t)(r - g->rules);
    if (r->defined)
        return bad(g, "the rule is defined twice");
    g->at += n;
    skip_space(g, false);
    if (!skip(g, "::="))
        return bad(g, "::= is expected");
    const size_t line = g->at;
    skip_space(g, true); /* the alternatives may begin on the next line */
    if (word(g) > 0 && g->at > line && memchr(g->text + line, '\n', g->at - line) != NULL)
        g->at = line; /* unless the next rule does */
    QR_TRY(alternatives(g, false, &body));
    r = &g->rules[index];
    r->defined = true;
    qr_build_define(g->f->builder, r->node, qr_part_to_node(g->f->builder, body));
    return QUIRE_OK;
}

static quire_status build(struct gbnf *g, qr_node *out)
{
    for (skip_space(g, true); g->at < g->size; skip_space(g, true))
        QR_TRY(rule(g));
    for (size_t i = 0; i < g->n_rules; i++)
        if (!g->rules[i].defined)
            return fail_at(g, QUIRE_E_INVALID_ARG, g->rules[i].used_at, "the rule is not defined");
    for (size_t i = 0; i < g->n_rules; i++)
        if (g->rules[i].size == 4 && memcmp(g->rules[i].name, "root", 4) == 0) {
            *out = g->rules[i].node;
            return QUIRE_OK;
        }
    return qr_fail(g->err, QUIRE_E_INVALID_ARG, "the grammar has no rule root");
}

quire_status qr_gbnf_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                           struct quire_error *err)
{
    struct gbnf g = {
        .f = f, .set = qr_builder_regexes(f->builder), .text = text, .size = size, .err = err
    };
    const quire_status status = build(&g, out);
    qr_free(f->allocator, g.rules, g.capacity, sizeof *g.rules);
    return status;
}
