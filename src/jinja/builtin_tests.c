/* SPDX-License-Identifier: Apache-2.0 */
/* builtin_tests.c - Jinja2's builtin tests, the names in `x is name`. */
#include "jinja/builtin_tests.h"
#include "base/error.h"
#include "jinja/arith.h"
#include "jinja/builtin.h"
#include "jinja/compare.h"
#include "jinja/filter.h"
#include "jinja/iterate.h"
#include "jinja/method.h"
#include "jinja/print.h"
#include "jinja/value.h"
#include <string.h>

static quire_status return_bool(struct qr_jinja_value *out, bool yes)
{
    *out = qr_jinja_bool(yes);
    return QUIRE_OK;
}

/* --- types --- */
#define TYPE_TEST(name, condition)                                                                 \
    static quire_status t_##name(struct qr_jinja *j, const struct qr_jinja_call *c,                \
                                 struct qr_jinja_value *out)                                       \
    {                                                                                              \
        const struct qr_jinja_value v = c->self;                                                   \
        (void)j;                                                                                   \
        return return_bool(out, condition);                                                        \
    }
TYPE_TEST(defined, v.type != QR_JINJA_UNDEFINED)
TYPE_TEST(undefined, v.type == QR_JINJA_UNDEFINED)
TYPE_TEST(none, v.type == QR_JINJA_NONE)
TYPE_TEST(boolean, v.type == QR_JINJA_BOOL)
TYPE_TEST(true, v.type == QR_JINJA_BOOL && v.b)
TYPE_TEST(false, v.type == QR_JINJA_BOOL && !v.b)
TYPE_TEST(integer, v.type == QR_JINJA_INT)
TYPE_TEST(float, v.type == QR_JINJA_FLOAT)
TYPE_TEST(number, qr_jinja_is_number(v))
TYPE_TEST(string, v.type == QR_JINJA_STR)
TYPE_TEST(mapping, v.type == QR_JINJA_DICT)
TYPE_TEST(sequence, v.type == QR_JINJA_STR || v.type == QR_JINJA_DICT || v.type == QR_JINJA_RANGE ||
                        v.type == QR_JINJA_UNDEFINED || qr_jinja_is_plain_list(v) ||
                        qr_jinja_is_tuple(v))
TYPE_TEST(iterable, qr_jinja_is_iterable(v))
TYPE_TEST(callable, qr_jinja_is_callable(v))
TYPE_TEST(escaped, v.type == QR_JINJA_STR && v.s->safe)
#undef TYPE_TEST

/* --- numbers --- */
static quire_status remainder_is(struct qr_jinja *j, struct qr_jinja_value v,
                                 struct qr_jinja_value by, int64_t wanted,
                                 struct qr_jinja_value *out)
{
    struct qr_jinja_value rest;
    bool same;
    QR_TRY(qr_jinja_binary_op(j, '%', v, by, &rest));
    QR_TRY(qr_jinja_equal(j, rest, qr_jinja_int(wanted), &same));
    return return_bool(out, same);
}

static quire_status t_odd(struct qr_jinja *j, const struct qr_jinja_call *c,
                          struct qr_jinja_value *out)
{
    return remainder_is(j, c->self, qr_jinja_int(2), 1, out);
}

static quire_status t_even(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    return remainder_is(j, c->self, qr_jinja_int(2), 0, out);
}

static quire_status t_divisibleby(struct qr_jinja *j, const struct qr_jinja_call *c,
                                  struct qr_jinja_value *out)
{
    return remainder_is(j, c->self, c->arg[0], 0, out);
}

/* --- comparisons --- */
static quire_status t_eq(struct qr_jinja *j, const struct qr_jinja_call *c,
                         struct qr_jinja_value *out)
{
    bool same;
    QR_TRY(qr_jinja_equal(j, c->self, c->arg[0], &same));
    return return_bool(out, same);
}

static quire_status t_ne(struct qr_jinja *j, const struct qr_jinja_call *c,
                         struct qr_jinja_value *out)
{
    bool same;
    QR_TRY(qr_jinja_equal(j, c->self, c->arg[0], &same));
    return return_bool(out, !same);
}

static quire_status compare_values(struct qr_jinja *j, const struct qr_jinja_call *c,
                                   enum qr_jinja_order_op op, struct qr_jinja_value *out)
{
    bool holds;
    QR_TRY(qr_jinja_order(j, op, c->self, c->arg[0], &holds));
    return return_bool(out, holds);
}

static quire_status t_lt(struct qr_jinja *j, const struct qr_jinja_call *c,
                         struct qr_jinja_value *out)
{
    return compare_values(j, c, QR_JINJA_LT, out);
}

static quire_status t_le(struct qr_jinja *j, const struct qr_jinja_call *c,
                         struct qr_jinja_value *out)
{
    return compare_values(j, c, QR_JINJA_LE, out);
}

static quire_status t_gt(struct qr_jinja *j, const struct qr_jinja_call *c,
                         struct qr_jinja_value *out)
{
    return compare_values(j, c, QR_JINJA_GT, out);
}

static quire_status t_ge(struct qr_jinja *j, const struct qr_jinja_call *c,
                         struct qr_jinja_value *out)
{
    return compare_values(j, c, QR_JINJA_GE, out);
}

static quire_status t_in(struct qr_jinja *j, const struct qr_jinja_call *c,
                         struct qr_jinja_value *out)
{
    bool found;
    QR_TRY(qr_jinja_contains(j, c->self, c->arg[0], &found));
    return return_bool(out, found);
}

/* Identity of lists and dicts. Other values have no identity: they are the same if type and value
 * are equal. */
static quire_status t_sameas(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    bool same = c->self.type == c->arg[0].type && !qr_jinja_is_undefined(c->self);
    const bool object = c->self.type == QR_JINJA_LIST || c->self.type == QR_JINJA_DICT;
    if (same && object)
        same = c->self.l == c->arg[0].l;
    else if (same)
        QR_TRY(qr_jinja_equal(j, c->self, c->arg[0], &same));
    return return_bool(out, same);
}

/* --- strings and names --- */
/* Calls a str method on str(self). */
static quire_status call_str_predicate(struct qr_jinja *j, const struct qr_jinja_call *c,
                                       const char *method, struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s, name = { .p = method, .n = strlen(method) };
    bool unsafe;
    QR_TRY(qr_jinja_to_str(j, c->self, &s));
    const struct qr_jinja_value self = qr_jinja_str_value(s);
    return qr_jinja_call_builtin(j, qr_jinja_method_find(self, &name, &unsafe), self, c->args, out);
}

static quire_status t_lower(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return call_str_predicate(j, c, "islower", out);
}

static quire_status t_upper(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return call_str_predicate(j, c, "isupper", out);
}

static quire_status t_filter(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    (void)j;
    return return_bool(out, c->self.type == QR_JINJA_STR && qr_jinja_filter_find(c->self.s));
}

static quire_status t_test(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    (void)j;
    return return_bool(out, c->self.type == QR_JINJA_STR && qr_jinja_test_find(c->self.s));
}

static const struct qr_jinja_builtin tests[] = {
    { "defined", t_defined, "", 0 },     { "undefined", t_undefined, "", 0 },
    { "none", t_none, "", 0 },           { "string", t_string, "", 0 },
    { "mapping", t_mapping, "", 0 },     { "iterable", t_iterable, "", 0 },
    { "sequence", t_sequence, "", 0 },   { "number", t_number, "", 0 },
    { "boolean", t_boolean, "", 0 },     { "true", t_true, "", 0 },
    { "false", t_false, "", 0 },         { "integer", t_integer, "", 0 },
    { "float", t_float, "", 0 },         { "callable", t_callable, "", 0 },
    { "escaped", t_escaped, "", 0 },     { "odd", t_odd, "", 0 },
    { "even", t_even, "", 0 },           { "divisibleby", t_divisibleby, "num", 1 },
    { "eq", t_eq, "other", 1 },          { "==", t_eq, "other", 1 },
    { "equalto", t_eq, "other", 1 },     { "ne", t_ne, "other", 1 },
    { "!=", t_ne, "other", 1 },          { "lt", t_lt, "other", 1 },
    { "<", t_lt, "other", 1 },           { "lessthan", t_lt, "other", 1 },
    { "le", t_le, "other", 1 },          { "<=", t_le, "other", 1 },
    { "gt", t_gt, "other", 1 },          { ">", t_gt, "other", 1 },
    { "greaterthan", t_gt, "other", 1 }, { "ge", t_ge, "other", 1 },
    { ">=", t_ge, "other", 1 },          { "in", t_in, "seq", 1 },
    { "sameas", t_sameas, "other", 1 },  { "lower", t_lower, "", 0 },
    { "upper", t_upper, "", 0 },         { "filter", t_filter, "", 0 },
    { "test", t_test, "", 0 },
};

const struct qr_jinja_builtin *qr_jinja_test_find(const struct qr_jinja_str *name)
{
    return qr_jinja_builtin_find(tests, sizeof tests / sizeof *tests, name);
}
