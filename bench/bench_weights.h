/* SPDX-License-Identifier: Apache-2.0 */
/* bench_weights.h - random weights in the blocks of every storage type. */
#ifndef QUIRE_BENCH_BENCH_WEIGHTS_H
#define QUIRE_BENCH_BENCH_WEIGHTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Number of a type from its name in any case ("q4_k"); false if it is unknown or cannot be computed with. */
bool bench_weight_type(const char *name, uint32_t *type);

/* n values (a multiple of the type's block) with mean near 0 and about this standard deviation, as a file stores
 * them. Codes are uniform, block scales differ by up to a factor of 1.7. */
void bench_weights_fill(uint32_t type, uint8_t *raw, size_t n, float deviation, uint64_t *rng);

#endif
