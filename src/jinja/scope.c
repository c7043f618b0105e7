/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - scopes of variables. */
#include "jinja/scope.h"
#include "base/error.h"
#include "jinja/dict.h"
#include "jinja/interp.h"

quire_status qr_jinja_scope_new(struct qr_jinja *j, struct qr_jinja_scope *parent,
                                struct qr_jinja_scope **out)
{
    QR_JINJA_NEW(j, *out, 1);
    (*out)->parent = parent;
    return QUIRE_OK;
}

quire_status qr_jinja_scope_find(struct qr_jinja *j, const struct qr_jinja_scope *scope,
                                 struct qr_jinja_value name, struct qr_jinja_value **out)
{
    uint64_t hash;
    *out = NULL;
    QR_TRY(qr_jinja_hash(j, name, &hash));
    for (; scope && !*out; scope = scope->parent)
        QR_TRY(qr_jinja_dict_find_hashed(j, &scope->vars, hash, name, out));
    return QUIRE_OK;
}
