/* SPDX-License-Identifier: Apache-2.0 */
/* number_set.c - sets of numbers: unions of alternatives. */
#include "grammar/json_schema/number_set.h"
#include "grammar/json_schema/decimal.h"
#include "grammar/json_schema/list.h"
#include "grammar/json_schema/number_text.h"

const struct qr_number_alt qr_number_any = { 0 };

/* ---- Bounds */

/* Whether the bound a is stricter than b; both are lower bounds (sign 1) or upper ones (-1). */
static bool stricter(const struct qr_decimal *a, bool a_open, const struct qr_decimal *b,
                     bool b_open, int sign)
{
    if (!a || !b)
        return a;
    const int order = qr_decimal_compare(a, b) * sign;
    return order ? order > 0 : a_open && !b_open;
}

/* Whether the bounds exclude all numbers, or all but one that is no candidate. */
static bool obviously_none(const struct qr_number_alt *a)
{
    if (!a->low || !a->high)
        return false;
    const int order = qr_decimal_compare(a->low, a->high);
    if (order)
        return order > 0;
    bool known;
    const bool in = !a->low_open && !a->high_open && qr_number_in(a, a->low, &known);
    return !in && (a->low_open || a->high_open || known);
}

bool qr_number_in(const struct qr_number_alt *alt, const struct qr_decimal *value, bool *known)
{
    const int low = alt->low ? qr_decimal_compare(value, alt->low) : 1;
    const int high = alt->high ? qr_decimal_compare(value, alt->high) : -1;
    *known = true;
    if (low < 0 || high > 0 || (!low && alt->low_open) || (!high && alt->high_open))
        return false;
    if (alt->integrality != QR_ANY_NUMBER &&
        (alt->integrality == QR_INTEGER) != qr_decimal_is_integer(value))
        return false;
    for (uint32_t i = 0; i < alt->n_multiples; i++) {
        const bool is = qr_decimal_is_multiple(value, &alt->multiples[i].of, known);
        if (!*known || is == alt->multiples[i].negated)
            return false;
    }
    return true;
}

/* ---- Intersection and union */

static bool same_multiple(const struct qr_multiple *a, const struct qr_multiple *b)
{
    return a->negated == b->negated && qr_decimal_compare(&a->of, &b->of) == 0;
}

static bool and_multiples(struct qr_schema *s, const struct qr_number_alt *a,
                          const struct qr_number_alt *b, struct qr_number_alt *out)
{
    const struct qr_number_alt *more = a->n_multiples ? a : b;
    out->multiples = more->multiples;
    out->n_multiples = more->n_multiples;
    if (!a->n_multiples || !b->n_multiples)
        return true;
    struct qr_multiple *list = qr_schema_alloc(s, a->n_multiples + b->n_multiples, sizeof *list);
    uint32_t n = a->n_multiples;
    if (!list)
        return false;
    memcpy(list, a->multiples, n * sizeof *list);
    for (uint32_t i = 0; i < b->n_multiples; i++) {
        bool known = false;
        for (uint32_t k = 0; k < a->n_multiples; k++)
            known |= same_multiple(&a->multiples[k], &b->multiples[i]);
        if (!known)
            list[n++] = b->multiples[i];
    }
    out->multiples = list;
    out->n_multiples = n;
    return true;
}

static bool add_alt(struct qr_schema *s, struct qr_list *list, const struct qr_number_alt *alt)
{
    if (obviously_none(alt))
        return true;
    if (list->n >= 4 * QR_SCHEMA_MAX_ALTERNATIVES)
        return qr_schema_fail(s, QUIRE_E_LIMIT, NULL, NULL, "more than %d ranges of numbers",
                              4 * QR_SCHEMA_MAX_ALTERNATIVES);
    return qr_list_push(s, list, alt, sizeof *alt);
}

/* Appends the intersection unless it is empty. */
static bool and_alt(struct qr_schema *s, const struct qr_number_alt *a,
                    const struct qr_number_alt *b, struct qr_list *list)
{
    struct qr_number_alt out = *a;
    if (stricter(b->low, b->low_open, a->low, a->low_open, 1)) {
        out.low = b->low;
        out.low_open = b->low_open;
    }
    if (stricter(b->high, b->high_open, a->high, a->high_open, -1)) {
        out.high = b->high;
        out.high_open = b->high_open;
    }
    if (b->integrality != QR_ANY_NUMBER) {
        if (a->integrality != QR_ANY_NUMBER && a->integrality != b->integrality)
            return true;
        out.integrality = b->integrality;
    }
    return and_multiples(s, a, b, &out) && add_alt(s, list, &out);
}

static void finish(const struct qr_list *list, struct qr_value_set *out)
{
    out->numbers = list->items;
    out->n_numbers = list->n;
}

bool qr_numbers_and(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                    struct qr_value_set *out)
{
    struct qr_list list = { 0 };
    if (a->numbers == &qr_number_any || b->numbers == &qr_number_any) {
        const struct qr_value_set *other = a->numbers == &qr_number_any ? b : a;
        out->numbers = other->numbers;
        out->n_numbers = other->n_numbers;
        return true;
    }
    for (uint32_t i = 0; i < a->n_numbers; i++) {
        for (uint32_t k = 0; k < b->n_numbers; k++)
            if (!and_alt(s, &a->numbers[i], &b->numbers[k], &list))
                return false;
        if (i % 64 == 63 && !qr_schema_check(s))
            return false;
    }
    finish(&list, out);
    return true;
}

bool qr_numbers_or(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                   struct qr_value_set *out)
{
    struct qr_list list = { 0 };
    if (!a->n_numbers || !b->n_numbers || a->numbers == &qr_number_any ||
        b->numbers == &qr_number_any) {
        const struct qr_value_set *from = !b->n_numbers || a->numbers == &qr_number_any ? a : b;
        out->numbers = from->numbers;
        out->n_numbers = from->n_numbers;
        return true;
    }
    for (uint32_t i = 0; i < a->n_numbers; i++)
        if (!add_alt(s, &list, &a->numbers[i]))
            return false;
    for (uint32_t i = 0; i < b->n_numbers; i++)
        if (!add_alt(s, &list, &b->numbers[i]))
            return false;
    finish(&list, out);
    return true;
}

/* ---- Complement */

static bool not_alt(struct qr_schema *s, const struct qr_number_alt *a, struct qr_list *list)
{
    const struct qr_number_alt below = { .high = a->low, .high_open = !a->low_open };
    const struct qr_number_alt above = { .low = a->high, .low_open = !a->high_open };
    const struct qr_number_alt other = { .integrality = a->integrality == QR_INTEGER ? QR_FRACTIONAL
                                                                                     : QR_INTEGER };
    if ((a->low && !add_alt(s, list, &below)) || (a->high && !add_alt(s, list, &above)) ||
        (a->integrality != QR_ANY_NUMBER && !add_alt(s, list, &other)))
        return false;
    for (uint32_t i = 0; i < a->n_multiples; i++) {
        struct qr_multiple *m = qr_schema_alloc(s, 1, sizeof *m);
        const struct qr_number_alt alt = { .multiples = m, .n_multiples = 1 };
        if (!m)
            return false;
        *m = a->multiples[i];
        m->negated = !m->negated;
        if (!add_alt(s, list, &alt))
            return false;
    }
    return true;
}

bool qr_numbers_not(struct qr_schema *s, const struct qr_value_set *a, struct qr_value_set *out)
{
    struct qr_value_set rest = { .numbers = &qr_number_any, .n_numbers = 1 };
    for (uint32_t i = 0; i < a->n_numbers && rest.n_numbers; i++) {
        struct qr_list list = { 0 };
        struct qr_value_set other = { 0 }, next = { 0 };
        if (!not_alt(s, &a->numbers[i], &list))
            return false;
        finish(&list, &other);
        if (!qr_numbers_and(s, &rest, &other, &next) || !qr_schema_check(s))
            return false;
        rest = next;
    }
    out->numbers = rest.numbers;
    out->n_numbers = rest.n_numbers;
    return true;
}

bool qr_number_is_none(struct qr_schema *s, const struct qr_number_alt *alt)
{
    bool none;
    if (obviously_none(alt))
        return true;
    if (!alt->n_multiples && (alt->integrality == QR_ANY_NUMBER || !alt->low || !alt->high))
        return false;
    const qr_regex r = qr_number_regex(s, alt);
    if (!qr_schema_ok(s)) {
        (void)qr_schema_recover(s);
        return false;
    }
    return qr_regex_is_none(s->regexes, r, QR_SCHEMA_MAX_STATES, &none) == QUIRE_OK && none;
}
