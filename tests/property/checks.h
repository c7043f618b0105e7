/* SPDX-License-Identifier: Apache-2.0 */
/* checks.h - what must hold for every scene. */
#ifndef QUIRE_PROPERTY_CHECKS_H
#define QUIRE_PROPERTY_CHECKS_H
#include "stage.h"

struct check {
    const char *name;
    bool rare; /* run whenever it applies; the others take turns */
    bool (*applies)(const struct scene *s);
    /* `base` is the scene run the plain way */
    bool (*run)(const struct scene *s, const struct result *base, struct rng *r);
};

extern const struct check checks[];
extern const uint32_t n_checks;

/* Every head size, kind, type and block size at every level: refused with the reason, or computed
 * rightly. step: every how many head sizes. Returns the number of failures. */
uint32_t walk(uint64_t seed, uint32_t step);

/* Checks of checks_dense.c and when they apply. */
bool has_plain_keys(const struct scene *s);
bool contiguous_keys(const struct scene *s, const struct result *base, struct rng *r);
bool can_be_cut(const struct scene *s);
bool merged_shards(const struct scene *s, const struct result *base, struct rng *r);

/* The result against the definition, for some of its rows. */
bool check_oracle(const struct scene *s, const struct result *base);

#endif
