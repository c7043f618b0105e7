/* SPDX-License-Identifier: Apache-2.0 */
/* number.c - reference rounding, encoding and decoding of the storage types. */
#include "problem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct format {
    int bytes, mantissa; /* bits after the leading one */
    int lowest;          /* exponent of the smallest normal number */
    double largest;      /* finite */
    bool saturates;
};

static struct format format_of(enum quire_kv_dtype dtype)
{
    switch (dtype) {
    case QUIRE_KV_BF16:
        return (struct format){ 2, 7, -126, 0x1.fep127, false };
    case QUIRE_KV_F16:
        return (struct format){ 2, 10, -14, 65504, false };
    case QUIRE_KV_FP8_E4M3:
        return (struct format){ 1, 3, -6, 448, true };
    case QUIRE_KV_FP8_E5M2:
        return (struct format){ 1, 2, -14, 57344, true };
    case QUIRE_KV_INT8: /* integers: no mantissa, no exponent */
        return (struct format){ 1, 0, 0, 127, true };
    default:
        return (struct format){ 4, 23, -126, 0x1.fffffep127, false };
    }
}

/* 2^e, and the e of 2^e <= |x| < 2^(e + 1), for normal doubles: much faster than libm. */
static double power_of_two(int e)
{
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static int exponent_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int)(bits >> 52 & 0x7ff) - 1023;
}

/* x rounded to an integer, ties to even, for |x| < 2^51; its zeros are positive. */
static double nearest(double x) { return x + 0x1.8p52 - 0x1.8p52; }

size_t number_size(enum quire_kv_dtype dtype) { return (size_t)format_of(dtype).bytes; }

double number_round(enum quire_kv_dtype dtype, double x)
{
    const struct format f = format_of(dtype);
    if (dtype == QUIRE_KV_F32 && x == (double)(float)x) /* a short cut: most numbers */
        return x;
    if (!isfinite(x) || x == 0)
        return isinf(x) && f.saturates ? copysign(f.largest, x) : x;
    const int own = dtype == QUIRE_KV_INT8 ? 0 : exponent_of(x),
              e = own < f.lowest ? f.lowest : own;
    const double y = nearest(x * power_of_two(f.mantissa - e)) * power_of_two(e - f.mantissa);
    if (fabs(y) <= f.largest)
        return copysign(y, x);
    return copysign(f.saturates ? f.largest : INFINITY, x);
}

void number_encode(enum quire_kv_dtype dtype, double x, unsigned char *bytes)
{
    const struct format f = format_of(dtype);
    const double a = fabs(x);
    uint32_t code = 0;
    if (dtype == QUIRE_KV_INT8) {
        code = (uint32_t)(int32_t)x;
    } else {
        if (isinf(a)) { /* all bits of the exponent */
            code = (1u << (8 * f.bytes - 1)) - (1u << f.mantissa);
        } else if (a > 0) {
            const int own = exponent_of(a), e = own < f.lowest ? f.lowest : own;
            /* the leading one of a normal number raises the exponent field from 0 to 1 */
            code = (uint32_t)(a * power_of_two(f.mantissa - e)) +
                   ((uint32_t)(e - f.lowest) << f.mantissa);
        }
        code |= signbit(x) ? 1u << (8 * f.bytes - 1) : 0;
    }
    for (int i = 0; i < f.bytes; i++)
        bytes[i] = (unsigned char)(code >> 8 * i);
}

double number_decode(enum quire_kv_dtype dtype, const unsigned char *bytes)
{
    const struct format f = format_of(dtype);
    uint32_t code = 0;
    for (int i = 0; i < f.bytes; i++)
        code |= (uint32_t)bytes[i] << 8 * i;
    if (dtype == QUIRE_KV_INT8)
        return (int8_t)code;
    const uint32_t sign = code >> (8 * f.bytes - 1), rest = code & ~(1u << (8 * f.bytes - 1)),
                   field = rest >> f.mantissa, fraction = rest & ((1u << f.mantissa) - 1);
    const double a = field ? ldexp(fraction + ldexp(1, f.mantissa), (int)field - 1) : fraction,
                 x = ldexp(a, f.lowest - f.mantissa);
    return x > f.largest ? NAN : sign ? -x : x;
}

void *number_rows(enum quire_kv_dtype dtype, const float *x, size_t n)
{
    const size_t size = number_size(dtype);
    unsigned char *bytes = malloc(n * size + 1);
    if (dtype == QUIRE_KV_F32)
        memcpy(bytes, x, n * size);
    else
        for (size_t i = 0; i < n; i++)
            number_encode(dtype, (double)x[i], bytes + i * size);
    return bytes;
}
