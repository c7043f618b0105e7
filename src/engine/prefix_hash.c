/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_hash.c - keyed 128-bit hash of the prefix index (XXH3-128). */
#include "engine/prefix_hash.h"
#include "base/keyed_hash.h"
#include <string.h>
#include <sys/random.h>
#define XXH_INLINE_ALL /* header only: no symbols of xxHash in libquire */
#include <xxhash.h>

void qr_prefix_hash_secret(const uint64_t *key, unsigned char secret[QR_PREFIX_SECRET_BYTES])
{
    uint64_t random[2];
    if (key) {
        memcpy(random, key, sizeof random);
    } else if (getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        /* Without a random source the key comes from addresses, which differ from run to run. A
         * client that guesses it slows lookups down; it gets no wrong block. */
        random[0] = qr_hash_key(secret);
        random[1] = qr_hash_key(random);
    }
    for (uint64_t i = 0; i < QR_PREFIX_SECRET_BYTES / 8; i++) {
        const uint64_t word = qr_hash_u64(random[1], qr_hash_u64(random[0], i));
        memcpy(secret + i * 8, &word, 8);
    }
}

struct qr_prefix_hash qr_prefix_hash(const unsigned char secret[QR_PREFIX_SECRET_BYTES],
                                     const void *data, size_t bytes, uint32_t hash_bits)
{
    const XXH128_hash_t h = XXH3_128bits_withSecret(data, bytes, secret, QR_PREFIX_SECRET_BYTES);
    struct qr_prefix_hash out = { h.low64, h.high64 };
    if (hash_bits <= 64)
        out.high = 0;
    else if (hash_bits < 128)
        out.high &= ((uint64_t)1 << (hash_bits - 64)) - 1;
    if (hash_bits < 64)
        out.low &= ((uint64_t)1 << hash_bits) - 1;
    return out;
}
