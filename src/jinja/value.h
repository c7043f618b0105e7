/* SPDX-License-Identifier: Apache-2.0 */
/* value.h - construction and classification of values. */
#ifndef QR_JINJA_VALUE_H
#define QR_JINJA_VALUE_H
#include "jinja/types.h"

static inline struct qr_jinja_value qr_jinja_missing(void)
{
    return (struct qr_jinja_value){ .type = QR_JINJA_MISSING };
}
static inline struct qr_jinja_value qr_jinja_none(void)
{
    return (struct qr_jinja_value){ .type = QR_JINJA_NONE };
}
static inline struct qr_jinja_value qr_jinja_bool(bool b)
{
    return (struct qr_jinja_value){ .type = QR_JINJA_BOOL, .b = b };
}
static inline struct qr_jinja_value qr_jinja_int(int64_t i)
{
    return (struct qr_jinja_value){ .type = QR_JINJA_INT, .i = i };
}
static inline struct qr_jinja_value qr_jinja_float(double f)
{
    return (struct qr_jinja_value){ .type = QR_JINJA_FLOAT, .f = f };
}
static inline struct qr_jinja_value qr_jinja_str_value(const struct qr_jinja_str *s)
{
    return (struct qr_jinja_value){ .type = QR_JINJA_STR, .s = s };
}
static inline struct qr_jinja_value qr_jinja_list_value(struct qr_jinja_list *l)
{
    return (struct qr_jinja_value){ .type = QR_JINJA_LIST, .l = l };
}
static inline struct qr_jinja_value qr_jinja_dict_value(struct qr_jinja_dict *d)
{
    return (struct qr_jinja_value){ .type = QR_JINJA_DICT, .d = d };
}

/* Makes a string that borrows n bytes at p, which must outlive the arena. */
quire_status qr_jinja_str_borrow(struct qr_jinja *j, const char *p, size_t n, bool tainted,
                                 struct qr_jinja_value *out);
/* Same for a string literal, untainted. */
quire_status qr_jinja_str_literal(struct qr_jinja *j, const char *literal,
                                  struct qr_jinja_value *out);
/* Allocates a list of length n; the caller sets all items. Charges n steps. */
quire_status qr_jinja_list_new(struct qr_jinja *j, enum qr_jinja_list_kind kind, size_t n,
                               struct qr_jinja_list **out);
/* Makes the tuple (a, b). */
quire_status qr_jinja_pair(struct qr_jinja *j, struct qr_jinja_value a, struct qr_jinja_value b,
                           struct qr_jinja_value *out);

static inline bool qr_jinja_is_given(struct qr_jinja_value v) { return v.type != QR_JINJA_MISSING; }
static inline bool qr_jinja_is_undefined(struct qr_jinja_value v)
{
    return v.type == QR_JINJA_UNDEFINED;
}
/* bool is a subtype of int, as in Python. */
static inline bool qr_jinja_is_integral(struct qr_jinja_value v)
{
    return v.type == QR_JINJA_INT || v.type == QR_JINJA_BOOL;
}
static inline int64_t qr_jinja_integral(struct qr_jinja_value v)
{
    return v.type == QR_JINJA_BOOL ? v.b : v.i;
}
static inline bool qr_jinja_is_number(struct qr_jinja_value v)
{
    return qr_jinja_is_integral(v) || v.type == QR_JINJA_FLOAT;
}
static inline double qr_jinja_to_double(struct qr_jinja_value v)
{
    return v.type == QR_JINJA_FLOAT ? v.f : (double)qr_jinja_integral(v);
}
static inline bool qr_jinja_is_tuple(struct qr_jinja_value v)
{
    return v.type == QR_JINJA_LIST &&
           (v.l->kind == QR_JINJA_LIST_TUPLE || v.l->kind == QR_JINJA_LIST_GROUP);
}
static inline bool qr_jinja_is_plain_list(struct qr_jinja_value v)
{
    return v.type == QR_JINJA_LIST && v.l->kind == QR_JINJA_LIST_PLAIN;
}
static inline bool qr_jinja_is_generator(struct qr_jinja_value v)
{
    return v.type == QR_JINJA_LIST && v.l->kind == QR_JINJA_LIST_GENERATOR;
}

/* Element i of a range. Unsigned, because i * step may overflow although the element does not. */
static inline int64_t qr_jinja_range_at(const struct qr_jinja_range *r, int64_t i)
{
    return (int64_t)((uint64_t)r->start + (uint64_t)i * (uint64_t)r->step);
}

/* Name of the type of v as Python prints it. */
const char *qr_jinja_type_name(struct qr_jinja_value v);
/* Python's bool(v). */
bool qr_jinja_truth(struct qr_jinja_value v);
bool qr_jinja_is_callable(struct qr_jinja_value v);

#endif
