/* SPDX-License-Identifier: Apache-2.0 */
/* checked.h - checked arithmetic. Sizes that come from outside the process are computed only with
 * these functions, which return false on overflow. */
#ifndef QR_BASE_CHECKED_H
#define QR_BASE_CHECKED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool qr_add_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool qr_mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool qr_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool qr_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool qr_mul3_size(size_t a, size_t b, size_t c, size_t *out)
{
    size_t ab;
    return qr_mul_size(a, b, &ab) && qr_mul_size(ab, c, out);
}

static inline bool qr_mul4_size(size_t a, size_t b, size_t c, size_t d, size_t *out)
{
    size_t abc;
    return qr_mul3_size(a, b, c, &abc) && qr_mul_size(abc, d, out);
}

/* Rounds a up to a multiple of align, a power of two. */
static inline bool qr_align_size(size_t a, size_t align, size_t *out)
{
    if (!qr_add_size(a, align - 1, &a))
        return false;
    *out = a & ~(align - 1);
    return true;
}

#endif
