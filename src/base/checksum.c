/* SPDX-License-Identifier: Apache-2.0 */
/* checksum.c - fast 64-bit checksum against damage, not against forgery. */
#include "base/checksum.h"
#include <string.h>

/* Words go to the lanes in turn: eight independent chains hide the latency of the multiplication.
 * Every step is a bijection of the lane and of the word. Without the rotation, changes of the top
 * bit would never reach another bit, and two of them would cancel. */
enum { LANES = 8, LANE_BYTES = 8 };
static const uint64_t factor = UINT64_C(0x9E3779B97F4A7C15); /* odd */

static inline uint64_t add(uint64_t lane, uint64_t word)
{
    const uint64_t x = (lane ^ word) * factor;
    return x << 29 | x >> 35;
}

static inline uint64_t load(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

uint64_t qr_checksum(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, sum = n, last = 0;
    size_t left = n;
    for (; left >= LANES * LANE_BYTES; left -= LANES * LANE_BYTES, p += LANES * LANE_BYTES) {
        a = add(a, load(p));
        b = add(b, load(p + 8));
        c = add(c, load(p + 16));
        d = add(d, load(p + 24));
        e = add(e, load(p + 32));
        f = add(f, load(p + 40));
        g = add(g, load(p + 48));
        h = add(h, load(p + 56));
    }
    const uint64_t lanes[LANES] = { a, b, c, d, e, f, g, h };
    for (int i = 0; i < LANES; i++)
        sum = add(sum, lanes[i]);
    for (; left >= LANE_BYTES; left -= LANE_BYTES, p += LANE_BYTES)
        sum = add(sum, load(p));
    if (left)
        memcpy(&last, p, left);
    return add(sum, last);
}
