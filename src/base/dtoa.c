/* SPDX-License-Identifier: Apache-2.0 */
/* dtoa.c - exact conversion between doubles and decimal, independent of the locale.
 *
 * A double is m * 2^e, so its decimal expansion is finite: at most 767 digits. Printing compares
 * and rounds digit strings of that expansion, and so does parsing of numbers with many digits or
 * large exponents. This is slower than table-driven algorithms (Ryu, Eisel-Lemire) but short: a
 * template prints few numbers. Files can have a million that are read, which fit 128 bits. */
#include "base/dtoa.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { MAX_DIGITS = 1100, MAX_LIMBS = 130 };

/* 0.d1 d2 d3 ... * 10^exp, without leading or trailing zeros; n = 0 for zero. */
struct decimal {
    int n, exp;
    char d[MAX_DIGITS];
};

/* Big integer, base 10^9, least significant limb first. */
struct big {
    int n;
    uint32_t limb[MAX_LIMBS];
};

/* b *= factor, which is < 10^9, so that the carry fits one more limb. */
static void big_mul(struct big *b, uint32_t factor)
{
    uint64_t carry = 0;
    for (int i = 0; i < b->n; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)(carry % 1000000000u);
        carry /= 1000000000u;
    }
    if (carry)
        b->limb[b->n++] = (uint32_t)carry;
}

static void decimal_trim(struct decimal *d)
{
    while (d->n > 0 && d->d[d->n - 1] == 0)
        d->n--;
    if (!d->n)
        d->exp = 0;
}

/* Exact value of m * 2^e with m < 2^55 and -1080 <= e <= 1000. */
static void decimal_set(struct decimal *out, uint64_t m, int e)
{
    struct big b = { .n = 0 };
    for (; m; m /= 1000000000u)
        b.limb[b.n++] = (uint32_t)(m % 1000000000u);
    int digits10 = 0; /* the value is b / 10^digits10 */
    for (int k = e; k > 0; k -= k < 29 ? k : 29)
        big_mul(&b, 1u << (k < 29 ? k : 29));
    static const uint32_t pow5[13] = { 1,     5,      25,      125,     625,      3125,     15625,
                                       78125, 390625, 1953125, 9765625, 48828125, 244140625 };
    for (int k = -e; k > 0; k -= k < 12 ? k : 12) {
        big_mul(&b, pow5[k < 12 ? k : 12]); /* x / 2 = x * 5 / 10 */
        digits10 += k < 12 ? k : 12;
    }
    out->n = 0;
    bool leading = true;
    for (int i = b.n - 1; i >= 0; i--) {
        uint32_t div = 100000000u;
        for (int j = 0; j < 9; j++, div /= 10) {
            const char digit = (char)(b.limb[i] / div % 10);
            leading = leading && digit == 0;
            if (!leading)
                out->d[out->n++] = digit;
        }
    }
    out->exp = out->n - digits10;
    decimal_trim(out);
}

/* Sign of a - b. */
static int decimal_cmp(const struct decimal *a, const struct decimal *b)
{
    if (!a->n || !b->n)
        return (a->n > 0) - (b->n > 0);
    if (a->exp != b->exp)
        return a->exp < b->exp ? -1 : 1;
    for (int i = 0; i < a->n || i < b->n; i++) {
        const int da = i < a->n ? a->d[i] : 0, db = i < b->n ? b->d[i] : 0;
        if (da != db)
            return da < db ? -1 : 1;
    }
    return 0;
}

/* Adds one to digit `at` and removes the digits after it. */
static void decimal_increment(struct decimal *d, int at)
{
    while (d->n <= at)
        d->d[d->n++] = 0;
    d->n = at + 1;
    int i = at;
    while (i >= 0 && d->d[i] == 9)
        d->d[i--] = 0;
    if (i >= 0) {
        d->d[i]++;
    } else {
        d->d[0] = 1;
        d->n = 1;
        d->exp++;
    }
    decimal_trim(d);
}

/* Rounds to the first `keep` digits (may be <= 0), half to even as C and Python do. */
static void decimal_round(struct decimal *d, int keep)
{
    if (keep >= d->n)
        return;
    if (keep < 0) {
        d->n = 0;
        d->exp = 0;
        return;
    }
    bool up = d->d[keep] > 5;
    if (d->d[keep] == 5)
        up = keep + 1 < d->n || (keep > 0 && d->d[keep - 1] % 2);
    d->n = keep;
    if (!up) {
        decimal_trim(d);
    } else if (keep == 0) {
        d->d[0] = 1;
        d->n = 1;
        d->exp++;
    } else {
        decimal_increment(d, keep - 1);
    }
}

/* Decomposes a finite v > 0 into m * 2^e. */
static void decompose(double v, uint64_t *m, int *e)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    const int biased = (int)(bits >> 52 & 0x7FF);
    *m = bits & 0xFFFFFFFFFFFFFu;
    if (biased)
        *m |= (uint64_t)1 << 52;
    *e = (biased ? biased : 1) - 1075;
}

static double from_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* The midpoint between the double with these bits and the next larger one. */
static void upper_midpoint(uint64_t bits, struct decimal *out)
{
    uint64_t m;
    int e;
    decompose(from_bits(bits), &m, &e);
    decimal_set(out, 2 * m + 1, e - 1);
}

/* Nearest double to x > 0, by binary search over the bit patterns, which are ordered like the
 * values of positive doubles. */
static double decimal_to_double(const struct decimal *x)
{
    const uint64_t infinity = (uint64_t)0x7FF << 52;
    struct decimal mid;
    uint64_t lo = 0, hi = infinity; /* the answer is in [lo, hi] */
    while (lo < hi) {
        const uint64_t at = lo + (hi - lo) / 2;
        upper_midpoint(at, &mid);
        const int c = decimal_cmp(x, &mid);
        if (c < 0 || (c == 0 && at % 2 == 0))
            hi = at;
        else
            lo = at + 1;
    }
    return from_bits(lo);
}

/* Nearest double to x > 0 of up to 19 digits, the last of them at 10^-19 .. 10^19, by integer
 * arithmetic. Returns false for other numbers. */
static bool short_to_double(const struct decimal *x, double *out)
{
    const int exp10 = x->exp - x->n;
    if (x->n > 19 || exp10 < -19 || exp10 > 19)
        return false;
    uint64_t m = 0, power = 1;
    for (int i = 0; i < x->n; i++)
        m = 10 * m + (uint64_t)x->d[i];
    for (int i = exp10 < 0 ? -exp10 : exp10; i > 0; i--)
        power *= 10;
    const int shift = __builtin_clzll(m);
    m <<= shift;
    /* x = q * 2^e and, if inexact, a fraction of q's last bit; q has 63 to 128 bits */
    const unsigned __int128 dividend = (unsigned __int128)m << 63;
    const unsigned __int128 q = exp10 < 0 ? dividend / power : (unsigned __int128)m * power;
    const bool inexact = exp10 < 0 && q * power != dividend;
    const int e = exp10 < 0 ? -63 - shift : -shift;
    const uint64_t high = (uint64_t)(q >> 64);
    const int drop = (high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)q)) - 53;
    const unsigned __int128 half = (unsigned __int128)1 << (drop - 1), rest = q & (2 * half - 1);
    uint64_t top = (uint64_t)(q >> drop);
    top += rest > half || (rest == half && (inexact || top % 2));
    *out = ldexp((double)top, e + drop); /* exact: top is at most 2^53 */
    return true;
}

bool qr_strtod(const char *s, size_t n, double *out)
{
    struct decimal d = { .n = 0 };
    size_t i = 0;
    bool any = false, point = false, sticky = false;
    int64_t exp = 0;
    for (; i < n; i++) {
        if (s[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (s[i] < '0' || s[i] > '9')
            break;
        any = true;
        const char digit = (char)(s[i] - '0');
        if (d.n == 0 && digit == 0) {
            exp -= point;
            continue;
        }
        exp += !point;
        if (d.n < MAX_DIGITS - 1)
            d.d[d.n++] = digit;
        else
            sticky = sticky || digit;
    }
    if (!any)
        return false;
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        const bool negative = ++i < n && s[i] == '-';
        if (i < n && (s[i] == '-' || s[i] == '+'))
            i++;
        int64_t e = 0;
        if (i == n)
            return false;
        for (; i < n && s[i] >= '0' && s[i] <= '9'; i++)
            e = e < 1000000 ? e * 10 + (s[i] - '0') : e;
        exp += negative ? -e : e;
    }
    if (i != n)
        return false;
    if (sticky)
        d.d[d.n++] = 1;
    d.exp = exp > 400 ? 400 : exp < -400 ? -400 : (int)exp;
    decimal_trim(&d);
    *out = 0;
    if (d.n && !short_to_double(&d, out))
        *out = decimal_to_double(&d);
    return true;
}

/* Shortest digits that round to v: strictly between the midpoints to its neighbors, or on a
 * midpoint if the mantissa is even, because parsing rounds half to even. Of those the nearest to
 * v. */
static void shortest(double v, struct decimal *out)
{
    struct decimal exact, lo, hi, down, up;
    uint64_t m, bits;
    int e;
    decompose(v, &m, &e);
    memcpy(&bits, &v, sizeof bits);
    decimal_set(&exact, m, e);
    upper_midpoint(bits, &hi);
    upper_midpoint(bits - 1, &lo);
    const int inclusive = m % 2 == 0; /* a comparison result of 0 is accepted */
    for (int digits = 1; digits <= 17; digits++) {
        down = up = exact;
        if (down.n > digits)
            down.n = digits;
        decimal_trim(&down);
        if (up.n > digits)
            decimal_increment(&up, digits - 1);
        const bool down_ok = decimal_cmp(&down, &lo) >= 1 - inclusive;
        const bool up_ok = decimal_cmp(&hi, &up) >= 1 - inclusive;
        if (!down_ok && !up_ok)
            continue;
        struct decimal nearest = exact;
        decimal_round(&nearest, digits);
        const bool prefer_up = decimal_cmp(&nearest, &up) == 0;
        *out = up_ok && (prefer_up || !down_ok) ? up : down;
        return;
    }
    *out = exact;
    decimal_round(out, 17);
}

static char digit_at(const struct decimal *d, int i)
{
    return (char)('0' + (i >= 0 && i < d->n ? d->d[i] : 0));
}

/* Writes all digits of the integer part, then `decimals` digits of the fraction. */
static char *put_fixed(char *p, const struct decimal *d, int decimals)
{
    int i = d->exp > 0 ? 0 : d->exp - 1; /* first digit to print: units or higher */
    do
        *p++ = digit_at(d, i++);
    while (i < d->exp);
    if (decimals > 0)
        *p++ = '.';
    while (decimals-- > 0)
        *p++ = digit_at(d, i++);
    return p;
}

static char *put_exponent(char *p, const struct decimal *d, int decimals)
{
    *p++ = digit_at(d, 0);
    if (decimals > 0)
        *p++ = '.';
    for (int i = 1; i <= decimals; i++)
        *p++ = digit_at(d, i);
    int e = d->n ? d->exp - 1 : 0;
    *p++ = 'e';
    *p++ = e < 0 ? '-' : '+';
    e = e < 0 ? -e : e;
    if (e >= 100)
        *p++ = (char)('0' + e / 100);
    *p++ = (char)('0' + e / 10 % 10);
    *p++ = (char)('0' + e % 10);
    return p;
}

static char *put_special(char *p, double v)
{
    memcpy(p, isnan(v) ? "nan" : "inf", 3);
    return p + 3;
}

size_t qr_float_repr(double v, char buf[QR_FLOAT_CHARS_MAX])
{
    char *p = buf;
    struct decimal d = { .n = 0 };
    if (!isnan(v) && signbit(v))
        *p++ = '-';
    if (!isfinite(v))
        return (size_t)(put_special(p, v) - buf);
    v = fabs(v);
    if (v > 0)
        shortest(v, &d);
    if (d.n == 0 || (d.exp > -4 && d.exp <= 16)) {
        const int decimals = d.n - d.exp;
        p = put_fixed(p, &d, decimals > 1 && d.n ? decimals : 1);
    } else {
        p = put_exponent(p, &d, d.n - 1);
    }
    return (size_t)(p - buf);
}

size_t qr_float_format(double v, char type, int precision, bool alt, char buf[QR_FLOAT_CHARS_MAX])
{
    char *p = buf;
    struct decimal d = { .n = 0 };
    uint64_t m;
    int e;
    if (!isnan(v) && signbit(v))
        *p++ = '-';
    if (!isfinite(v))
        return (size_t)(put_special(p, v) - buf);
    v = fabs(v);
    if (v > 0) {
        decompose(v, &m, &e);
        decimal_set(&d, m, e);
    }
    if (type == 'f') {
        decimal_round(&d, d.exp + precision);
        return (size_t)(put_fixed(p, &d, precision) - buf);
    }
    if (type == 'g' && precision == 0)
        precision = 1;
    decimal_round(&d, type == 'g' ? precision : precision + 1);
    if (type == 'e')
        return (size_t)(put_exponent(p, &d, precision) - buf);
    const int e10 = d.n ? d.exp - 1 : 0, digits = alt || !d.n ? precision : d.n;
    if (e10 < -4 || e10 >= precision)
        return (size_t)(put_exponent(p, &d, (alt ? precision : digits) - 1) - buf);
    int decimals = d.n || alt ? digits - 1 - e10 : 0;
    return (size_t)(put_fixed(p, &d, decimals > 0 ? decimals : 0) - buf);
}
