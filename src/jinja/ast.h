/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_ast.h - tokens and syntax tree of a Jinja template. */
#ifndef QR_JINJA_AST_H
#define QR_JINJA_AST_H
#include "jinja/value.h"

/* --- tokens --- */
enum qr_j_token_type {
    QR_J_T_EOF,
    QR_J_T_DATA, /* text outside tags */
    QR_J_T_VAR_BEGIN,
    QR_J_T_VAR_END,
    QR_J_T_BLOCK_BEGIN,
    QR_J_T_BLOCK_END,
    QR_J_T_NAME,
    QR_J_T_STRING,
    QR_J_T_INT,
    QR_J_T_FLOAT,
    QR_J_T_OP /* op holds the character, or one of enum qr_j_op for two */
};

/* Operators of two characters; the others are their own character. */
enum qr_j_op {
    QR_J_OP_EQ = 128,
    QR_J_OP_NE,
    QR_J_OP_LE,
    QR_J_OP_GE,
    QR_J_OP_POW,
    QR_J_OP_FLOORDIV,
    QR_J_OP_IN,
    QR_J_OP_NOT_IN
};

struct qr_j_token {
    enum qr_j_token_type type;
    int op;
    size_t pos;    /* in the source */
    const char *p; /* text of DATA, NAME, STRING (decoded) */
    size_t n;
    int64_t i;
    double f;
};

/* Cuts j->source into tokens, the last of which is EOF. */
quire_status qr_j_lex(struct qr_j *j, struct qr_j_token **out);
/* If a number or a quoted string stands at *pos: fills t and moves *pos; else t->type stays EOF. */
quire_status qr_j_lex_literal(struct qr_j *j, size_t *pos, struct qr_j_token *t);

/* --- tree --- */
enum qr_j_kind {
    /* statements; lists of them hang together by `next` */
    QR_J_S_TEXT,         /* value: the text */
    QR_J_S_PRINT,        /* a: list of expressions */
    QR_J_S_IF,           /* a: test, c: body, b: next elif (an S_IF) or NULL, d: else body */
    QR_J_S_FOR,          /* a: target, b: iterable, e: filter test or NULL, c: body, d: else body */
    QR_J_S_SET,          /* a: target, b: expression */
    QR_J_S_SET_BLOCK,    /* a: target, b: filter chain or NULL, c: body */
    QR_J_S_MACRO,        /* value: name, a: list of PARAM, c: body */
    QR_J_S_CALL_BLOCK,   /* a: E_CALL, b: S_MACRO without name, the caller */
    QR_J_S_FILTER_BLOCK, /* b: filter chain, c: body */
    QR_J_S_WITH,         /* a: list of S_SET evaluated outside, c: body */
    QR_J_S_SCOPE,        /* c: body (generation, autoescape, block) */
    QR_J_S_BREAK,
    QR_J_S_CONTINUE,
    /* expressions; operands and arguments hang together by `next` */
    QR_J_E_CONST,   /* value */
    QR_J_E_NAME,    /* value: name */
    QR_J_E_NSREF,   /* value: name of a namespace, a: E_CONST attribute; only as a target */
    QR_J_E_LIST,    /* a: items */
    QR_J_E_TUPLE,   /* a: items */
    QR_J_E_DICT,    /* a: key, value, key, value ... */
    QR_J_E_OR,      /* a: operands, two or more */
    QR_J_E_AND,     /* likewise */
    QR_J_E_NOT,     /* a */
    QR_J_E_COMPARE, /* a: operands; op of each but the first */
    QR_J_E_ARITH,   /* likewise, left to right */
    QR_J_E_CONCAT,  /* a: operands */
    QR_J_E_NEG,     /* a */
    QR_J_E_POS,     /* a */
    QR_J_E_COND,    /* a: test, b: value if true, c: value if false or NULL */
    QR_J_E_ATTR,    /* a: object, value: name */
    QR_J_E_ITEM,    /* a: object, b: key */
    QR_J_E_SLICE,   /* a: object, b, c, d: start, stop, step or NULL */
    QR_J_E_CALL,    /* a: callee, b: list of ARG */
    QR_J_E_FILTER,  /* a: input or NULL (the block's text), b: list of ARG, value: name, fn */
    QR_J_E_TEST,    /* likewise */
    /* parts */
    QR_J_ARG,  /* a: expression; op: 0, or 'k' keyword (value: name), '*' sequence, 'd' mapping */
    QR_J_PARAM /* value: name, a: default or NULL */
};

enum {
    QR_J_USES_CALLER = 1, /* S_MACRO: which special variables its body mentions */
    QR_J_USES_KWARGS = 2,
    QR_J_USES_VARARGS = 4,
    QR_J_RECURSIVE = 8 /* S_FOR */
};

struct qr_j_node {
    enum qr_j_kind kind;
    uint8_t op, flags;
    size_t pos;
    struct qr_j_node *next;
    struct qr_j_node *a, *b, *c, *d, *e;
    const struct qr_j_builtin *fn;
    struct qr_j_value value;
};

/* Parses j->source; *out is the list of statements, NULL when the template is empty. */
quire_status qr_j_parse(struct qr_j *j, struct qr_j_node **out);

/* --- within the parser --- */
struct qr_j_parser {
    struct qr_j *j;
    const struct qr_j_token *t; /* current token; EOF is never passed */
    unsigned depth;             /* of blocks and brackets */
    unsigned loops;             /* enclosing loops that break and continue can mean */
    uint8_t *macro_flags;       /* of the innermost macro, to be or-ed into; never NULL */
};

quire_status qr_j_syntax_error(struct qr_j_parser *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
quire_status qr_j_unexpected(struct qr_j_parser *p, const char *wanted);
quire_status qr_j_parse_enter(struct qr_j_parser *p);
quire_status qr_j_node(struct qr_j_parser *p, enum qr_j_kind kind, size_t pos,
                       struct qr_j_node **out);
static inline void qr_j_advance(struct qr_j_parser *p) { p->t += p->t->type != QR_J_T_EOF; }
static inline bool qr_j_at_op(const struct qr_j_parser *p, int op)
{
    return p->t->type == QR_J_T_OP && p->t->op == op;
}
bool qr_j_at_name(const struct qr_j_parser *p, const char *name);
bool qr_j_skip_name(struct qr_j_parser *p, const char *name);
bool qr_j_skip_op(struct qr_j_parser *p, int op);
quire_status qr_j_expect_op(struct qr_j_parser *p, int op);
/* Takes a NAME token as a string value. */
quire_status qr_j_take_name(struct qr_j_parser *p, struct qr_j_value *out);

quire_status qr_j_parse_expression(struct qr_j_parser *p, bool with_cond, struct qr_j_node **out);
/* One expression, or several with commas between them as a tuple. end: a name that also ends it,
 * or NULL. */
quire_status qr_j_parse_tuple(struct qr_j_parser *p, bool with_cond, const char *end,
                              struct qr_j_node **out);
quire_status qr_j_parse_target(struct qr_j_parser *p, bool namespaces, const char *end,
                               struct qr_j_node **out);
/* name, name(args), and further filters after `|`; the first one's input is NULL. */
quire_status qr_j_parse_filter_chain(struct qr_j_parser *p, struct qr_j_node **out);

#endif
