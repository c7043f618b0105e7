/* SPDX-License-Identifier: Apache-2.0 */
/* parse_expr.h - parser of expressions. */
#ifndef QR_JINJA_PARSE_EXPR_H
#define QR_JINJA_PARSE_EXPR_H
#include "jinja/ast.h"
#include "jinja/parser.h"

/* with_cond: accept `a if b else c`; false where `if` has another meaning, as after `for`. */
quire_status qr_jinja_parse_expression(struct qr_jinja_parser *p, bool with_cond,
                                       struct qr_jinja_node **out);
/* One expression, or a tuple of several separated by commas. end: a name that terminates the list,
 * or NULL. */
quire_status qr_jinja_parse_tuple(struct qr_jinja_parser *p, bool with_cond, const char *end,
                                  struct qr_jinja_node **out);

#endif
