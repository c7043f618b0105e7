/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_hash.h - keyed 128-bit hash of the prefix index (XXH3-128). */
#ifndef QR_ENGINE_PREFIX_HASH_H
#define QR_ENGINE_PREFIX_HASH_H
#include <stddef.h>
#include <stdint.h>

enum { QR_PREFIX_SECRET_BYTES = 192 };

struct qr_prefix_hash {
    uint64_t low, high;
};

/* Derives the secret of the hash from a key of 128 bits; NULL = a random key. */
void qr_prefix_hash_secret(const uint64_t *key, unsigned char secret[QR_PREFIX_SECRET_BYTES]);

/* Hashes `bytes` bytes and keeps the lowest hash_bits (1 .. 128) bits of the result. */
struct qr_prefix_hash qr_prefix_hash(const unsigned char secret[QR_PREFIX_SECRET_BYTES],
                                     const void *data, size_t bytes, uint32_t hash_bits);

#endif
