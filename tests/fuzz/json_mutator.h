/* SPDX-License-Identifier: Apache-2.0 */
/* json_mutator.h - mutates JSON texts value by value. */
#ifndef QUIRE_FUZZ_JSON_MUTATOR_H
#define QUIRE_FUZZ_JSON_MUTATOR_H
#include "fuzz.h"

/* Appends a changed copy of the text: a value replaced by another, removed, repeated or nested, or
 * the bytes of a string changed. */
void json_put_mutated(struct fuzz_buffer *out, const uint8_t *text, size_t size,
                      struct fuzz_random *rng);

/* A custom mutator for inputs that are one JSON text, or two of fuzz_split. */
size_t json_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#endif
