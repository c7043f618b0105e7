/* SPDX-License-Identifier: Apache-2.0 */
/* ast.h - abstract syntax tree of a template. */
#ifndef QR_JINJA_AST_H
#define QR_JINJA_AST_H
#include "jinja/types.h"

enum qr_jinja_node_kind {
    /* Statements; a body is a list linked by `next`. */
    QR_JINJA_STMT_TEXT,         /* value: the text */
    QR_JINJA_STMT_PRINT,        /* a: list of expressions */
    QR_JINJA_STMT_IF,           /* a: test, c: body, b: next elif (a STMT_IF) or NULL, d: else */
    QR_JINJA_STMT_FOR,          /* a: target, b: iterable, e: filter or NULL, c: body, d: else */
    QR_JINJA_STMT_SET,          /* a: target, b: expression */
    QR_JINJA_STMT_SET_BLOCK,    /* a: target, b: filter chain or NULL, c: body */
    QR_JINJA_STMT_MACRO,        /* value: name, a: list of PARAM, c: body */
    QR_JINJA_STMT_CALL_BLOCK,   /* a: EXPR_CALL, b: the caller, a STMT_MACRO without name */
    QR_JINJA_STMT_FILTER_BLOCK, /* b: filter chain, c: body */
    QR_JINJA_STMT_WITH,         /* a: list of STMT_SET evaluated in the outer scope, c: body */
    QR_JINJA_STMT_SCOPE,        /* c: body (generation, autoescape, block) */
    QR_JINJA_STMT_BREAK,
    QR_JINJA_STMT_CONTINUE,
    /* Expressions; operands and arguments are lists linked by `next`. */
    QR_JINJA_EXPR_CONST,   /* value */
    QR_JINJA_EXPR_NAME,    /* value: name */
    QR_JINJA_EXPR_NSREF,   /* value: name of a namespace, a: EXPR_CONST attribute; a target only */
    QR_JINJA_EXPR_LIST,    /* a: items */
    QR_JINJA_EXPR_TUPLE,   /* a: items */
    QR_JINJA_EXPR_DICT,    /* a: key, value, key, value ... */
    QR_JINJA_EXPR_OR,      /* a: operands, two or more */
    QR_JINJA_EXPR_AND,     /* a: operands, two or more */
    QR_JINJA_EXPR_NOT,     /* a */
    QR_JINJA_EXPR_COMPARE, /* a: operands; op of each but the first */
    QR_JINJA_EXPR_ARITH,   /* a: operands, left-associative; op of each but the first */
    QR_JINJA_EXPR_CONCAT,  /* a: operands */
    QR_JINJA_EXPR_NEG,     /* a */
    QR_JINJA_EXPR_POS,     /* a */
    QR_JINJA_EXPR_COND,    /* a: test, b: value if true, c: value if false or NULL */
    QR_JINJA_EXPR_ATTR,    /* a: object, value: name */
    QR_JINJA_EXPR_ITEM,    /* a: object, b: key */
    QR_JINJA_EXPR_SLICE,   /* a: object, b, c, d: start, stop, step or NULL */
    QR_JINJA_EXPR_CALL,    /* a: callee, b: list of ARG */
    QR_JINJA_EXPR_FILTER,  /* a: input or NULL (text of block), b: list of ARG, value: name, fn */
    QR_JINJA_EXPR_TEST,    /* a: input, b: list of ARG, value: name, fn */
    /* Parts of the above. */
    QR_JINJA_ARG,  /* a: expression, op: enum qr_jinja_arg_kind, value: name of a keyword */
    QR_JINJA_PARAM /* value: name, a: default or NULL */
};

enum qr_jinja_arg_kind {
    QR_JINJA_ARG_POSITIONAL,
    QR_JINJA_ARG_KEYWORD,
    QR_JINJA_ARG_UNPACK,     /* *sequence */
    QR_JINJA_ARG_UNPACK_DICT /* **mapping */
};

enum {
    QR_JINJA_USES_CALLER = 1, /* STMT_MACRO: special variables that its body mentions */
    QR_JINJA_USES_KWARGS = 2,
    QR_JINJA_USES_VARARGS = 4,
    QR_JINJA_LOOP_RECURSIVE = 8 /* STMT_FOR */
};

struct qr_jinja_node {
    enum qr_jinja_node_kind kind;
    uint8_t op, flags;
    size_t pos; /* byte offset in the source */
    struct qr_jinja_node *next;
    struct qr_jinja_node *a, *b, *c, *d, *e; /* children; see enum qr_jinja_node_kind */
    const struct qr_jinja_builtin *fn;       /* filter or test; NULL: unknown name */
    struct qr_jinja_value value;
};

quire_status qr_jinja_node_new(struct qr_jinja *j, enum qr_jinja_node_kind kind, size_t pos,
                               struct qr_jinja_node **out);

#endif
