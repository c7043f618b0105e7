/* SPDX-License-Identifier: Apache-2.0 */
/* seeds_quantized.h - seeds of fuzz_safetensors.c: folders with quantized weights. */
#ifndef QUIRE_FUZZ_SEEDS_QUANTIZED_H
#define QUIRE_FUZZ_SEEDS_QUANTIZED_H
#include "seeds_adapter.h"

void quantized_seeds(save_seed_fn *save);

#endif
