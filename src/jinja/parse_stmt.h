/* SPDX-License-Identifier: Apache-2.0 */
/* parse_stmt.h - parser of templates and statements. */
#ifndef QR_JINJA_PARSE_STMT_H
#define QR_JINJA_PARSE_STMT_H
#include "jinja/ast.h"

/* Parses j->source. *out: list of statements, NULL for an empty template. */
quire_status qr_jinja_parse(struct qr_jinja *j, struct qr_jinja_node **out);

#endif
