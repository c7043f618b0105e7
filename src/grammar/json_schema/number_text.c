/* SPDX-License-Identifier: Apache-2.0 */
/* number_text.c - the JSON texts of numbers. */
#include "grammar/json_schema/number_text.h"
#include "grammar/json_schema/context.h"
#include "grammar/json_schema/decimal.h"
#include "grammar/regex/number_range.h"
#include <string.h>

enum { MAX_PLACES = 20, MAX_EXPONENT_DIGITS = 3, MAX_POINT_BYTES = 64 };

static bool bound_text(struct qr_schema *s, const struct qr_decimal *d, const char **out)
{
    *out = d ? qr_decimal_text(s, d) : NULL;
    return !d || *out;
}

/* The texts of the range, with any number of digits behind the point. */
static qr_regex range_regex(struct qr_schema *s, const struct qr_number_alt *alt)
{
    static const enum qr_number_kind kinds[] = { [QR_ANY_NUMBER] = QR_NUMBER_ANY,
                                                 [QR_INTEGER] = QR_NUMBER_INTEGER,
                                                 [QR_FRACTIONAL] = QR_NUMBER_FRACTIONAL };
    struct qr_number_range range = { .min_exclusive = alt->low_open,
                                     .max_exclusive = alt->high_open,
                                     .kind = kinds[alt->integrality],
                                     .n_multiples = alt->n_multiples };
    struct qr_number_multiple *multiples = qr_schema_alloc(s, alt->n_multiples, sizeof *multiples);
    const char *which = "";
    qr_regex out;
    if (!multiples || !bound_text(s, alt->low, &range.min) || !bound_text(s, alt->high, &range.max))
        return QR_REGEX_NONE;
    for (uint32_t i = 0; i < alt->n_multiples; i++) {
        multiples[i].negated = alt->multiples[i].negated;
        if (!bound_text(s, &alt->multiples[i].of, &multiples[i].divisor))
            return QR_REGEX_NONE;
    }
    range.multiples = multiples;
    const quire_status status = qr_number_range(s->regexes, &range, &out, &which);
    if (status == QUIRE_OK)
        return out;
    qr_schema_fail(s, status, NULL, NULL, "numbers with the bound or divisor %.60s", which);
    return QR_REGEX_NONE;
}

static qr_regex digits(struct qr_schema *s, uint32_t min, uint32_t max)
{
    struct qr_byte_set set = { { 0 } };
    for (int c = '0'; c <= '9'; c++)
        set.bits[0] |= UINT64_C(1) << c;
    return qr_regex_repeat(s->regexes, qr_regex_bytes(s->regexes, &set), min, max);
}

static qr_regex one_of(struct qr_schema *s, const char *bytes)
{
    struct qr_byte_set set = { { 0 } };
    for (; *bytes; bytes++)
        set.bits[(uint8_t)*bytes / 64] |= UINT64_C(1) << ((uint8_t)*bytes % 64);
    return qr_regex_bytes(s->regexes, &set);
}

static qr_regex optional(struct qr_schema *s, const qr_regex *list, size_t n)
{
    return qr_regex_repeat(s->regexes, qr_regex_concat(s->regexes, list, n), 0, 1);
}

/* Number of places that the bounds and divisors of an alternative need behind the point. */
static uint32_t places_of(const struct qr_number_alt *alt)
{
    int64_t places = 0;
    const struct qr_decimal *bounds[2] = { alt->low, alt->high };
    for (int i = 0; i < 2; i++)
        if (bounds[i] && -bounds[i]->exponent > places)
            places = -bounds[i]->exponent;
    for (uint32_t i = 0; i < alt->n_multiples; i++)
        if (-alt->multiples[i].of.exponent > places)
            places = -alt->multiples[i].of.exponent;
    return places < 1 << 16 ? (uint32_t)places : 1 << 16;
}

/* Numbers without endless digits behind the point, at which models get stuck: at most MAX_PLACES,
 * or two more than the bounds have. */
static qr_regex bounded(struct qr_schema *s, const struct qr_number_alt *alt)
{
    const uint32_t needed = places_of(alt) + 2;
    const uint32_t places = needed > MAX_PLACES ? needed : (uint32_t)MAX_PLACES;
    const qr_regex sign = one_of(s, "-"), point = one_of(s, ".");
    const qr_regex exponent[3] = { one_of(s, "eE"), optional(s, (qr_regex[]){ one_of(s, "+-") }, 1),
                                   digits(s, 1, MAX_EXPONENT_DIGITS) };
    const qr_regex list[4] = { optional(s, &sign, 1), digits(s, 1, QR_REGEX_UNBOUNDED),
                               optional(s, (qr_regex[]){ point, digits(s, 1, places) }, 2),
                               optional(s, exponent, 3) };
    return qr_regex_concat(s->regexes, list, 4);
}

/* The text of a single value in decimal notation; false if it is long. */
static bool point_text(const struct qr_decimal *d, char text[MAX_POINT_BYTES])
{
    const int64_t before = d->exponent + d->n; /* digits before the point */
    char *p = text;
    if (d->exponent > 20 || before > 21 || d->exponent < -20 || d->n > 40)
        return false;
    if (d->negative)
        *p++ = '-';
    if (before <= 0)
        *p++ = '0';
    for (int64_t i = 0; i < before; i++)
        *p++ = i < d->n ? d->digits[i] : '0';
    if (d->exponent < 0) {
        *p++ = '.';
        for (int64_t i = before; i < 0; i++)
            *p++ = '0';
        for (int64_t i = before > 0 ? before : 0; i < d->n; i++)
            *p++ = d->digits[i];
    }
    *p = 0;
    return true;
}

/* The texts of one value: without zeros behind it, but .0 behind an integer. */
static qr_regex point_regex(struct qr_schema *s, const struct qr_number_alt *alt, const char *text)
{
    const qr_regex zero = qr_regex_literal(s->regexes, ".0", 2);
    const qr_regex list[2] = { qr_regex_literal(s->regexes, text, strlen(text)),
                               alt->low->exponent >= 0 && alt->integrality == QR_ANY_NUMBER
                                   ? optional(s, &zero, 1)
                                   : (qr_regex)QR_REGEX_EMPTY };
    return qr_regex_concat(s->regexes, list, 2);
}

qr_regex qr_number_regex(struct qr_schema *s, const struct qr_number_alt *alt)
{
    char text[MAX_POINT_BYTES];
    const bool point = alt->low && alt->high && !qr_decimal_compare(alt->low, alt->high) &&
                       !alt->low_open && !alt->high_open && !alt->n_multiples &&
                       (alt->integrality == QR_ANY_NUMBER || qr_decimal_is_integer(alt->low));
    if (point && alt->integrality != QR_FRACTIONAL && point_text(alt->low, text))
        return point_regex(s, alt, text);
    const qr_regex r = range_regex(s, alt);
    if (alt->integrality == QR_INTEGER || r == QR_REGEX_NONE)
        return r;
    return qr_regex_and(s->regexes, (qr_regex[]){ r, bounded(s, alt) }, 2);
}
