/* SPDX-License-Identifier: Apache-2.0 */
/* bench_synth_lora.h - synthetic LoRA adapters. */
#ifndef QUIRE_BENCH_BENCH_SYNTH_LORA_H
#define QUIRE_BENCH_BENCH_SYNTH_LORA_H
#include "bench_synth_meta.h"

/* Writes a GGUF adapter of this rank for all matrices of the layers. False when writing fails. */
bool synth_lora_write(const char *path, const struct synth_arch *a, uint32_t rank, uint32_t seed);

#endif
