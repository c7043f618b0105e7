/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/front_end/gbnf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/keyed_hash.h"
#include "base/utf8.h"
#include "grammar/front_end/part.h"
#include "grammar/regex/json_string.h"
#include <string.h>

enum { MAX_DEPTH = 200, MAX_RANGES = 512, MAX_REPEAT = 100000, LAST_CHAR = 0x10ffff };

/* Weight up to which a rule without recursion is part of the lexemes that use it: bounds the states
 * of one lexeme. */
enum { MAX_INLINE_BYTES = 4000 };

enum rule_state { RULE_NEW, RULE_OPEN, RULE_DONE };
struct rule {
    const char *name;
    size_t size;
    size_t at, body, end; /* offsets of the name, behind "::=", of the next rule */
    struct qr_part part;  /* of a rule that is done */
    qr_node node;         /* 0: not used as a node */
    size_t weight;        /* bytes of the body and of the rules in it */
    enum rule_state state;
};

struct gbnf {
    struct qr_front_end *f;
    struct qr_regex_set *set;
    const char *text;
    size_t size, at;
    size_t end; /* of the rule that is read */
    unsigned depth;
    struct rule *rules; /* in the order of the text */
    size_t n_rules, capacity;
    uint32_t *index; /* hash table of names: number of the rule + 1 */
    size_t index_size;
    uint64_t hash_key;
    size_t weight; /* of the rule that is read */
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
    *out = 0;
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
    struct qr_char_range one = { 0 };
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
            QR_INVARIANT(list);
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

/* A frame of its own: the ranges are not on the stack of nested groups. */
static QR_NOINLINE quire_status char_class(struct gbnf *g, struct qr_part *out)
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

/* Slot of a name: of its rule, or a free one. */
static uint32_t *find_slot(const struct gbnf *g, const char *name, size_t size)
{
    const uint64_t hash = qr_hash_bytes(g->hash_key, name, size);
    for (size_t i = (hash ^ hash >> 32) & (g->index_size - 1);; i = (i + 1) & (g->index_size - 1)) {
        const struct rule *r = &g->rules[g->index[i] - (g->index[i] != 0)];
        if (g->index[i] == 0 || (r->size == size && memcmp(r->name, name, size) == 0))
            return &g->index[i];
    }
}

static quire_status read_rule(struct gbnf *g, struct rule *r);

/* A rule as an expression if it is done and small enough, otherwise as a node. */
static struct qr_part use_rule(struct gbnf *g, struct rule *r)
{
    if (r->state == RULE_DONE && r->part.is_regex && r->weight <= MAX_INLINE_BYTES) {
        g->weight += r->weight;
        return r->part;
    }
    if (r->node == 0) {
        r->node = qr_build_rule(g->f->builder);
        if (r->state == RULE_DONE)
            qr_build_define(g->f->builder, r->node, qr_part_to_node(g->f->builder, r->part));
    }
    return qr_part_node(r->node);
}

/* The rule of a name at the cursor, read before its use unless it is under way. */
static quire_status reference(struct gbnf *g, size_t size, struct qr_part *out)
{
    const uint32_t found = *find_slot(g, g->text + g->at, size);
    if (found == 0)
        return bad(g, "the rule is not defined");
    struct rule *r = &g->rules[found - 1];
    const size_t next = g->at + size;
    /* deep chains: the rule is read by build(), and stays a node here */
    if (r->state == RULE_NEW && g->depth < MAX_DEPTH / 2)
        QR_TRY(read_rule(g, r));
    g->at = next;
    *out = use_rule(g, r);
    return QUIRE_OK;
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
    return reference(g, n, out);
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
        const size_t line = g->at;
        skip_space(g, true); /* an alternative may begin on the next line */
        if (!lines && g->at == g->end)
            g->at = line; /* an empty one before the next rule */
        status = sequence(g, lines, &all);
        /* a further alternative on the next line */
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

/* Reads the body of a rule. The cursor and the weight of the rule around it are kept. */
static quire_status read_rule(struct gbnf *g, struct rule *r)
{
    const size_t at = g->at, end = g->end, weight = g->weight;
    if (qr_clock_thread() > g->f->deadline)
        return fail_at(g, QUIRE_E_LIMIT, r->at, "the time for the compilation is over");
    r->state = RULE_OPEN;
    g->at = r->body;
    g->end = r->end;
    g->weight = r->end - r->body;
    QR_TRY(alternatives(g, false, &r->part));
    skip_space(g, true);
    if (g->at != r->end)
        return bad(g, "unexpected text behind the rule");
    r->weight = g->weight;
    r->state = RULE_DONE;
    if (r->node != 0)
        qr_build_define(g->f->builder, r->node, qr_part_to_node(g->f->builder, r->part));
    g->at = at;
    g->end = end;
    g->weight = weight;
    return QUIRE_OK;
}

/* Moves the cursor behind a literal or class; to the end of the line if it is not closed, which
 * the reader of the rule reports. */
static void skip_quoted(struct gbnf *g, char close)
{
    for (g->at++; g->at < g->size && peek(g) != '\n'; g->at++) {
        if (peek(g) == '\\')
            g->at++;
        else if (peek(g) == close)
            break;
    }
    g->at += g->at < g->size && peek(g) == close;
    g->at = g->at < g->size ? g->at : g->size;
}

/* Finds the names of the rules: words before "::=". */
static quire_status scan_rules(struct gbnf *g)
{
    for (skip_space(g, true); g->at < g->size; skip_space(g, true)) {
        const size_t at = g->at, n = word(g);
        if (n == 0 && (peek(g) == '"' || peek(g) == '['))
            skip_quoted(g, peek(g) == '"' ? '"' : ']');
        else
            g->at += n + (n == 0);
        const size_t behind = g->at;
        skip_space(g, false);
        if (n == 0 || !skip(g, "::=")) {
            g->at = behind;
            if (g->n_rules == 0)
                return fail_at(g, QUIRE_E_INVALID_ARG, at,
                               n ? "::= is expected" : "the name of a rule is expected");
            continue;
        }
        if (!qr_grow(g->f->allocator, (void **)&g->rules, &g->capacity, g->n_rules + 1,
                     sizeof *g->rules))
            return qr_fail(g->err, QUIRE_E_NOMEM, "no memory for the grammar");
        if (g->n_rules > 0)
            g->rules[g->n_rules - 1].end = at;
        g->rules[g->n_rules++] = (struct rule){
            .name = g->text + at, .size = n, .at = at, .body = g->at, .end = g->size
        };
    }
    return QUIRE_OK;
}

static quire_status index_rules(struct gbnf *g)
{
    for (g->index_size = 16; g->index_size < 2 * g->n_rules;)
        g->index_size *= 2;
    g->index = qr_calloc(g->f->allocator, g->index_size, sizeof *g->index);
    if (g->index == NULL)
        return qr_fail(g->err, QUIRE_E_NOMEM, "no memory for the grammar");
    for (size_t i = 0; i < g->n_rules; i++) {
        uint32_t *slot = find_slot(g, g->rules[i].name, g->rules[i].size);
        if (*slot != 0)
            return fail_at(g, QUIRE_E_INVALID_ARG, g->rules[i].at, "the rule is defined twice");
        *slot = (uint32_t)i + 1;
    }
    return QUIRE_OK;
}

static quire_status build(struct gbnf *g, qr_node *out)
{
    QR_TRY(scan_rules(g));
    if (g->n_rules > UINT32_MAX / 4)
        return qr_fail(g->err, QUIRE_E_LIMIT, "the grammar has too many rules");
    QR_TRY(index_rules(g));
    const uint32_t root = g->n_rules > 0 ? *find_slot(g, "root", 4) : 0;
    if (root == 0)
        return qr_fail(g->err, QUIRE_E_INVALID_ARG, "the grammar has no rule root");
    for (size_t i = 0; i < g->n_rules; i++)
        if (g->rules[i].state == RULE_NEW)
            QR_TRY(read_rule(g, &g->rules[i]));
    *out = qr_part_to_node(g->f->builder, use_rule(g, &g->rules[root - 1]));
    return QUIRE_OK;
}

quire_status qr_gbnf_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                           struct quire_error *err)
{
    struct gbnf g = {
        .f = f, .set = qr_builder_regexes(f->builder), .text = text, .size = size, .err = err
    };
    g.hash_key = qr_hash_key(&g);
    const quire_status status = build(&g, out);
    qr_free(f->allocator, g.index, g.index_size, sizeof *g.index);
    qr_free(f->allocator, g.rules, g.capacity, sizeof *g.rules);
    return status;
}
