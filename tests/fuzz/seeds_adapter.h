/* SPDX-License-Identifier: Apache-2.0 */
/* seeds_adapter.h - seeds of fuzz_adapter.c. */
#ifndef QUIRE_FUZZ_SEEDS_ADAPTER_H
#define QUIRE_FUZZ_SEEDS_ADAPTER_H
#include "fuzz.h"

/* Writes a seed of a corpus and frees it. */
typedef void save_seed_fn(const char *corpus, const char *name, struct fuzz_buffer *b);

void adapter_seeds(save_seed_fn *save);

#endif
