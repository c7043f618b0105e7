/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_parse.c - statements, and the small tools of the parser. */
#include "jinja/ast.h"
#include "jinja/text.h"
#include <stdarg.h>
#include <stdio.h>

static quire_status parse_body(struct qr_j_parser *p, const char *const *ends,
                               struct qr_j_node **out);

/* --- tools --- */
quire_status qr_j_syntax_error(struct qr_j_parser *p, const char *fmt, ...)
{
    char msg[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    p->j->pos = p->t->pos;
    return qr_j_fail(p->j, QUIRE_E_FORMAT, "chat template: %s", msg);
}

quire_status qr_j_unexpected(struct qr_j_parser *p, const char *wanted)
{
    const struct qr_j_token *t = p->t;
    const int n = t->n > 60 ? 60 : (int)t->n;
    switch (t->type) {
    case QR_J_T_NAME:
    case QR_J_T_STRING:
        return qr_j_syntax_error(p, "expected %s, got '%.*s'", wanted, n, t->p);
    case QR_J_T_OP:
        if (t->op < QR_J_OP_EQ)
            return qr_j_syntax_error(p, "expected %s, got '%c'", wanted, t->op);
        return qr_j_syntax_error(p, "expected %s, got an operator", wanted);
    case QR_J_T_EOF:
        return qr_j_syntax_error(p, "unexpected end of template, expected %s", wanted);
    case QR_J_T_VAR_END:
    case QR_J_T_BLOCK_END:
        return qr_j_syntax_error(p, "expected %s, got the end of the tag", wanted);
    default:
        return qr_j_syntax_error(p, "expected %s", wanted);
    }
}

quire_status qr_j_parse_enter(struct qr_j_parser *p)
{
    p->j->pos = p->t->pos;
    return p->depth++ < QR_J_MAX_NESTING ? QUIRE_OK : qr_j_too_deep(p->j);
}

quire_status qr_j_node(struct qr_j_parser *p, enum qr_j_kind kind, size_t pos,
                       struct qr_j_node **out)
{
    struct qr_j_node *n;
    QR_J_NEW(p->j, n, 1);
    n->kind = kind;
    n->pos = pos;
    *out = n;
    return QUIRE_OK;
}

bool qr_j_at_name(const struct qr_j_parser *p, const char *name)
{
    return p->t->type == QR_J_T_NAME && p->t->n == strlen(name) &&
           memcmp(p->t->p, name, p->t->n) == 0;
}

bool qr_j_skip_name(struct qr_j_parser *p, const char *name)
{
    const bool here = qr_j_at_name(p, name);
    if (here)
        qr_j_advance(p);
    return here;
}

bool qr_j_skip_op(struct qr_j_parser *p, int op)
{
    const bool here = qr_j_at_op(p, op);
    if (here)
        qr_j_advance(p);
    return here;
}

quire_status qr_j_expect_op(struct qr_j_parser *p, int op)
{
    const char wanted[] = { '\'', (char)op, '\'', 0 };
    return qr_j_skip_op(p, op) ? QUIRE_OK : qr_j_unexpected(p, wanted);
}

quire_status qr_j_take_name(struct qr_j_parser *p, struct qr_j_value *out)
{
    if (p->t->type != QR_J_T_NAME)
        return qr_j_unexpected(p, "a name");
    QR_TRY(qr_j_text(p->j, p->t->p, p->t->n, false, out));
    qr_j_advance(p);
    return QUIRE_OK;
}

static quire_status expect_name(struct qr_j_parser *p, const char *name)
{
    return qr_j_skip_name(p, name) ? QUIRE_OK : qr_j_unexpected(p, name);
}

static quire_status expect_block_end(struct qr_j_parser *p)
{
    if (p->t->type != QR_J_T_BLOCK_END)
        return qr_j_unexpected(p, "the end of the tag");
    qr_j_advance(p);
    return QUIRE_OK;
}

/* The body of a tag that ends with {% <end> %}; that tag's name is taken, its closing %} is not. */
static quire_status parse_body_to(struct qr_j_parser *p, const char *end, struct qr_j_node **out)
{
    const char *const ends[] = { end, NULL };
    QR_TRY(parse_body(p, ends, out));
    qr_j_advance(p);
    return QUIRE_OK;
}

/* --- statements: the tag's name is the token before the current one --- */
/* elif branches are a chain, not nested, however many there are. */
static quire_status parse_if(struct qr_j_parser *p, struct qr_j_node *n)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    for (struct qr_j_node *at = n;; at = at->b) {
        QR_TRY(qr_j_parse_tuple(p, false, NULL, &at->a));
        QR_TRY(parse_body(p, ends, &at->c));
        const size_t pos = p->t->pos;
        if (qr_j_skip_name(p, "elif")) {
            QR_TRY(qr_j_node(p, QR_J_S_IF, pos, &at->b));
            continue;
        }
        if (qr_j_skip_name(p, "else"))
            return parse_body_to(p, "endif", &at->d);
        qr_j_advance(p);
        return QUIRE_OK;
    }
}

static quire_status parse_for(struct qr_j_parser *p, struct qr_j_node *n)
{
    static const char *const ends[] = { "endfor", "else", NULL };
    QR_TRY(qr_j_parse_target(p, false, "in", &n->a));
    QR_TRY(expect_name(p, "in"));
    QR_TRY(qr_j_parse_tuple(p, false, "recursive", &n->b));
    if (qr_j_skip_name(p, "if"))
        QR_TRY(qr_j_parse_expression(p, true, &n->e));
    if (qr_j_skip_name(p, "recursive"))
        n->flags |= QR_J_RECURSIVE;
    p->loops++;
    QR_TRY(parse_body(p, ends, &n->c));
    p->loops--;
    if (qr_j_skip_name(p, "else"))
        return parse_body_to(p, "endfor", &n->d);
    qr_j_advance(p);
    return QUIRE_OK;
}

/* Without `=` the value is what the block prints. */
static quire_status parse_set(struct qr_j_parser *p, struct qr_j_node *n)
{
    QR_TRY(qr_j_parse_target(p, true, NULL, &n->a));
    if (qr_j_skip_op(p, '='))
        return qr_j_parse_tuple(p, true, NULL, &n->b);
    n->kind = QR_J_S_SET_BLOCK;
    if (qr_j_skip_op(p, '|'))
        QR_TRY(qr_j_parse_filter_chain(p, &n->b));
    return parse_body_to(p, "endset", &n->c);
}

/* Of a macro or of a call block. */
static quire_status parse_params(struct qr_j_parser *p, struct qr_j_node **out)
{
    struct qr_j_node **tail = out;
    bool defaults = false;
    QR_TRY(qr_j_expect_op(p, '('));
    while (!qr_j_skip_op(p, ')')) {
        if (tail != out)
            QR_TRY(qr_j_expect_op(p, ','));
        QR_TRY(qr_j_node(p, QR_J_PARAM, p->t->pos, tail));
        QR_TRY(qr_j_take_name(p, &(*tail)->value));
        if (qr_j_skip_op(p, '=')) {
            QR_TRY(qr_j_parse_expression(p, true, &(*tail)->a));
            defaults = true;
        } else if (defaults) {
            return qr_j_syntax_error(p, "non-default argument follows default argument");
        }
        tail = &(*tail)->next;
    }
    return QUIRE_OK;
}

/* Body of a macro or call block: its special variables are its own, but what it mentions counts
 * for the macro around it too. */
static quire_status parse_macro_body(struct qr_j_parser *p, struct qr_j_node *macro,
                                     const char *end)
{
    uint8_t *outer = p->macro_flags;
    const unsigned loops = p->loops;
    p->macro_flags = &macro->flags;
    p->loops = 0;
    QR_TRY(parse_body_to(p, end, &macro->c));
    p->macro_flags = outer;
    p->loops = loops;
    *outer |= macro->flags;
    return QUIRE_OK;
}

static quire_status parse_macro(struct qr_j_parser *p, struct qr_j_node *n)
{
    QR_TRY(qr_j_take_name(p, &n->value));
    QR_TRY(parse_params(p, &n->a));
    return parse_macro_body(p, n, "endmacro");
}

/* {% call(args) macro() %}: the block becomes a nameless macro. */
static quire_status parse_call_block(struct qr_j_parser *p, struct qr_j_node *n)
{
    QR_TRY(qr_j_node(p, QR_J_S_MACRO, n->pos, &n->b));
    if (qr_j_at_op(p, '('))
        QR_TRY(parse_params(p, &n->b->a));
    QR_TRY(qr_j_parse_expression(p, true, &n->a));
    if (n->a->kind != QR_J_E_CALL)
        return qr_j_syntax_error(p, "expected call");
    return parse_macro_body(p, n->b, "endcall");
}

static quire_status parse_filter_block(struct qr_j_parser *p, struct qr_j_node *n)
{
    QR_TRY(qr_j_parse_filter_chain(p, &n->b));
    return parse_body_to(p, "endfilter", &n->c);
}

/* {% with a = 1, b = 2 %}. */
static quire_status parse_with(struct qr_j_parser *p, struct qr_j_node *n)
{
    struct qr_j_node **tail = &n->a;
    while (p->t->type != QR_J_T_BLOCK_END) {
        if (tail != &n->a)
            QR_TRY(qr_j_expect_op(p, ','));
        QR_TRY(qr_j_node(p, QR_J_S_SET, p->t->pos, tail));
        struct qr_j_node *set = *tail;
        QR_TRY(qr_j_node(p, QR_J_E_NAME, p->t->pos, &set->a));
        QR_TRY(qr_j_take_name(p, &set->a->value));
        QR_TRY(qr_j_expect_op(p, '='));
        QR_TRY(qr_j_parse_expression(p, true, &set->b));
        tail = &set->next;
    }
    return parse_body_to(p, "endwith", &n->c);
}

/* {% print a, b %}. */
static quire_status parse_print(struct qr_j_parser *p, struct qr_j_node *n)
{
    struct qr_j_node **tail = &n->a;
    do {
        QR_TRY(qr_j_parse_expression(p, true, tail));
        tail = &(*tail)->next;
    } while (qr_j_skip_op(p, ','));
    return QUIRE_OK;
}

/* Marks the assistant's own words for training; here only a scope. */
static quire_status parse_generation(struct qr_j_parser *p, struct qr_j_node *n)
{
    return parse_body_to(p, "endgeneration", &n->c);
}

/* Only turning off what is off already. */
static quire_status parse_autoescape(struct qr_j_parser *p, struct qr_j_node *n)
{
    struct qr_j_node *on;
    QR_TRY(qr_j_parse_expression(p, true, &on));
    if (on->kind != QR_J_E_CONST || on->value.type != QR_J_BOOL || on->value.b) {
        p->j->pos = on->pos;
        return qr_j_fail(p->j, QUIRE_E_UNSUPPORTED, "chat template: autoescape is not supported");
    }
    return parse_body_to(p, "endautoescape", &n->c);
}

/* Without inheritance a block is just its contents. */
static quire_status parse_block(struct qr_j_parser *p, struct qr_j_node *n)
{
    struct qr_j_value name;
    QR_TRY(qr_j_take_name(p, &name));
    qr_j_skip_name(p, "scoped");
    qr_j_skip_name(p, "required");
    QR_TRY(parse_body_to(p, "endblock", &n->c));
    if (p->t->type == QR_J_T_NAME && p->t->n == name.s->n &&
        memcmp(p->t->p, name.s->p, name.s->n) == 0)
        qr_j_advance(p);
    return QUIRE_OK;
}

/* Loops outside the enclosing macro do not count. */
static quire_status parse_jump(struct qr_j_parser *p, struct qr_j_node *n)
{
    (void)n;
    return p->loops ? QUIRE_OK : qr_j_syntax_error(p, "break or continue outside a loop");
}

static quire_status parse_unsupported(struct qr_j_parser *p, struct qr_j_node *n)
{
    p->j->pos = n->pos;
    return qr_j_fail(p->j, QUIRE_E_UNSUPPORTED,
                     "chat template: include, import, from and extends need other files");
}

static const struct {
    const char *name;
    enum qr_j_kind kind;
    quire_status (*parse)(struct qr_j_parser *p, struct qr_j_node *n);
} statements[] = {
    { "if", QR_J_S_IF, parse_if },
    { "for", QR_J_S_FOR, parse_for },
    { "set", QR_J_S_SET, parse_set },
    { "macro", QR_J_S_MACRO, parse_macro },
    { "call", QR_J_S_CALL_BLOCK, parse_call_block },
    { "filter", QR_J_S_FILTER_BLOCK, parse_filter_block },
    { "with", QR_J_S_WITH, parse_with },
    { "print", QR_J_S_PRINT, parse_print },
    { "break", QR_J_S_BREAK, parse_jump },
    { "continue", QR_J_S_CONTINUE, parse_jump },
    { "generation", QR_J_S_SCOPE, parse_generation },
    { "autoescape", QR_J_S_SCOPE, parse_autoescape },
    { "block", QR_J_S_SCOPE, parse_block },
    { "include", QR_J_S_SCOPE, parse_unsupported },
    { "import", QR_J_S_SCOPE, parse_unsupported },
    { "from", QR_J_S_SCOPE, parse_unsupported },
    { "extends", QR_J_S_SCOPE, parse_unsupported },
};

/* A tag whose {% is taken, up to and with its last %}. */
static quire_status parse_statement(struct qr_j_parser *p, struct qr_j_node **out)
{
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        const size_t pos = p->t->pos;
        if (!qr_j_skip_name(p, statements[i].name))
            continue;
        QR_TRY(qr_j_parse_enter(p));
        QR_TRY(qr_j_node(p, statements[i].kind, pos, out));
        QR_TRY(statements[i].parse(p, *out));
        p->depth--;
        return expect_block_end(p);
    }
    const int n = p->t->n > 60 ? 60 : (int)p->t->n;
    if (p->t->type == QR_J_T_NAME)
        return qr_j_syntax_error(p, "Encountered unknown tag '%.*s'.", n, p->t->p);
    return qr_j_unexpected(p, "a tag name");
}

/* Statements up to a tag of `ends` (its name becomes the current token), or to the end of the
 * template when ends is NULL. */
static quire_status parse_list(struct qr_j_parser *p, const char *const *ends,
                               struct qr_j_node **tail)
{
    for (;; tail = &(*tail)->next) {
        const struct qr_j_token *t = p->t;
        if (t->type == QR_J_T_EOF)
            return ends ? qr_j_unexpected(p, ends[0]) : QUIRE_OK;
        qr_j_advance(p);
        if (t->type == QR_J_T_DATA) {
            QR_TRY(qr_j_node(p, QR_J_S_TEXT, t->pos, tail));
            QR_TRY(qr_j_text(p->j, t->p, t->n, false, &(*tail)->value));
        } else if (t->type == QR_J_T_VAR_BEGIN) {
            QR_TRY(qr_j_node(p, QR_J_S_PRINT, t->pos, tail));
            QR_TRY(qr_j_parse_tuple(p, true, NULL, &(*tail)->a));
            if (p->t->type != QR_J_T_VAR_END)
                return qr_j_unexpected(p, "}}");
            qr_j_advance(p);
        } else {
            for (const char *const *end = ends; end && *end; end++)
                if (qr_j_at_name(p, *end))
                    return QUIRE_OK;
            QR_TRY(parse_statement(p, tail));
        }
    }
}

static quire_status parse_body(struct qr_j_parser *p, const char *const *ends,
                               struct qr_j_node **out)
{
    qr_j_skip_op(p, ':'); /* allowed, as in Python */
    QR_TRY(expect_block_end(p));
    return parse_list(p, ends, out);
}

quire_status qr_j_parse(struct qr_j *j, struct qr_j_node **out)
{
    struct qr_j_token *tokens;
    uint8_t flags = 0;
    QR_TRY(qr_j_lex(j, &tokens));
    struct qr_j_parser p = { .j = j, .t = tokens, .macro_flags = &flags };
    *out = NULL;
    return parse_list(&p, NULL, out);
}
