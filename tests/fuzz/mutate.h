/* SPDX-License-Identifier: Apache-2.0 */
/* mutate.h - parts of custom mutators that need the fuzzing engine. */
#ifndef QUIRE_FUZZ_MUTATE_H
#define QUIRE_FUZZ_MUTATE_H
#include "fuzz.h"

/* Mutates n bytes into a buffer with the engine's mutator; the result has at most max bytes. */
void fuzz_put_mutated(struct fuzz_buffer *b, const void *bytes, size_t n, size_t max);

/* Copies a mutator's result to its output if it fits. Frees b. */
size_t fuzz_mutated(struct fuzz_buffer *b, uint8_t *data, size_t size, size_t max_size);

#endif
