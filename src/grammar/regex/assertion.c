/* SPDX-License-Identifier: Apache-2.0 */
/* assertion.c - regular expressions with anchors and look-ahead. */
#include "grammar/regex/assertion.h"
#include "grammar/regex/types.h"

enum { MAX_UNROLLED = 16, MAX_DEPTH = 200 };

void qr_assertions_init(struct qr_assertions *t, struct qr_regex_set *set)
{
    *t = (struct qr_assertions){ .set = set };
}

void qr_assertions_free(struct qr_assertions *t)
{
    qr_free(t->set->a, t->nodes, t->capacity, sizeof *t->nodes);
}

static qr_term add(struct qr_assertions *t, const struct qr_term_node *node)
{
    if (t->n + 2 > t->capacity &&
        !qr_grow(t->set->a, (void **)&t->nodes, &t->capacity, t->n + 16, sizeof *t->nodes))
        return 0;
    t->n += !t->n; /* term 0 is a failure */
    t->nodes[t->n] = *node;
    return (qr_term)t->n++;
}

static bool is_pure(const struct qr_assertions *t, qr_term a)
{
    return t->nodes[a].kind == QR_TERM_PURE;
}

qr_term qr_term_pure(struct qr_assertions *t, qr_regex r)
{
    return add(t, &(struct qr_term_node){
                      .kind = QR_TERM_PURE, .r = r, .zero_width = r == QR_REGEX_EMPTY });
}

qr_term qr_term_anchor(struct qr_assertions *t, enum qr_term_kind kind)
{
    return add(t, &(struct qr_term_node){ .kind = (uint8_t)kind,
                                          .zero_width = true,
                                          .has_start = kind == QR_TERM_START });
}

qr_term qr_term_look(struct qr_assertions *t, enum qr_term_kind kind, qr_term body)
{
    if (!body)
        return 0;
    return add(t, &(struct qr_term_node){ .kind = (uint8_t)kind,
                                          .zero_width = true,
                                          .has_start = t->nodes[body].has_start,
                                          .depth = t->nodes[body].depth + 1,
                                          .a = body });
}

static qr_term binary(struct qr_assertions *t, enum qr_term_kind kind, qr_term a, qr_term b)
{
    const struct qr_term_node x = t->nodes[a], y = t->nodes[b];
    return add(t, &(struct qr_term_node){ .kind = (uint8_t)kind,
                                          .zero_width = x.zero_width && y.zero_width,
                                          .has_start = x.has_start || y.has_start,
                                          .depth = (x.depth > y.depth ? x.depth : y.depth) + 1,
                                          .a = a,
                                          .b = b });
}

qr_term qr_term_concat(struct qr_assertions *t, qr_term a, qr_term b)
{
    if (!a || !b)
        return 0;
    const struct qr_term_node x = t->nodes[a], y = t->nodes[b];
    if (is_pure(t, a) && is_pure(t, b))
        return qr_term_pure(t, qr_regex_concat(t->set, (qr_regex[]){ x.r, y.r }, 2));
    if (is_pure(t, a) && x.r == QR_REGEX_EMPTY)
        return b;
    /* a list that grows at its end: join adjacent expressions, which keeps the nesting low */
    if (x.kind == QR_TERM_SEQUENCE && is_pure(t, x.b) && is_pure(t, b))
        return binary(t, QR_TERM_SEQUENCE, x.a, qr_term_concat(t, x.b, b));
    return binary(t, QR_TERM_SEQUENCE, a, b);
}

qr_term qr_term_or(struct qr_assertions *t, qr_term a, qr_term b)
{
    if (!a || !b)
        return 0;
    if (is_pure(t, a) && is_pure(t, b))
        return qr_term_pure(t,
                            qr_regex_or(t->set, (qr_regex[]){ t->nodes[a].r, t->nodes[b].r }, 2));
    return binary(t, QR_TERM_OR, a, b);
}

qr_term qr_term_repeat(struct qr_assertions *t, qr_term a, uint32_t min, uint32_t max)
{
    if (!a)
        return 0;
    if (is_pure(t, a))
        return qr_term_pure(t, qr_regex_repeat(t->set, t->nodes[a].r, min, max));
    if (t->nodes[a].zero_width && min)
        return a;
    qr_term out = qr_term_pure(t, QR_REGEX_EMPTY);
    if (t->nodes[a].zero_width)
        return out; /* an assertion that need not hold */
    if (max > MAX_UNROLLED)
        return QR_TERM_UNSUPPORTED;
    for (uint32_t i = max; i > 0; i--) {
        out = qr_term_concat(t, a, out);
        if (i > min)
            out = qr_term_or(t, qr_term_pure(t, QR_REGEX_EMPTY), out);
    }
    return out;
}

/* ---- Expressions */

struct compiler {
    struct qr_assertions *t;
    qr_regex any;                  /* any text */
    qr_regex word_next, word_last; /* texts that begin or end with a character of \w */
    quire_status status;
};

/* The term that stands before a boundary: the last of a sequence. */
static const struct qr_term_node *last_of(const struct compiler *c, qr_term term)
{
    const struct qr_term_node *n = &c->t->nodes[term];
    return n->kind == QR_TERM_SEQUENCE ? &c->t->nodes[n->b] : n;
}

static qr_regex with_rest(struct compiler *c, qr_term term, qr_regex rest, bool start);

/* The strings that begin with `before`, whose last term is `last`, then a boundary (or none), then
 * `rest`. */
static qr_regex at_boundary(struct compiler *c, qr_term before, bool boundary, qr_regex rest,
                            bool start)
{
    struct qr_regex_set *set = c->t->set;
    const struct qr_term_node node = c->t->nodes[before], *last = last_of(c, before);
    const qr_regex not_next = qr_regex_not(set, c->word_next);
    const qr_regex not_last = qr_regex_not(set, c->word_last);
    qr_regex parts[2];
    if (last->kind == QR_TERM_START) { /* nothing before: like a character that is no \w */
        const qr_regex next = boundary ? c->word_next : not_next;
        return with_rest(c, before, qr_regex_and(set, (qr_regex[]){ rest, next }, 2), start);
    }
    if (last->kind != QR_TERM_PURE || qr_regex_nullable(set, last->r)) {
        c->status = QUIRE_E_UNSUPPORTED;
        return QR_REGEX_NONE;
    }
    const qr_regex term = last->r;
    for (int word = 0; word < 2; word++) {
        const qr_regex next = word == boundary ? not_next : c->word_next;
        const qr_regex ends[2] = { term, word ? c->word_last : not_last };
        const qr_regex follows[2] = { rest, next };
        const qr_regex list[2] = { qr_regex_and(set, ends, 2), qr_regex_and(set, follows, 2) };
        parts[word] = qr_regex_concat(set, list, 2);
    }
    const qr_regex both = qr_regex_or(set, parts, 2);
    return node.kind == QR_TERM_SEQUENCE ? with_rest(c, node.a, both, start) : both;
}

/* The strings that begin with the term and go on with `rest`. At the start of the text if `start`,
 * where ^ holds; elsewhere it does not. */
static qr_regex with_rest(struct compiler *c, qr_term term, qr_regex rest, bool start)
{
    struct qr_regex_set *set = c->t->set;
    const struct qr_term_node *n = &c->t->nodes[term];
    switch (n->kind) {
    case QR_TERM_PURE:
        return qr_regex_concat(set, (qr_regex[]){ n->r, rest }, 2);
    case QR_TERM_START:
        return start ? rest : (qr_regex)QR_REGEX_NONE;
    case QR_TERM_END:
        return qr_regex_and(set, (qr_regex[]){ QR_REGEX_EMPTY, rest }, 2);
    case QR_TERM_OR: {
        const qr_regex a = with_rest(c, n->a, rest, start), b = with_rest(c, n->b, rest, start);
        return qr_regex_or(set, (qr_regex[]){ a, b }, 2);
    }
    case QR_TERM_SEQUENCE: {
        const struct qr_term_node *a = &c->t->nodes[n->a];
        const uint8_t kind = c->t->nodes[n->b].kind;
        if (kind == QR_TERM_BOUNDARY || kind == QR_TERM_NOT_BOUNDARY)
            return at_boundary(c, n->a, kind == QR_TERM_BOUNDARY, rest, start);
        const bool maybe_empty = a->kind != QR_TERM_PURE || qr_regex_nullable(set, a->r);
        if (start && !a->zero_width && maybe_empty && c->t->nodes[n->b].has_start)
            c->status = QUIRE_E_UNSUPPORTED;
        const qr_regex b = with_rest(c, n->b, rest, start && a->zero_width);
        return with_rest(c, n->a, b, start);
    }
    case QR_TERM_BOUNDARY:
    case QR_TERM_NOT_BOUNDARY: /* at the beginning of a term: what is before is not known */
        c->status = QUIRE_E_UNSUPPORTED;
        return QR_REGEX_NONE;
    default: {
        qr_regex body = with_rest(c, n->a, c->any, start);
        if (n->kind == QR_TERM_NOT_AHEAD)
            body = qr_regex_not(set, body);
        return qr_regex_and(set, (qr_regex[]){ body, rest }, 2);
    }
    }
}

quire_status qr_term_compile(struct qr_assertions *t, qr_term root, qr_regex any_char,
                             qr_regex word_char, bool search, qr_regex *out)
{
    struct compiler c = { t, qr_regex_repeat(t->set, any_char, 0, QR_REGEX_UNBOUNDED), 0, 0,
                          QUIRE_OK };
    c.word_next = qr_regex_concat(t->set, (qr_regex[]){ word_char, QR_REGEX_ANY }, 2);
    c.word_last = qr_regex_concat(t->set, (qr_regex[]){ c.any, word_char }, 2);
    const qr_regex rest = search ? c.any : (qr_regex)QR_REGEX_EMPTY;
    if (t->nodes[root].depth > MAX_DEPTH)
        return QUIRE_E_LIMIT;
    *out = with_rest(&c, root, rest, true);
    if (search && !t->nodes[root].has_start) {
        *out = qr_regex_concat(t->set, (qr_regex[]){ c.any, *out }, 2);
    } else if (search) {
        const qr_regex some = qr_regex_repeat(t->set, any_char, 1, QR_REGEX_UNBOUNDED);
        const qr_regex later = with_rest(&c, root, rest, false);
        *out = qr_regex_or(
            t->set, (qr_regex[]){ *out, qr_regex_concat(t->set, (qr_regex[]){ some, later }, 2) },
            2);
    }
    return c.status;
}
