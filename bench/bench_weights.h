/* SPDX-License-Identifier: Apache-2.0 */
/* bench_weights.h - weight types and random weights of each. */
#ifndef QUIRE_BENCH_BENCH_WEIGHTS_H
#define QUIRE_BENCH_BENCH_WEIGHTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_weight_type {
    const char *name;   /* "Q4_K" */
    uint32_t number;    /* of GGML */
    uint32_t file_type; /* general.file_type of a GGUF file that is mostly of this type */
    uint32_t block_elems, block_bytes;
};

/* Gets weight type i of those that can be packed. Returns false past the end. */
bool bench_weight_type_get(unsigned i, struct bench_weight_type *out);
/* Finds a weight type by its name in any case. Returns false if there is none. */
bool bench_weight_type_find(const char *name, struct bench_weight_type *out);

/* Fills raw with n values (a multiple of the block of the type) in the storage format of type
 * number `type`, of mean near 0 and about the given standard deviation. Codes are uniform; block
 * scales vary by up to a factor of 1.7. */
void bench_weights_fill(uint32_t type, uint8_t *raw, size_t n, float deviation, uint64_t *rng);

#endif
