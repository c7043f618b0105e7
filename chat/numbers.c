/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c - parses and prints numbers independently of the locale. */
#include "numbers.h"
#include <stdio.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool parse_integer(const char *text, int64_t min, int64_t max, int64_t *out)
{
    const bool negative = *text == '-';
    const char *p = text + (negative || *text == '+');
    if (!is_digit(*p))
        return false;
    int64_t v = 0;
    for (; is_digit(*p); p++) {
        const int64_t digit = *p - '0';
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, negative ? -digit : digit, &v))
            return false;
    }
    if (*p || v < min || v > max)
        return false;
    *out = v;
    return true;
}

/* Reads the digits of a mantissa; returns the character after them, or NULL if there is no digit.
 * Digits beyond the precision of a double only change the exponent. */
static const char *read_mantissa(const char *p, double *value, int *exponent)
{
    int digits = 0;
    bool fraction = false;
    *value = 0;
    *exponent = 0;
    for (; is_digit(*p) || (*p == '.' && !fraction); p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        digits = digits < 1000 ? digits + 1 : digits;
        if (*value < 1e17) {
            *value = *value * 10 + (*p - '0');
            *exponent -= fraction;
        } else if (!fraction && *exponent < 10000) {
            (*exponent)++;
        }
    }
    return digits ? p : NULL;
}

static double scale(double value, int exponent)
{
    double power = 1, base = 10;
    for (unsigned e = (unsigned)(exponent < 0 ? -exponent : exponent); e; e >>= 1) {
        if (e & 1)
            power *= base;
        base *= base;
    }
    return exponent < 0 ? value / power : value * power;
}

/* Reads an unsigned decimal number; returns the character after it, or NULL. */
static const char *read_decimal(const char *p, double *out)
{
    int exponent;
    double value;
    p = read_mantissa(p, &value, &exponent);
    if (!p)
        return NULL;
    if (*p == 'e' || *p == 'E') {
        const char *q = p + 1 + (p[1] == '-' || p[1] == '+');
        if (!is_digit(*q))
            return NULL;
        int e = 0;
        for (; is_digit(*q); q++)
            e = e < 10000 ? e * 10 + (*q - '0') : e;
        exponent += p[1] == '-' ? -e : e;
        p = q;
    }
    value = value == 0 ? 0 : scale(value, exponent);
    if (!(value <= 1.7e308)) /* infinite, or NaN from 0 * infinity */
        return NULL;
    *out = value;
    return p;
}

bool parse_real(const char *text, double *out)
{
    double v;
    const bool negative = *text == '-';
    const char *end = read_decimal(text + (negative || *text == '+'), &v);
    if (!end || *end)
        return false;
    *out = negative ? -v : v;
    return true;
}

bool parse_bytes(const char *text, uint64_t *out)
{
    double v;
    const char *p = read_decimal(text, &v);
    if (!p)
        return false;
    static const char units[] = "KMGT", lower[] = "kmgt";
    for (int i = 0; units[i]; i++)
        if (*p == units[i] || *p == lower[i]) {
            v *= (double)(1ull << (10 * (i + 1)));
            p++;
            p += *p == 'i';
            break;
        }
    p += *p == 'B' || *p == 'b';
    if (*p || v < 1 || v >= 0x1p63)
        return false;
    *out = (uint64_t)v;
    return true;
}

const char *format_bytes(uint64_t bytes, char buf[24])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double v = (double)bytes;
    int i = 0;
    for (; v >= 1024 && i < 4; i++)
        v /= 1024;
    snprintf(buf, 24, i ? "%.1f %s" : "%.0f %s", v, units[i]);
    return buf;
}
