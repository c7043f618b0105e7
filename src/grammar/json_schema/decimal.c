/* SPDX-License-Identifier: Apache-2.0 */
/* decimal.c - exact decimal numbers. */
#include "grammar/json_schema/decimal.h"
#include "grammar/json_schema/context.h"
#include "json/parse.h"
#include <stdio.h>
#include <string.h>

enum { MAX_DIVIDED_DIGITS = 4096 };

/* The exponent after e or E; saturated far beyond what numbers of the parser can have. */
static int64_t read_exponent(const char *p)
{
    const bool negative = *p == '-';
    int64_t e = 0;
    for (p += *p == '-' || *p == '+'; *p >= '0' && *p <= '9'; p++)
        e = e < INT32_MAX ? 10 * e + (*p - '0') : e;
    return negative ? -e : e;
}

bool qr_decimal_read(struct qr_schema *s, const struct qr_json *number, struct qr_decimal *out)
{
    const char *text = qr_json_text(number), *p = text;
    size_t n = 0, first = 0;
    int64_t exponent = 0;
    bool fraction = false;
    *out = (struct qr_decimal){ .negative = *p == '-' };
    p += out->negative;
    char *digits = qr_schema_alloc(s, strspn(p, "0123456789.") + 1, 1);
    if (!digits)
        return false;
    for (; (*p >= '0' && *p <= '9') || *p == '.'; p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        digits[n++] = *p;
        exponent -= fraction;
    }
    if (*p == 'e' || *p == 'E')
        exponent += read_exponent(p + 1);
    for (; n && digits[n - 1] == '0'; n--)
        exponent++;
    while (first < n && digits[first] == '0')
        first++;
    if (first == n) {
        *out = (struct qr_decimal){ .digits = digits };
        return true;
    }
    out->digits = digits + first;
    out->n = (uint32_t)(n - first);
    out->exponent = exponent;
    return true;
}

static int compare_magnitudes(const struct qr_decimal *a, const struct qr_decimal *b)
{
    const int64_t size_a = a->exponent + a->n, size_b = b->exponent + b->n;
    if (!a->n || !b->n)
        return (a->n != 0) - (b->n != 0);
    if (size_a != size_b)
        return size_a < size_b ? -1 : 1;
    const uint32_t n = a->n < b->n ? a->n : b->n;
    const int order = memcmp(a->digits, b->digits, n);
    if (order)
        return order < 0 ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

int qr_decimal_compare(const struct qr_decimal *a, const struct qr_decimal *b)
{
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    return a->negative ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
}

/* The digits of d as an integer, at most 18. */
static bool small_integer(const struct qr_decimal *d, uint64_t *out)
{
    *out = 0;
    if (d->n > 18)
        return false;
    for (uint32_t i = 0; i < d->n; i++)
        *out = 10 * *out + (uint64_t)(d->digits[i] - '0');
    return true;
}

bool qr_decimal_is_multiple(const struct qr_decimal *a, const struct qr_decimal *b, bool *known)
{
    uint64_t divisor;
    *known = true;
    if (!a->n)
        return true;
    /* a = A 10^x, b = B 10^y: A 10^(x - y) is a multiple of B. A has no factor 10, so a negative
     * x - y can only be made up for by factors 2 or 5 of B: multiply both by 10^(y - x) */
    const int64_t shift = a->exponent - b->exponent;
    *known = small_integer(b, &divisor) && shift <= MAX_DIVIDED_DIGITS &&
             a->n <= MAX_DIVIDED_DIGITS && b->n;
    if (!*known)
        return false;
    if (shift < 0) {
        /* A / 10^-shift = k B: A would end in zeros unless k B 10^-shift = A, which has none */
        return false;
    }
    uint64_t rest = 0;
    for (uint32_t i = 0; i < a->n; i++)
        rest =
            (uint64_t)(((unsigned __int128)rest * 10 + (uint64_t)(a->digits[i] - '0')) % divisor);
    for (int64_t i = 0; i < shift && rest; i++)
        rest = (uint64_t)((unsigned __int128)rest * 10 % divisor);
    return rest == 0;
}

const char *qr_decimal_text(struct qr_schema *s, const struct qr_decimal *d)
{
    enum { EXPONENT_BYTES = 24 };
    char *text = qr_schema_alloc(s, d->n + (size_t)EXPONENT_BYTES + 2, 1);
    if (!text)
        return NULL;
    if (d->n)
        memcpy(text + d->negative, d->digits, d->n);
    if (d->negative)
        *text = '-';
    snprintf(text + d->negative + d->n, EXPONENT_BYTES, "%se%lld", d->n ? "" : "0",
             (long long)d->exponent);
    return text;
}
