/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_mutator.h - mutates GGUF files entry by entry. */
#ifndef QUIRE_FUZZ_GGUF_MUTATOR_H
#define QUIRE_FUZZ_GGUF_MUTATOR_H
#include "fuzz.h"

/* Changes a key, value, tensor or some bytes, and usually rewrites counts, lengths and offsets to
 * agree. A file that is not GGUF is mutated as bytes. */
size_t gguf_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#endif
