/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - FNV-1a with 64 bits: tells things apart that nobody made alike on purpose. */
#ifndef QR_BASE_HASH_H
#define QR_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

#define QR_HASH_SEED UINT64_C(0xcbf29ce484222325)

/* Goes on with hash h over n bytes; begin with QR_HASH_SEED. */
static inline uint64_t qr_hash(uint64_t h, const void *data, size_t n)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

#endif
