/* SPDX-License-Identifier: Apache-2.0 */
/* number.c - rounding to the storage types, from their number of mantissa bits and exponents. */
#include "scene.h"
#include <math.h>

struct format {
    int mantissa;   /* bits after the leading one */
    int lowest;     /* exponent of the smallest normal number */
    double largest; /* finite */
    bool saturates;
};

static struct format format_of(enum quire_kv_dtype dtype)
{
    switch (dtype) {
    case QUIRE_KV_BF16:
        return (struct format){ 7, -126, 0x1.fep127, false };
    case QUIRE_KV_F16:
        return (struct format){ 10, -14, 65504, false };
    case QUIRE_KV_FP8_E4M3:
        return (struct format){ 3, -6, 448, true };
    case QUIRE_KV_FP8_E5M2:
        return (struct format){ 2, -14, 57344, true };
    default:
        return (struct format){ 23, -126, 0x1.fffffep127, false };
    }
}

double number_round(enum quire_kv_dtype dtype, double x)
{
    const struct format f = format_of(dtype);
    if (!isfinite(x) || x == 0)
        return isinf(x) && f.saturates ? copysign(f.largest, x) : x;
    int exponent;
    frexp(x, &exponent); /* |x| = [.5, 1) * 2^exponent */
    const int e = exponent - 1 < f.lowest ? f.lowest : exponent - 1;
    const double y = ldexp(nearbyint(ldexp(x, f.mantissa - e)), e - f.mantissa);
    if (fabs(y) <= f.largest)
        return y;
    return copysign(f.saturates ? f.largest : INFINITY, x);
}

size_t number_size(enum quire_kv_dtype dtype)
{
    return dtype == QUIRE_KV_F32 ? 4 : dtype == QUIRE_KV_BF16 || dtype == QUIRE_KV_F16 ? 2 : 1;
}
