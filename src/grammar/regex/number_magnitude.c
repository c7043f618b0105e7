/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/number_magnitude.h"
#include <string.h>

enum { MAX_EXPONENT = 1000000 }; /* saturated: far beyond QR_NUMBER_MAX_PLACES */

/* ---- Bounds ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads [eE][+-]?[0-9]+, if there is one. NULL: malformed. */
static const char *read_exponent(const char *p, int *exponent)
{
    *exponent = 0;
    if (*p != 'e' && *p != 'E')
        return p;
    const bool negative = *++p == '-';
    p += *p == '-' || *p == '+';
    if (!is_digit(*p))
        return NULL;
    for (; is_digit(*p); p++)
        if (*exponent < MAX_EXPONENT)
            *exponent = *exponent * 10 + (*p - '0');
    if (negative)
        *exponent = -*exponent;
    return p;
}

quire_status qr_number_bound_read(const char *text, struct qr_number_bound *out)
{
    const char *p = text + (*text == '-');
    size_t leading = 0, after = 0,
           zeros = 0; /* zeros: pending, not stored unless a digit follows */
    bool fraction = false, too_long = false;
    int exponent;
    *out = (struct qr_number_bound){ .negative = *text == '-' };
    if (!is_digit(*p) || (*p == '0' && is_digit(p[1])))
        return QUIRE_E_INVALID_ARG;
    for (;; p++) {
        if (*p == '.' && !fraction && is_digit(p[1])) {
            fraction = true;
            continue;
        }
        if (!is_digit(*p))
            break;
        leading += !fraction;
        after += fraction && out->n == 0 && *p == '0'; /* zeros between the point and digit 1 */
        if (*p == '0') {
            zeros += out->n > 0;
            continue;
        }
        too_long = too_long || (size_t)out->n + zeros >= QR_NUMBER_MAX_PLACES;
        for (; zeros > 0 && !too_long; zeros--)
            out->digits[out->n++] = 0;
        if (!too_long)
            out->digits[out->n++] = (char)(*p - '0');
    }
    if (text[*text == '-'] == '0')
        leading = 0;
    p = read_exponent(p, &exponent);
    if (p == NULL || *p != 0)
        return QUIRE_E_INVALID_ARG;
    if (out->n == 0) {
        out->negative = false;
        return QUIRE_OK;
    }
    if (too_long || leading > MAX_EXPONENT || after > MAX_EXPONENT)
        return QUIRE_E_UNSUPPORTED;
    out->point = (int)leading - (int)after + exponent;
    return out->point > QR_NUMBER_MAX_PLACES || out->n - out->point > QR_NUMBER_MAX_PLACES
               ? QUIRE_E_UNSUPPORTED
               : QUIRE_OK;
}

void qr_number_bound_set(struct qr_number_bound *out, int value)
{
    char reversed[12] = { 0 };
    *out = (struct qr_number_bound){ 0 };
    for (; value > 0; value /= 10)
        reversed[out->point++] = (char)(value % 10);
    for (int i = out->point - 1; i >= 0; i--) {
        out->digits[out->point - 1 - i] = reversed[i];
        if (reversed[i] != 0)
            out->n = out->point - i;
    }
}

int qr_number_bound_compare(const struct qr_number_bound *a, const struct qr_number_bound *b)
{
    if (a->n == 0 || b->n == 0)
        return (a->n > 0) - (b->n > 0);
    if (a->point != b->point)
        return a->point < b->point ? -1 : 1;
    const int n = a->n < b->n ? a->n : b->n, c = memcmp(a->digits, b->digits, (size_t)n);
    return c != 0 ? (c > 0) - (c < 0) : (a->n > b->n) - (a->n < b->n);
}

/* The digit of weight 10^k. */
static int digit_at(const struct qr_number_bound *b, int k)
{
    const int i = b->point - 1 - k;
    return i >= 0 && i < b->n ? b->digits[i] : 0;
}

/* Whether the digits of weight 10^k and below are zeros. */
static bool zeros_from(const struct qr_number_bound *b, int k) { return b->point - 1 - k >= b->n; }

/* ---- Expressions ---- */

qr_regex qr_digit_range(struct qr_regex_set *set, int first, int last)
{
    struct qr_byte_set bytes = { { 0 } };
    for (int d = first; d <= last; d++)
        bytes.bits[0] |= 1ull << ('0' + d);
    return qr_regex_bytes(set, &bytes);
}

static qr_regex concat(struct qr_regex_set *set, qr_regex a, qr_regex b)
{
    return qr_regex_concat(set, (const qr_regex[]){ a, b }, 2);
}

/* The texts that may follow when the digits so far are those of `low` (at_low), of `high`, or of
 * both. Built from the last digit to the first. */
struct follow {
    qr_regex at_low, at_high, at_both;
};

/* Whether the number whose digits above weight 10^k are those of the bound, and whose others are
 * 0, satisfies it. */
static bool low_holds(const struct qr_magnitudes *m, int k)
{
    return m->low == NULL || (zeros_from(m->low, k) && !m->low_open);
}

static bool high_holds(const struct qr_magnitudes *m, int k)
{
    return m->high == NULL || !zeros_from(m->high, k) || !m->high_open;
}

/* Extends *f by the digit of weight 10^k: `first` is the smallest possible one, `any` follows a
 * digit that decides. With may_end the text may also end before the digit. */
static void extend(struct qr_regex_set *set, const struct qr_magnitudes *m, int k, int first,
                   qr_regex any, bool may_end, struct follow *f)
{
    const struct follow next = *f;
    const int low = m->low ? digit_at(m->low, k) : 0, high = m->high ? digit_at(m->high, k) : 9;
    const bool low_ends = may_end && low_holds(m, k), high_ends = may_end && high_holds(m, k);
    if (m->low != NULL) {
        const qr_regex list[] = { concat(set, qr_digit_range(set, low + 1, 9), any),
                                  concat(set, qr_digit_range(set, low, low), next.at_low),
                                  low_ends ? QR_REGEX_EMPTY : QR_REGEX_NONE };
        f->at_low = qr_regex_or(set, list, 3);
    }
    if (m->high != NULL) {
        const qr_regex list[] = { concat(set, qr_digit_range(set, first, high - 1), any),
                                  concat(set, qr_digit_range(set, high, high), next.at_high),
                                  high_ends ? QR_REGEX_EMPTY : QR_REGEX_NONE };
        f->at_high = qr_regex_or(set, list, 3);
    }
    if (m->low == NULL || m->high == NULL)
        return;
    qr_regex list[4] = { low_ends && high_ends ? QR_REGEX_EMPTY : QR_REGEX_NONE };
    if (low == high) {
        list[1] = concat(set, qr_digit_range(set, low, low), next.at_both);
    } else if (low < high) {
        list[1] = concat(set, qr_digit_range(set, low, low), next.at_low);
        list[2] = concat(set, qr_digit_range(set, low + 1, high - 1), any);
        list[3] = concat(set, qr_digit_range(set, high, high), next.at_high);
    }
    f->at_both = qr_regex_or(set, list, 4);
}

/* The fraction with its point, or its absence. */
static qr_regex fraction(struct qr_regex_set *set, qr_regex digits, bool may_be_absent)
{
    const qr_regex list[] = { concat(set, qr_regex_literal(set, ".", 1), digits),
                              may_be_absent ? QR_REGEX_EMPTY : QR_REGEX_NONE };
    return qr_regex_or(set, list, 2);
}

static int places_of(const struct qr_number_bound *b) { return b ? b->n - b->point : 0; }

static int max_int(int a, int b) { return a > b ? a : b; }

/* What follows the digits before the point. */
static struct follow follow_integer(struct qr_regex_set *set, const struct qr_magnitudes *m)
{
    const bool low_ends = low_holds(m, -1), high_ends = high_holds(m, -1);
    if (m->integer)
        return (struct follow){ low_ends ? QR_REGEX_EMPTY : QR_REGEX_NONE,
                                high_ends ? QR_REGEX_EMPTY : QR_REGEX_NONE,
                                low_ends && high_ends ? QR_REGEX_EMPTY : QR_REGEX_NONE };
    const qr_regex digit = qr_digit_range(set, 0, 9), zero = qr_digit_range(set, 0, 0);
    const qr_regex digits = qr_regex_repeat(set, digit, 0, QR_REGEX_UNBOUNDED);
    const qr_regex zeros = qr_regex_repeat(set, zero, 0, QR_REGEX_UNBOUNDED);
    const qr_regex above[] = { zeros, qr_digit_range(set, 1, 9), digits };
    struct follow f = {
        .at_low = m->low_open ? qr_regex_concat(set, above, 3) : digits,
        .at_high = m->high_open ? QR_REGEX_NONE : zeros,
        .at_both = m->low_open || m->high_open ? QR_REGEX_NONE : zeros,
    };
    const int places = max_int(1, max_int(places_of(m->low), places_of(m->high)));
    for (int k = -places; k <= -1; k++)
        extend(set, m, k, 0, digits, k < -1, &f);
    return (struct follow){ fraction(set, f.at_low, low_ends), fraction(set, f.at_high, high_ends),
                            fraction(set, f.at_both, low_ends && high_ends) };
}

/* The numbers with `length` digits before the point, as many as each bound has. */
static qr_regex of_length(struct qr_regex_set *set, const struct qr_magnitudes *m, int length,
                          qr_regex any_fraction)
{
    struct follow f = follow_integer(set, m);
    const qr_regex digit = qr_digit_range(set, 0, 9);
    for (int k = 0; k < length; k++) {
        const qr_regex any =
            concat(set, qr_regex_repeat(set, digit, (uint32_t)k, (uint32_t)k), any_fraction);
        extend(set, m, k, k == length - 1 && length > 1, any, false, &f);
    }
    return m->low == NULL ? f.at_high : m->high == NULL ? f.at_low : f.at_both;
}

/* [1-9][0-9]* of min .. max digits. */
static qr_regex of_lengths(struct qr_regex_set *set, int min, int max, qr_regex any_fraction)
{
    if (max < min)
        return QR_REGEX_NONE;
    const uint32_t most = max == INT32_MAX ? QR_REGEX_UNBOUNDED : (uint32_t)max - 1;
    const qr_regex list[] = {
        qr_digit_range(set, 1, 9),
        qr_regex_repeat(set, qr_digit_range(set, 0, 9), (uint32_t)min - 1, most), any_fraction
    };
    return qr_regex_concat(set, list, 3);
}

qr_regex qr_magnitude_range(struct qr_regex_set *set, const struct qr_magnitudes *magnitudes)
{
    struct qr_magnitudes m = *magnitudes;
    if (m.low != NULL && m.low->n == 0 && !m.low_open)
        m.low = NULL;
    const int low_length = m.low ? max_int(1, m.low->point) : 1;
    const int high_length = m.high ? max_int(1, m.high->point) : INT32_MAX;
    const qr_regex digits = qr_regex_repeat(set, qr_digit_range(set, 0, 9), 1, QR_REGEX_UNBOUNDED);
    const qr_regex any = m.integer ? QR_REGEX_EMPTY : fraction(set, digits, true);
    if (high_length < low_length)
        return QR_REGEX_NONE;
    if (m.low != NULL && low_length == high_length)
        return of_length(set, &m, low_length, any);
    qr_regex list[4] = { QR_REGEX_NONE };
    struct qr_magnitudes below = m, above = m;
    below.high = NULL;
    above.low = NULL;
    if (m.low != NULL) {
        list[0] = of_length(set, &below, low_length, any);
        list[1] = of_lengths(set, low_length + 1, m.high ? high_length - 1 : INT32_MAX, any);
    } else if (high_length > 1) {
        list[0] = concat(set, qr_digit_range(set, 0, 0), any);
        list[1] = of_lengths(set, 1, m.high ? high_length - 1 : INT32_MAX, any);
    }
    if (m.high != NULL)
        list[2] = of_length(set, &above, high_length, any);
    return qr_regex_or(set, list, 3);
}
