/* SPDX-License-Identifier: Apache-2.0 */
/* top_keys.c - selects the highest scores by their bits, without sorting. */
#include "model/forward/top_keys.h"
#include <math.h>
#include <string.h>

/* Integer with the order of the score; -0 and 0 are equal. */
static uint32_t rank_of(float score)
{
    uint32_t u;
    score += 0.0f; /* -0 becomes 0 */
    memcpy(&u, &score, sizeof u);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

/* The rank of the k-th highest score, digit by digit from the highest one; *ties is the number of
 * scores of that rank that belong to the k highest. 1 <= k <= n. */
static uint32_t kth_rank(const float *scores, uint32_t n, uint32_t k, uint32_t *ties)
{
    uint32_t prefix = 0, mask = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        uint32_t count[256] = { 0 }, digit = 255;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t r = rank_of(scores[i]);
            if ((r & mask) == prefix)
                count[r >> shift & 255]++;
        }
        for (; count[digit] < k; digit--)
            k -= count[digit];
        prefix |= digit << shift;
        mask |= 255u << shift;
    }
    *ties = k;
    return prefix;
}

void qr_top_keys(const float *scores, uint32_t n, uint32_t k, uint64_t *bits)
{
    uint32_t last = 0, ties = n; /* k >= n: all */
    memset(bits, 0, ((size_t)n + 63) / 64 * sizeof *bits);
    if (k == 0)
        return;
    if (k < n)
        last = kth_rank(scores, n, k, &ties);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t r = rank_of(scores[i]);
        if (r < last || (r == last && ties == 0) || scores[i] == -INFINITY)
            continue;
        ties -= r == last;
        bits[i / 64] |= (uint64_t)1 << i % 64;
    }
}
