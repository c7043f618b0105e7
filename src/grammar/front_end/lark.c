/* SPDX-License-Identifier: Apache-2.0 */
/* lark.c - EBNF in the notation of Lark as a grammar. */
#include "grammar/front_end/lark.h"
#include "base/clock.h"
#include "base/error.h"
#include "grammar/front_end/lark_text.h"
#include "grammar/front_end/lark_tokens.h"
#include "grammar/json_schema/schema.h"
#include "grammar/regex/regex_syntax.h"
#include <quire/tokenizer.h>
#include <string.h>

enum { MAX_DEPTH = 48, MAX_REPEAT = 1 << 20, CHECK_EVERY = 256 };

enum state { NEW, BUSY, DONE };

struct definition {
    const char *name;
    size_t size, body; /* body: token */
    bool terminal;
    uint8_t state; /* of terminals */
    qr_regex regex;
    qr_node node; /* of rules */
};

struct lark {
    struct qr_front_end *f;
    struct qr_regex_set *set;
    struct quire_error *err;
    quire_status status;
    const struct qr_lark_token *tokens, *t; /* t: the next one */
    struct definition *list;
    size_t n, capacity;
    qr_regex ignored; /* any number of ignored terminals, or QR_REGEX_EMPTY */
    qr_regex *ignore; /* [n_ignore] */
    size_t n_ignore, ignore_capacity;
    int depth;
    unsigned n_items;
};

/* What an expression stands for: an expression of a terminal, or a node of a rule. */
struct value {
    bool is_regex;
    qr_regex regex;
    qr_node node;
};

static struct value fail(struct lark *l, quire_status status, const char *why)
{
    if (l->status == QUIRE_OK)
        l->status = qr_fail(l->err, status, "line %u: %s", l->t->line, why);
    return (struct value){ true, QR_REGEX_NONE, 0 };
}

static struct value invalid(struct lark *l, const char *why)
{
    return fail(l, QUIRE_E_INVALID_ARG, why);
}

static bool is_sign(const struct lark *l, char c)
{
    return l->t->kind == QR_LARK_SIGN && *l->t->text == c;
}

static bool accept(struct lark *l, char c) { return is_sign(l, c) && l->t++; }

static bool check(struct lark *l)
{
    if (l->n_items++ % CHECK_EVERY)
        return l->status == QUIRE_OK;
    if (qr_clock_thread() > l->f->deadline)
        fail(l, QUIRE_E_LIMIT, "compilation takes too long");
    const quire_status status = qr_builder_status(l->f->builder);
    if (status != QUIRE_OK)
        fail(l, status, "the expressions are nested too deeply");
    return l->status == QUIRE_OK;
}

/* ---- Values */

static struct value of_regex(qr_regex r) { return (struct value){ true, r, 0 }; }
static struct value of_node(qr_node n) { return (struct value){ false, 0, n }; }

/* A lexeme may be preceded by what is ignored. */
static qr_node node_of(struct lark *l, struct value v)
{
    if (!v.is_regex)
        return v.node;
    return qr_build_lexeme(l->f->builder,
                           qr_regex_concat(l->set, (qr_regex[]){ l->ignored, v.regex }, 2));
}

/* A node with what is ignored before or behind it. */
static qr_node with_ignored(struct lark *l, qr_node node, bool behind)
{
    const qr_node ignored = l->n_ignore ? qr_build_lexeme(l->f->builder, l->ignored) : 0;
    const qr_node list[2] = { behind ? node : ignored, behind ? ignored : node };
    return ignored ? qr_build_sequence(l->f->builder, list, 2) : node;
}

/* In rules every item is a node of its own: ignored text may stand between them. */
static struct value pair(struct lark *l, struct value a, struct value b, bool terminal, bool choice)
{
    if (terminal) {
        const qr_regex list[2] = { a.regex, b.regex };
        return of_regex(choice ? qr_regex_or(l->set, list, 2) : qr_regex_concat(l->set, list, 2));
    }
    const qr_node list[2] = { node_of(l, a), node_of(l, b) };
    return of_node(choice ? qr_build_choice(l->f->builder, list, 2)
                          : qr_build_sequence(l->f->builder, list, 2));
}

static struct value repeat(struct lark *l, struct value v, uint32_t min, uint32_t max,
                           bool terminal)
{
    if (terminal)
        return of_regex(qr_regex_repeat(l->set, v.regex, min, max));
    return of_node(qr_build_repeat(l->f->builder, node_of(l, v), 0, min, max));
}

static struct value empty(struct lark *l, bool terminal)
{
    return terminal ? of_regex(QR_REGEX_EMPTY) : of_node(qr_build_sequence(l->f->builder, NULL, 0));
}

/* ---- Names */

static struct definition *find(struct lark *l, const char *name, size_t size)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->list[i].size == size && memcmp(l->list[i].name, name, size) == 0)
            return &l->list[i];
    return NULL;
}

static struct value alternatives(struct lark *l, bool terminal);

static qr_regex terminal_regex(struct lark *l, struct definition *d)
{
    const struct qr_lark_token *back = l->t;
    if (d->state == BUSY || l->depth >= MAX_DEPTH) {
        fail(l, d->state == BUSY ? QUIRE_E_UNSUPPORTED : QUIRE_E_LIMIT,
             d->state == BUSY ? "a terminal refers to itself" : "terminals are nested too deeply");
        return QR_REGEX_NONE;
    }
    if (d->state == NEW) {
        d->state = BUSY;
        l->depth++;
        l->t = l->tokens + d->body;
        const qr_regex r = alternatives(l, true).regex;
        if (l->status == QUIRE_OK && l->t->kind != QR_LARK_NEWLINE)
            invalid(l, "unexpected text in a terminal");
        l->depth--;
        d->regex = r;
        d->state = DONE;
        if (l->status == QUIRE_OK)
            l->t = back;
    }
    return d->regex;
}

static struct value name(struct lark *l, bool terminal)
{
    struct definition *d = find(l, l->t->text, l->t->size);
    if (!d || (terminal && !d->terminal))
        return invalid(l, d ? "a rule in a terminal" : "a name that is not defined");
    l->t++;
    if (is_sign(l, '{') && l->t[1].kind != QR_LARK_NUMBER && l->t[1].kind != QR_LARK_SIGN)
        return fail(l, QUIRE_E_UNSUPPORTED, "template");
    return d->terminal ? of_regex(terminal_regex(l, d)) : of_node(d->node);
}

/* ---- Items */

static struct value regex(struct lark *l)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    qr_regex r;
    if (*l->t->flags && strcmp(l->t->flags, "u") != 0)
        return fail(l, QUIRE_E_UNSUPPORTED, "flags of a regular expression");
    const quire_status status =
        qr_regex_parse(l->set, l->t->text, l->t->size, 0, l->f->deadline, &r, &err);
    if (status != QUIRE_OK)
        return fail(l, status, err.msg);
    l->t++;
    return of_regex(r);
}

static struct value string(struct lark *l)
{
    const struct qr_lark_token *first = l->t++;
    const bool range = l->t->kind == QR_LARK_RANGE && l->t[1].kind == QR_LARK_STRING;
    const char *why = NULL;
    const qr_regex r =
        range ? qr_lark_range(l->set, first, l->t + 1, &why) : qr_lark_string(l->set, first, &why);
    l->t += range ? 2 : 0;
    return why ? invalid(l, why) : of_regex(r);
}

static struct value control_token(struct lark *l, bool terminal)
{
    const struct quire_tokenizer *tok = l->f->tok;
    const int32_t id = tok ? quire_tokenizer_find(tok, l->t->text, l->t->size) : -1;
    if (terminal)
        return invalid(l, "a control token in a terminal");
    if (id < 0 || !quire_tokenizer_is_special(tok, id))
        return fail(l, QUIRE_E_UNSUPPORTED, "the vocabulary has no control token of this name");
    l->t++;
    return of_node(qr_build_token(l->f->builder, id));
}

/* A JSON Schema: its value is written as the front end of schemas does. */
static struct value schema(struct lark *l, bool terminal)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    qr_node node;
    if (terminal)
        return invalid(l, "%json in a terminal");
    const quire_status status = qr_schema_build(l->f, l->t->text, l->t->size, &node, &err);
    if (status != QUIRE_OK)
        return fail(l, status, err.msg);
    l->t++;
    return of_node(with_ignored(l, node, false));
}

static struct value group(struct lark *l, bool terminal)
{
    const bool optional = is_sign(l, '[');
    if (++l->depth > MAX_DEPTH)
        return fail(l, QUIRE_E_LIMIT, "parentheses are nested too deeply");
    l->t++;
    struct value v = alternatives(l, terminal);
    l->depth--;
    if (l->status == QUIRE_OK && !accept(l, optional ? ']' : ')'))
        return invalid(l, optional ? "[ without ]" : "( without )");
    return optional && l->status == QUIRE_OK ? repeat(l, v, 0, 1, terminal) : v;
}

static struct value atom(struct lark *l, bool terminal)
{
    switch (l->t->kind) {
    case QR_LARK_NAME:
        return name(l, terminal);
    case QR_LARK_STRING:
        return string(l);
    case QR_LARK_REGEX:
        return regex(l);
    case QR_LARK_TOKEN:
        return control_token(l, terminal);
    case QR_LARK_JSON:
        return schema(l, terminal);
    default:
        if (is_sign(l, '(') || is_sign(l, '['))
            return group(l, terminal);
        return invalid(l, "expected a name, a string or a regular expression");
    }
}

static bool read_number(struct lark *l, uint32_t *out)
{
    *out = 0;
    if (l->t->kind != QR_LARK_NUMBER)
        return false;
    for (size_t i = 0; i < l->t->size && *out <= MAX_REPEAT; i++)
        *out = 10 * *out + (uint32_t)(l->t->text[i] - '0');
    l->t++;
    if (*out > MAX_REPEAT)
        fail(l, QUIRE_E_LIMIT, "too many repetitions");
    return true;
}

/* ~n, ~n..m, {n}, {n,}, {n,m} */
static struct value counted(struct lark *l, struct value v, bool braces, bool terminal)
{
    uint32_t min, max;
    const bool has_min = read_number(l, &min);
    max = min;
    if (!has_min && !(braces && is_sign(l, ',')))
        return invalid(l, "expected a number of repetitions");
    if (braces ? accept(l, ',') : l->t->kind == QR_LARK_RANGE) {
        l->t += !braces;
        if (!read_number(l, &max))
            max = QR_REGEX_UNBOUNDED;
        if (!braces && max == QR_REGEX_UNBOUNDED)
            return invalid(l, "expected a number behind ..");
    }
    if ((braces && !accept(l, '}')) || min > max)
        return invalid(l, "malformed repetition");
    return repeat(l, v, min, max, terminal);
}

static struct value item(struct lark *l, bool terminal)
{
    struct value v = atom(l, terminal);
    while (check(l) && l->t->kind == QR_LARK_SIGN && strchr("*+?~{", *l->t->text)) {
        const char c = *l->t++->text;
        if (c == '~' || c == '{')
            v = counted(l, v, c == '{', terminal);
        else
            v = repeat(l, v, c == '+', c == '?' ? 1 : QR_REGEX_UNBOUNDED, terminal);
    }
    return v;
}

/* Whether an alternative ends here. */
static bool ends(const struct lark *l)
{
    return l->t->kind == QR_LARK_NEWLINE || l->t->kind == QR_LARK_END ||
           l->t->kind == QR_LARK_ARROW || is_sign(l, '|') || is_sign(l, ')') || is_sign(l, ']');
}

static struct value sequence(struct lark *l, bool terminal)
{
    struct value v = empty(l, terminal);
    for (bool first = true; l->status == QUIRE_OK && !ends(l); first = false) {
        const struct value next = item(l, terminal);
        if (l->status == QUIRE_OK)
            v = first ? next : pair(l, v, next, terminal, false);
    }
    if (l->t->kind == QR_LARK_ARROW) { /* the alias has no effect */
        l->t++;
        if (l->t->kind != QR_LARK_NAME)
            return invalid(l, "expected a name behind ->");
        l->t++;
    }
    return v;
}

static struct value alternatives(struct lark *l, bool terminal)
{
    accept(l, '|');
    struct value v = sequence(l, terminal);
    while (l->status == QUIRE_OK && accept(l, '|')) {
        const struct value next = sequence(l, terminal);
        if (l->status == QUIRE_OK)
            v = pair(l, v, next, terminal, true);
    }
    return v;
}

/* ---- Definitions */

static struct definition *define(struct lark *l, const struct qr_lark_token *t)
{
    if (find(l, t->text, t->size)) {
        invalid(l, "a name is defined twice");
        return NULL;
    }
    if (l->n == l->capacity &&
        !qr_grow(l->f->allocator, (void **)&l->list, &l->capacity, l->n + 16, sizeof *l->list)) {
        fail(l, QUIRE_E_NOMEM, "no memory");
        return NULL;
    }
    struct definition *d = &l->list[l->n++];
    *d =
        (struct definition){ .name = t->text, .size = t->size, .terminal = qr_lark_is_terminal(t) };
    return d;
}

static void skip_line(struct lark *l)
{
    while (l->t->kind != QR_LARK_NEWLINE && l->t->kind != QR_LARK_END)
        l->t++;
}

/* %import common.NAME, %import common (A, B) */
static void import(struct lark *l)
{
    if (l->t->kind != QR_LARK_NAME || l->t->size != 6 || memcmp(l->t->text, "common", 6) != 0) {
        fail(l, QUIRE_E_UNSUPPORTED, "only the module common can be imported");
        return;
    }
    l->t++;
    const bool list = accept(l, '(');
    if (!list && !accept(l, '.'))
        invalid(l, "expected a name behind the module");
    while (l->status == QUIRE_OK && l->t->kind == QR_LARK_NAME) {
        const char *pattern = qr_lark_common(l->t->text, l->t->size);
        struct definition *d = pattern ? define(l, l->t) : NULL;
        if (!pattern)
            fail(l, QUIRE_E_UNSUPPORTED, "common has no such terminal here");
        if (d) {
            d->state = DONE;
            const quire_status status = qr_regex_parse(l->set, pattern, strlen(pattern), 0,
                                                       l->f->deadline, &d->regex, NULL);
            if (status != QUIRE_OK)
                fail(l, status, "the terminal");
        }
        l->t++;
        if (list)
            accept(l, ',');
    }
    if (list && !accept(l, ')'))
        invalid(l, "( without )");
}

/* First pass: names. */
static void collect(struct lark *l)
{
    while (check(l) && l->t->kind != QR_LARK_END) {
        if (l->t->kind == QR_LARK_NEWLINE) {
            l->t++;
        } else if (l->t->kind == QR_LARK_DIRECTIVE) {
            const struct qr_lark_token *t = l->t++;
            if (qr_lark_is_text(t, "%import"))
                import(l);
            else if (!qr_lark_is_text(t, "%ignore"))
                fail(l, QUIRE_E_UNSUPPORTED, "directive other than %ignore and %import");
            skip_line(l);
        } else {
            while (accept(l, '?') || accept(l, '!'))
                ;
            if (l->t->kind != QR_LARK_NAME) {
                invalid(l, "expected a definition");
                return;
            }
            struct definition *d = define(l, l->t++);
            if (is_sign(l, '.') && l->t[1].kind == QR_LARK_NUMBER)
                l->t += 2; /* priority */
            if (is_sign(l, '{'))
                fail(l, QUIRE_E_UNSUPPORTED, "template");
            if (d && l->status == QUIRE_OK && !accept(l, ':'))
                invalid(l, "expected : behind a name");
            if (d)
                d->body = (size_t)(l->t - l->tokens);
            skip_line(l);
        }
    }
}

/* The expressions of %ignore. */
static void collect_ignored(struct lark *l)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the tokens end with QR_LARK_END */
    for (l->t = l->tokens; l->status == QUIRE_OK && l->t->kind != QR_LARK_END; l->t++) {
        if (l->t->kind != QR_LARK_DIRECTIVE || !qr_lark_is_text(l->t, "%ignore"))
            continue;
        l->t++;
        const qr_regex r = alternatives(l, true).regex;
        if (l->status == QUIRE_OK && l->n_ignore == l->ignore_capacity &&
            !qr_grow(l->f->allocator, (void **)&l->ignore, &l->ignore_capacity, l->n_ignore + 4,
                     sizeof r))
            fail(l, QUIRE_E_NOMEM, "no memory");
        if (l->status == QUIRE_OK)
            l->ignore[l->n_ignore++] = r;
        l->t--;
    }
    const qr_regex any = qr_regex_or(l->set, l->ignore, l->n_ignore);
    l->ignored = qr_regex_repeat(l->set, any, 0, QR_REGEX_UNBOUNDED); /* of none: empty */
}

static qr_node build(struct lark *l)
{
    collect(l);
    collect_ignored(l);
    struct definition *start = l->status == QUIRE_OK ? find(l, "start", 5) : NULL;
    if (l->status == QUIRE_OK && !start)
        l->status = qr_fail(l->err, QUIRE_E_INVALID_ARG, "the grammar has no rule \"start\"");
    for (size_t i = 0; l->status == QUIRE_OK && i < l->n; i++)
        if (!l->list[i].terminal)
            l->list[i].node = qr_build_rule(l->f->builder);
    for (size_t i = 0; check(l) && i < l->n; i++) {
        if (l->list[i].terminal)
            continue;
        l->t = l->tokens + l->list[i].body;
        const struct value v = alternatives(l, false);
        if (l->status == QUIRE_OK && l->t->kind != QR_LARK_NEWLINE)
            invalid(l, "unexpected text in a rule");
        if (l->status == QUIRE_OK)
            qr_build_define(l->f->builder, l->list[i].node, node_of(l, v));
    }
    if (l->status != QUIRE_OK)
        return 0;
    return with_ignored(l, start->node, true);
}

quire_status qr_lark_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                           struct quire_error *err)
{
    struct lark l = { .f = f, .set = qr_builder_regexes(f->builder), .err = err };
    struct qr_lark_token *tokens;
    size_t capacity;
    *out = 0;
    l.status = qr_lark_split(text, size, f->allocator, &tokens, &capacity, err);
    if (l.status == QUIRE_OK) {
        l.tokens = l.t = tokens;
        *out = build(&l);
    }
    qr_free(f->allocator, tokens, capacity, sizeof *tokens);
    qr_free(f->allocator, l.list, l.capacity, sizeof *l.list);
    qr_free(f->allocator, l.ignore, l.ignore_capacity, sizeof *l.ignore);
    if (l.status != QUIRE_OK)
        *out = 0;
    else if (qr_builder_status(f->builder) != QUIRE_OK)
        l.status =
            qr_fail(err, qr_builder_status(f->builder), "the expressions are nested too deeply");
    return l.status;
}
