/* SPDX-License-Identifier: Apache-2.0 */
/* checks.h - properties that hold for every problem. */
#ifndef QUIRE_PROPERTY_CHECKS_H
#define QUIRE_PROPERTY_CHECKS_H
#include "testbed.h"

struct check {
    const char *name;
    bool rare; /* runs whenever it applies; a rotating subset of the others runs */
    bool (*applies)(const struct problem *s);
    /* `base` is the result of the default variant */
    bool (*run)(const struct problem *s, const struct result *base, struct rng *r);
};

extern const struct check checks[];
extern const uint32_t n_checks;

/* Walks head sizes, kinds, types and block sizes at every level: each is refused with its reason or
 * computed correctly. `step` is the stride in head sizes. Returns the number of failures. */
uint32_t walk(uint64_t seed, uint32_t step);

/* Computes every pair of options at every level of this CPU. Returns the number of failures. */
uint32_t walk_pairs(uint64_t seed);

/* Checks every step-th tree around the limits of a mask word, at every level: against the oracle,
 * and all checks that apply. Returns the number of failures. */
uint32_t check_trees(uint64_t seed, uint32_t step);

/* Checks of checks_dense.c and their conditions. */
bool has_plain_keys(const struct problem *s);
bool contiguous_keys(const struct problem *s, const struct result *base, struct rng *r);
bool can_be_cut(const struct problem *s);
bool merged_shards(const struct problem *s, const struct result *base, struct rng *r);
bool can_be_dealt(const struct problem *s);
bool merged_ranks(const struct problem *s, const struct result *base, struct rng *r);

/* Compares a sample of result rows with the oracle. */
bool check_oracle(const struct problem *s, const struct result *base);

#endif
