/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_core.c - failures, memory and budgets of the Jinja interpreter, and the making of simple
 * values. */
#include "jinja/text.h"
#include "jinja/value.h"
#include <stdarg.h>
#include <stdio.h>

/* Counted only when something failed. */
static int32_t line_of(const struct qr_j *j)
{
    int32_t line = 1;
    for (size_t i = 0; i < j->pos && i < j->source_len; i++)
        line += j->source[i] == '\n';
    return line;
}

/* Cuts a message that filled its buffer before a character that did not fit whole. */
static void trim_partial_char(char *msg, size_t size)
{
    size_t n = strlen(msg);
    if (n + 1 < size)
        return;
    size_t start = n;
    while (start > 0 && ((unsigned char)msg[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0)
        return;
    const unsigned char lead = (unsigned char)msg[start - 1];
    const size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (n - (start - 1) < want)
        msg[start - 1] = 0;
}

quire_status qr_j_fail(struct qr_j *j, quire_status code, const char *fmt, ...)
{
    char msg[sizeof j->err->msg];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    trim_partial_char(msg, sizeof msg);
    j->status = code;
    qr_fail_at(j->err, code, j->pos, "%s", msg);
    if (qr_error_writable(j->err))
        j->err->detail = line_of(j);
    return code;
}

void *qr_j_alloc(struct qr_j *j, size_t n, size_t size)
{
    void *p = qr_arena_alloc(&j->arena, n, size);
    if (p)
        return p;
    size_t bytes, total;
    /* the arena takes its memory in chunks, so a small request can meet the limit a chunk early */
    const size_t chunk = (size_t)1 << 20;
    const size_t limit = j->arena.limit_bytes;
    if (limit && (!qr_mul_size(n, size, &bytes) || !qr_add_size(bytes, chunk, &bytes) ||
                  !qr_add_size(bytes, j->arena.total_bytes, &total) || total > limit))
        qr_j_fail(j, QUIRE_E_LIMIT, "chat template: more than %zu bytes of memory", limit);
    else
        qr_j_fail(j, QUIRE_E_NOMEM, "chat template: out of memory");
    return NULL;
}

quire_status qr_j_out_of_steps(struct qr_j *j)
{
    j->steps_left = 0;
    return qr_j_fail(j, QUIRE_E_LIMIT, "chat template: step budget exhausted");
}

quire_status qr_j_too_deep(struct qr_j *j)
{
    return qr_j_fail(j, QUIRE_E_LIMIT, "chat template: nested too deeply");
}

quire_status qr_j_text(struct qr_j *j, const char *p, size_t n, bool user, struct qr_j_value *out)
{
    struct qr_j_str *s;
    QR_J_NEW(j, s, 1);
    s->p = p;
    s->n = n;
    s->user = user;
    *out = qr_j_str_value(s);
    return QUIRE_OK;
}

quire_status qr_j_textz(struct qr_j *j, const char *literal, struct qr_j_value *out)
{
    return qr_j_text(j, literal, strlen(literal), false, out);
}

quire_status qr_j_list_new(struct qr_j *j, enum qr_j_flavor flavor, size_t n,
                           struct qr_j_list **out)
{
    struct qr_j_list *l;
    *out = NULL;
    QR_TRY(qr_j_step(j, n));
    QR_J_NEW(j, l, 1);
    if (n)
        QR_J_NEW(j, l->items, n);
    l->flavor = flavor;
    l->n = n;
    *out = l;
    return QUIRE_OK;
}

quire_status qr_j_pair(struct qr_j *j, struct qr_j_value a, struct qr_j_value b,
                       struct qr_j_value *out)
{
    struct qr_j_list *l;
    QR_TRY(qr_j_list_new(j, QR_J_TUPLE, 2, &l));
    l->items[0] = a;
    l->items[1] = b;
    *out = qr_j_list_value(l);
    return QUIRE_OK;
}

/* Values are made from a copy, so that callers can write the record as a literal. */
static quire_status undefined(struct qr_j *j, struct qr_j_undef u, struct qr_j_value *out)
{
    struct qr_j_undef *copy;
    QR_J_NEW(j, copy, 1);
    *copy = u;
    *out = (struct qr_j_value){ .type = QR_J_UNDEFINED, .u = copy };
    return QUIRE_OK;
}

quire_status qr_j_undefined_name(struct qr_j *j, struct qr_j_value name, struct qr_j_value *out)
{
    return undefined(j, (struct qr_j_undef){ .name = name }, out);
}

quire_status qr_j_undefined_attr(struct qr_j *j, struct qr_j_value obj, struct qr_j_value name,
                                 struct qr_j_value *out)
{
    return undefined(j, (struct qr_j_undef){ .obj = obj, .name = name }, out);
}

quire_status qr_j_undefined_unsafe(struct qr_j *j, struct qr_j_value obj, struct qr_j_value name,
                                   struct qr_j_value *out)
{
    return undefined(j, (struct qr_j_undef){ .obj = obj, .name = name, .unsafe = true }, out);
}

quire_status qr_j_undefined_hint(struct qr_j *j, const char *hint, struct qr_j_value *out)
{
    return undefined(j, (struct qr_j_undef){ .hint = hint }, out);
}

/* Jinja2 names builtin types bare and its own ones with their module. */
static const char *owner_name(struct qr_j_value obj)
{
    switch (obj.type) {
    case QR_J_NONE:
        return "None";
    case QR_J_NAMESPACE:
        return "jinja2.utils.Namespace object";
    case QR_J_MACRO:
        return "jinja2.runtime.Macro object";
    case QR_J_LOOP:
        return "jinja2.runtime.LoopContext object";
    case QR_J_CYCLER:
        return "jinja2.utils.Cycler object";
    case QR_J_JOINER:
        return "jinja2.utils.Joiner object";
    default:
        return NULL;
    }
}

quire_status qr_j_undefined_error(struct qr_j *j, struct qr_j_value v)
{
    const struct qr_j_undef *u = v.u;
    if (u->hint)
        return qr_j_type_error(j, "%s", u->hint);
    struct qr_j_sb name;
    qr_j_sb_init(&name, j);
    QR_TRY(qr_j_sb_repr(&name, u->name));
    const int n = name.n > 200 ? 200 : (int)name.n;
    if (u->obj.type == QR_J_MISSING)
        return qr_j_type_error(j, "%.*s is undefined", n, name.p);
    if (u->unsafe)
        return qr_j_type_error(j, "access to attribute %.*s of '%s' object is unsafe.", n, name.p,
                               qr_j_type_name(u->obj));
    const char *owner = owner_name(u->obj), *suffix = owner ? "" : " object";
    if (!owner)
        owner = qr_j_type_name(u->obj);
    if (u->name.type != QR_J_STR)
        return qr_j_type_error(j, "%s%s has no element %.*s", owner, suffix, n, name.p);
    return qr_j_type_error(j, "'%s%s' has no attribute %.*s", owner, suffix, n, name.p);
}
