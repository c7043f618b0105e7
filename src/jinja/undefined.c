/* SPDX-License-Identifier: Apache-2.0 */
/* undefined.c - undefined values and the messages of their misuse. */
#include "jinja/undefined.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/print.h"
#include "jinja/string_builder.h"
#include "jinja/value.h"

/* Copies u to the arena, so that callers can pass a compound literal. */
static quire_status undefined(struct qr_jinja *j, struct qr_jinja_undef u,
                              struct qr_jinja_value *out)
{
    struct qr_jinja_undef *copy;
    QR_JINJA_NEW(j, copy, 1);
    *copy = u;
    *out = (struct qr_jinja_value){ .type = QR_JINJA_UNDEFINED, .u = copy };
    return QUIRE_OK;
}

quire_status qr_jinja_undefined_name(struct qr_jinja *j, struct qr_jinja_value name,
                                     struct qr_jinja_value *out)
{
    return undefined(j, (struct qr_jinja_undef){ .name = name }, out);
}

quire_status qr_jinja_undefined_attr(struct qr_jinja *j, struct qr_jinja_value obj,
                                     struct qr_jinja_value name, struct qr_jinja_value *out)
{
    return undefined(j, (struct qr_jinja_undef){ .obj = obj, .name = name }, out);
}

quire_status qr_jinja_undefined_unsafe(struct qr_jinja *j, struct qr_jinja_value obj,
                                       struct qr_jinja_value name, struct qr_jinja_value *out)
{
    return undefined(j, (struct qr_jinja_undef){ .obj = obj, .name = name, .unsafe = true }, out);
}

quire_status qr_jinja_undefined_hint(struct qr_jinja *j, const char *hint,
                                     struct qr_jinja_value *out)
{
    return undefined(j, (struct qr_jinja_undef){ .hint = hint }, out);
}

/* Name of obj in messages where it differs from the type name: Jinja2 qualifies the names of its
 * own types with their module. NULL: use the type name. */
static const char *qualified_type_name(struct qr_jinja_value obj)
{
    switch (obj.type) {
    case QR_JINJA_NONE:
        return "None";
    case QR_JINJA_NAMESPACE:
        return "jinja2.utils.Namespace object";
    case QR_JINJA_MACRO:
        return "jinja2.runtime.Macro object";
    case QR_JINJA_LOOP:
        return "jinja2.runtime.LoopContext object";
    case QR_JINJA_CYCLER:
        return "jinja2.utils.Cycler object";
    case QR_JINJA_JOINER:
        return "jinja2.utils.Joiner object";
    default:
        return NULL;
    }
}

quire_status qr_jinja_undefined_error(struct qr_jinja *j, struct qr_jinja_value v)
{
    const struct qr_jinja_undef *u = v.u;
    if (u->hint)
        return qr_jinja_type_error(j, "%s", u->hint);
    struct qr_jinja_sb name;
    qr_jinja_sb_init(&name, j);
    QR_TRY(qr_jinja_print_repr(&name, u->name));
    const int n = name.n > 200 ? 200 : (int)name.n;
    if (u->obj.type == QR_JINJA_MISSING)
        return qr_jinja_type_error(j, "%.*s is undefined", n, name.p);
    if (u->unsafe)
        return qr_jinja_type_error(j, "access to attribute %.*s of '%s' object is unsafe.", n,
                                   name.p, qr_jinja_type_name(u->obj));
    const char *owner = qualified_type_name(u->obj), *suffix = owner ? "" : " object";
    if (!owner)
        owner = qr_jinja_type_name(u->obj);
    if (u->name.type != QR_JINJA_STR)
        return qr_jinja_type_error(j, "%s%s has no element %.*s", owner, suffix, n, name.p);
    return qr_jinja_type_error(j, "'%s%s' has no attribute %.*s", owner, suffix, n, name.p);
}
