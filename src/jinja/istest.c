/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_istest.c - the tests of `x is ...`. */
#include "jinja/call.h"

static quire_status answer(struct qr_j_value *out, bool yes)
{
    *out = qr_j_bool(yes);
    return QUIRE_OK;
}

/* --- types: they cannot fail --- */
#define TYPE_TEST(name, condition)                                                                 \
    static quire_status t_##name(struct qr_j *j, const struct qr_j_call *c,                        \
                                 struct qr_j_value *out)                                           \
    {                                                                                              \
        const struct qr_j_value v = c->self;                                                       \
        (void)j;                                                                                   \
        return answer(out, condition);                                                             \
    }
TYPE_TEST(defined, v.type != QR_J_UNDEFINED)
TYPE_TEST(undefined, v.type == QR_J_UNDEFINED)
TYPE_TEST(none, v.type == QR_J_NONE)
TYPE_TEST(boolean, v.type == QR_J_BOOL)
TYPE_TEST(true, v.type == QR_J_BOOL && v.b)
TYPE_TEST(false, v.type == QR_J_BOOL && !v.b)
TYPE_TEST(integer, v.type == QR_J_INT)
TYPE_TEST(float, v.type == QR_J_FLOAT)
TYPE_TEST(number, qr_j_is_number(v))
TYPE_TEST(string, v.type == QR_J_STR)
TYPE_TEST(mapping, v.type == QR_J_DICT)
TYPE_TEST(sequence, v.type == QR_J_STR || v.type == QR_J_DICT || v.type == QR_J_RANGE ||
                        v.type == QR_J_UNDEFINED || qr_j_is_plain_list(v) || qr_j_is_tuple(v))
TYPE_TEST(iterable, qr_j_is_iterable(v))
TYPE_TEST(callable, qr_j_is_callable(v))
TYPE_TEST(escaped, v.type == QR_J_STR && v.s->safe)
#undef TYPE_TEST

/* --- numbers --- */
static quire_status remainder_is(struct qr_j *j, struct qr_j_value v, struct qr_j_value by,
                                 int64_t wanted, struct qr_j_value *out)
{
    struct qr_j_value rest;
    bool same;
    QR_TRY(qr_j_binary(j, '%', v, by, &rest));
    QR_TRY(qr_j_equal(j, rest, qr_j_int(wanted), &same));
    return answer(out, same);
}

static quire_status t_odd(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return remainder_is(j, c->self, qr_j_int(2), 1, out);
}

static quire_status t_even(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return remainder_is(j, c->self, qr_j_int(2), 0, out);
}

static quire_status t_divisibleby(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return remainder_is(j, c->self, c->a[0], 0, out);
}

/* --- comparisons --- */
static quire_status t_eq(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    bool same;
    QR_TRY(qr_j_equal(j, c->self, c->a[0], &same));
    return answer(out, same);
}

static quire_status t_ne(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    bool same;
    QR_TRY(qr_j_equal(j, c->self, c->a[0], &same));
    return answer(out, !same);
}

static quire_status ordered(struct qr_j *j, const struct qr_j_call *c, enum qr_j_order_op op,
                            struct qr_j_value *out)
{
    bool holds;
    QR_TRY(qr_j_order(j, op, c->self, c->a[0], &holds));
    return answer(out, holds);
}

static quire_status t_lt(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return ordered(j, c, QR_J_LT, out);
}

static quire_status t_le(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return ordered(j, c, QR_J_LE, out);
}

static quire_status t_gt(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return ordered(j, c, QR_J_GT, out);
}

static quire_status t_ge(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return ordered(j, c, QR_J_GE, out);
}

static quire_status t_in(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    bool found;
    QR_TRY(qr_j_contains(j, c->self, c->a[0], &found));
    return answer(out, found);
}

/* The same object. Small values have no identity here, so equal type and value must do. */
static quire_status t_sameas(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    bool same = c->self.type == c->a[0].type && !qr_j_is_undefined(c->self);
    const bool object = c->self.type == QR_J_LIST || c->self.type == QR_J_DICT;
    if (same && object)
        same = c->self.l == c->a[0].l;
    else if (same)
        QR_TRY(qr_j_equal(j, c->self, c->a[0], &same));
    return answer(out, same);
}

/* --- text --- */
/* Asks the str method. */
static quire_status cased(struct qr_j *j, const struct qr_j_call *c, const char *method,
                          struct qr_j_value *out)
{
    const struct qr_j_str *s, name = { .p = method, .n = strlen(method) };
    bool unsafe;
    QR_TRY(qr_j_to_str(j, c->self, &s));
    const struct qr_j_value self = qr_j_str_value(s);
    return qr_j_call_builtin(j, qr_j_method_find(self, &name, &unsafe), self, c->args, out);
}

static quire_status t_lower(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return cased(j, c, "islower", out);
}

static quire_status t_upper(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return cased(j, c, "isupper", out);
}

static quire_status t_filter(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    (void)j;
    return answer(out, c->self.type == QR_J_STR && qr_j_filter_find(c->self.s));
}

static quire_status t_test(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    (void)j;
    return answer(out, c->self.type == QR_J_STR && qr_j_test_find(c->self.s));
}

static const struct qr_j_builtin tests[] = {
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

const struct qr_j_builtin *qr_j_test_find(const struct qr_j_str *name)
{
    return qr_j_table_find(tests, sizeof tests / sizeof *tests, name);
}
