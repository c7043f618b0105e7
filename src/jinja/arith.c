/* SPDX-License-Identifier: Apache-2.0 */
/* arith.c - arithmetic by Python's rules. Integers have 64 bits; overflow is an error. */
#include "jinja/arith.h"
#include "base/checked.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/percent_format.h"
#include "jinja/str.h"
#include "jinja/undefined.h"
#include "jinja/value.h"
#include <math.h>
#include <string.h>

/* Python integers are unbounded; here overflow is an error. */
static quire_status overflow(struct qr_jinja *j)
{
    return qr_jinja_fail(j, QUIRE_E_RANGE, "template: integer beyond 64 bits");
}

static const char *op_name(int op)
{
    switch (op) {
    case '+':
        return "+";
    case '-':
        return "-";
    case '*':
        return "*";
    case '/':
        return "/";
    case '%':
        return "%";
    case QR_JINJA_OP_FLOORDIV:
        return "//";
    default:
        return "** or pow()";
    }
}

static quire_status unsupported(struct qr_jinja *j, int op, struct qr_jinja_value a,
                                struct qr_jinja_value b)
{
    if (qr_jinja_is_undefined(a) || qr_jinja_is_undefined(b))
        return qr_jinja_undefined_error(j, qr_jinja_is_undefined(a) ? a : b);
    if (op == '+' && a.type == QR_JINJA_STR)
        return qr_jinja_type_error(j, "can only concatenate str (not \"%s\") to str",
                                   qr_jinja_type_name(b));
    if (op == '+' && (qr_jinja_is_plain_list(a) || qr_jinja_is_tuple(a)))
        return qr_jinja_type_error(j, "can only concatenate %s (not \"%s\") to %s",
                                   qr_jinja_type_name(a), qr_jinja_type_name(b),
                                   qr_jinja_type_name(a));
    if (op == '*' && (a.type == QR_JINJA_STR || b.type == QR_JINJA_STR))
        return qr_jinja_type_error(j, "can't multiply sequence by non-int of type '%s'",
                                   qr_jinja_type_name(a.type == QR_JINJA_STR ? b : a));
    return qr_jinja_type_error(j, "unsupported operand type(s) for %s: '%s' and '%s'", op_name(op),
                               qr_jinja_type_name(a), qr_jinja_type_name(b));
}

/* base ** exp for exp >= 0, by repeated squaring. */
static quire_status int_power(struct qr_jinja *j, int64_t base, int64_t exp, int64_t *out)
{
    *out = 1;
    for (; exp; exp >>= 1) {
        if ((exp & 1) && __builtin_mul_overflow(*out, base, out))
            return overflow(j);
        if (exp > 1 && __builtin_mul_overflow(base, base, &base))
            return overflow(j);
    }
    return QUIRE_OK;
}

/* Floor division: the remainder has the sign of the divisor. */
static quire_status int_divide(struct qr_jinja *j, int op, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return qr_jinja_type_error(j, op == '%' ? "integer modulo by zero"
                                                : "integer division or modulo by zero");
    if (b == -1) { /* INT64_MIN / -1 overflows */
        *out = 0;
        return op == '%' || !__builtin_sub_overflow(0, a, out) ? QUIRE_OK : overflow(j);
    }
    const int64_t q = a / b, r = a % b;
    const bool down = r != 0 && (r < 0) != (b < 0);
    *out = op == '%' ? r + (down ? b : 0) : q - down;
    return QUIRE_OK;
}

static quire_status int_binary(struct qr_jinja *j, int op, int64_t a, int64_t b,
                               struct qr_jinja_value *out)
{
    int64_t r = 0;
    bool too_big = false;
    switch (op) {
    case '+':
        too_big = __builtin_add_overflow(a, b, &r);
        break;
    case '-':
        too_big = __builtin_sub_overflow(a, b, &r);
        break;
    case '*':
        too_big = __builtin_mul_overflow(a, b, &r);
        break;
    case '/':
        if (b == 0)
            return qr_jinja_type_error(j, "division by zero");
        *out = qr_jinja_float((double)a / (double)b);
        return QUIRE_OK;
    case QR_JINJA_OP_POW:
        if (b < 0) {
            if (a == 0)
                return qr_jinja_type_error(j, "0.0 cannot be raised to a negative power");
            *out = qr_jinja_float(pow((double)a, (double)b));
            return QUIRE_OK;
        }
        QR_TRY(int_power(j, a, b, &r));
        break;
    default:
        QR_TRY(int_divide(j, op, a, b, &r));
        break;
    }
    *out = qr_jinja_int(r);
    return too_big ? overflow(j) : QUIRE_OK;
}

/* Floor division; a zero remainder has the sign of the divisor. */
static quire_status float_divide(struct qr_jinja *j, int op, double a, double b, double *out)
{
    if (b == 0)
        return qr_jinja_type_error(j, op == '/'   ? "float division by zero"
                                      : op == '%' ? "float modulo"
                                                  : "float floor division by zero");
    if (op == '/') {
        *out = a / b;
        return QUIRE_OK;
    }
    double mod = fmod(a, b);
    double div = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) {
        mod += b;
        div -= 1;
    }
    *out = op == '%' ? (mod == 0 ? copysign(0, b) : mod) : rint(div);
    return QUIRE_OK;
}

/* Division by zero is an error as in Python; other results may be infinite. */
static quire_status float_binary(struct qr_jinja *j, int op, double a, double b,
                                 struct qr_jinja_value *out)
{
    double r = 0;
    switch (op) {
    case '+':
        r = a + b;
        break;
    case '-':
        r = a - b;
        break;
    case '*':
        r = a * b;
        break;
    case QR_JINJA_OP_POW:
        if (a == 0 && b < 0)
            return qr_jinja_type_error(j, "0.0 cannot be raised to a negative power");
        r = pow(a, b);
        break;
    default:
        QR_TRY(float_divide(j, op, a, b, &r));
        break;
    }
    *out = qr_jinja_float(r);
    return QUIRE_OK;
}

/* `times` copies of a + b; b may be NULL. */
static quire_status join_lists(struct qr_jinja *j, const struct qr_jinja_list *a,
                               const struct qr_jinja_list *b, size_t times,
                               struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    const size_t n = a->n + (b ? b->n : 0); /* both are in memory */
    size_t total;
    if (!qr_mul_size(n, times, &total))
        total = SIZE_MAX;
    QR_TRY(qr_jinja_list_new(j, a->kind == QR_JINJA_LIST_GROUP ? QR_JINJA_LIST_TUPLE : a->kind,
                             total, &l));
    for (size_t at = 0; at < total; at += n) {
        if (a->n)
            memcpy(l->items + at, a->items, a->n * sizeof *l->items);
        if (b && b->n)
            memcpy(l->items + at + a->n, b->items, b->n * sizeof *l->items);
    }
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

static quire_status repeat_sequence(struct qr_jinja *j, struct qr_jinja_value seq, int64_t times,
                                    struct qr_jinja_value *out)
{
    if (seq.type == QR_JINJA_STR)
        return qr_jinja_str_repeat(j, seq.s, times, out);
    return join_lists(j, seq.l, NULL, times > 0 ? (size_t)times : 0, out);
}

static bool is_sequence(struct qr_jinja_value v)
{
    return v.type == QR_JINJA_STR || qr_jinja_is_plain_list(v) || qr_jinja_is_tuple(v);
}

/* The text of a dict that has one, otherwise v. */
static struct qr_jinja_value text_of(struct qr_jinja_value v)
{
    return v.type == QR_JINJA_DICT && v.d->text ? qr_jinja_str_value(v.d->text) : v;
}

quire_status qr_jinja_binary_op(struct qr_jinja *j, int op, struct qr_jinja_value a,
                                struct qr_jinja_value b, struct qr_jinja_value *out)
{
    if (qr_jinja_is_integral(a) && qr_jinja_is_integral(b))
        return int_binary(j, op, qr_jinja_integral(a), qr_jinja_integral(b), out);
    if (qr_jinja_is_number(a) && qr_jinja_is_number(b))
        return float_binary(j, op, qr_jinja_to_double(a), qr_jinja_to_double(b), out);
    if (op == '+' && a.type == QR_JINJA_STR)
        b = text_of(b);
    else if (op == '+' && b.type == QR_JINJA_STR)
        a = text_of(a);
    if (op == '+' && a.type == QR_JINJA_STR && b.type == QR_JINJA_STR)
        return qr_jinja_str_concat(j, a.s, b.s, out);
    if (op == '+' && ((qr_jinja_is_plain_list(a) && qr_jinja_is_plain_list(b)) ||
                      (qr_jinja_is_tuple(a) && qr_jinja_is_tuple(b))))
        return join_lists(j, a.l, b.l, 1, out);
    if (op == '*' && is_sequence(a) && qr_jinja_is_integral(b))
        return repeat_sequence(j, a, qr_jinja_integral(b), out);
    if (op == '*' && qr_jinja_is_integral(a) && is_sequence(b))
        return repeat_sequence(j, b, qr_jinja_integral(a), out);
    if (op == '%' && a.type == QR_JINJA_STR)
        return qr_jinja_percent_format(j, a.s, b, out);
    return unsupported(j, op, a, b);
}

quire_status qr_jinja_negate(struct qr_jinja *j, struct qr_jinja_value v,
                             struct qr_jinja_value *out)
{
    if (v.type == QR_JINJA_FLOAT) {
        *out = qr_jinja_float(-v.f);
        return QUIRE_OK;
    }
    if (qr_jinja_is_integral(v))
        return int_binary(j, '-', 0, qr_jinja_integral(v), out);
    if (qr_jinja_is_undefined(v))
        return qr_jinja_undefined_error(j, v);
    return qr_jinja_type_error(j, "bad operand type for unary -: '%s'", qr_jinja_type_name(v));
}
