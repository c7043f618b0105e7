/* SPDX-License-Identifier: Apache-2.0 */
/* parse_operand.h - parser of operands, filters and assignment targets. */
#ifndef QR_JINJA_PARSE_OPERAND_H
#define QR_JINJA_PARSE_OPERAND_H
#include "jinja/ast.h"
#include "jinja/parser.h"

/* A literal, name or bracketed expression with its signs, attributes, items and calls; with_filter:
 * and with the filters and tests applied to it. */
quire_status qr_jinja_parse_unary(struct qr_jinja_parser *p, bool with_filter,
                                  struct qr_jinja_node **out);
/* Assignment target: a name or a tuple of targets. namespaces: accept `ns.attr`. end: a name that
 * terminates the list, or NULL. */
quire_status qr_jinja_parse_target(struct qr_jinja_parser *p, bool namespaces, const char *end,
                                   struct qr_jinja_node **out);
/* name, name(args), and further filters after `|`; the input of the first one is NULL. */
quire_status qr_jinja_parse_filter_chain(struct qr_jinja_parser *p, struct qr_jinja_node **out);

#endif
