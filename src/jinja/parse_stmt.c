/* SPDX-License-Identifier: Apache-2.0 */
/* parse_stmt.c - parses templates and statements by recursive descent. */
#include "jinja/parse_stmt.h"
#include "base/error.h"
#include "jinja/ast.h"
#include "jinja/interp.h"
#include "jinja/lexer.h"
#include "jinja/parse_expr.h"
#include "jinja/parse_operand.h"
#include "jinja/parser.h"
#include "jinja/value.h"
#include <string.h>

static quire_status parse_body(struct qr_jinja_parser *p, const char *const *ends,
                               struct qr_jinja_node **out);

static quire_status expect_name(struct qr_jinja_parser *p, const char *name)
{
    return qr_jinja_parser_accept_name(p, name) ? QUIRE_OK : qr_jinja_parser_unexpected(p, name);
}

static quire_status expect_block_end(struct qr_jinja_parser *p)
{
    if (p->t->type != QR_JINJA_TOKEN_BLOCK_END)
        return qr_jinja_parser_unexpected(p, "the end of the tag");
    qr_jinja_parser_advance(p);
    return QUIRE_OK;
}

/* Parses a body up to {% <end> %} and consumes the name of that tag, but not its %}. */
static quire_status parse_body_to(struct qr_jinja_parser *p, const char *end,
                                  struct qr_jinja_node **out)
{
    const char *const ends[] = { end, NULL };
    QR_TRY(parse_body(p, ends, out));
    qr_jinja_parser_advance(p);
    return QUIRE_OK;
}

/* --- statements: the name of the tag is consumed, its %} is not --- */
/* elif branches are a linked chain, so that their number does not nest the tree. */
static quire_status parse_if(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    for (struct qr_jinja_node *at = n;; at = at->b) {
        QR_TRY(qr_jinja_parse_tuple(p, false, NULL, &at->a));
        QR_TRY(parse_body(p, ends, &at->c));
        const size_t pos = p->t->pos;
        if (qr_jinja_parser_accept_name(p, "elif")) {
            QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_STMT_IF, pos, &at->b));
            continue;
        }
        if (qr_jinja_parser_accept_name(p, "else"))
            return parse_body_to(p, "endif", &at->d);
        qr_jinja_parser_advance(p);
        return QUIRE_OK;
    }
}

static quire_status parse_for(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    static const char *const ends[] = { "endfor", "else", NULL };
    QR_TRY(qr_jinja_parse_target(p, false, "in", &n->a));
    QR_TRY(expect_name(p, "in"));
    QR_TRY(qr_jinja_parse_tuple(p, false, "recursive", &n->b));
    if (qr_jinja_parser_accept_name(p, "if"))
        QR_TRY(qr_jinja_parse_expression(p, true, &n->e));
    if (qr_jinja_parser_accept_name(p, "recursive"))
        n->flags |= QR_JINJA_LOOP_RECURSIVE;
    p->loops++;
    QR_TRY(parse_body(p, ends, &n->c));
    p->loops--;
    if (qr_jinja_parser_accept_name(p, "else"))
        return parse_body_to(p, "endfor", &n->d);
    qr_jinja_parser_advance(p);
    return QUIRE_OK;
}

/* Without `=` the value is the output of the block. */
static quire_status parse_set(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    QR_TRY(qr_jinja_parse_target(p, true, NULL, &n->a));
    if (qr_jinja_parser_accept_op(p, '='))
        return qr_jinja_parse_tuple(p, true, NULL, &n->b);
    n->kind = QR_JINJA_STMT_SET_BLOCK;
    if (qr_jinja_parser_accept_op(p, '|'))
        QR_TRY(qr_jinja_parse_filter_chain(p, &n->b));
    return parse_body_to(p, "endset", &n->c);
}

/* Parameters of a macro or a call block. */
static quire_status parse_params(struct qr_jinja_parser *p, struct qr_jinja_node **out)
{
    struct qr_jinja_node **tail = out;
    bool defaults = false;
    QR_TRY(qr_jinja_parser_expect_op(p, '('));
    while (!qr_jinja_parser_accept_op(p, ')')) {
        if (tail != out)
            QR_TRY(qr_jinja_parser_expect_op(p, ','));
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_PARAM, p->t->pos, tail));
        QR_TRY(qr_jinja_parser_take_name(p, &(*tail)->value));
        if (qr_jinja_parser_accept_op(p, '=')) {
            QR_TRY(qr_jinja_parse_expression(p, true, &(*tail)->a));
            defaults = true;
        } else if (defaults) {
            return qr_jinja_parser_error(p, "non-default argument follows default argument");
        }
        tail = &(*tail)->next;
    }
    return QUIRE_OK;
}

/* Parses the body of a macro or call block. The special variables it mentions are recorded for the
 * enclosing macro as well. Enclosing loops are not visible to break and continue. */
static quire_status parse_macro_body(struct qr_jinja_parser *p, struct qr_jinja_node *macro,
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

static quire_status parse_macro(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    QR_TRY(qr_jinja_parser_take_name(p, &n->value));
    QR_TRY(parse_params(p, &n->a));
    return parse_macro_body(p, n, "endmacro");
}

/* {% call(args) macro() %}: the block becomes a macro without name. */
static quire_status parse_call_block(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_STMT_MACRO, n->pos, &n->b));
    if (qr_jinja_parser_at_op(p, '('))
        QR_TRY(parse_params(p, &n->b->a));
    QR_TRY(qr_jinja_parse_expression(p, true, &n->a));
    if (n->a->kind != QR_JINJA_EXPR_CALL)
        return qr_jinja_parser_error(p, "expected call");
    return parse_macro_body(p, n->b, "endcall");
}

static quire_status parse_filter_block(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    QR_TRY(qr_jinja_parse_filter_chain(p, &n->b));
    return parse_body_to(p, "endfilter", &n->c);
}

/* {% with a = 1, b = 2 %}. */
static quire_status parse_with(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    struct qr_jinja_node **tail = &n->a;
    while (p->t->type != QR_JINJA_TOKEN_BLOCK_END) {
        if (tail != &n->a)
            QR_TRY(qr_jinja_parser_expect_op(p, ','));
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_STMT_SET, p->t->pos, tail));
        struct qr_jinja_node *set = *tail;
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_NAME, p->t->pos, &set->a));
        QR_TRY(qr_jinja_parser_take_name(p, &set->a->value));
        QR_TRY(qr_jinja_parser_expect_op(p, '='));
        QR_TRY(qr_jinja_parse_expression(p, true, &set->b));
        tail = &set->next;
    }
    return parse_body_to(p, "endwith", &n->c);
}

/* {% print a, b %}. */
static quire_status parse_print(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    struct qr_jinja_node **tail = &n->a;
    do {
        QR_TRY(qr_jinja_parse_expression(p, true, tail));
        tail = &(*tail)->next;
    } while (qr_jinja_parser_accept_op(p, ','));
    return QUIRE_OK;
}

/* {% generation %} of Hugging Face marks text for training masks; here it only opens a scope. */
static quire_status parse_generation(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    return parse_body_to(p, "endgeneration", &n->c);
}

/* Autoescape is always off; `autoescape false` is accepted. */
static quire_status parse_autoescape(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    struct qr_jinja_node *on;
    QR_TRY(qr_jinja_parse_expression(p, true, &on));
    if (on->kind != QR_JINJA_EXPR_CONST || on->value.type != QR_JINJA_BOOL || on->value.b) {
        p->j->pos = on->pos;
        return qr_jinja_fail(p->j, QUIRE_E_UNSUPPORTED, "template: autoescape is not supported");
    }
    return parse_body_to(p, "endautoescape", &n->c);
}

/* Without inheritance a block is equivalent to its contents. */
static quire_status parse_block(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    struct qr_jinja_value name;
    QR_TRY(qr_jinja_parser_take_name(p, &name));
    qr_jinja_parser_accept_name(p, "scoped");
    qr_jinja_parser_accept_name(p, "required");
    QR_TRY(parse_body_to(p, "endblock", &n->c));
    if (p->t->type == QR_JINJA_TOKEN_NAME && p->t->n == name.s->n &&
        memcmp(p->t->p, name.s->p, name.s->n) == 0)
        qr_jinja_parser_advance(p);
    return QUIRE_OK;
}

/* break and continue refer to loops within the current macro. */
static quire_status parse_jump(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    (void)n;
    return p->loops ? QUIRE_OK : qr_jinja_parser_error(p, "break or continue outside a loop");
}

static quire_status parse_unsupported(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    p->j->pos = n->pos;
    return qr_jinja_fail(p->j, QUIRE_E_UNSUPPORTED,
                         "template: include, import, from and extends are not supported");
}

static const struct {
    const char *name;
    enum qr_jinja_node_kind kind;
    quire_status (*parse)(struct qr_jinja_parser *p, struct qr_jinja_node *n);
} statements[] = {
    { "if", QR_JINJA_STMT_IF, parse_if },
    { "for", QR_JINJA_STMT_FOR, parse_for },
    { "set", QR_JINJA_STMT_SET, parse_set },
    { "macro", QR_JINJA_STMT_MACRO, parse_macro },
    { "call", QR_JINJA_STMT_CALL_BLOCK, parse_call_block },
    { "filter", QR_JINJA_STMT_FILTER_BLOCK, parse_filter_block },
    { "with", QR_JINJA_STMT_WITH, parse_with },
    { "print", QR_JINJA_STMT_PRINT, parse_print },
    { "break", QR_JINJA_STMT_BREAK, parse_jump },
    { "continue", QR_JINJA_STMT_CONTINUE, parse_jump },
    { "generation", QR_JINJA_STMT_SCOPE, parse_generation },
    { "autoescape", QR_JINJA_STMT_SCOPE, parse_autoescape },
    { "block", QR_JINJA_STMT_SCOPE, parse_block },
    { "include", QR_JINJA_STMT_SCOPE, parse_unsupported },
    { "import", QR_JINJA_STMT_SCOPE, parse_unsupported },
    { "from", QR_JINJA_STMT_SCOPE, parse_unsupported },
    { "extends", QR_JINJA_STMT_SCOPE, parse_unsupported },
};

/* Parses a statement after its {%, including its last %}. */
static quire_status parse_statement(struct qr_jinja_parser *p, struct qr_jinja_node **out)
{
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        const size_t pos = p->t->pos;
        if (!qr_jinja_parser_accept_name(p, statements[i].name))
            continue;
        QR_TRY(qr_jinja_parser_enter(p));
        QR_TRY(qr_jinja_node_new(p->j, statements[i].kind, pos, out));
        QR_TRY(statements[i].parse(p, *out));
        p->depth--;
        return expect_block_end(p);
    }
    const int n = p->t->n > 60 ? 60 : (int)p->t->n;
    if (p->t->type == QR_JINJA_TOKEN_NAME)
        return qr_jinja_parser_error(p, "Encountered unknown tag '%.*s'.", n, p->t->p);
    return qr_jinja_parser_unexpected(p, "a tag name");
}

/* Parses statements up to a tag named in `ends`, whose name becomes the current token; ends ==
 * NULL: up to the end of the template. */
static quire_status parse_list(struct qr_jinja_parser *p, const char *const *ends,
                               struct qr_jinja_node **tail)
{
    for (;; tail = &(*tail)->next) {
        const struct qr_jinja_token *t = p->t;
        if (t->type == QR_JINJA_TOKEN_EOF)
            return ends ? qr_jinja_parser_unexpected(p, ends[0]) : QUIRE_OK;
        qr_jinja_parser_advance(p);
        if (t->type == QR_JINJA_TOKEN_DATA) {
            QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_STMT_TEXT, t->pos, tail));
            QR_TRY(qr_jinja_str_borrow(p->j, t->p, t->n, false, &(*tail)->value));
        } else if (t->type == QR_JINJA_TOKEN_VAR_BEGIN) {
            QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_STMT_PRINT, t->pos, tail));
            QR_TRY(qr_jinja_parse_tuple(p, true, NULL, &(*tail)->a));
            if (p->t->type != QR_JINJA_TOKEN_VAR_END)
                return qr_jinja_parser_unexpected(p, "}}");
            qr_jinja_parser_advance(p);
        } else {
            for (const char *const *end = ends; end && *end; end++)
                if (qr_jinja_parser_at_name(p, *end))
                    return QUIRE_OK;
            QR_TRY(parse_statement(p, tail));
        }
    }
}

static quire_status parse_body(struct qr_jinja_parser *p, const char *const *ends,
                               struct qr_jinja_node **out)
{
    qr_jinja_parser_accept_op(p, ':'); /* an optional colon, as in Python */
    QR_TRY(expect_block_end(p));
    return parse_list(p, ends, out);
}

quire_status qr_jinja_parse(struct qr_jinja *j, struct qr_jinja_node **out)
{
    struct qr_jinja_token *tokens;
    uint8_t flags = 0;
    QR_TRY(qr_jinja_lex(j, &tokens));
    struct qr_jinja_parser p = { .j = j, .t = tokens, .macro_flags = &flags };
    *out = NULL;
    return parse_list(&p, NULL, out);
}
