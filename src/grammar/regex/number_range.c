/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/number_range.h"
#include "grammar/regex/number_magnitude.h"
#include <limits.h>

enum { MAX_DIVISOR_PLACES = 400 };

static qr_regex concat(struct qr_regex_set *set, qr_regex a, qr_regex b)
{
    return qr_regex_concat(set, (const qr_regex[]){ a, b }, 2);
}

static qr_regex either(struct qr_regex_set *set, qr_regex a, qr_regex b)
{
    return qr_regex_or(set, (const qr_regex[]){ a, b }, 2);
}

static qr_regex byte(struct qr_regex_set *set, char c) { return qr_regex_literal(set, &c, 1); }

/* ---- Exponents ---- */

/* Digits of the integers from low to high >= low >= 0, INT_MAX = unbounded, with leading zeros. */
static qr_regex exponent_digits(struct qr_regex_set *set, int low, int high)
{
    struct qr_number_bound bounds[2];
    qr_number_bound_set(&bounds[0], low);
    qr_number_bound_set(&bounds[1], high);
    const struct qr_magnitudes m = { .low = &bounds[0],
                                     .high = high < INT_MAX ? &bounds[1] : NULL,
                                     .integer = true };
    return concat(set, qr_regex_repeat(set, byte(set, '0'), 0, QR_REGEX_UNBOUNDED),
                  qr_magnitude_range(set, &m));
}

/* The exponents from low to high, INT_MIN and INT_MAX = unbounded, with the letter. */
static qr_regex exponents(struct qr_regex_set *set, int low, int high)
{
    qr_regex positive = QR_REGEX_NONE, negative = QR_REGEX_NONE;
    if (high < low)
        return QR_REGEX_NONE;
    if (high >= 0)
        positive = concat(set, either(set, byte(set, '+'), QR_REGEX_EMPTY),
                          exponent_digits(set, low > 0 ? low : 0, high));
    if (low <= 0)
        negative =
            concat(set, byte(set, '-'),
                   exponent_digits(set, high < 0 ? -high : 0, low == INT_MIN ? INT_MAX : -low));
    return concat(set, either(set, byte(set, 'e'), byte(set, 'E')),
                  either(set, positive, negative));
}

/* The mantissas from 1 to 10, 10 excluded, that lie between the bounds of m and of `scaled`. */
static qr_regex mantissas(struct qr_regex_set *set, const struct qr_magnitudes *m,
                          const struct qr_magnitudes *scaled)
{
    struct qr_number_bound one, ten;
    qr_number_bound_set(&one, 1);
    qr_number_bound_set(&ten, 10);
    struct qr_magnitudes out = { .low = &one, .high = &ten, .high_open = true };
    const struct qr_magnitudes *const both[] = { m, scaled };
    for (int i = 0; i < 2; i++) {
        if (both[i]->low != NULL) {
            const int c = qr_number_bound_compare(both[i]->low, out.low);
            out.low_open =
                c > 0 ? both[i]->low_open : out.low_open || (c == 0 && both[i]->low_open);
            out.low = c > 0 ? both[i]->low : out.low;
        }
        if (both[i]->high != NULL) {
            const int c = qr_number_bound_compare(both[i]->high, out.high);
            out.high_open =
                c < 0 ? both[i]->high_open : out.high_open || (c == 0 && both[i]->high_open);
            out.high = c < 0 ? both[i]->high : out.high;
        }
    }
    return qr_magnitude_range(set, &out);
}

/* The numbers between the bounds as d.ddde+-N with d.ddd between the bounds too. */
static qr_regex normalized(struct qr_regex_set *set, const struct qr_magnitudes *m)
{
    struct qr_number_bound low, high;
    int first = INT_MIN, last = INT_MAX;
    struct qr_magnitudes at_low = { .low_open = m->low_open },
                         at_high = { .high_open = m->high_open };
    if (m->high != NULL && m->high->n == 0)
        return QR_REGEX_NONE;
    if (m->low != NULL && m->low->n > 0) {
        low = *m->low;
        first = low.point - 1;
        low.point = 1;
        at_low.low = &low;
    }
    if (m->high != NULL) {
        high = *m->high;
        last = high.point - 1;
        high.point = 1;
        at_high.high = &high;
    }
    if (at_low.low != NULL && at_high.high != NULL && first == last) {
        at_low.high = at_high.high;
        at_low.high_open = at_high.high_open;
        return concat(set, mantissas(set, m, &at_low), exponents(set, first, first));
    }
    const struct qr_magnitudes none = { .low = NULL };
    qr_regex list[3] = { QR_REGEX_NONE };
    if (at_low.low != NULL)
        list[0] = concat(set, mantissas(set, m, &at_low), exponents(set, first, first));
    if (at_high.high != NULL)
        list[1] = concat(set, mantissas(set, m, &at_high), exponents(set, last, last));
    list[2] =
        concat(set, mantissas(set, m, &none),
               exponents(set, at_low.low ? first + 1 : INT_MIN, at_high.high ? last - 1 : INT_MAX));
    return first > last ? (qr_regex)QR_REGEX_NONE : qr_regex_or(set, list, 3);
}

/* ---- Signs ---- */

/* The numbers of one sign, without it. */
static qr_regex one_sign(struct qr_regex_set *set, const struct qr_magnitudes *m,
                         bool with_exponent)
{
    const qr_regex plain = qr_magnitude_range(set, m);
    if (!with_exponent)
        return plain;
    if (m->high == NULL && (m->low == NULL || m->low->n == 0))
        return concat(set, plain, either(set, exponents(set, INT_MIN, INT_MAX), QR_REGEX_EMPTY));
    return either(set, plain, normalized(set, m));
}

static qr_regex both_signs(struct qr_regex_set *set, const struct qr_number_range *r,
                           const struct qr_number_bound *min, const struct qr_number_bound *max)
{
    const bool integer = r->kind == QR_NUMBER_INTEGER;
    const bool with_exponent = r->kind == QR_NUMBER_ANY && r->n_multiples == 0;
    qr_regex positive = QR_REGEX_NONE, negative = QR_REGEX_NONE;
    if (max == NULL || !max->negative) {
        const bool has_low = min != NULL && !min->negative;
        const struct qr_magnitudes m = { .low = has_low ? min : NULL,
                                         .high = max,
                                         .low_open = has_low && r->min_exclusive,
                                         .high_open = r->max_exclusive,
                                         .integer = integer };
        positive = one_sign(set, &m, with_exponent);
    }
    if (min == NULL || min->negative) {
        const bool has_low = max != NULL && (max->negative || max->n == 0);
        const struct qr_magnitudes m = { .low = has_low ? max : NULL,
                                         .high = min,
                                         .low_open = has_low && r->max_exclusive,
                                         .high_open = r->min_exclusive,
                                         .integer = integer };
        negative = concat(set, byte(set, '-'), one_sign(set, &m, with_exponent));
    }
    return either(set, positive, negative);
}

/* ---- Multiples ---- */

/* Decimal notations with the sign, leading zeros included. */
static quire_status multiples(struct qr_regex_set *set, const struct qr_number_multiple *multiple,
                              qr_regex *out)
{
    struct qr_number_bound d;
    const quire_status status = qr_number_bound_read(multiple->divisor, &d);
    if (status != QUIRE_OK)
        return status;
    if (d.n == 0 || d.negative)
        return QUIRE_E_INVALID_ARG;
    uint64_t divisor = 0;
    const int places = d.n > d.point ? d.n - d.point : 0;
    for (int i = 0; i < d.point + places && divisor <= INT32_MAX; i++)
        divisor = divisor * 10 + (uint64_t)(i < d.n ? d.digits[i] : 0);
    if (places > MAX_DIVISOR_PLACES || divisor > INT32_MAX)
        return QUIRE_E_UNSUPPORTED;
    const qr_regex r = concat(set, either(set, byte(set, '-'), QR_REGEX_EMPTY),
                              qr_regex_multiple_of(set, (uint32_t)divisor, (uint32_t)places));
    *out = multiple->negated ? qr_regex_not(set, r) : r;
    return QUIRE_OK;
}

/* Texts that have a digit other than 0 after the point. */
static qr_regex fractional(struct qr_regex_set *set)
{
    const qr_regex list[] = { QR_REGEX_ANY, byte(set, '.'), QR_REGEX_ANY, qr_digit_range(set, 1, 9),
                              QR_REGEX_ANY };
    return qr_regex_concat(set, list, 5);
}

/* ---- Ranges ---- */

static quire_status read_bound(const char *text, struct qr_number_bound *bound, const char **which)
{
    const quire_status status = text ? qr_number_bound_read(text, bound) : QUIRE_OK;
    if (status != QUIRE_OK && which != NULL)
        *which = text;
    return status;
}

quire_status qr_number_range(struct qr_regex_set *set, const struct qr_number_range *r,
                             qr_regex *out, const char **which)
{
    struct qr_number_bound min, max;
    *out = QR_REGEX_NONE;
    quire_status status = read_bound(r->min, &min, which);
    if (status == QUIRE_OK)
        status = read_bound(r->max, &max, which);
    if (status != QUIRE_OK)
        return status;
    qr_regex all = both_signs(set, r, r->min ? &min : NULL, r->max ? &max : NULL);
    if (r->kind == QR_NUMBER_FRACTIONAL)
        all = qr_regex_and(set, (const qr_regex[]){ all, fractional(set) }, 2);
    for (size_t i = 0; i < r->n_multiples; i++) {
        qr_regex m = QR_REGEX_NONE;
        status = multiples(set, &r->multiples[i], &m);
        if (status != QUIRE_OK && which != NULL)
            *which = r->multiples[i].divisor;
        if (status != QUIRE_OK)
            return status;
        all = qr_regex_and(set, (const qr_regex[]){ all, m }, 2);
    }
    *out = all;
    return qr_regex_set_status(set);
}
