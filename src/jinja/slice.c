/* SPDX-License-Identifier: Apache-2.0 */
/* slice.c - slices of values. */
#include "jinja/slice.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/iterate.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/undefined.h"
#include "jinja/unicode.h"
#include "jinja/value.h"

/* One bound of a slice, clamped to [low, high]; a negative one counts from the end. */
static quire_status slice_bound(struct qr_jinja *j, struct qr_jinja_value v, int64_t fallback,
                                int64_t n, int64_t low, int64_t high, int64_t *out)
{
    if (v.type == QR_JINJA_MISSING || v.type == QR_JINJA_NONE) {
        *out = fallback;
        return QUIRE_OK;
    }
    if (qr_jinja_is_undefined(v) || !qr_jinja_is_integral(v))
        return qr_jinja_type_error(
            j, "slice indices must be integers or None or have an __index__ method");
    int64_t i = qr_jinja_integral(v);
    if (i < 0)
        i += n;
    *out = i < low ? low : i > high ? high : i;
    return QUIRE_OK;
}

/* Shares the bytes of s if the step is 1, else copies characters. */
static quire_status slice_str(struct qr_jinja *j, const struct qr_jinja_str *s,
                              const struct qr_jinja_range *r, struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    QR_TRY(qr_jinja_charge_bytes(j, s->n));
    if (r->step == 1 || r->n == 0) {
        const size_t from = r->step == 1 ? qr_jinja_char_offset(s, (size_t)r->start) : 0;
        const struct qr_jinja_str rest = { .p = s->p + from, .n = s->n - from };
        return qr_jinja_substr(j, s, from, r->n ? qr_jinja_char_offset(&rest, (size_t)r->n) : 0,
                               out);
    }
    struct qr_jinja_list chars;
    QR_TRY(qr_jinja_iterate(j, qr_jinja_str_value(s), &chars));
    qr_jinja_sb_init(&sb, j);
    for (int64_t i = 0; i < r->n; i++)
        QR_TRY(qr_jinja_sb_append_str(&sb, chars.items[qr_jinja_range_at(r, i)].s));
    return qr_jinja_sb_finish(&sb, out);
}

/* A slice of a range is a range, of other sequences a new list. */
static quire_status slice_other(struct qr_jinja *j, struct qr_jinja_value obj,
                                const struct qr_jinja_range *r, struct qr_jinja_value *out)
{
    if (obj.type == QR_JINJA_RANGE) {
        struct qr_jinja_range *part;
        QR_JINJA_NEW(j, part, 1);
        const uint64_t step = (uint64_t)obj.r->step * (uint64_t)r->step; /* may overflow if n < 2 */
        *part = (struct qr_jinja_range){ .start = qr_jinja_range_at(obj.r, r->start),
                                         .stop = qr_jinja_range_at(obj.r, r->stop),
                                         .step = (int64_t)step,
                                         .n = r->n };
        *out = (struct qr_jinja_value){ .type = QR_JINJA_RANGE, .r = part };
        return QUIRE_OK;
    }
    struct qr_jinja_list *l;
    QR_TRY(qr_jinja_list_new(j, qr_jinja_is_tuple(obj) ? QR_JINJA_LIST_TUPLE : QR_JINJA_LIST_PLAIN,
                             (size_t)r->n, &l));
    for (int64_t i = 0; i < r->n; i++)
        l->items[i] = obj.l->items[qr_jinja_range_at(r, i)];
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

/* Fails for values without slices, where getitem yields undefined: Jinja2 evaluates slices in
 * Python. */
quire_status qr_jinja_slice(struct qr_jinja *j, struct qr_jinja_value obj,
                            const struct qr_jinja_value part[3], struct qr_jinja_value *out)
{
    int64_t n;
    struct qr_jinja_range r = { .step = 1 };
    if (qr_jinja_is_undefined(obj))
        return qr_jinja_undefined_error(j, obj);
    if (obj.type == QR_JINJA_DICT)
        return qr_jinja_type_error(j, "unhashable type: 'slice'");
    if (obj.type != QR_JINJA_STR && obj.type != QR_JINJA_RANGE && !qr_jinja_is_tuple(obj) &&
        !qr_jinja_is_plain_list(obj))
        return qr_jinja_type_error(j, "'%s' object is not subscriptable", qr_jinja_type_name(obj));
    QR_TRY(qr_jinja_length(j, obj, &n));
    QR_TRY(slice_bound(j, part[2], 1, 0, INT64_MIN, INT64_MAX, &r.step));
    if (r.step == 0)
        return qr_jinja_type_error(j, "slice step cannot be zero");
    if (r.step > 0) {
        QR_TRY(slice_bound(j, part[0], 0, n, 0, n, &r.start));
        QR_TRY(slice_bound(j, part[1], n, n, 0, n, &r.stop));
        r.n = r.stop > r.start ? (r.stop - r.start - 1) / r.step + 1 : 0;
    } else {
        QR_TRY(slice_bound(j, part[0], n - 1, n, -1, n - 1, &r.start));
        QR_TRY(slice_bound(j, part[1], -1, n, -1, n - 1, &r.stop));
        /* unsigned, because -INT64_MIN overflows */
        r.n = r.start > r.stop
                  ? (int64_t)((uint64_t)(r.start - r.stop - 1) / (0 - (uint64_t)r.step)) + 1
                  : 0;
    }
    return obj.type == QR_JINJA_STR ? slice_str(j, obj.s, &r, out) : slice_other(j, obj, &r, out);
}
