/* SPDX-License-Identifier: Apache-2.0 */
/* keywords_number.c - the keywords of numbers. */
#include "grammar/json_schema/keywords_number.h"
#include "base/error.h"
#include "grammar/json_schema/context.h"
#include "grammar/json_schema/decimal.h"
#include "grammar/json_schema/number_set.h"

/* A keyword that is a number. *out stays NULL without it. */
static bool read(struct qr_schema *s, const struct qr_keywords *k, const char *name,
                 const struct qr_json *value, struct qr_decimal **out)
{
    *out = NULL;
    if (!value)
        return true;
    if (!qr_json_is_number(value))
        return qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, name, "must be a number");
    *out = qr_schema_alloc(s, 1, sizeof **out);
    return *out && qr_decimal_read(s, value, *out);
}

/* One side: `minimum` and exclusiveMinimum, a number or, as in draft 4, a boolean. */
static bool read_bound(struct qr_schema *s, const struct qr_keywords *k, const char *const names[2],
                       const struct qr_json *inclusive, const struct qr_json *exclusive, int sign,
                       const struct qr_decimal **bound, bool *open)
{
    struct qr_decimal *in, *ex;
    const bool flag = qr_json_is_bool(exclusive);
    if (!read(s, k, names[0], inclusive, &in) ||
        !read(s, k, names[1], flag ? NULL : exclusive, &ex))
        return false;
    *bound = in;
    *open = in && flag && qr_json_is_true(exclusive);
    if (ex && (!in || qr_decimal_compare(ex, in) * sign >= 0)) {
        *bound = ex;
        *open = true;
    }
    return true;
}

static bool read_multiple(struct qr_schema *s, const struct qr_keywords *k,
                          struct qr_number_alt *alt)
{
    struct qr_multiple *m = qr_schema_alloc(s, 1, sizeof *m);
    struct qr_decimal *of;
    if (!m || !read(s, k, "multipleOf", k->multiple_of, &of))
        return false;
    QR_INVARIANT(of); /* the keyword is there */
    if (of->negative || !of->n)
        return qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, "multipleOf",
                              "must be greater than 0");
    m->of = *of;
    alt->multiples = m;
    alt->n_multiples = 1;
    return true;
}

bool qr_keywords_number(struct qr_schema *s, const struct qr_keywords *k, bool integers,
                        struct qr_value_set *out)
{
    static const char *const low[] = { "minimum", "exclusiveMinimum" };
    static const char *const high[] = { "maximum", "exclusiveMaximum" };
    out->numbers = &qr_number_any;
    out->n_numbers = 1;
    if (!integers && !k->minimum && !k->maximum && !k->exclusive_minimum && !k->exclusive_maximum &&
        !k->multiple_of)
        return true;
    struct qr_number_alt *alt = qr_schema_alloc(s, 1, sizeof *alt);
    if (!alt ||
        !read_bound(s, k, low, k->minimum, k->exclusive_minimum, 1, &alt->low, &alt->low_open) ||
        !read_bound(s, k, high, k->maximum, k->exclusive_maximum, -1, &alt->high, &alt->high_open))
        return false;
    alt->integrality = integers ? QR_INTEGER : QR_ANY_NUMBER;
    if (k->multiple_of && !read_multiple(s, k, alt))
        return false;
    out->numbers = alt;
    return true;
}
