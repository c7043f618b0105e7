/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - parses numbers as Python's int() and float() do, and converts float to int. */
#include "jinja/convert.h"
#include "base/dtoa.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/str.h"
#include "jinja/value.h"
#include <math.h>
#include <string.h>

/* Copies s without surrounding white space, sign and underscores. *ok: every underscore is single
 * and between digits. */
static quire_status normalize_number(struct qr_jinja *j, const struct qr_jinja_str *s, char **out,
                                     size_t *n, bool *negative, bool *ok)
{
    struct qr_jinja_value v;
    QR_TRY(
        qr_jinja_str_strip(j, s, qr_jinja_none(), QR_JINJA_STRIP_LEFT | QR_JINJA_STRIP_RIGHT, &v));
    QR_JINJA_NEW(j, *out, v.s->n + 1);
    const char *p = v.s->p;
    size_t i = 0;
    *n = 0;
    *ok = true;
    *negative = v.s->n && p[0] == '-';
    if (v.s->n && (p[0] == '-' || p[0] == '+'))
        i = 1;
    for (size_t start = i; i < v.s->n; i++) {
        if (p[i] != '_') {
            (*out)[(*n)++] = p[i];
            continue;
        }
        const bool between = i > start && i + 1 < v.s->n && p[i - 1] != '_' && p[i + 1] != '_' &&
                             p[i - 1] != '.' && p[i + 1] != '.';
        *ok = *ok && between;
    }
    return QUIRE_OK;
}

/* Compares case-insensitively; word is in lower case. */
static bool is_word(const char *p, size_t n, const char *word)
{
    if (n != strlen(word))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((p[i] | 0x20) != word[i])
            return false;
    return true;
}

quire_status qr_jinja_str_to_double(struct qr_jinja *j, const struct qr_jinja_str *s, bool *ok,
                                    double *out)
{
    char *p;
    size_t n;
    bool negative;
    QR_TRY(normalize_number(j, s, &p, &n, &negative, ok));
    if (!*ok)
        return QUIRE_OK;
    if (is_word(p, n, "inf") || is_word(p, n, "infinity")) {
        *out = HUGE_VAL;
    } else if (is_word(p, n, "nan")) {
        *out = NAN;
    } else {
        QR_TRY(qr_jinja_charge(j, 500)); /* cost of correct rounding */
        *ok = qr_strtod(p, n, out);
    }
    if (*ok && negative)
        *out = -*out;
    return QUIRE_OK;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

quire_status qr_jinja_str_to_int(struct qr_jinja *j, const struct qr_jinja_str *s, int64_t base,
                                 bool *ok, int64_t *out)
{
    char *p;
    size_t n, i = 0;
    bool negative;
    *ok = base == 0 || (base >= 2 && base <= 36);
    if (!*ok)
        return QUIRE_OK;
    QR_TRY(normalize_number(j, s, &p, &n, &negative, ok));
    if (n > 2 && p[0] == '0') {
        const char c = (char)(p[1] | 0x20);
        const int64_t named = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
        if (named && (base == 0 || base == named)) {
            base = named;
            i = 2;
        }
    }
    if (base == 0)
        base = 10;
    *ok = *ok && i < n;
    *out = 0;
    for (; *ok && i < n; i++) {
        const int d = digit(p[i]);
        *ok = d < base;
        /* Accumulates the negative value, whose range is larger by one. */
        if (*ok &&
            (__builtin_mul_overflow(*out, base, out) || __builtin_sub_overflow(*out, d, out)))
            return qr_jinja_fail(j, QUIRE_E_RANGE, "template: integer beyond 64 bits");
    }
    if (*ok && !negative && __builtin_sub_overflow(0, *out, out))
        return qr_jinja_fail(j, QUIRE_E_RANGE, "template: integer beyond 64 bits");
    return QUIRE_OK;
}

quire_status qr_jinja_double_to_int(struct qr_jinja *j, double f, int64_t *out)
{
    if (isnan(f))
        return qr_jinja_type_error(j, "cannot convert float NaN to integer");
    if (isinf(f))
        return qr_jinja_type_error(j, "cannot convert float infinity to integer");
    if (f >= 9223372036854775808.0 || f < -9223372036854775808.0)
        return qr_jinja_fail(j, QUIRE_E_RANGE, "template: integer beyond 64 bits");
    *out = (int64_t)f;
    return QUIRE_OK;
}
