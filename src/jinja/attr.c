/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_attr.c - attributes, items and slices of values. */
#include "jinja/call.h"

/* A method as a value of its own: {% set f = x.items %} is legal. */
static quire_status bind(struct qr_j *j, struct qr_j_value self, const struct qr_j_builtin *fn,
                         struct qr_j_value *out)
{
    struct qr_j_method *m;
    QR_J_NEW(j, m, 1);
    m->self = self;
    m->fn = fn;
    *out = (struct qr_j_value){ .type = QR_J_METHOD, .m = m };
    return QUIRE_OK;
}

/* The loop keeps all its items, so looking ahead or at the length costs nothing. */
static quire_status loop_attr(struct qr_j *j, const struct qr_j_loop *l,
                              const struct qr_j_str *name, bool *found, struct qr_j_value *out)
{
    const int64_t i = (int64_t)l->index0, n = (int64_t)l->n;
    const struct {
        const char *name;
        struct qr_j_value value;
    } plain[] = {
        { "index", qr_j_int(i + 1) },
        { "index0", qr_j_int(i) },
        { "revindex", qr_j_int(n - i) },
        { "revindex0", qr_j_int(n - i - 1) },
        { "first", qr_j_bool(i == 0) },
        { "last", qr_j_bool(i + 1 == n) },
        { "length", qr_j_int(n) },
        { "depth", qr_j_int((int64_t)l->depth0 + 1) },
        { "depth0", qr_j_int((int64_t)l->depth0) },
    };
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (qr_j_str_is(name, plain[k].name)) {
            *found = true;
            *out = plain[k].value;
            return QUIRE_OK;
        }
    const bool previous = qr_j_str_is(name, "previtem"), next = qr_j_str_is(name, "nextitem");
    if (!previous && !next)
        return QUIRE_OK;
    *found = true;
    if (previous && i == 0)
        return qr_j_undefined_hint(j, "there is no previous item", out);
    if (next && i + 1 >= n)
        return qr_j_undefined_hint(j, "there is no next item", out);
    *out = l->items[previous ? i - 1 : i + 1];
    return QUIRE_OK;
}

/* What a macro tells about itself; templates rarely ask. */
static quire_status macro_attr(struct qr_j *j, const struct qr_j_macro *m,
                               const struct qr_j_str *name, bool *found, struct qr_j_value *out)
{
    static const char *const flag_names[] = { "caller", "catch_kwargs", "catch_varargs" };
    *found = true;
    for (size_t i = 0; i < 3; i++)
        if (qr_j_str_is(name, flag_names[i])) {
            *out = qr_j_bool(m->node->flags >> i & 1);
            return QUIRE_OK;
        }
    if (qr_j_str_is(name, "name")) {
        *out = m->name.type == QR_J_MISSING ? qr_j_none() : m->name;
        return QUIRE_OK;
    }
    *found = qr_j_str_is(name, "arguments");
    if (*found) {
        struct qr_j_list *l;
        size_t n = 0;
        for (const struct qr_j_node *p = m->node->a; p; p = p->next)
            n++;
        QR_TRY(qr_j_list_new(j, QR_J_TUPLE, n, &l));
        n = 0;
        for (const struct qr_j_node *p = m->node->a; p; p = p->next)
            l->items[n++] = p->value;
        *out = qr_j_list_value(l);
    }
    return QUIRE_OK;
}

/* Attributes that are no methods. */
static quire_status data_attr(struct qr_j *j, struct qr_j_value obj, struct qr_j_value name,
                              bool *found, struct qr_j_value *out)
{
    struct qr_j_value *slot = NULL;
    switch (obj.type) {
    case QR_J_NAMESPACE:
        QR_TRY(qr_j_dict_find(j, obj.d, name, &slot));
        break;
    case QR_J_LOOP:
        return loop_attr(j, obj.loop, name.s, found, out);
    case QR_J_MACRO:
        return macro_attr(j, obj.macro, name.s, found, out);
    case QR_J_CYCLER:
        if (qr_j_str_is(name.s, "current"))
            slot = (struct qr_j_value *)&obj.cycler->items[obj.cycler->pos];
        break;
    case QR_J_JOINER:
        if (qr_j_str_is(name.s, "sep"))
            slot = &obj.joiner->sep;
        break;
    case QR_J_LIST:
        if (obj.l->flavor == QR_J_GROUP && qr_j_str_is(name.s, "grouper"))
            slot = &obj.l->items[0];
        else if (obj.l->flavor == QR_J_GROUP && qr_j_str_is(name.s, "list"))
            slot = &obj.l->items[1];
        break;
    case QR_J_RANGE:
        *found = true;
        if (qr_j_str_is(name.s, "start"))
            *out = qr_j_int(obj.r->start);
        else if (qr_j_str_is(name.s, "stop"))
            *out = qr_j_int(obj.r->stop);
        else if (qr_j_str_is(name.s, "step"))
            *out = qr_j_int(obj.r->step);
        else
            *found = false;
        return QUIRE_OK;
    default:
        break;
    }
    if (slot) {
        *found = true;
        *out = *slot;
    }
    return QUIRE_OK;
}

/* Data attributes come first, as an instance dictionary does in Python. */
quire_status qr_j_own_attr(struct qr_j *j, struct qr_j_value obj, struct qr_j_value name,
                           bool *found, struct qr_j_value *out)
{
    bool unsafe = false;
    *found = false;
    QR_TRY(data_attr(j, obj, name, found, out));
    if (*found)
        return QUIRE_OK;
    const struct qr_j_builtin *method = qr_j_method_find(obj, name.s, &unsafe);
    *found = method || unsafe;
    if (method)
        return bind(j, obj, method, out);
    return unsafe ? qr_j_undefined_unsafe(j, obj, name, out) : QUIRE_OK;
}

/* Jinja2 prefers methods to items here: x.items of a dict is the method even if it has such a
 * key. */
quire_status qr_j_attr(struct qr_j *j, struct qr_j_value obj, struct qr_j_value name,
                       struct qr_j_value *out)
{
    bool found;
    if (qr_j_is_undefined(obj))
        return qr_j_undefined_error(j, obj);
    QR_TRY(qr_j_own_attr(j, obj, name, &found, out));
    if (found)
        return QUIRE_OK;
    if (obj.type == QR_J_DICT) {
        struct qr_j_value *slot;
        QR_TRY(qr_j_dict_find(j, obj.d, name, &slot));
        if (slot) {
            *out = *slot;
            return QUIRE_OK;
        }
    }
    return qr_j_undefined_attr(j, obj, name, out);
}

/* obj[i] of a sequence; *found stays false when it has no such item. */
static quire_status sequence_item(struct qr_j *j, struct qr_j_value obj, int64_t i, bool *found,
                                  struct qr_j_value *out)
{
    int64_t n;
    const bool subscriptable = obj.type == QR_J_STR || obj.type == QR_J_RANGE ||
                               qr_j_is_tuple(obj) || qr_j_is_plain_list(obj);
    if (!subscriptable)
        return QUIRE_OK;
    QR_TRY(qr_j_length(j, obj, &n));
    if (i < 0)
        i += n;
    if (i < 0 || i >= n)
        return QUIRE_OK;
    *found = true;
    if (obj.type == QR_J_STR) {
        const size_t off = qr_j_char_offset(obj.s, (size_t)i);
        return qr_j_cut(j, obj.s, off, qr_j_char_len(obj.s->p[off]), out);
    }
    *out = obj.type == QR_J_RANGE ? qr_j_int(qr_j_range_at(obj.r, i)) : obj.l->items[i];
    return QUIRE_OK;
}

/* The other way round: x["items"] is the item if there is one. */
quire_status qr_j_item(struct qr_j *j, struct qr_j_value obj, struct qr_j_value key,
                       struct qr_j_value *out)
{
    bool found = false;
    if (qr_j_is_undefined(obj))
        return qr_j_undefined_error(j, obj);
    if (obj.type == QR_J_DICT) {
        struct qr_j_value *slot = NULL;
        const bool hashable =
            key.type != QR_J_DICT && (key.type != QR_J_LIST || qr_j_is_tuple(key));
        if (hashable)
            QR_TRY(qr_j_dict_find(j, obj.d, key, &slot));
        if (slot) {
            *out = *slot;
            return QUIRE_OK;
        }
    } else if (qr_j_is_intlike(key)) {
        QR_TRY(sequence_item(j, obj, qr_j_intlike(key), &found, out));
    }
    if (!found && key.type == QR_J_STR)
        QR_TRY(qr_j_own_attr(j, obj, key, &found, out));
    return found ? QUIRE_OK : qr_j_undefined_attr(j, obj, key, out);
}

/* One bound of a slice, brought into [low, high] as Python does. */
static quire_status slice_bound(struct qr_j *j, struct qr_j_value v, int64_t fallback, int64_t n,
                                int64_t low, int64_t high, int64_t *out)
{
    if (v.type == QR_J_MISSING || v.type == QR_J_NONE) {
        *out = fallback;
        return QUIRE_OK;
    }
    if (qr_j_is_undefined(v) || !qr_j_is_intlike(v))
        return qr_j_type_error(
            j, "slice indices must be integers or None or have an __index__ method");
    int64_t i = qr_j_intlike(v);
    if (i < 0)
        i += n;
    *out = i < low ? low : i > high ? high : i;
    return QUIRE_OK;
}

/* Without a step the result shares the bytes; with one it is put together by character. */
static quire_status slice_str(struct qr_j *j, const struct qr_j_str *s, const struct qr_j_range *r,
                              struct qr_j_value *out)
{
    struct qr_j_sb sb;
    QR_TRY(qr_j_work(j, s->n));
    if (r->step == 1 || r->n == 0) {
        const size_t from = r->step == 1 ? qr_j_char_offset(s, (size_t)r->start) : 0;
        const struct qr_j_str rest = { .p = s->p + from, .n = s->n - from };
        return qr_j_cut(j, s, from, r->n ? qr_j_char_offset(&rest, (size_t)r->n) : 0, out);
    }
    struct qr_j_list chars;
    QR_TRY(qr_j_items(j, qr_j_str_value(s), &chars));
    qr_j_sb_init(&sb, j);
    for (int64_t i = 0; i < r->n; i++)
        QR_TRY(qr_j_sb_str(&sb, chars.items[qr_j_range_at(r, i)].s));
    return qr_j_sb_done(&sb, out);
}

/* A slice of a range is a range again, of anything else a new list. */
static quire_status slice_other(struct qr_j *j, struct qr_j_value obj, const struct qr_j_range *r,
                                struct qr_j_value *out)
{
    if (obj.type == QR_J_RANGE) {
        struct qr_j_range *part;
        QR_J_NEW(j, part, 1);
        const uint64_t step = (uint64_t)obj.r->step * (uint64_t)r->step; /* may wrap if n < 2 */
        *part = (struct qr_j_range){ .start = qr_j_range_at(obj.r, r->start),
                                     .stop = qr_j_range_at(obj.r, r->stop),
                                     .step = (int64_t)step,
                                     .n = r->n };
        *out = (struct qr_j_value){ .type = QR_J_RANGE, .r = part };
        return QUIRE_OK;
    }
    struct qr_j_list *l;
    QR_TRY(qr_j_list_new(j, qr_j_is_tuple(obj) ? QR_J_TUPLE : QR_J_PLAIN, (size_t)r->n, &l));
    for (int64_t i = 0; i < r->n; i++)
        l->items[i] = obj.l->items[qr_j_range_at(r, i)];
    *out = qr_j_list_value(l);
    return QUIRE_OK;
}

/* Unlike items, slices of unsuitable values are errors: Jinja2 leaves them to Python. */
quire_status qr_j_slice(struct qr_j *j, struct qr_j_value obj, const struct qr_j_value part[3],
                        struct qr_j_value *out)
{
    int64_t n;
    struct qr_j_range r = { .step = 1 };
    if (qr_j_is_undefined(obj))
        return qr_j_undefined_error(j, obj);
    if (obj.type == QR_J_DICT)
        return qr_j_type_error(j, "unhashable type: 'slice'");
    if (obj.type != QR_J_STR && obj.type != QR_J_RANGE && !qr_j_is_tuple(obj) &&
        !qr_j_is_plain_list(obj))
        return qr_j_type_error(j, "'%s' object is not subscriptable", qr_j_type_name(obj));
    QR_TRY(qr_j_length(j, obj, &n));
    QR_TRY(slice_bound(j, part[2], 1, 0, INT64_MIN, INT64_MAX, &r.step));
    if (r.step == 0)
        return qr_j_type_error(j, "slice step cannot be zero");
    if (r.step > 0) {
        QR_TRY(slice_bound(j, part[0], 0, n, 0, n, &r.start));
        QR_TRY(slice_bound(j, part[1], n, n, 0, n, &r.stop));
        r.n = r.stop > r.start ? (r.stop - r.start - 1) / r.step + 1 : 0;
    } else {
        QR_TRY(slice_bound(j, part[0], n - 1, n, -1, n - 1, &r.start));
        QR_TRY(slice_bound(j, part[1], -1, n, -1, n - 1, &r.stop));
        /* as unsigned: -step of the smallest integer does not fit */
        r.n = r.start > r.stop
                  ? (int64_t)((uint64_t)(r.start - r.stop - 1) / (0 - (uint64_t)r.step)) + 1
                  : 0;
    }
    return obj.type == QR_J_STR ? slice_str(j, obj.s, &r, out) : slice_other(j, obj, &r, out);
}

/* Short enough to fit an integer. */
static bool all_digits(const struct qr_j_str *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
    return s->n > 0 && s->n < 18;
}

quire_status qr_j_attr_path(struct qr_j *j, struct qr_j_value obj, struct qr_j_value path,
                            struct qr_j_value fallback, struct qr_j_value *out)
{
    *out = obj;
    if (path.type == QR_J_MISSING || path.type == QR_J_NONE)
        return QUIRE_OK;
    const bool text = path.type == QR_J_STR;
    for (size_t from = 0, end; !text || from <= path.s->n; from = end + 1) {
        struct qr_j_value part = path;
        end = 0;
        if (text) {
            const char *dot = memchr(path.s->p + from, '.', path.s->n - from);
            end = dot ? (size_t)(dot - path.s->p) : path.s->n;
            QR_TRY(qr_j_cut(j, path.s, from, end - from, &part));
            if (all_digits(part.s)) {
                int64_t i = 0;
                for (size_t k = 0; k < part.s->n; k++)
                    i = i * 10 + (part.s->p[k] - '0');
                part = qr_j_int(i);
            }
        }
        QR_TRY(qr_j_item(j, *out, part, out));
        const bool has_fallback = fallback.type != QR_J_MISSING && fallback.type != QR_J_NONE;
        if (has_fallback && qr_j_is_undefined(*out))
            *out = fallback;
        if (!text)
            break;
    }
    return QUIRE_OK;
}
