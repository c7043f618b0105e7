/* SPDX-License-Identifier: Apache-2.0 */
/* keyed_hash.h - keyed hash for tables with untrusted keys. */
#ifndef QR_BASE_KEYED_HASH_H
#define QR_BASE_KEYED_HASH_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Multiply and fold: every input bit affects every output bit. The author of a file cannot predict
 * the key and therefore cannot construct colliding strings. */
static inline uint64_t qr_hash_mix(uint64_t a, uint64_t b)
{
    const unsigned __int128 p = (unsigned __int128)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t qr_hash_u64(uint64_t key, uint64_t value)
{
    return qr_hash_mix(value ^ key, 0x9E3779B97F4A7C15u ^ (key << 1 | 1));
}

static inline uint64_t qr_hash_bytes(uint64_t key, const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t h = key ^ n, word;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = qr_hash_u64(h, word);
    }
    word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)p[i] << (8 * i);
    return qr_hash_u64(h, word);
}

/* Key derived from an address: differs between processes under address-space randomization. */
static inline uint64_t qr_hash_key(const void *address)
{
    return qr_hash_u64(0x5851F42D4C957F2Du, (uintptr_t)address);
}

#endif
