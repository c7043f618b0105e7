/* SPDX-License-Identifier: Apache-2.0 */
/* number.c - the storage types, from their number of mantissa bits and their exponents. */
#include "scene.h"
#include <math.h>

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
    case QUIRE_KV_INT8: /* no mantissa and no exponent: whole numbers */
        return (struct format){ 1, 0, 0, 127, true };
    default:
        return (struct format){ 4, 23, -126, 0x1.fffffep127, false };
    }
}

size_t number_size(enum quire_kv_dtype dtype) { return (size_t)format_of(dtype).bytes; }

double number_round(enum quire_kv_dtype dtype, double x)
{
    const struct format f = format_of(dtype);
    if (!isfinite(x) || x == 0)
        return isinf(x) && f.saturates ? copysign(f.largest, x) : x;
    int e = 0;
    if (dtype != QUIRE_KV_INT8) {
        frexp(x, &e); /* |x| = [.5, 1) * 2^e */
        e = e - 1 < f.lowest ? f.lowest : e - 1;
    }
    const double y = ldexp(nearbyint(ldexp(x, f.mantissa - e)), e - f.mantissa);
    if (fabs(y) <= f.largest)
        return y;
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
        if (a > 0) {
            int e;
            frexp(a, &e);
            e = e - 1 < f.lowest ? f.lowest : e - 1;
            /* the leading one of a normal number raises the exponent field from 0 to 1 */
            code = (uint32_t)ldexp(a, f.mantissa - e) + ((uint32_t)(e - f.lowest) << f.mantissa);
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
