/* SPDX-License-Identifier: Apache-2.0 */
/* philox.h - Philox4x32-10, a counter-based random number generator (Salmon et al. 2011). */
#ifndef QR_ENGINE_PHILOX_H
#define QR_ENGINE_PHILOX_H
#include <stdint.h>

static inline void qr_philox_round(uint32_t c[4], const uint32_t k[2])
{
    const uint64_t a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
    const uint32_t next[4] = { (uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b,
                               (uint32_t)(a >> 32) ^ c[3] ^ k[1], (uint32_t)a };
    for (int i = 0; i < 4; i++)
        c[i] = next[i];
}

/* Replaces the counter with four random words. */
static inline void qr_philox4x32(uint32_t counter[4], const uint32_t key[2])
{
    uint32_t k[2] = { key[0], key[1] };
    for (int round = 0; round < 10; round++) {
        qr_philox_round(counter, k);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
}

/* Purposes of the random numbers of one token. A sampler that draws has a purpose of its own, so
 * that whether it draws changes no other draw. */
enum qr_draw { QR_DRAW_TOKEN, QR_DRAW_XTC, QR_DRAW_MIROSTAT };

/* Uniform in [0, 1) with 53 random bits. Key = (low half of seed, stream); counter = (index, high
 * half of seed, purpose). */
static inline double qr_philox_draw(uint64_t seed, uint32_t stream, uint64_t index,
                                    enum qr_draw purpose)
{
    const uint32_t key[2] = { (uint32_t)seed, stream };
    uint32_t c[4] = { (uint32_t)index, (uint32_t)(index >> 32), (uint32_t)(seed >> 32),
                      (uint32_t)purpose };
    qr_philox4x32(c, key);
    return (double)((uint64_t)(c[0] >> 5) << 26 | c[1] >> 6) * 0x1p-53;
}

static inline double qr_philox_uniform(uint64_t seed, uint32_t stream, uint64_t index)
{
    return qr_philox_draw(seed, stream, index, QR_DRAW_TOKEN);
}

#endif
