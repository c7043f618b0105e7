/* SPDX-License-Identifier: Apache-2.0 */
/* fnv1a.h - 64-bit FNV-1a, for checksums of trusted data. Collisions can be constructed:
 * keyed_hash.h is for keys that come from outside. */
#ifndef QR_BASE_FNV1A_H
#define QR_BASE_FNV1A_H
#include <stddef.h>
#include <stdint.h>

#define QR_FNV1A_INIT UINT64_C(0xcbf29ce484222325)

/* Continues hash h over n bytes; the first h is QR_FNV1A_INIT. */
static inline uint64_t qr_fnv1a(uint64_t h, const void *data, size_t n)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i++)
        /* the analyzer takes the bytes of wider elements for unset, except the first */
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

#endif
