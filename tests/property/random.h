/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - reproducible random numbers. */
#ifndef QUIRE_PROPERTY_RANDOM_H
#define QUIRE_PROPERTY_RANDOM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

/* splitmix64 */
static inline uint32_t rng_next(struct rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((z ^ z >> 31) >> 20);
}

static inline uint32_t rng_below(struct rng *r, uint32_t n) { return rng_next(r) % n; }

/* lo .. hi */
static inline uint32_t rng_in(struct rng *r, uint32_t lo, uint32_t hi)
{
    return lo + rng_below(r, hi - lo + 1);
}

static inline bool rng_percent(struct rng *r, uint32_t percent)
{
    return rng_below(r, 100) < percent;
}

static inline float rng_float(struct rng *r, float lo, float hi)
{
    return lo + (hi - lo) * (float)(rng_next(r) & 0xffffff) / 16777216.0f;
}

/* An independent stream for number n. */
static inline struct rng rng_fork(uint64_t seed, uint64_t n)
{
    struct rng r = { seed };
    r.state = ((uint64_t)rng_next(&r) << 32 | rng_next(&r)) ^ n * 0xd1342543de82ef95ull;
    rng_next(&r);
    return r;
}

#define RNG_PICK(r, array) ((array)[rng_below((r), (uint32_t)(sizeof(array) / sizeof *(array)))])

#endif
