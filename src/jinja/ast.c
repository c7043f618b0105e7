/* SPDX-License-Identifier: Apache-2.0 */
/* ast.c - allocates AST nodes. */
#include "jinja/ast.h"
#include "jinja/interp.h"

quire_status qr_jinja_node_new(struct qr_jinja *j, enum qr_jinja_node_kind kind, size_t pos,
                               struct qr_jinja_node **out)
{
    struct qr_jinja_node *n;
    QR_JINJA_NEW(j, n, 1);
    n->kind = kind;
    n->pos = pos;
    *out = n;
    return QUIRE_OK;
}
